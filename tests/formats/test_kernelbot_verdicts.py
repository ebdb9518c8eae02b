"""KernelBot folders from the path of a folder to a verdict, through the referee's one door."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hotlap.model import Fault, Kind, Status, Trust, Verdict
from hotlap.problems.find import find
from hotlap.referee.device import CpuDevice, open_device
from hotlap.verdict import read_submission, replay, verdict
from tests.formats.kernelbot_folder import write_folder

GOOD = """\
#!POPCORN leaderboard add
#!POPCORN gpu H100

import torch
from task import SCALE, input_t
from utils import compare


def custom_kernel(data: input_t):
    a, b, out = data
    torch.add(a, b, alpha=SCALE, out=out)
    return out
"""


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device("cpu") as opened:
        assert isinstance(opened, CpuDevice)
        yield opened


def judged(
    device: CpuDevice, folder: Path | str, source: str, timed: bool = False, name: str = "kernel.py"
) -> Verdict:
    file = Path(str(folder).removesuffix("@strict")).parent / name
    file.write_text(source)
    return verdict(find(str(folder)), read_submission(file), device, timed=timed)


def test_a_right_kernel_is_accepted_with_a_time_and_a_speedup(device: CpuDevice, tmp_path: Path) -> None:
    given = judged(device, write_folder(tmp_path), GOOD, timed=True)
    assert (given.status, given.reason) == (Status.accepted, None)
    assert given.trust is Trust.referee_host
    assert [(w.kind, w.axes, w.status) for w in given.workloads] == [
        (Kind.test, {"case": 0}, "correct"),
        (Kind.test, {"case": 1}, "correct"),
        (Kind.bench, {"case": 3}, "correct"),
    ]
    assert given.score is not None
    assert given.score.speedup is not None
    assert given.workloads[-1].checked_calls >= 270


def test_a_check_makes_the_tests_alone(device: CpuDevice, tmp_path: Path) -> None:
    given = judged(device, write_folder(tmp_path), GOOD)
    assert given.status is Status.accepted
    assert [w.kind for w in given.workloads] == [Kind.test, Kind.test]


BODY = "    torch.add(a, b, alpha=SCALE, out=out)\n    return out\n"
KERNELS = {
    "one that returns a tensor of its own": ("return a + SCALE * b", Status.accepted, ""),
    "one that writes to its inputs": ("return a.add_(SCALE * b)", Status.accepted, ""),
    "another sum": ("return a + b", Status.wrong, "case=0: differs from the reference"),
    "one that returns its empty output": ("return out", Status.wrong, "differs"),
    "an exception": ("raise ValueError('oh')", Status.failed, "raised ValueError: oh"),
    "nothing": ("pass", Status.failed, "returned None, expected output"),
    "two tensors": ("return a, b", Status.failed, "returned 2 outputs, expected 1"),
    "another type": ("return (a + SCALE * b).double()", Status.failed, "dtype float64, expected float32"),
    "another shape": ("return (a + SCALE * b)[:1]", Status.failed, r"has shape [1, 7], expected [7, 7]"),
    "a list of the answer": ("return [a + SCALE * b]", Status.accepted, ""),
    "a list of strings": ("return ['a']", Status.failed, "returned list for output"),
    "the reference": ("import reference", Status.failed, "ModuleNotFoundError"),
    "tensors on a GPU": ("return torch.empty(7, 7, device='cuda')", Status.failed, "raised"),
    "an answer that is kept": (
        "torch.kept = kept = getattr(torch, 'kept', None)\n    if kept is None or kept.shape != a.shape:\n"
        "        torch.kept = a + SCALE * b\n    return torch.kept.clone()",
        Status.wrong,
        "differs",
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_gets_the_verdict_it_deserves(device: CpuDevice, tmp_path: Path, name: str) -> None:
    body, status, reason = KERNELS[name]
    given = judged(device, write_folder(tmp_path), GOOD.replace(BODY, f"    {body}\n"))
    assert (given.status, given.fault) == (status, None if status is Status.accepted else Fault.submission)
    assert reason in (given.reason or "")


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("kernel.py", "def kernel(data): ...", "kernel.py defines no function `custom_kernel`"),
        ("kernel.py", "import no_such_module", "No module named 'no_such_module'"),
        ("kernel.cpp", "int x;", "calls `custom_kernel` of a Python file"),
    ],
)
def test_what_cannot_be_called_fails(
    device: CpuDevice, tmp_path: Path, name: str, source: str, reason: str
) -> None:
    given = judged(device, write_folder(tmp_path), source, name=name)
    assert (given.status, given.fault) == (Status.failed, Fault.submission)
    assert reason in (given.reason or "")


def test_a_file_may_be_called_as_one_that_it_imports(device: CpuDevice, tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "task.py").write_text(GOOD)
    submission = read_submission(tmp_path / "mine" / "task.py")
    assert verdict(find(str(folder)), submission, device, timed=False).status is Status.accepted


TREES = (
    ("return a, b, torch", "return {'x': a.t(), 'more': [b, 3, 'text', None]}, torch"),
    ("    a, b, out = data\n    out[...] = a + SCALE * b\n    return out", """\
    given, _ = data
    a, (b, three, text, none) = given['x'], given['more']
    assert (three, text, none) == (3, 'text', None)
    return {'sum': a + b, 'more': (a.sum(), [b.t()])}"""),
    ("compare(output, ref_kernel(data))", "judge(output, ref_kernel(data))"),
    ("def check_impl", """\
