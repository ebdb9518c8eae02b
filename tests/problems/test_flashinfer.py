"""Definitions, workloads, solutions and traces of flashinfer-bench, read and written as they stand."""

import json
from pathlib import Path
from typing import Any

import pytest

from hotlap.errors import ProblemError
from hotlap.model import Status, Submission, Verdict
from hotlap.problems import flashinfer
from hotlap.problems.find import find
from hotlap.problems.reference import compute_reference, load_reference, make_inputs, pinned
from hotlap.referee.device import Device, open_device
from hotlap.referee.rng import Rng
from hotlap.verdict import read_submission, verdict

RUN = """\
import torch

def run(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w
"""
DEFINITION: dict[str, Any] = {
    "name": "rms_d64",
    "op_type": "rmsnorm",
    "axes": {"b": {"type": "var"}, "d": {"type": "const", "value": 64}},
    "inputs": {
        "x": {"shape": ["b", "d"], "dtype": "float32"},
        "w": {"shape": ["d"], "dtype": "float32"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["b", "d"], "dtype": "float32"}},
    "reference": RUN,
}
RANDOM = {"type": "random"}


def workload(b: int = 37, eps: float = 1e-5, **inputs: Any) -> dict[str, Any]:
    sources = {"x": RANDOM, "w": RANDOM, "eps": {"type": "scalar", "value": eps}} | inputs
    return {
        "definition": "rms_d64",
        "workload": {"uuid": f"b{b}", "axes": {"b": b}, "inputs": sources},
        "solution": None,
        "evaluation": None,
    }


def written(folder: Path, *workloads: dict[str, Any], **changes: Any) -> Path:
    """A definition with its workloads beside it."""
    path = folder / "rms_d64.json"
    path.write_text(json.dumps(DEFINITION | changes))
    lines = [json.dumps(one) for one in workloads or (workload(), workload(300, 1e-3))]
    path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n")
    return path


def drawn(path: Path) -> tuple[Any, ...]:
    """The inputs of a call of the first case."""
    problem = find(str(path))
    bound = pinned(problem, load_reference(problem), {"case": 0}, "cpu")
    return make_inputs(bound.reference, bound.problem, {"case": 0}, Rng(7), "cpu")


def test_a_definition_is_a_problem_with_a_case_for_each_workload(tmp_path: Path) -> None:
    problem = find(str(written(tmp_path)))
    assert (problem.suite, problem.name, problem.contract) == ("flashinfer", "rms_d64", "run")
    assert [dict(w.axes) for w in problem.workloads if w.profile == "cpu"] == [{"case": 0}, {"case": 1}]


def test_workloads_are_found_where_a_data_set_has_them(tmp_path: Path) -> None:
    folder = tmp_path / "definitions" / "rmsnorm"
    folder.mkdir(parents=True)
    path = written(folder)
    elsewhere = tmp_path / "workloads" / "rmsnorm" / "rms_d64.jsonl"
    elsewhere.parent.mkdir(parents=True)
    path.with_suffix(".jsonl").rename(elsewhere)
    assert len(find(str(path)).workloads) == 4


