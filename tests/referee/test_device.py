"""The CPU as a device: one process at a time, seats that are kept and closed, every way to freeze."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hotlap.errors import UsageError
from hotlap.model import Fault, Status
from hotlap.problems.native import load
from hotlap.referee import cgroup, sandbox
from hotlap.referee.device import CpuDevice, open_device
from hotlap.referee.seat import runtime_folder
from hotlap.verdict import read_submission, verdict
from tests.referee.scaled import cpp, write_scaled


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of our own: whoever else judges on this machine is not waited for."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def files_of(tmp_path: Path) -> tuple[Path, Path]:
    kernel = tmp_path / "kernel.cpp"
    kernel.write_text(cpp())
    return write_scaled(tmp_path), kernel


CHECK = """
import sys
from pathlib import Path
from hotlap.problems.native import load
from hotlap.referee.device import open_device
from hotlap.verdict import read_submission, verdict
with open_device(on_wait=lambda text: print(text, flush=True)) as device:
    given = verdict(load(Path(sys.argv[1])), read_submission(Path(sys.argv[2])), device, timed=False)
    print(given.status, given.timing.queued_s > 0, flush=True)
"""


def test_a_second_process_waits_for_the_device_and_both_are_accepted(tmp_path: Path) -> None:
    folder, kernel = files_of(tmp_path)
    command = [sys.executable, "-c", CHECK, str(folder), str(kernel)]
    with open_device() as device:
        second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert second.stdout is not None
        assert second.stdout.readline() == f"waiting for the CPU: held by process {os.getpid()}\n"
        first = verdict(load(folder), read_submission(kernel), device, timed=False)
        assert second.poll() is None
    said, _ = second.communicate(timeout=60)
    assert first.status == Status.accepted
    assert said.splitlines()[-1] == "accepted True"


@pytest.mark.parametrize("freezer", ["cgroup1", "init"])
def test_a_verdict_is_reached_under_every_freezer(tmp_path: Path, freezer: str) -> None:
    if freezer == "cgroup1" and "freezer" not in cgroup.hierarchies():
        pytest.skip("no version 1 freezer")
    if freezer == "init" and sandbox.kind() == "none":
        pytest.skip("no sandbox")
    folder, kernel = files_of(tmp_path)
    with open_device(freezer=freezer, warm=1) as device:
        given = verdict(load(folder), read_submission(kernel), device)
    assert (given.status, given.reason) == (Status.accepted, None)
    assert given.device.freezer == freezer
    assert [w.time_ns is not None for w in given.workloads if w.kind == "bench"] == [True]


def test_a_closed_device_leaves_no_process_no_folder_and_no_group() -> None:
    with open_device(warm=2) as device:
        seats = [device.take_seat(), device.null_seat(), device.baseline_seat("key")[0]]
        seats[0].close()
        device.warm_up(1)
    assert not list(runtime_folder().glob("seat-*"))
    assert all(seat.process.returncode is not None for seat in seats)
    mine = f"{cgroup.PREFIX}{os.getpid()}-*"
    assert [f for parent in cgroup.hierarchies().values() for f in parent.glob(mine)] == []


def test_a_null_seat_that_died_is_replaced_and_is_ours() -> None:
    with open_device() as device:
        first = device.null_seat()
        assert device.null_seat() is first
        first.process.kill()
        first.process.wait()
        second = device.null_seat()
        assert second is not first
        assert not first.folder.exists()
        assert second.fault == Fault.harness


def test_a_baseline_s_seat_is_kept_for_the_same_problem_only() -> None:
    with open_device(warm=2) as device:
        first, style = device.baseline_seat("a")
        assert style is None
        assert first.fault == Fault.problem
        device.keep_baseline("a", first, "returns")
        assert device.baseline_seat("a") == (first, "returns")
        other, style = device.baseline_seat("b")
        assert other is not first
        assert style is None
        assert first.process.returncode is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda:99", "NVIDIA|cuda-bindings|does not exist"),
        ("tpu", "does not exist; allowed: cpu, cuda"),
        ("", "does not exist"),
    ],
)
def test_another_device_is_a_usage_error(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message), open_device(name):
        pass


def test_the_fingerprint_is_the_same_each_time_and_names_the_contestant_s_cores() -> None:
    def opened() -> CpuDevice:
        with open_device() as device:
            return device

    first, second = opened(), opened()
    assert first.info == second.info
    assert first.info.uuid.startswith("CPU-")
    assert set(first.info.contestant_cpus) == os.sched_getaffinity(0) - {first.referee_cpu}
