import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from hotlap.errors import DeviceError, ProblemError, UsageError
from hotlap.model import Kind, Problem
from hotlap.problems import tree
from hotlap.problems.devices import cuda_means
from hotlap.problems.find import find, find_again
from hotlap.problems.kernelbot import arguments, as_read, load, read_task
from hotlap.problems.reference import Bound, load_reference, make_inputs, pinned
from hotlap.referee.rng import Rng
from tests.formats.kernelbot_folder import write_folder

FIRST = {"case": 0}


def bound(folder: Path, case: int = 0, strict: bool = False) -> Bound:
    problem = load(folder, strict=strict)
    return pinned(problem, load_reference(problem), {"case": case}, "cpu")


def drawn(of: Bound, key: int = 1, case: int = 0) -> tuple[torch.Tensor, ...]:
    return make_inputs(of.reference, of.problem, {"case": case}, Rng(key), "cpu")


def said_of(of: Bound, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> Any:
    assert of.reference.check is not None
    return of.reference.check(inputs, (output,))


# --- task.yml


def test_a_folder_is_a_problem_with_a_workload_for_each_ranked_case(tmp_path: Path) -> None:
    problem = load(write_folder(tmp_path))
    assert (problem.suite, problem.name, problem.title) == ("suite", "add", "own-add")
    assert (problem.contract, problem.statement) == ("custom_kernel", "Add two matrices.")
    cases = [(w.kind, w.axes["case"]) for w in problem.workloads if w.profile == "cpu"]
    assert cases == [(Kind.test, 0), (Kind.test, 1), (Kind.bench, 3)]
    assert [w.axes for w in problem.workloads if w.profile == "gpu"] == [{"case": c} for _, c in cases]


@pytest.mark.parametrize(("ranking", "benches"), [("last", [3]), ("mean", [2, 3]), ("geom", [2, 3])])
def test_the_ranking_says_which_benchmarks_count(tmp_path: Path, ranking: str, benches: list[int]) -> None:
    folder = write_folder(tmp_path, task=(("benchmarks:", f'ranking_by: "{ranking}"\nbenchmarks:'),))
    assert read_task(folder).ranked() == benches


def test_all_of_task_yml_is_read(tmp_path: Path) -> None:
    more = 'templates:\n  Python: "../t.py"\ngpus: [H100]\nranked_timeout: 420\nmulti_gpu: true\ntests:'
    task = read_task(write_folder(tmp_path, task=(("tests:", more),)))
    assert (task.slot, task.main, task.lang) == ("submission.py", "eval.py", "py")
    assert task.files["utils.py"] == (tmp_path / "suite" / "utils.py").resolve()
    assert (list(task.templates), task.gpus, task.is_multi_gpu) == (["Python"], ("H100",), True)
    assert task.timeouts_s == {"test_timeout": 180, "benchmark_timeout": 180, "ranked_timeout": 420}


FAULTS = {
    "no YAML": ('lang: "py"', 'lang: "py', r"task\.yml:\d+: is not YAML"),
    "no mapping": ("# name: own-add\n", "[1]\n---\n", r"is not YAML"),
    "an unknown key": ("tests:", "test:", r"found unknown key 'test'; .*did you mean 'tests'\?"),
    "a missing description": ("description: Add two matrices.\n", "", r"description: found nothing"),
    "C++": ('lang: "py"', 'lang: "cu"', r"lang: found 'cu'; allowed: 'py'"),
    "no slot": ('"@SUBMISSION@"', '"submission.py"', r"files: found 0 files of source @SUBMISSION@"),
    "a folder in a name": (
        '"name": "task.py"',
        '"name": "../task.py"',
        r"files\[1\]\.name: found '\.\./task",
    ),
    "a name twice": ('"name": "task.py"', '"name": "utils.py"', r"files\[2\]\.name: found 'utils\.py' twice"),
    "a source that is not there": (
        '"source": "task.py"',
        '"source": "t.py"',
        r"files\.task\.py: .*t\.py: no such",
    ),
    "no reference": (
        '"name": "reference.py"',
        '"name": "r.py"',
        r"files: .*allowed: one named reference\.py",
    ),
    "a main that is not there": (
        'main: "eval.py"',
        'main: "evil.py"',
        r"config\.main: .*did you mean 'eval\.py'",
    ),
    "no tests": ("tests:\n", "tests: []\nmilestones:\n", r"tests: found an empty list"),
    "a test that is no mapping": ('- {"size": 7, "seed": 4242}', "- 7", r"tests\[0\]: found 7"),
    "a name that is none": ('{"size": 7,', '{"the size": 7,', r"tests\[0\]\.the size"),
    "another ranking": (
        "tests:",
        "ranking_by: best\ntests:",
        r"ranking_by: found 'best'; allowed: last, mean",
    ),
    "no time": ("tests:", "test_timeout: 0\ntests:", r"test_timeout: found 0"),
    "another template": ("tests:", "templates: {Rust: t.rs}\ntests:", r"templates\.Rust: found unknown key"),
    "a GPU that is no name": ("tests:", "gpus: [5]\ntests:", r"gpus\[0\]: found 5"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_task_yml_names_file_and_key(tmp_path: Path, name: str) -> None:
    old, new, message = FAULTS[name]
    with pytest.raises(ProblemError, match=message) as caught:
        load(write_folder(tmp_path, task=((old, new),)))
    assert "task.yml" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def generate_input(", "def generate(", r"reference\.py: generate_input: not defined"),
        ("def ref_kernel(data):", "def ref_kernel(data:", r"reference\.py:6: .*; correct the syntax"),
    ],
)
def test_a_reference_without_its_functions_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(ProblemError, match=message):
        load(write_folder(tmp_path, (old, new)))


def test_the_version_is_that_of_what_decides_answers(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    first = load(folder).version
    (folder / "eval.py").write_text("raise SystemExit(1)\n")
    assert load(folder).version == first
    (folder.parent / "utils.py").write_text("def compare(output, expected): return True, ''\n")
    assert load(folder).version != first


# --- finding


def test_a_folder_is_found_by_its_path_or_its_task_yml(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    assert find(str(folder)) == find(str(folder / "task.yml")) == load(folder)
    assert find(f"{folder}@strict") == load(folder, strict=True)
    with pytest.raises(UsageError):
        find(f"{folder}@loose")


@pytest.mark.parametrize("strict", [False, True])
def test_a_problem_is_found_again_as_it_was(tmp_path: Path, strict: bool) -> None:
    problem = load(write_folder(tmp_path), strict=strict)
    assert find_again(problem.folder, problem.id) == problem


# --- cases


VALUES = {
    128: 128,
    0.5: 0.5,
    "1e-3": 0.001,
    "normal": "normal",
    True: "True",
    "true": True,
    "false": False,
    None: "None",
    (1, 2): (1, 2),
    "(3, (4, 5))": (3, (4, 5)),
    "(x)": "(x)",
}


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_what_a_case_file_makes_of_it(value: object) -> None:
    found = as_read(str(value))
    assert (found, type(found)) == (VALUES[value], type(VALUES[value]))


def test_lists_arrive_as_tuples() -> None:
    assert as_read(str([1, [2, 3]])) == (1, (2, 3))


def test_truth_values_become_words_unless_strict() -> None:
    case: Mapping[str, Any] = {"mask": False, "n": 1}
    assert arguments(case, strict=False) == {"mask": "False", "n": 1}
    assert arguments(case, strict=True) == {"mask": False, "n": 1}


def test_the_statement_says_what_becomes_of_truth_values(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, task=(('"size": 7,', '"size": 7, "mask": False,'),))
    loose, strict = load(folder), load(folder, strict=True)
    assert "mask reach generate_input as the words 'True' and 'False'" in loose.statement
    assert "mask are truth values here" in strict.statement
    assert strict.version == f"strict-{loose.version}"


# --- the folder's code


def test_cuda_means_the_device_under_judgement(tmp_path: Path) -> None:
    case = bound(write_folder(tmp_path))
    assert [(s.dtype, s.shape, s.mutable) for s in case.problem.inputs] == [("float32", (7, 7), True)] * 3
    assert [(s.dtype, s.shape) for s in case.problem.outputs] == [("float32", (7, 7))]
    assert {tensor.device.type for tensor in drawn(case)} == {"cpu"}


def test_on_a_cpu_cuda_is_the_cpu_only_meanwhile() -> None:
    with cuda_means("cpu"):
        moved = torch.nn.Linear(2, 2).to("cuda").weight.cuda().to(torch.device("cuda", 0))
        assert torch.randn(2, device="cuda").device == moved.device == torch.device("cpu")
        assert torch.rand(1, generator=torch.Generator(device="cuda")).shape == (1,)
        torch.cuda.synchronize()
    assert not torch.cuda.is_available()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.randn(2, device="cuda")


def test_a_tensor_that_is_too_large_is_refused_before_it_is_made() -> None:
    with (
        cuda_means("cpu"),
        pytest.raises(DeviceError, match=r"unsupported here: needs 4\d{3}\.\d GB of memory"),
    ):
        torch.randn(1 << 20, 1 << 20, device="cuda")


def test_a_key_gives_the_same_inputs_again_and_each_key_its_own(tmp_path: Path) -> None:
    case = bound(write_folder(tmp_path))
    first, again, other = drawn(case, 1), drawn(case, 1), drawn(case, 2)
    assert torch.equal(first[0], again[0])
    assert not torch.equal(first[0], other[0])
    assert bool(first[2].isnan().all())  # memory that is not initialised shows nothing old


def test_the_check_looks_at_answers_and_does_not_write_to_the_inputs(tmp_path: Path) -> None:
    case = bound(write_folder(tmp_path))
    inputs = drawn(case)
    right = inputs[0] + 2 * inputs[1]
    assert said_of(case, inputs, right) == []
    assert said_of(case, inputs, right + 1) == ["differs from the reference"]
    assert bool(inputs[2].isnan().all())


RESULTS = [
    ("True, ''", []),
    ("False, 'no'", ["no"]),
    ("False, ''", ["check_implementation says no"]),
    ("''", []),
    ("'no'", ["no"]),
    ("None", []),
    ("True", []),
    ("False", ["check_implementation says no"]),
    ("[]", []),
    ("['no', 'never']", ["no never"]),
]


@pytest.mark.parametrize(("result", "violations"), RESULTS)
def test_a_check_may_say_it_in_several_ways(tmp_path: Path, result: str, violations: list[str]) -> None:
    case = bound(write_folder(tmp_path, ("return compare(output, ref_kernel(data))", f"return {result}")))
    assert said_of(case, drawn(case), torch.ones(7, 7)) == violations


def test_two_folders_may_have_modules_of_one_name_and_import_them_late(tmp_path: Path) -> None:
    late = (
        "    return compare(output",
        "    from task import SCALE\n    return SCALE == 2.0, str(SCALE)\n    (output",
    )
    ours, theirs = (
        bound(
            write_folder(
                tmp_path / str(scale), late, files={"task.py": f"SCALE = {scale}\ninput_t = tuple\n"}
            )
        )
        for scale in (2.0, 3.0)
    )
    assert said_of(ours, drawn(ours), torch.ones(7, 7)) == []
    assert said_of(theirs, drawn(theirs), torch.ones(7, 7)) == ["3.0"]
    assert not {"task", "utils", "reference"} & set(sys.modules)


def test_objects_of_the_files_that_a_submission_gets_may_be_arguments(tmp_path: Path) -> None:
    config = "class Config:\n    def __init__(self, x): self.x = x\n\n\nSCALE = 2.0\ninput_t = tuple\n"
    folder = write_folder(
        tmp_path,
        ("import SCALE", "import Config, SCALE"),
        ("return a, b,", "return Config(a), b,"),
        ("out[...] = a", "out[...] = a.x"),
        files={"task.py": config},
    )
    case = bound(folder)
    inputs = drawn(case)
    assert said_of(case, inputs, inputs[0] + 2 * inputs[1]) == []


UNSUPPORTED = {
    "several GPUs": ("", "", (('{"size": 7,', '{"size": 7, "world_size": 8,'),), "needs 8 GPUs at once"),
    "a module": (
        "import torch\n",
        "import torch\nimport aiter_is_not_here\n",
        (),
        "needs the Python module aiter",
    ),
    "a type": ("return a, b,", "return a.to(torch.float8_e4m3fnuz), b,", (), "type float8_e4m3fnuz"),
    "a class of its own": (
        "    return a, b,",
        "    return type('C', (), {'__module__': __name__}), b,",
        (),
        "of a file that no submission gets",
    ),
    "an operation": (
        "    a = torch",
        "    raise NotImplementedError('fp4')\n    a = torch",
        (),
        "can do this",
    ),
    "a GPU": ("torch.cuda.synchronize()", "torch.cuda.get_device_properties(0)", (), "needs a GPU"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_a_device_does_not_have_is_its_fault(tmp_path: Path, name: str) -> None:
    old, new, task, message = UNSUPPORTED[name]
    with pytest.raises(DeviceError, match=rf"unsupported here: .*{message}"):
        bound(write_folder(tmp_path, (old, new), task=task))


BROKEN = {
    "an exception": (
        "    out[...]",
        "    raise ValueError('oh')\n    out[...]",
        r"reference\.py:8: .*ValueError: oh",
    ),
    "no tensor": ("    return out\n", "    return None\n", "returned no tensor"),
    "a number": ("    return out\n", "    return out, 3\n", "returned other things beside tensors"),
    "a set": ("    return out\n", "    return {1}\n", "the result holds set"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_reference_that_raises_is_the_problems_fault(tmp_path: Path, name: str) -> None:
    old, new, message = BROKEN[name]
    with pytest.raises(ProblemError, match=message):
        bound(write_folder(tmp_path, (old, new)))


def test_numbers_among_the_arguments_must_not_change_from_draw_to_draw(tmp_path: Path) -> None:
    case = bound(write_folder(tmp_path, ("return a, b,", "return a, (b, seed)[0] * 0 + seed % 97,")))
    assert drawn(case)  # a tensor may
    changing = write_folder(
        tmp_path / "other",
        ("    a, b, out = data", "    a, b, out, _ = data"),
        ('size, device="cuda")\n\n\ndef check', 'size, device="cuda"), seed\n\n\ndef check'),
    )
    with pytest.raises(ProblemError, match="only the values of tensors change with the seed"):
        drawn(bound(changing))


# --- seeds


SEEN = ("return a, b,", "return a, torch.full((size, size), seed, dtype=torch.int64),")
NO_SUM = ("out[...] = a + SCALE * b", "out[...] = a")
REFUSED = ("    gen.manual_seed", "    assert seed < 2**31\n    gen.manual_seed")
# Rows whose mean is the seed, as in a sort: a large seed would leave no digits for the rest.
ADDED = (("    torch.cuda.sync", "    a = a + seed\n    torch.cuda.sync"),)


@pytest.mark.parametrize(
    ("replacements", "low", "high"), [((), 2**59, 2**63), ((REFUSED,), 2**27, 2**31), (ADDED, 2**13, 2**17)]
)
def test_seeds_are_as_large_as_a_folder_can_use(
    tmp_path: Path, replacements: tuple[tuple[str, str], ...], low: int, high: int
) -> None:
    case = bound(write_folder(tmp_path, *replacements, SEEN, NO_SUM), case=1)
    seeds = [int(drawn(case, key, case=1)[1][0, 0]) for key in range(8)]
    assert low < max(seeds) < high


def test_the_call_holds_no_values_of_tensors(tmp_path: Path) -> None:
    case = bound(write_folder(tmp_path))
    assert case.call is not None
    assert len(case.call) < 300
    again = tree.load(case.call, drawn(case))
    assert [tensor.shape for tensor in again] == [(7, 7)] * 3


def test_a_native_problem_is_bound_as_it_is() -> None:
    problem: Problem = find("basics/vectoradd")
    reference = load_reference(problem)
    assert pinned(problem, reference, {"n": 8}, "cpu") == (problem, reference, None)


@pytest.mark.parametrize(
    "text",
    [
        'tests: &a\n  - {"size": 1, "seed": 2}\nbenchmarks: *a',
        "5: 1",
        'tests:\n  - {1: 2, "x": 3}',
        'tests:\n  - {"size": "[{[]:1}]", "seed": 1}',
        'files:\n  - {"name": "a.py", "source": "ev\\0al.py"}',
    ],
)
def test_what_yaml_holds_and_no_case_can_be_is_a_fault_of_the_task(tmp_path: Path, text: str) -> None:
    folder = write_folder(tmp_path)
    key = text.partition(":")[0]
    kept = [block for block in (folder / "task.yml").read_text().split("\n") if not block.startswith(key)]
    (folder / "task.yml").write_text("\n".join([*kept, text]) + "\n")
    with pytest.raises(ProblemError):
        pinned(load(folder), load_reference(load(folder)), {"case": 0}, "cpu")
