"""What the GPU tests share: one device for all of them, a judge that keeps rows, and the table at the end.

Without a GPU the whole folder is skipped, with the reason. Nothing here imports torch before it is known that
there is one.
"""

import ctypes
import importlib.util
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hotlap.model import Kind, Problem, Verdict
from hotlap.problems.find import find
from hotlap.referee.device import open_device
from hotlap.verdict import read_submission, verdict
from tests.gpu.cases import RIGHT, WARM, Case, Judge, dismiss
from tests.gpu.table import Row, row, table

HERE = Path(__file__).parent
FIRST = [HERE / name for name in ("test_command_line.py", "test_self_reported.py")]

# As in ../conftest.py, which `pytest tests/gpu` does not read: the caller's own runs are not touched.
_home = tempfile.TemporaryDirectory(prefix="hotlap-gpu-tests-")
os.environ["HOTLAP_HOME"] = _home.name

ROWS = pytest.StashKey[list[Row]]()


def missing() -> str | None:
    """Why GPU tests cannot run here, or None."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "GPU tests: no CUDA device on this machine (its driver's libcuda.so.1 is not there)"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "GPU tests: no CUDA device on this machine"
    for package, name in (("torch", "torch"), ("cuda.bindings.driver", "cuda-bindings")):
        if not is_installed(package):
            return f"GPU tests: {name} is not installed: pip install {name}"
    return None


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of a package around it
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    reason = missing() if ours else None
    if reason is not None:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=reason))
    # These take the device for a process of their own, so they go before the tests that hold it to the end.
    items.sort(key=lambda item: item.path not in FIRST)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    rows = config.stash.get(ROWS, [])
    reason = missing()
    if reason is not None:
        terminalreporter.write_line(f"{reason}; none of them ran, docs/testing.md says what they need")
    if rows:
        terminalreporter.section(f"{len(rows)} verdicts on the GPU")
        for line in table(rows):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """The rows of the table so far."""
    return request.config.stash.setdefault(ROWS, [])


@pytest.fixture(scope="session")
def device() -> Iterator[Any]:
    """The GPU, for all tests of a session: opening it takes seconds."""
    with open_device("cuda:0", warm=WARM) as opened:
        yield opened


@pytest.fixture
def judged(device: Any, rows: list[Row]) -> Judge:
    """Takes a verdict and keeps its row; contestants for the next ones start afterwards."""

    def judge(case: str, problem: Problem, file: Path, expected: str, *, timed: bool) -> Verdict:
        start = time.monotonic()
        given = verdict(problem, read_submission(file), device, timed=timed)
        rows.append(row(case, expected, given, time.monotonic() - start))
        device.warm_up(WARM)
        return given

    return judge


@pytest.fixture
def hold_to(device: Any, judged: Judge) -> Iterator[Callable[[Case], Verdict]]:
    """A function that judges a case and asserts what its file states; limits are restored afterwards."""
    limits = device.limits

    def hold(case: Case) -> Verdict:
        if reason := case.missing():
            pytest.skip(reason)
        if case.call_s is not None:
            device.limits = replace(limits, call_s=case.call_s, prepare_s=case.call_s)
            dismiss(device)
        given = judged(case.name, find(case.problem), case.file, case.expect, timed=case.timed)
        if case.call_s is not None:
            device.limits = limits
            dismiss(device)
        assert given.status in case.expect.split("|"), given.reason
        if case.fault is not None:
            assert given.fault == case.fault, given.reason
        if case.reason is not None:
            assert given.reason is not None
            assert re.search(case.reason, given.reason, re.IGNORECASE), given.reason
        if case.mode is not None:
            assert {w.mode for w in given.workloads if w.kind is Kind.bench} == {case.mode}
        return given

    yield hold
    device.limits = limits


@pytest.fixture
def unharmed(judged: Judge) -> Callable[[str], None]:
    """A function that asserts that the next verdict on the device is as if nothing had happened before it."""

    def check(after: str) -> None:
        given = judged(f"  next after {after}", find("basics/vectoradd"), RIGHT, "accepted", timed=False)
        assert given.status == "accepted", given.reason

    return check
