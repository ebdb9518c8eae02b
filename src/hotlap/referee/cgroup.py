"""Control groups for one seat: freeze the tree, bound its memory and processes, keep it on its cores.

Works with version 2, version 1 and the two mixed; uses of each what this user may write. What cannot
be had is a gap, named in every verdict.
"""

import contextlib
import itertools
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from hotlap.errors import HarnessError

ROOT = Path("/sys/fs/cgroup")
PREFIX = "hotlap-"
_numbers = itertools.count()


def hierarchies() -> dict[str, Path]:
    """Our own group's folder for each controller: keys freezer, memory, pids, cpuset and v2."""
    found: dict[str, Path] = {}
    v2_root = ROOT if (ROOT / "cgroup.controllers").exists() else ROOT / "unified"
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if not names:
                found["v2"] = _delegating(v2_root / path.lstrip("/"), v2_root)
            for name in names.split(","):
                if name in ("freezer", "memory", "pids", "cpuset"):
                    found[name] = ROOT / name / path.lstrip("/")
    return {name: path for name, path in found.items() if path.is_dir() and os.access(path, os.W_OK)}


def _delegating(own: Path, root: Path) -> Path:
    """Where groups with controllers can be made in version 2: the nearest group, from ours up, that hands
    them on and that we may write to; else our own. One that holds processes, as ours does, hands none on."""
    for folder in (own, *own.parents):
        if folder != root and root not in folder.parents:
            break
        handed = _read(folder / "cgroup.subtree_control").split()
        if {"memory", "pids"} <= set(handed) and os.access(folder / "cgroup.procs", os.W_OK):
            return folder
    return own


class Cgroup:
    """The groups of one seat. `gaps` says what could not be set; `freezer` how the tree is frozen."""

    def __init__(
        self, memory_bytes: int, processes: int, cpus: tuple[int, ...] | None, freezer: str = "best"
    ):
        self.folders: list[Path] = []
        self.gaps: list[str] = []
        self.freezer: str | None = None
        self._memory: Path | None = None
        self._cpuset: Path | None = None
        parents, name = hierarchies(), f"{PREFIX}{os.getpid()}-{next(_numbers)}"
        v2 = self._make(parents.get("v2"), name)
        controllers = _read(v2 / "cgroup.controllers").split() if v2 else []
        for controller, v2_settings, v1_settings in (
            (
                "memory",
                {"memory.max": memory_bytes, "memory.swap.max": 0},
                {"memory.limit_in_bytes": memory_bytes},
            ),
            ("pids", {"pids.max": processes}, {"pids.max": processes}),
            ("cpuset", {"cpuset.cpus": _list(cpus)}, {"cpuset.cpus": _list(cpus), "cpuset.mems": "0"}),
        ):
            if controller == "cpuset" and cpus is None:
                continue
            in_v2 = v2 is not None and controller in controllers
            folder = v2 if in_v2 else self._make(parents.get(controller), name)
            settings = v2_settings if in_v2 else v1_settings
            required = next(iter(settings))
            if folder is None or not all(_write(folder / k, v) or k != required for k, v in settings.items()):
                self.gaps.append(f"no {controller} cgroup")
            elif controller == "memory":
                self._memory = folder
            elif controller == "cpuset":
                self._cpuset = folder
        self._choose_freezer(v2, parents, name, freezer)

    def _choose_freezer(self, v2: Path | None, parents: dict[str, Path], name: str, wanted: str) -> None:
        self._freeze_fd = self._state_fd = -1
        if v2 is not None and (v2 / "cgroup.freeze").exists() and wanted in ("best", "cgroup2"):
            self.freezer = "cgroup2"
            self._freeze_fd = os.open(v2 / "cgroup.freeze", os.O_WRONLY | os.O_CLOEXEC)
            self._state_fd = os.open(v2 / "cgroup.events", os.O_RDONLY | os.O_CLOEXEC)
        elif wanted in ("best", "cgroup1") and (v1 := self._make(parents.get("freezer"), name)) is not None:
            self.freezer = "cgroup1"
            self._freeze_fd = os.open(v1 / "freezer.state", os.O_RDWR | os.O_CLOEXEC)

    def _make(self, parent: Path | None, name: str) -> Path | None:
        if parent is None:
            return None
        folder = parent / name
        try:
            folder.mkdir(exist_ok=True)
        except OSError:
            return None
        if folder not in self.folders:
            self.folders.append(folder)
        return folder

    def confine(self, cpus: tuple[int, ...]) -> None:
        """Narrow the group to these cores; whatever runs in it moves there."""
        if self._cpuset is not None and not _write(self._cpuset / "cpuset.cpus", _list(cpus)):
            self.gaps.append("no cpuset cgroup")

    @property
    def joins(self) -> list[str]:
        """Files into which a process writes its pid to enter."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def freeze(self, timeout_s: float = 5.0) -> None:
        """Stop every process; returns when all have stopped."""
        if self.freezer == "cgroup2":
            os.pwrite(self._freeze_fd, b"1", 0)
            self._await(lambda: b"frozen 1" in os.pread(self._state_fd, 256, 0), timeout_s)
        elif self.freezer == "cgroup1":
            os.pwrite(self._freeze_fd, b"FROZEN", 0)
            self._await(lambda: os.pread(self._freeze_fd, 16, 0).startswith(b"FROZEN"), timeout_s)

    def thaw(self) -> None:
        if self.freezer == "cgroup2":
            os.pwrite(self._freeze_fd, b"0", 0)
        elif self.freezer == "cgroup1":
            os.pwrite(self._freeze_fd, b"THAWED", 0)

    def _await(self, reached: Callable[[], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not reached():
            if time.monotonic() > deadline:
                raise HarnessError(f"the contestant did not freeze within {timeout_s:g} s")

    def oom_kills(self) -> int:
        """How often the kernel killed a process of this group for want of memory."""
        if self._memory is None:
            return 0
        text = _read(self._memory / "memory.events") or _read(self._memory / "memory.oom_control")
        found = re.search(r"^oom_kill (\d+)", text, re.MULTILINE)
        return int(found.group(1)) if found else 0

    def kill(self) -> None:
        """Kill whatever is left in the group, frozen or not."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            pids = {int(p) for folder in self.folders for p in _read(folder / "cgroup.procs").split()}
            if not pids:
                return
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            with contextlib.suppress(OSError):
                self.thaw()  # version 1 delivers no signal to a frozen process
            time.sleep(0.002)

    def close(self) -> None:
        self.kill()
        for fd in (self._freeze_fd, self._state_fd):
            if fd >= 0:
                os.close(fd)
        self._freeze_fd = self._state_fd = -1
        for folder in self.folders:
            _remove(folder)


def sweep() -> None:
    """Remove the groups of hotlap processes that died without cleaning up."""
    left = [f for parent in hierarchies().values() for f in parent.glob(f"{PREFIX}*") if _is_orphan(f)]
    for folder in left:
        for pid in _read(folder / "cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        _write(folder / "freezer.state", "THAWED")
    for folder in left:  # only now: a process that version 1 had frozen is in the others' groups too
        _remove(folder)


def _is_orphan(folder: Path) -> bool:
    owner = folder.name.removeprefix(PREFIX).partition("-")[0]
    return owner.isdigit() and not Path(f"/proc/{owner}").exists()


def _remove(folder: Path) -> None:
    for _ in range(200):  # a dying process holds its group for a moment
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.005)


def _list(cpus: tuple[int, ...] | None) -> str:
    return ",".join(map(str, cpus or ()))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _write(path: Path, value: object) -> bool:
    try:
        path.write_text(str(value))
    except OSError:
        return False
    return True
