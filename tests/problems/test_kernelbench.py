"""KernelBench files: what is read of them, what their reference computes, and verdicts on submissions."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hotlap.contestant import foreign, modelnew
from hotlap.errors import DeviceError, ProblemError
from hotlap.model import Problem, Status, Verdict
from hotlap.problems import kernelbench, tree
from hotlap.problems.kernelbench import forward_arguments, identity, init_arguments, load, load_level
from hotlap.problems.reference import Reference, compute_reference, load_reference, make_inputs, pinned
from hotlap.referee.check import compare_call
from hotlap.referee.device import CpuDevice, open_device
from hotlap.referee.limits import Limits
from hotlap.referee.rng import Rng
from hotlap.verdict import read_submission, verdict

CASE = {"case": 0}

AFFINE = """import torch
from torch import nn

class Model(nn.Module):
    \"\"\"A layer and its activation.\"\"\"
    def __init__(self, width_in, width_out):
        super().__init__()
        self.layer = nn.Linear(width_in, width_out)

    def forward(self, x):
        return torch.relu(self.layer(x))

rows = 7
width = 12

def get_inputs():
    return [torch.rand(rows, width)]

def get_init_inputs():
    return [width, 5]
"""

FORWARD = """import torch
from torch import nn

class Model(nn.Module):
    {init}
    def forward(self, {parameters}):
        {body}

def get_inputs():
    return {inputs}

def get_init_inputs():
    return {init_inputs}
"""


def write(folder: Path, source: str, name: str = "level1/3_Affine_relu.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


def problem_of(
    folder: Path,
    body: str,
    inputs: str = "[torch.rand(6, 4)]",
    parameters: str = "x",
    init: str = "pass",
    init_inputs: str = "[]",
    **settings: Any,
) -> Problem:
    source = FORWARD.format(
        body=body, inputs=inputs, parameters=parameters, init=init, init_inputs=init_inputs
    )
    return load(write(folder, source), **settings)


class Call:
    """One call of a problem: its pinned form, its inputs, and the reference's answer."""

    def __init__(self, problem: Problem, key: int = 1):
        self.reference: Reference = load_reference(problem)
        self.bound = pinned(problem, self.reference, CASE, "cpu")
        self.problem = self.bound.problem
        self.inputs = make_inputs(self.reference, self.problem, CASE, Rng(key), "cpu")

    def truth(self) -> tuple[torch.Tensor, ...]:
        return compute_reference(self.reference, self.problem, self.inputs, CASE)

    def answer(self, submission: str, folder: Path) -> tuple[tuple[torch.Tensor, ...], str | None]:
        """What a submission answers, called as a contestant calls it, and where its weights came from."""
        path = write(folder, submission, "seat/kernel.py")
        for name, content in self.reference.beside.items():
            (path.parent / name).write_bytes(content)
        module = Module(path)
        tensors = [value for value in self.inputs if isinstance(value, torch.Tensor)]
        scalars = [value for value in self.inputs if not isinstance(value, torch.Tensor)]
        data = foreign.load_tree(self.bound.call or b"", tensors, torch)
        model = modelnew.build(module, data["recipe"], torch, "cpu")
        return tuple(tree.flatten(model(*data["arguments"], *scalars))[1]), model.note

    def wrong(self, submission: str, folder: Path) -> str | None:
        """What is wrong with a submission's answer."""
        answer, _ = self.answer(submission, folder)
        return compare_call(self.problem, self.reference, CASE, self.inputs, answer).wrong


class Module:
    """A submission's file, executed."""

    def __init__(self, path: Path):
        self.__file__ = str(path)
        exec(compile(path.read_text(), str(path), "exec"), self.__dict__)


def renamed(source: str) -> str:
    return source.replace("class Model(", "class ModelNew(")


# --- reading -------------------------------------------------------------------------------------


def test_a_file_says_level_id_and_title_by_its_name(tmp_path: Path) -> None:
    problem = load(write(tmp_path, AFFINE))
    assert (problem.suite, problem.name) == ("kernelbench-level1", "3_Affine_relu")
    assert identity(problem.folder) == (1, 3, "Affine relu")
    assert problem.title == "Affine relu"
    assert problem.contract == "ModelNew"


