"""Every bundled solution and starter gets the verdict that its first lines state, for the stated reason.

A line `# device: cpu` or `# device: gpu` says where a file is meant to run; without one it runs on both. Here
all that runs on a CPU is judged, Triton kernels in the interpreter. Kernels in CUDA C++ are only compiled.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap.errors import DeviceError
from hotlap.model import Kind, Problem, Status
from hotlap.problems.find import bundled, find
from hotlap.referee import build
from hotlap.referee.device import CpuDevice, open_device
from hotlap.referee.limits import Limits
from hotlap.verdict import LANGUAGES, read_submission, verdict

FILES = [
    (problem.id.partition("@")[0], file)
    for problem in bundled()
    for folder in ("starter", "solutions/correct", "solutions/wrong")
    for file in sorted((problem.folder / folder).iterdir())
    if file.suffix in LANGUAGES
]


def tag(file: Path, name: str) -> str | None:
    """The value of a `# name: value` line at the top of a solution."""
    found = re.search(rf"^(?:#|//) *{name}: *(.+)$", file.read_text(), re.MULTILINE)
    return found.group(1).strip() if found else None


def is_for(device: str, file: Path) -> bool:
    """Whether a file can be judged on a device, "cpu" or "gpu"."""
    languages = {"cpu": (".py", ".cpp"), "gpu": (".py", ".cu")}[device]
    return file.suffix in languages and tag(file, "device") in (None, device)


def small(problem: Problem) -> Problem:
    """A problem whose bench workload is its largest test on a CPU: an interpreter takes seconds for more."""
    tests = [w for w in problem.workloads if w.profile == "cpu" and w.kind is Kind.test]
    largest = max(tests, key=lambda workload: math.prod(workload.axes.values()))
    return replace(problem, workloads=(*tests, replace(largest, kind=Kind.bench)))


def cases(files: list[tuple[str, Path]]) -> pytest.MarkDecorator:
    """Parametrizes a test by problem and file."""
    names = [f"{problem}/{file.parent.name}/{file.name}" for problem, file in files]
    return pytest.mark.parametrize(("problem", "file"), files, ids=names)


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device() as opened:
        yield opened


@cases([(problem, file) for problem, file in FILES if is_for("cpu", file)])
def test_solution_gets_the_verdict_that_it_states(problem: str, file: Path, device: CpuDevice) -> None:
    submission = read_submission(file)
    if submission.lang == "triton":
        pytest.importorskip("triton")
    interpret = submission.lang == "triton"
    judged = small(find(problem)) if interpret else find(problem)
    given = verdict(judged, submission, device, timed=False, interpret=interpret)
    assert given.status == (tag(file, "expect") or Status.accepted), given.reason
    reason = tag(file, "reason")
    if reason is not None:
        assert given.reason is not None
        assert reason in given.reason


@cases([(problem, file) for problem, file in FILES if file.suffix == ".cu"])
def test_cuda_solution_compiles(problem: str, file: Path) -> None:
    try:
        build.cuda_compiler()
    except DeviceError as error:
        pytest.skip(str(error))
    built = build.build(find(problem), read_submission(file), Limits(), arch="sm_90")
    assert built.failure is None, built.failure
    assert built.library


def test_device_lines_name_a_device() -> None:
    assert {tag(file, "device") for _, file in FILES} == {None, "cpu", "gpu"}


@pytest.mark.parametrize("problem", bundled(), ids=lambda problem: problem.name)
def test_bundled_problem_has_what_a_bundled_problem_needs(problem: Problem) -> None:
    folder = problem.folder
    assert (folder / "statement.md").stat().st_size > 500
    for starter in ("kernel.py", "kernel.cpp", "kernel.cu", "kernel_triton.py"):
        assert (folder / "starter" / starter).is_file()
    for kind in ("correct", "wrong"):
        files = [file for file in (folder / "solutions" / kind).iterdir() if file.suffix in LANGUAGES]
        assert {"python", "triton", "cpp", "cu"} <= {read_submission(file).lang for file in files}
