"""Run one program in a sandbox, alone or with a tool that looks on, and take the plain files that it leaves.

Defends against what a seat's sandbox does, and against outputs that are links, pipes or endless: files are
taken by name, links and all else are left behind, and what writes too much is ended.
"""

import contextlib
import fnmatch
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.profiling import privilege
from hotlap.referee import sandbox
from hotlap.referee.cgroup import Cgroup
from hotlap.referee.limits import Limits
from hotlap.referee.seat import OUTPUT_KEPT, printable

INSIDE_OUT, INSIDE_GIVEN = "/out", "/given"
DEEPEST = 8
MOST_OUT_BYTES, MOST_RESULT_BYTES = 8 << 30, 4 << 20
LOOK_S = 0.5
TO_FILE = 'exec "$@" >"$0"'  # $0: the file

Bind = tuple[str, str, str]


@dataclass(frozen=True)
class Under:
    """A tool between us and a program. `outer` stands in front of the sandbox, `inner` inside of it;
    {out} in either is the folder that the program may write to, as it is called there."""

    outer: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()  # folders that the tool needs
    talks: bool = False  # with the program, over the loopback
    counters: bool = False  # reads the GPU's


ALONE = Under()


@dataclass(frozen=True)
class Ended:
    """How a program ended. `code` is None when it took too long or wrote too much."""

    code: int | None
    printed: str  # the last 16 KB
    ran_out_of_memory: bool

    def said(self, limits: Limits, timeout_s: float) -> str:
        """How it ended, in words."""
        if self.ran_out_of_memory:
            return f"ran out of memory: at most {limits.memory_bytes / 1e9:.1f} GB"
        if self.code is None:
            return f"did not finish within {timeout_s:g} s, or wrote more than {MOST_OUT_BYTES >> 30} GB"
        if self.code > 128 or self.code < 0:
            return f"was killed by {_signal_name(-self.code if self.code < 0 else self.code - 128)}"
        return f"exited with code {self.code}"


def run(
    program: Sequence[str],
    binds: Sequence[Bind],
    variables: Mapping[str, str],
    limits: Limits,
    timeout_s: float,
    written: Path,
    under: Under = ALONE,
) -> Ended:
    """Run a program that may write to one folder alone, `written`, which it sees as /out."""
    inside = sandbox.kind() == "bwrap"
    out = INSIDE_OUT if inside else str(written)
    program = [*(word.replace("{out}", out) for word in under.inner), *program]
    outer = [word.replace("{out}", str(written)) for word in under.outer]
    binds = [
        *binds,
        ("--bind", str(written), INSIDE_OUT),
        *sandbox.package_binds(),
        *(("--ro-bind", folder, folder) for folder in under.shown),
    ]
    group = Cgroup(limits.memory_bytes, limits.processes, None, freezer="none")
    filter_fd = privilege.filter_file() if under.talks else sandbox.seccomp_file()
    try:
        limited = sandbox.limited({"RLIMIT_CORE": 0}, program)
        command = sandbox.wrap(limited, binds, variables, seccomp_fd=filter_fd)
        if under.counters and privilege.counters_need_administrator() and privilege.can_grant():
            command = privilege.with_counters(command)
        command = sandbox.join(group.joins, [*outer, *command])
        process = sandbox.spawn(command, [] if filter_fd is None else [filter_fd], subprocess.PIPE)
        printed, by_itself = _watch(process, timeout_s, written)
        return Ended(process.returncode if by_itself else None, printed, bool(group.oom_kills()))
    finally:
        group.close()
        if filter_fd is not None:
            os.close(filter_fd)


def to_file(
    program: Sequence[str], shown: Sequence[str], given: Path, name: str, out: Path, timeout_s: float = 120.0
) -> Path | str:
    """What a tool prints of a file that untrusted code may have made, kept as `out`/NAME; else why not.

    A {given} in the program is that file. The tool runs in a sandbox: it may be led astray by what it reads.
    """
    inside = sandbox.kind() == "bwrap"
    place = f"{INSIDE_GIVEN}/{given.name}" if inside else str(given)
    written = out / ".reading"
    written.mkdir(mode=0o700, exist_ok=True)
    try:
        target = f"{INSIDE_OUT if inside else written}/{name}"
        words = [word.replace("{given}", place) for word in program]
        binds = [
            ("--ro-bind", str(given.parent), INSIDE_GIVEN),
            *(("--ro-bind", folder, folder) for folder in shown),
        ]
        limits = Limits()
        ended = run(
            ["/bin/sh", "-c", TO_FILE, target, *words],
            binds,
            sandbox.environment(1),
            limits,
            timeout_s,
            written,
        )
        found = keep(written, out, [name])
        if ended.code != 0 or not found:
            last = (ended.printed.strip().splitlines() or ["it printed nothing"])[-1]
            return f"{Path(program[0]).name} {ended.said(limits, timeout_s)}: {last[:200]}"
        return found[0]
    finally:
        remove(written)


def keep(written: Path, out: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """Move plain files of these names (patterns) from where a sandbox wrote them to `out`."""
    moved = []
    for where, files in _files(written):
        for file in sorted(files):
            source = Path(where) / file
            name = str(source.relative_to(written))
            if not any(fnmatch.fnmatchcase(name, wanted) for wanted in names) or printable(name) != name:
                continue
            if source.is_symlink() or not source.is_file():
                continue
            target = out / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)
            target.chmod(0o644)
            moved.append(target)
    return tuple(moved)


def _files(top: Path) -> Iterator[tuple[str, list[str]]]:
    """Folders and the names in them, DEEPEST levels down: a kernel may have nested thousands."""
    for where, folders, files in os.walk(top):
        if where.count("/") - str(top).count("/") >= DEEPEST:
            folders.clear()
        yield where, files


def remove(folder: Path) -> None:
    """Remove a folder that a kernel wrote to, however deep it nested others: Python's own way gives up."""
    subprocess.run(["/bin/rm", "-rf", "--", str(folder)], check=False)


def results(path: Path) -> dict[str, dict[str, Any]]:
    """A result.json, of which nothing is believed: a JSON object of objects; empty where it is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            found = json.loads(file.read(MOST_RESULT_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, dict) for value in found.values()):
        return {}
    return found


def _watch(process: "subprocess.Popen[bytes]", timeout_s: float, written: Path) -> tuple[str, bool]:
    """What a process printed (the last 16 KB) and whether it ended by itself; ends it if not."""
    deadline, kept, by_itself = time.monotonic() + timeout_s, bytearray(), True
    looked = time.monotonic()
    with process:
        pipe = process.stdout
        while pipe is not None:
            now = time.monotonic()
            is_full = now > looked + LOOK_S and _size(written) > MOST_OUT_BYTES
            looked = now if now > looked + LOOK_S else looked
            if now > deadline or is_full:
                process.kill()
                by_itself = False
                break
            if not select.select([pipe], [], [], LOOK_S)[0]:
                continue
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                break
            kept += chunk
            del kept[:-OUTPUT_KEPT]
    return printable(bytes(kept).decode(errors="replace")), by_itself


def _size(folder: Path) -> int:
    total = 0
    for where, files in _files(folder):
        for file in files:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{where}/{file}").st_blocks * 512
    return total


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