def test_the_statement_shows_docstring_and_source(tmp_path: Path) -> None:
    statement = load(write(tmp_path, AFFINE)).statement
    assert statement.startswith("A layer and its activation.")
    assert "self.layer = nn.Linear(width_in, width_out)" in statement


def test_a_file_outside_of_a_level_is_a_problem_too(tmp_path: Path) -> None:
    problem = load(write(tmp_path, AFFINE, "mine.py"))
    assert (problem.suite, problem.name, identity(problem.folder)) == (
        "kernelbench",
        "mine",
        (None, None, "mine"),
    )


def test_the_version_is_of_the_source_and_of_other_settings(tmp_path: Path) -> None:
    path = write(tmp_path, AFFINE)
    first = load(path).version
    assert load(path).version == first
    versions = {first, load(path, dtype="float16").version, load(path, tolerance="kb-v0").version}
    path.write_text(AFFINE + "\n# another\n")
    assert len(versions | {load(path).version}) == 4


def test_a_level_is_listed_in_order_of_ids(tmp_path: Path) -> None:
    for name in ("10_c.py", "9_b.py", "1_a.py", "notes.py"):
        write(tmp_path, AFFINE, f"level2/{name}")
    assert [path.name for path in load_level(tmp_path / "level2")] == ["1_a.py", "9_b.py", "10_c.py"]


def test_a_folder_without_numbered_files_is_no_level(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"1_Name\.py"):
        load_level(tmp_path)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            AFFINE.replace("class Model(", "class Net(nn.Module): ...\nclass Other("),
            "3_Affine_relu.py:1: Model",
        ),
        (AFFINE.replace("def get_inputs", "def get_input"), "3_Affine_relu.py:1: get_inputs"),
        (AFFINE.replace("rows = 7", "rows = = 7"), r"3_Affine_relu.py:13: invalid syntax"),
        ("", "get_inputs: not defined at the top level; found none"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_its_line(tmp_path: Path, source: str, says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        load(write(tmp_path, source))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemError, match="UTF-8"):
        load(path)


@pytest.mark.parametrize("settings", [{"tolerance": "loose"}, {"dtype": "float8"}])
def test_unknown_settings_are_refused(tmp_path: Path, settings: dict[str, str]) -> None:
    with pytest.raises(ProblemError, match="allowed"):
        load(write(tmp_path, AFFINE), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("rows = 7", "rows = 7 / 0"), r"3_Affine_relu.py:13: loading it: raised ZeroDivisionError"),
        (("[width, 5]", "[width]"), r"3_Affine_relu.py:1: the constructor of Model: raised TypeError"),
        (("[torch.rand(rows, width)]", "[torch.rand(rows, 3)]"), r"3_Affine_relu.py:11: forward of Model"),
        (
            ("return [torch.rand", "return [torch.ran"),
            r"3_Affine_relu.py:17: get_inputs: raised AttributeError",
        ),
        (("torch.relu(self.layer(x))", "None"), "no tensor in what it returns"),
        (("[torch.rand(rows, width)]", "[torch.rand(0, width)]"), "at least one element"),
    ],
)
def test_a_reference_that_fails_says_where(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        Call(load(write(tmp_path, AFFINE.replace(*change))))


def test_a_library_that_is_missing_is_no_fault_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="pip install absent_library"):
        load_reference(load(write(tmp_path, f"import absent_library\n{AFFINE}")))


def test_a_file_that_needs_more_memory_than_there_is_says_so(tmp_path: Path) -> None:
    large = AFFINE.replace("rows = 7", "rows = 10**12")
    with pytest.raises(DeviceError, match=r"get_inputs: .* GB of memory for one tensor.*; shrink it"):
        Call(load(write(tmp_path, large)))


# --- arguments -----------------------------------------------------------------------------------


