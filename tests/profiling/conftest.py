"""One CPU device and one small problem for all tests that run a kernel under a profiler."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hotlap.model import Problem
from hotlap.problems.native import load
from hotlap.profiling.workbench import Workbench
from hotlap.referee import build
from hotlap.referee.device import CpuDevice, open_device
from hotlap.verdict import read_submission
from tests.referee.scaled import write_scaled


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device("cpu") as opened:
        assert isinstance(opened, CpuDevice)
        yield opened


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    """y = alpha * x."""
    return load(write_scaled(tmp_path_factory.mktemp("problems")))


BenchOf = Callable[..., Workbench]


@pytest.fixture
def bench_of(device: CpuDevice, scaled: Problem, tmp_path: Path) -> Iterator[BenchOf]:
    """A function that puts a kernel's source on the bench."""
    opened: list[Workbench] = []

    def put(source: str, name: str = "kernel.py", problem: Problem = scaled) -> Workbench:
        path = tmp_path / name
        path.write_text(source)
        submission = read_submission(path)
        built = build.build(problem, submission, device.limits) if submission.lang == "cpp" else None
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        axes = {"n": 100, "width": 2}
        library = (built.library or b"") if built else b""
        opened.append(Workbench(problem, submission, device, axes, out, library))
        return opened[-1]

    yield put
    for bench in opened:
        with closing(bench):
            pass