def test_a_case_has_its_own_shapes_and_scalars_and_the_reference_answers_it(tmp_path: Path) -> None:
    problem = find(str(written(tmp_path)))
    bound = pinned(problem, load_reference(problem), {"case": 1}, "cpu")
    assert [spec.shape for spec in bound.problem.inputs] == [(300, 64), (64,), None]
    x, w, eps = make_inputs(bound.reference, bound.problem, {"case": 1}, Rng(7), "cpu")
    assert eps == 1e-3
    (y,) = compute_reference(bound.reference, bound.problem, (x, w, eps), {"case": 1})
    assert y.shape == (300, 64)


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int32", -128, 127), ("int64", -128, 127), ("uint8", 0, 127), ("bool", 0, 1)]
)
def test_random_inputs_of_integers_are_small(tmp_path: Path, dtype: str, low: int, high: int) -> None:
    inputs = DEFINITION["inputs"] | {"x": {"shape": ["b", "d"], "dtype": dtype}}
    x = drawn(written(tmp_path, inputs=inputs))[0]
    assert low <= int(x.min()) < int(x.max()) <= high


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"axes": {"b": {"type": "expr"}}}, "axes.b.type: found 'expr'; allowed: const, var"),
        ({"axes": {"b": {"type": "var"}, "d": {"type": "const", "value": 0}}}, "axes.d.value: found 0"),
        ({"outputs": {"y": {"shape": ["b", "z"], "dtype": "float32"}}}, "outputs.y.shape: found 'z'"),
        ({"outputs": {"y": {"shape": None, "dtype": "float32"}}}, "outputs.y.shape: found null"),
        ({"outputs": {"y": {"shape": ["b"], "dtype": "float4_e2m1"}}}, "outputs.y.dtype"),
        ({"reference": 3}, "reference: found 3"),
    ],
)
def test_a_fault_in_a_definition_names_its_key(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ProblemError) as raised:
        find(str(written(tmp_path, **changes)))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"uuid": "a", "axes": {}, "inputs": {}}, "line 1.axes.b: found nothing"),
        (workload(0), "line 1.axes.b: found 0"),
        (workload(eps="small"), "input eps: found 'small'"),  # type: ignore[arg-type]
        (workload(x={"type": "uniform"}), "line 1.inputs.x.type: found 'uniform'"),
        (workload(x={"type": "scalar", "value": 1}), "line 1.inputs.x.type: found 'scalar'"),
        (workload(x={"type": "safetensors", "path": "no.safetensors"}), "no.safetensors is below none"),
    ],
)
def test_a_fault_in_a_workload_names_its_line_or_its_input(
    tmp_path: Path, line: dict[str, Any], said: str
) -> None:
    path = written(tmp_path, line)
    with pytest.raises(ProblemError) as raised:
        drawn(path)
    assert said in str(raised.value)


def test_a_definition_without_workloads_says_where_they_belong(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.with_suffix(".jsonl").unlink()
    with pytest.raises(ProblemError, match=r"its workloads are at none of .*rms_d64.jsonl"):
        find(str(path))


def test_a_stored_input_is_read_from_below_the_folders_of_its_definition(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    stored = torch.arange(64, dtype=torch.float32)
    (tmp_path / "blobs").mkdir()
    save_file({"weight": stored}, tmp_path / "blobs" / "w.safetensors")
    source = {"type": "safetensors", "path": "blobs/w.safetensors", "tensor_key": "weight"}
    given = drawn(written(tmp_path, workload(w=source)))[1]
    assert torch.equal(given, stored)


# --- solutions -----------------------------------------------------------------------------------


def solution(entry: str = "main.py::scaled", **sources: str) -> str:
    files = sources or {"main.py": RUN.replace("run", "scaled")}
    return json.dumps(
        {
            "name": "ours",
            "definition": "rms_d64",
            "spec": {"language": "python", "entry_point": entry},
            "sources": [{"path": path, "content": content} for path, content in files.items()],
        }
    )


def test_the_entry_point_of_a_solution_is_called_run(tmp_path: Path) -> None:
    (tmp_path / "ours.json").write_text(solution())
    given = read_submission(tmp_path / "ours.json")
    assert (given.file, given.lang, given.refused) == ("main.py", "python", None)
    assert given.source.endswith("\nrun = scaled\n")
    assert flashinfer.solution_name(tmp_path / "ours.json") == "ours"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"spec": {}}', solution("main.cu::run"), solution("a.py::f", a="", b="")]
)
def test_a_solution_that_is_none_or_not_of_one_python_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ours.json").write_text(text)
    given = read_submission(tmp_path / "ours.json")
    assert given.refused is not None
    assert given.refused.startswith("ours.json ")


# --- judged --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cpu() -> Any:
    with open_device("cpu") as device:
        yield device