def judge(output, expected):
    pairs = [(output['sum'], expected['sum']), (output['more'][0], expected['more'][0])]
    pairs.append((output['more'][1][0], expected['more'][1][0]))
    return all(torch.allclose(a, b) for a, b in pairs), 'differs'


def check_impl"""),
)  # fmt: skip
TREE_KERNEL = """
def custom_kernel(data):
    given, _ = data
    a, (b, three, text, none) = given['x'], given['more']
    assert a.stride() == (1, a.shape[0]), a.stride()
    assert (three, text, none) == (3, 'text', None)
    return {'sum': a + b, 'more': (a.sum(), [b.t()])}
"""


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("", "", Status.accepted),
        ("a.sum()", "b.sum()", Status.wrong),
        ("[b.t()]", "[b.t(), a]", Status.failed),
    ],
)
def test_arguments_and_results_may_be_trees(
    device: CpuDevice, tmp_path: Path, old: str, new: str, status: Status
) -> None:
    folder = write_folder(tmp_path, *TREES)
    given = judged(device, folder, TREE_KERNEL.replace(old, new), timed=status is Status.accepted)
    assert given.status is status, given.reason


def test_more_arguments_than_one_message_held_before_reach_the_kernel(
    device: CpuDevice, tmp_path: Path
) -> None:
    many = "return [a] + [torch.randn(3) for _ in range(120)], b, torch"
    folder = write_folder(
        tmp_path,
        ("return a, b, torch", many),
        ("    a, b, out = data", "    (a, *rest), b, out = data\n    a = a + sum(r.sum() for r in rest)"),
    )
    source = GOOD.replace(
        "    a, b, out = data", "    (a, *rest), b, out = data\n    a = a + sum(r.sum() for r in rest)"
    )
    assert judged(device, folder, source).status is Status.accepted


MASKED = {
    "task": (('{"size": 7, "seed"', '{"size": 7, "mask": False, "seed"'),
             ('{"size": 32, "seed"', '{"size": 32, "mask": True, "seed"'),
             ('{"size": 16, "seed"', '{"size": 16, "mask": True, "seed"'),
             ('{"size": 64, "seed"', '{"size": 64, "mask": True, "seed"')),
    "reference": ("def generate_input(size, seed):\n", "def generate_input(size, seed, mask):\n"),
}  # fmt: skip


@pytest.mark.parametrize(("suffix", "status"), [("", Status.accepted), ("@strict", Status.wrong)])
def test_strict_makes_the_cases_that_truthy_words_hide(
    device: CpuDevice, tmp_path: Path, suffix: str, status: Status
) -> None:
    halved = ("    return a, b, torch", "    a = a if mask else a.abs() + 1\n    return a, b, torch")
    folder = write_folder(tmp_path, MASKED["reference"], halved, task=MASKED["task"])
    # Right wherever the mask is true, which it always is unless strict.
    source = GOOD.replace("return out", "return out * (a.min() <= 0)")
    given = judged(device, f"{folder}{suffix}", source)
    assert given.status is status
    assert given.problem.partition("@")[2].startswith("strict-") == bool(suffix)


def test_a_folder_that_needs_what_is_not_here_is_void_by_the_device(
    device: CpuDevice, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path, ("import torch\n", "import torch\nimport cutlass_is_not_here\n"))
    given = judged(device, folder, GOOD)
    assert (given.status, given.fault) == (Status.void, Fault.device)
    assert "unsupported here: needs the Python module cutlass_is_not_here" in (given.reason or "")


def test_a_reference_that_raises_is_void_by_the_problem(device: CpuDevice, tmp_path: Path) -> None:
    given = judged(device, write_folder(tmp_path, ("    out[...]", "    1 / 0\n    out[...]")), GOOD)
    assert (given.status, given.fault) == (Status.void, Fault.problem)
    assert "reference.py:8: ref_kernel: raised ZeroDivisionError" in (given.reason or "")


@pytest.mark.parametrize("suffix", ["", "@strict"])
def test_a_failing_call_can_be_made_again(device: CpuDevice, tmp_path: Path, suffix: str) -> None:
    folder = write_folder(tmp_path)
    given = judged(device, f"{folder}{suffix}", GOOD.replace("SCALE, out", "1.0, out"))
    again = replay(given.run, None, device, tmp_path / "out")
    assert again.wrong == "differs from the reference"
    a, b, out = (np.load(tmp_path / "out" / f"{name}.npy") for name in ("input0", "input1", "output"))
    assert np.allclose(out, a + b)


def test_an_answer_that_the_checker_cannot_take_is_wrong_and_no_fault_of_the_problem(
    device: CpuDevice, tmp_path: Path
) -> None:
    picky = "int((output - ref_kernel(data)).abs().max() * 1000) == 0, 'off'"
    given = judged(
        device,
        write_folder(tmp_path, ("compare(output, ref_kernel(data))", picky)),
        GOOD.replace(BODY, "    return a * float('nan')\n"),
    )
    assert (given.status, given.fault) == (Status.wrong, Fault.submission)
    assert "check_implementation cannot take it" in (given.reason or "")


def test_a_folder_whose_calls_all_get_the_same_judges_nobody(device: CpuDevice, tmp_path: Path) -> None:
    given = judged(device, write_folder(tmp_path, ("gen.manual_seed(seed)", "gen.manual_seed(7)")), GOOD)
    assert (given.status, given.fault) == (Status.void, Fault.problem)
    assert "its inputs are the same in every call" in (given.reason or "")