class Pair:
    def __init__(self, a: int = 0, b: int = 0) -> None: ...


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ((), {})),
        ([], ((), {})),
        ((), ((), {})),
        ([1, [2, 3], 4], ((1, [2, 3], 4), {})),
        ((1, None, "x"), ((1, None, "x"), {})),
        (5, ((5,), {})),
        ({"a": 1}, ((), {"a": 1})),
        ([[], {}], ((), {})),
        ([[1], {"b": 2}], ((1,), {"b": 2})),
        ([[1, 2, 3], {"c": 2}], (([1, 2, 3], {"c": 2}), {})),  # not what Pair takes: two arguments
    ],
)
def test_constructor_arguments_come_in_many_shapes(given: Any, expected: Any) -> None:
    assert init_arguments(Pair, given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ((), {})),
        ([1, {}], ((1, {}), {})),
        ((1,), ((1,), {})),
        ({"x": 1}, ((), {"x": 1})),
        (3, ((3,), {})),
    ],
)
def test_forward_arguments_come_in_many_shapes(given: Any, expected: Any) -> None:
    assert forward_arguments(given) == expected


@pytest.mark.parametrize(
    ("parameters", "inputs", "body", "expected"),
    [
        ("x", "torch.rand(2, 3)", "return x", [((2, 3), "float32")]),
        ("x, s", "[torch.rand(2, 3), 3.5]", "return x * s", [((2, 3), "float32")]),
        ("x=None, s=1", "dict(x=torch.rand(4))", "return x * s", [((4,), "float32")]),
        (
            "x, pair",
            "[torch.rand(2), (torch.rand(3), [torch.ones(4, dtype=torch.int64)])]",
            "return x.sum() + pair[0].sum() + pair[1][0].sum()",
            [((2,), "float32"), ((3,), "float32"), ((4,), "int64")],
        ),
        (
            "x, mask",
            "[torch.rand(5), torch.rand(5) > 0.5]",
            "return x * mask",
            [((5,), "float32"), ((5,), "bool")],
        ),
        ("x", "[torch.rand(3, 4).t()]", "return x @ x.t()", [((4, 3), "float32")]),
        ("x", "[torch.rand(3, 1).expand(3, 4)]", "return x + 1", [((3, 4), "float32")]),
        ("x", "[torch.rand(())]", "return x + 1", [((), "float32")]),
    ],
)
def test_inputs_come_in_many_shapes(
    tmp_path: Path, parameters: str, inputs: str, body: str, expected: list[tuple[tuple[int, ...], str]]
) -> None:
    problem = problem_of(tmp_path, body, inputs, parameters)
    call = Call(problem)
    source = renamed(problem.folder.read_text())
    tensors = sorted((tuple(spec.shape or ()), spec.dtype) for spec in call.problem.inputs)
    assert sorted((tuple(sorted(s)), d) for s, d in tensors) == sorted(
        (tuple(sorted(s)), d) for s, d in expected
    )
    assert call.wrong(source, tmp_path) is None


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("return x * 2", ["y"]),
        ("return x * 2, x > 0.5", ["y0", "y1"]),
        ("return [x, x.sum()]", ["y0", "y1"]),
        ("return {'a': x, 'b': None, 'c': (x + 1, None)}", ["y0", "y1"]),
        ("return x.argmax(1)", ["y"]),
        ("return x.sum()", ["y"]),
        ("return x.t()", ["y"]),
    ],
)
def test_outputs_come_in_many_shapes(tmp_path: Path, body: str, names: list[str]) -> None:
    problem = problem_of(tmp_path, body)
    call = Call(problem)
    assert [spec.name for spec in call.problem.outputs] == names
    assert call.wrong(renamed(problem.folder.read_text()), tmp_path) is None


def test_inputs_are_named_after_the_parameters_of_forward(tmp_path: Path) -> None:
    call = Call(problem_of(tmp_path, "return a + b", "[torch.rand(3), torch.rand(3)]", "a, b"))
    assert [spec.name for spec in call.problem.inputs] == ["a", "b"]
    assert all(spec.mutable for spec in call.problem.inputs)


def test_only_floating_inputs_are_cast(tmp_path: Path) -> None:
    inputs = "[torch.rand(3), torch.arange(3), torch.ones(3, dtype=torch.bool)]"
    call = Call(problem_of(tmp_path, "return x * i * m", inputs, "x, i, m", dtype="bfloat16"))
    assert [spec.dtype for spec in call.problem.inputs] == ["bfloat16", "int64", "bool"]
    assert call.problem.outputs[0].dtype == "bfloat16"


