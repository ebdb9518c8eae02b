"""Control groups: a frozen tree stands still, a killed one is gone, and no folder stays behind."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hotlap.referee import sandbox
from hotlap.referee.cgroup import PREFIX, Cgroup, _delegating, hierarchies, sweep

BUSY = ["sh", "-c", "while :; do :; done"]
STUBBORN = ["sh", "-c", "trap '' TERM INT HUP; setsid sh -c \"trap '' TERM; sleep 600\" & wait; sleep 600"]
FREEZERS = ("cgroup2", "cgroup1")
Started = subprocess.Popen[bytes]


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup]:
    """A group frozen in the way that the test names, or the best there is."""
    freezer = getattr(request, "param", "best")
    made = Cgroup(1 << 30, 64, None, freezer)
    if made.freezer is None:
        made.close()
        pytest.skip(f"no freezer here: {freezer}")
    yield made
    made.close()


@pytest.fixture
def start() -> Iterator[Callable[[Cgroup, list[str]], Started]]:
    """Starts a program in a group; kills it at the end."""
    started: list[Started] = []

    def in_group(group: Cgroup, program: list[str]) -> Started:
        process = subprocess.Popen(sandbox.join(group.joins, program))
        started.append(process)
        return process

    yield in_group
    for process in started:
        process.kill()
        process.wait()


def cpu_ns(pid: int) -> int:
    """Nanoseconds that a process has run."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def wait_until(reached: Callable[[], object], what: str) -> None:
    for _ in range(2000):
        if reached():
            return
        time.sleep(0.005)
    pytest.fail(f"never happened: {what}")


def runs(pid: int) -> bool:
    """Whether a process gets CPU time, within a patient while."""
    before = cpu_ns(pid)
    for _ in range(400):
        if cpu_ns(pid) > before:
            return True
        time.sleep(0.005)
    return False


def stands_still(pid: int) -> bool:
    time.sleep(0.005)  # the kernel calls a task frozen a few microseconds before it leaves its core
    before = cpu_ns(pid)
    time.sleep(0.05)
    return cpu_ns(pid) == before


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def members(group: Cgroup) -> set[int]:
    return {int(p) for folder in group.folders for p in (folder / "cgroup.procs").read_text().split()}


@pytest.mark.parametrize("group", FREEZERS, indirect=True)
def test_a_frozen_process_does_not_run_and_a_thawed_one_does(
    group: Cgroup, start: Callable[[Cgroup, list[str]], Started]
) -> None:
    process = start(group, BUSY)
    wait_until(lambda: process.pid in members(group), "it joins its group")
    assert runs(process.pid)
    for _ in range(3):
        group.freeze()
        assert stands_still(process.pid)
        group.thaw()
        assert runs(process.pid)


@pytest.mark.parametrize("group", FREEZERS, indirect=True)
def test_children_that_left_the_session_are_frozen_too(
    group: Cgroup, start: Callable[[Cgroup, list[str]], Started]
) -> None:
    start(group, ["setsid", "--fork", *BUSY])
    wait_until(lambda: len(members(group)) == 1, "the parent ends, the child stays")
    (child,) = members(group)
    assert runs(child)
    group.freeze()
    assert stands_still(child)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("group", FREEZERS, indirect=True)
def test_kill_ends_a_process_that_ignores_signals_and_its_children(
    group: Cgroup, start: Callable[[Cgroup, list[str]], Started], frozen: bool
) -> None:
    process = start(group, STUBBORN)
    wait_until(lambda: len(members(group)) >= 3, "the children start")
    if frozen:
        group.freeze()
    process.terminate()
    group.kill()
    assert members(group) == set()
    assert process.wait(5) == -9


def test_close_removes_the_folders_and_may_be_called_again(
    group: Cgroup, start: Callable[[Cgroup, list[str]], Started]
) -> None:
    process = start(group, BUSY)
    wait_until(lambda: process.pid in members(group), "it joins its group")
    folders = list(group.folders)
    assert all(folder.is_dir() for folder in folders)
    group.close()
    assert not any(folder.exists() for folder in folders)
    group.close()


def test_every_group_has_folders_of_its_own() -> None:
    first, second = Cgroup(1 << 30, 64, None), Cgroup(1 << 30, 64, None)
    assert not set(first.folders) & set(second.folders)
    first.close()
    second.close()