WRITES = """\
import torch

def run(x, w, eps, y):
    torch.mul(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps), w, out=y)
"""
BY_NAME = RUN.replace("return ", "y = ") + "    return {'y': y}\n"
KERNELS = {
    "returns": (RUN, "accepted", "PASSED"),
    "writes": (WRITES, "accepted", "PASSED"),
    "by name": (BY_NAME, "accepted", "PASSED"),
    "wrong": (RUN.replace("+ eps", "+ 1 + eps"), "wrong", "INCORRECT_NUMERICAL"),
    "another dtype": (RUN.replace("* w\n", "* w.double()\n"), "failed", "RUNTIME_ERROR"),
    "raises": (RUN.replace("return", "return None +"), "failed", "RUNTIME_ERROR"),
    "no run": ("import torch\n", "failed", "RUNTIME_ERROR"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_solutions_are_judged_and_traced(name: str, tmp_path: Path, cpu: Device) -> None:
    source, status, trace_status = KERNELS[name]
    problem = find(str(written(tmp_path)))
    given = verdict(problem, Submission("k.py", source, "python", "0" * 64), cpu, timed=False)
    assert given.status == status, given.reason
    traces = flashinfer.traces(problem, given, "ours")
    assert [one["workload"]["axes"] for one in traces] == [{"b": 37}, {"b": 300}]
    assert traces[0]["evaluation"]["status"] == trace_status
    assert traces[0]["solution"] == "ours"


def test_a_trace_of_a_timed_verdict_has_both_latencies(tmp_path: Path, cpu: Device) -> None:
    problem = find(str(written(tmp_path, workload())))
    given: Verdict = verdict(problem, Submission("k.py", RUN, "python", "0" * 64), cpu)
    assert given.status is Status.accepted, given.reason
    (trace,) = flashinfer.traces(problem, given, "ours")
    performance = trace["evaluation"]["performance"]
    assert performance["latency_ms"] > 0
    assert performance["reference_latency_ms"] > 0
    assert performance["speedup_factor"] == given.workloads[0].speedup


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("k\0.py", RUN),
        ("k\ud800.py", RUN),
        ("a" * 300 + ".py", RUN),
        ("k.py", "x = '\ud800'"),
        ("k.py", "\0"),
    ],
)
def test_a_solution_that_no_file_can_hold_is_the_author_s_fault(
    tmp_path: Path, path: str, content: str
) -> None:
    (tmp_path / "ours.json").write_text(solution(f"{path}::run", **{path: content}))
    assert read_submission(tmp_path / "ours.json").refused is not None
    (tmp_path / "deep.json").write_text("[" * 200_000)
    assert flashinfer.solution_name(tmp_path / "deep.json") == "deep"


def test_a_stored_input_from_above_its_folders_is_not_read(tmp_path: Path) -> None:
    source = {"type": "safetensors", "path": "/etc/hostname"}
    with pytest.raises(ProblemError, match="is below none of its folders"):
        drawn(written(tmp_path, workload(w=source)))


def test_a_definition_that_answers_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="outputs: found none"):
        find(str(written(tmp_path, outputs={})))


def test_code_of_a_definition_that_exits_is_the_problem_s_fault(tmp_path: Path, cpu: Device) -> None:
    problem = find(str(written(tmp_path, reference="def run(x, w, eps):\n    raise SystemExit(0)\n")))
    given = verdict(problem, Submission("k.py", RUN, "python", "0" * 64), cpu, timed=False)
    assert (given.status, given.fault) == ("void", "problem")


def test_inputs_that_are_the_same_in_every_call_judge_nobody(tmp_path: Path, cpu: Device) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({"x": torch.rand(37, 64), "w": torch.rand(64)}, tmp_path / "all.safetensors")
    sources = {name: {"type": "safetensors", "path": "all.safetensors", "tensor_key": name} for name in "xw"}
    problem = find(str(written(tmp_path, workload(**sources))))
    given = verdict(problem, Submission("k.py", RUN, "python", "0" * 64), cpu, timed=False)
    assert (given.status, given.fault) == ("void", "problem")
    assert "its inputs are the same in every call" in (given.reason or "")