def test_every_call_has_inputs_of_its_own_and_its_key_gives_them_again(tmp_path: Path) -> None:
    call = Call(load(write(tmp_path, AFFINE)))
    again, other = (make_inputs(call.reference, call.problem, CASE, Rng(key), "cpu") for key in (1, 2))
    assert torch.equal(call.inputs[0], again[0])
    assert not torch.equal(call.inputs[0], other[0])


def test_numbers_that_change_from_call_to_call_are_refused(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "return x * s", "[torch.rand(3), torch.rand(1).item()]", "x, s")
    with pytest.raises(ProblemError, match="only values of tensors may differ"):
        Call(problem)


def test_a_row_of_kernelbook_is_a_problem(tmp_path: Path) -> None:
    source = AFFINE.replace("class Model(", "class AffineReluNet(").replace(
        "[width, 5]", "[[width], {'width_out': 5}]"
    )
    problem = load(write(tmp_path, source, "AffineReluNet.py"))
    call = Call(problem)
    assert call.wrong(source.replace("AffineReluNet", "ModelNew"), tmp_path) is None
    empty = source.replace("(self, width_in, width_out)", "(self, width_in=12, width_out=5)")
    Call(load(write(tmp_path, empty.replace("[[width], {'width_out': 5}]", "[[], {}]"), "AffineReluNet.py")))


# --- weights, state, random numbers --------------------------------------------------------------


def test_weights_are_secret_and_handed_over_by_name(tmp_path: Path) -> None:
    problem = load(write(tmp_path, AFFINE))
    weights = [torch.load(io.BytesIO(load_reference(problem).beside[kernelbench.WEIGHTS])) for _ in range(2)]
    assert weights[0].keys() == {"layer.weight", "layer.bias"}
    assert not torch.equal(weights[0]["layer.bias"], weights[1]["layer.bias"])
    assert kernelbench.WEIGHTS == modelnew.WEIGHTS


def test_a_constructor_that_draws_in_another_order_gets_the_right_weights(tmp_path: Path) -> None:
    call = Call(load(write(tmp_path, AFFINE)))
    other = renamed(AFFINE).replace("super().__init__()", "super().__init__(); torch.rand(3)")
    assert call.answer(other, tmp_path)[1] is None
    assert call.wrong(other, tmp_path) is None


def test_weights_of_other_names_come_from_the_seed_and_that_is_said(tmp_path: Path) -> None:
    call = Call(load(write(tmp_path, AFFINE)))
    other = renamed(AFFINE).replace("self.layer", "self.dense")
    note = call.answer(other, tmp_path)[1]
    assert note is not None
    assert "Model alone has layer.bias, layer.weight; ModelNew alone has dense.bias, dense.weight" in note
    assert call.wrong(other, tmp_path) is None


def test_tensors_that_are_no_parameters_come_from_the_seed(tmp_path: Path) -> None:
    init = "def __init__(self):\n        super().__init__()\n        self.scale = torch.rand(4)"
    problem = problem_of(tmp_path, "return x * self.scale", init=init)
    assert Call(problem).wrong(renamed(problem.folder.read_text()), tmp_path) is None


def test_a_changed_answer_is_wrong(tmp_path: Path) -> None:
    call = Call(load(write(tmp_path, AFFINE)))
    wrong = call.wrong(renamed(AFFINE).replace("torch.relu(self.layer(x))", "self.layer(x)"), tmp_path)
    assert wrong is not None
    assert "output y" in wrong


def test_a_submission_without_modelnew_says_so(tmp_path: Path) -> None:
    with pytest.raises(modelnew.NoModel, match="ModelNew"):
        Call(load(write(tmp_path, AFFINE))).answer(AFFINE, tmp_path)


def test_models_run_in_train_mode_unless_asked_otherwise(tmp_path: Path) -> None:
    body = "return x * (2.0 if self.training else 3.0)"
    for training, factor in ((True, 2.0), (False, 3.0)):
        call = Call(problem_of(tmp_path, body, training=training))
        assert torch.equal(call.truth()[0], call.inputs[0].double() * factor)


def test_dropout_draws_the_same_mask_on_both_sides(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "return torch.nn.functional.dropout(x, 0.5)", "[torch.rand(50, 40)]")
    call = Call(problem)
    assert call.problem.inputs[-1].shape is None
    assert 0.3 < (call.truth()[0] == 0).double().mean() < 0.7
    assert call.wrong(renamed(problem.folder.read_text()), tmp_path) is None
    unscaled = renamed(problem.folder.read_text()).replace("(x, 0.5)", "(x, 0.4)")
    assert call.wrong(unscaled, tmp_path) is not None