def test_closing_many_groups_leaves_no_descriptor_and_no_folder() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        Cgroup(1 << 30, 64, (0,)).close()
    assert len(os.listdir("/proc/self/fd")) == before
    mine = f"{PREFIX}{os.getpid()}-*"
    assert [folder for parent in hierarchies().values() for folder in parent.glob(mine)] == []


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_sweep_ends_and_removes_what_a_dead_owner_left() -> None:
    parents = list(hierarchies().values())
    if not parents:
        pytest.skip("no control group can be written")
    folders = [parent / f"{PREFIX}{dead_pid()}-0" for parent in parents]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    joined = [f for f in folders if not (f / "cpuset.cpus").exists()]  # a cpuset needs cores first
    entering = sandbox.join([str(f / "cgroup.procs") for f in joined], ["setsid", "--fork", "sleep", "600"])
    subprocess.run(entering, check=True)
    (left,) = {int(pid) for f in joined for pid in (f / "cgroup.procs").read_text().split()}
    for state in (f / "freezer.state" for f in joined):
        if state.exists():
            state.write_text("FROZEN")
    sweep()
    wait_until(lambda: state_of(left) in ("Z", "gone"), "the process ends")
    assert not any(folder.exists() for folder in folders)


def test_sweep_leaves_the_groups_of_the_living_alone(group: Cgroup) -> None:
    sweep()
    assert all(folder.is_dir() for folder in group.folders)


def test_a_process_beyond_the_memory_limit_is_killed_and_counted(
    start: Callable[[Cgroup, list[str]], Started],
) -> None:
    group = Cgroup(64 << 20, 64, None)
    try:
        if "no memory cgroup" in group.gaps:
            pytest.skip("no memory cgroup")
        assert group.oom_kills() == 0
        process = start(group, ["/usr/bin/tail", "/dev/zero"])
        assert process.wait(60) == -9
        assert group.oom_kills() == 1
    finally:
        group.close()


def test_no_more_processes_start_than_are_allowed(start: Callable[[Cgroup, list[str]], Started]) -> None:
    group = Cgroup(1 << 30, 4, None)
    try:
        if "no pids cgroup" in group.gaps:
            pytest.skip("no pids cgroup")
        process = start(group, ["sh", "-c", "for i in 1 2 3 4 5 6; do sleep 600 & done 2>/dev/null; wait"])
        process.wait(30)
        assert len(members(group)) <= 4
        assert process.returncode != 0
    finally:
        group.close()


def test_a_group_can_be_kept_to_its_cores(start: Callable[[Cgroup, list[str]], Started]) -> None:
    cores = sorted(os.sched_getaffinity(0))
    group = Cgroup(1 << 30, 64, tuple(cores))
    try:
        if "no cpuset cgroup" in group.gaps:
            pytest.skip("no cpuset cgroup")
        process = start(group, BUSY)
        wait_until(lambda: process.pid in members(group), "it joins its group")
        group.confine((cores[-1],))
        wait_until(lambda: os.sched_getaffinity(process.pid) == {cores[-1]}, "it moves")
    finally:
        group.close()


# --- version 2: where groups with controllers can be made -------------------------------------------

BOTH = "cpuset memory pids"


def tree(root: Path, handed: dict[str, str]) -> Path:
    """Folders root/a/b/c as version 2 shows them, with what each hands on; returns the lowest, our own.

    A level that is not named cannot be written to: it has no list of processes.
    """
    folder = root
    for name in ("", "a", "b", "c"):
        folder = folder / name
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.subtree_control").write_text(handed.get(name, BOTH))
        if name in handed:
            (folder / "cgroup.procs").touch()
    return folder


@pytest.mark.parametrize(
    ("handed", "expected"),
    [
        ({"": BOTH, "a": BOTH, "b": BOTH, "c": BOTH}, "a/b/c"),
        ({"": BOTH, "a": BOTH, "b": BOTH, "c": ""}, "a/b"),
        ({"": BOTH, "a": "pids memory", "b": "", "c": ""}, "a"),
        ({"": BOTH, "a": "", "b": "", "c": ""}, "."),
        ({"": "", "a": "", "b": "", "c": ""}, "a/b/c"),
        ({"": "", "a": "memory", "b": "pids", "c": ""}, "a/b/c"),
        ({"": BOTH, "c": ""}, "."),
        ({"c": ""}, "a/b/c"),
    ],
)
def test_the_nearest_group_that_hands_controllers_on_and_can_be_written_is_used(
    tmp_path: Path, handed: dict[str, str], expected: str
) -> None:
    own = tree(tmp_path, handed)
    assert _delegating(own, tmp_path) == tmp_path / expected


def test_no_group_above_the_root_is_used(tmp_path: Path) -> None:
    own = tree(tmp_path, {"": BOTH, "a": "", "b": "", "c": ""})
    assert _delegating(own, tmp_path / "a") == own


def test_a_group_whose_folder_is_not_there_is_its_own(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert _delegating(gone, tmp_path) == gone