def test_masks_differ_from_call_to_call(tmp_path: Path) -> None:
    problem = problem_of(
        tmp_path, "return torch.nn.functional.dropout(torch.ones_like(x), 0.5)", "[torch.rand(64)]"
    )
    call = Call(problem)
    other = make_inputs(call.reference, call.problem, CASE, Rng(2), "cpu")
    assert not torch.equal(call.truth()[0], compute_reference(call.reference, call.problem, other, CASE)[0])


STATEFUL = """def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
"""


def test_what_a_call_leaves_behind_does_not_change_the_next(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "self.calls += 1; return x * self.calls", init=STATEFUL)
    call = Call(problem)
    assert torch.equal(call.truth()[0], call.truth()[0])
    source = write(tmp_path, renamed(problem.folder.read_text()), "seat/kernel.py")
    for name, content in call.reference.beside.items():
        (source.parent / name).write_bytes(content)
    data = foreign.load_tree(call.bound.call or b"", call.inputs, torch)
    model = modelnew.build(Module(source), data["recipe"], torch, "cpu")
    first, second = (model(*data["arguments"]) for _ in range(2))
    assert torch.equal(first, second)


def test_a_model_that_writes_to_its_input_leaves_the_referees_alone(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "x += 1; return x")
    call = Call(problem)
    before = call.inputs[0].clone()
    call.truth()
    assert torch.equal(call.inputs[0], before)


# --- truth and tolerance -------------------------------------------------------------------------


def bench_of(reference: Reference) -> kernelbench.Bench:
    found = reference.make_inputs.__self__  # type: ignore[attr-defined]
    assert isinstance(found, kernelbench.Bench)
    return found


def test_the_truth_is_in_float64(tmp_path: Path) -> None:
    call = Call(load(write(tmp_path, AFFINE)))
    assert call.truth()[0].dtype == torch.float64
    assert bench_of(call.reference).notes("cpu") == ()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return x @ torch.ones(4, 2, dtype=torch.float32)", "in float64 it raises"),
        ("return x + torch.randn_like(x)", "differs by more than half of the tolerance"),
    ],
)
def test_a_model_that_is_other_in_float64_is_the_truth_as_it_is(tmp_path: Path, body: str, says: str) -> None:
    problem = problem_of(tmp_path, body)
    call = Call(problem)
    assert call.truth()[0].dtype == torch.float32
    (note,) = bench_of(call.reference).notes("cpu")
    assert says in note
    assert call.wrong(renamed(problem.folder.read_text()), tmp_path) is None


@pytest.mark.parametrize(
    ("tolerance", "error", "is_right"),
    [
        ("kb-main", 0.5e-4, True),
        ("kb-main", 5e-4, False),
        ("kb-v0", 5e-3, True),
        ("kb-v0", 5e-2, False),
        ("strict", 0.5e-4, True),
        ("strict", 5e-4, False),
    ],
)
def test_a_tolerance_has_its_bound(tmp_path: Path, tolerance: str, error: float, is_right: bool) -> None:
    call = Call(problem_of(tmp_path, "return x * 0 + 1", tolerance=tolerance))
    answer = torch.ones(6, 4) + 1.5 * error
    found = compare_call(call.problem, call.reference, CASE, call.inputs, (answer,)).wrong
    assert (found is None) is is_right


@pytest.mark.parametrize(("tolerance", "passes"), [("kb-main", True), ("strict", False)])
def test_strict_refuses_zeros_where_answers_are_tiny(tmp_path: Path, tolerance: str, passes: bool) -> None:
    call = Call(problem_of(tmp_path, "return x.softmax(1)", "[torch.rand(2, 100000)]", tolerance=tolerance))
    zeros = (torch.zeros(2, 100000),)
    assert (compare_call(call.problem, call.reference, CASE, call.inputs, zeros).wrong is None) is passes


def test_strict_lets_a_model_err_as_its_own_arithmetic_does(tmp_path: Path) -> None:
    # Exactly 0 in float64, rounding errors in float32.
    body = "return (x.mean(1, keepdim=True) - x.sum(1, keepdim=True) / 1000)"
    problem = problem_of(tmp_path, body, "[torch.rand(64, 1000)]", tolerance="strict")
    assert Call(problem).wrong(renamed(problem.folder.read_text()), tmp_path) is None


# --- verdicts ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device(limits=replace(Limits(), memory_bytes=2 << 30, processes=128)) as opened:
        yield opened


BATCH_NORM = AFFINE.replace(
    "return torch.relu(self.layer(x))", "return torch.dropout(self.norm(self.layer(x)), 0.3, self.training)"
).replace("width_out)\n\n", "width_out)\n        self.norm = nn.BatchNorm1d(width_out)\n\n")

SUBMISSIONS: Mapping[str, tuple[str, str, Status, str]] = {
    "the same model": (AFFINE, renamed(AFFINE), Status.accepted, ""),
    "another activation": (AFFINE, renamed(AFFINE).replace("relu", "tanh"), Status.wrong, "output y"),
    "a syntax error": (AFFINE, renamed(AFFINE) + "\n)", Status.failed, "SyntaxError"),
    "no ModelNew": (AFFINE, AFFINE, Status.failed, "defines no class `ModelNew`"),
    "a forward that raises": (AFFINE, renamed(AFFINE).replace("relu(", "rely("), Status.failed, "rely"),
    "a constructor of other parameters": (
        AFFINE,
        renamed(AFFINE).replace("(self, width_in, width_out)", "(self)"),
        Status.failed,
        "TypeError",
    ),
    "dropout and batch norm": (BATCH_NORM, renamed(BATCH_NORM), Status.accepted, ""),
    "no dropout": (BATCH_NORM, renamed(BATCH_NORM).replace("0.3", "0.0"), Status.wrong, "output y"),
    "weights under other names": (
        AFFINE,
        renamed(AFFINE).replace("self.layer", "self.l"),
        Status.accepted,
        "",
    ),
}


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_submission_gets_its_verdict(name: str, device: CpuDevice, tmp_path: Path) -> None:
    problem, submission, status, reason = SUBMISSIONS[name]
    file = write(tmp_path, submission, "solution.py")
    given: Verdict = verdict(load(write(tmp_path, problem)), read_submission(file), device, timed=False)
    assert given.status is status, given.reason
    assert reason in (given.reason or "")


def test_integers_are_compared_with_what_model_itself_answers(tmp_path: Path) -> None:
    body = "return (x @ x.t()).argmax(1)"
    problem = problem_of(tmp_path, body, "[torch.rand(300, 16)]", "x")
    for _ in range(3):
        assert Call(problem).wrong(renamed(problem.folder.read_text()), tmp_path) is None


def test_a_result_with_numbers_beside_tensors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="holds numbers or strings beside tensors"):
        Call(problem_of(tmp_path, "return x * 2, float(x.sum())"))


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("{'a': x * 2, 'b': x * 3}", Status.accepted),
        ("{'b': x * 3, 'a': x * 2}", Status.accepted),
        ("{'a': x * 3, 'b': x * 2}", Status.wrong),
        ("{'a': x * 2, 'c': x * 3}", Status.failed),
    ],
)
def test_answers_of_a_dict_are_told_by_their_names(
    tmp_path: Path, device: CpuDevice, answer: str, status: Status
) -> None:
    problem = problem_of(tmp_path, "return {'a': x * 2, 'b': x * 3}")
    text = problem.folder.read_text().replace("return {'a': x * 2, 'b': x * 3}", f"return {answer}")
    given = verdict(problem, read_submission(write(tmp_path, renamed(text), "new.py")), device, timed=False)
    assert given.status is status, given.reason


def test_a_file_that_exits_is_the_problem_s_fault(tmp_path: Path) -> None:
    path = write(tmp_path, AFFINE.replace("return [torch.rand(rows, width)]", "raise SystemExit(0)"))
    with pytest.raises(ProblemError, match="get_inputs: raised SystemExit"):
        Call(load(path))


def test_what_a_verdict_was_made_by_is_in_the_version(tmp_path: Path) -> None:
    path = write(tmp_path, AFFINE)
    assert load(path, tolerance="strict").version.startswith("strict-")
    assert "-" not in load(path).version
