"""One process of an eval script in the sandbox, with the pipe that its results come through.

Defends against what a seat's sandbox does, and against results and files without end. Does not defend the
script against the submission in its process: that is why nothing found here ranks.
"""

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hotlap.referee import sandbox
from hotlap.referee.cgroup import Cgroup
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.device import Device
from hotlap.referee.seat import OUTPUT_KEPT, printable

INSIDE_FILES, INSIDE_CASES, INSIDE_TMP = "/problem", "/cases", "/tmp"
MOST_RESULT_BYTES = 16 << 20
MOST_WRITTEN_BYTES = 4 << 30
LOOK_S = 0.5
ADDRESSES_BYTES = 8 << 30  # that are mapped and not used, where addresses alone can be bounded
IN_FOLDER = 'cd "$0" && exec "$@"'


@dataclass(frozen=True)
class Ended:
    """How a process ended. code: None when it was ended. stopped: why it was."""

    code: int | None
    stopped: str | None
    results: bytes
    is_cut: bool  # it wrote more results than are kept
    printed: str  # the last 16 KB
    seconds: float
    gaps: tuple[str, ...]


@dataclass(frozen=True)
class Folders:
    """Where a process finds its files and cases, and what it may write to: files and tmp."""

    files: Path
    cases: Path
    tmp: Path


def run(
    arguments: Sequence[str],
    folders: Folders,
    variables: Mapping[str, str],
    device: Device,
    timeout_s: float,
) -> Ended:
    """Run `python3 ARGUMENTS` in the folder of files; the caller made sure that there is a sandbox."""
    limits = device.limits
    group = Cgroup(limits.memory_bytes, limits.processes, None, freezer="none")
    filter_fd = sandbox.seccomp_file()
    results_fd, write_fd = os.pipe()
    try:
        program = ["/bin/sh", "-c", IN_FOLDER, INSIDE_FILES, sys.executable, *arguments]
        binds = [
            ("--bind", str(folders.files), INSIDE_FILES),
            ("--ro-bind", str(folders.cases), INSIDE_CASES),
            ("--bind", str(folders.tmp), INSIDE_TMP),
            # An interpreter below /tmp was hidden by that.
            *(("--ro-bind", str(p), str(p)) for p in sandbox.prefixes() if p.is_relative_to(INSIDE_TMP)),
            *sandbox.package_binds(),
            *([] if isinstance(device, CpuDevice) else device.access.binds()),
        ]
        environment = _environment(device) | dict(variables) | {"POPCORN_FD": str(write_fd)}
        limited = sandbox.limited(_rlimits(group, device), program)
        command = sandbox.wrap(limited, binds, environment, seccomp_fd=filter_fd)
        fds = [write_fd] if filter_fd is None else [write_fd, filter_fd]
        start = time.monotonic()
        process = sandbox.spawn(sandbox.join(group.joins, command), fds, subprocess.PIPE)
        os.close(write_fd)
        write_fd = -1
        watch = _Watch(process, results_fd, start + timeout_s, (folders.files, folders.tmp))
        stopped = watch.until_end(timeout_s)
        seconds = time.monotonic() - start
        if group.oom_kills():
            stopped = f"ran out of memory: at most {limits.memory_bytes / 1e9:.1f} GB"
        code = process.returncode if stopped is None else None
        printed = printable(bytes(watch.printed).decode(errors="replace"))
        gaps = (*sandbox.gaps(), *group.gaps)
        return Ended(code, stopped, bytes(watch.results), watch.is_cut, printed, seconds, gaps)
    finally:
        group.close()
        for fd in (results_fd, write_fd, filter_fd):
            if fd is not None and fd >= 0:
                os.close(fd)


def remove(folder: Path) -> None:
    """Remove a folder that untrusted code wrote to, however deep it nested others."""
    subprocess.run(["/bin/rm", "-rf", "--", str(folder)], check=False)


def _environment(device: Device) -> dict[str, str]:
    variables = sandbox.environment(len(os.sched_getaffinity(0)))
    if packages := sandbox.package_folders():
        variables["PYTHONPATH"] = ":".join(packages)
    if not isinstance(device, CpuDevice):
        variables |= device.access.environment()
        variables["PATH"] = f"{variables.get('CUDA_HOME', '/usr/local/cuda')}/bin:{variables['PATH']}"
    return variables


def _rlimits(group: Cgroup, device: Device) -> dict[str, int]:
    rlimits = {"RLIMIT_CORE": 0}
    if "no pids cgroup" in group.gaps:
        rlimits["RLIMIT_NPROC"] = device.limits.processes
    if "no memory cgroup" in group.gaps and isinstance(device, CpuDevice):  # CUDA reserves terabytes
        rlimits["RLIMIT_AS"] = device.limits.memory_bytes + ADDRESSES_BYTES
    return rlimits


class _Watch:
    """Reads both pipes of a process while it runs: a pipe holds 64 KB, and its writer would wait."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", results_fd: int, deadline: float, written: Sequence[Path]
    ):
        self.results, self.printed, self.is_cut = bytearray(), bytearray(), False
        self._process, self._results_fd = process, results_fd
        self._deadline, self._written, self._looked = deadline, written, time.monotonic()

    def until_end(self, timeout_s: float) -> str | None:
        """Wait until the process has ended, or end it; then why. It does not outlive an interrupt."""
        with self._process as process, selectors.DefaultSelector() as pipes:
            pipes.register(self._results_fd, selectors.EVENT_READ)
            if process.stdout is not None:
                pipes.register(process.stdout.fileno(), selectors.EVENT_READ)
            try:
                while pipes.get_map() or process.poll() is None:
                    stop = self._why_stop(timeout_s)
                    if stop is not None:
                        return stop
                    if pipes.get_map():
                        self._read(pipes)
                    else:
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            process.wait(LOOK_S)
            finally:
                process.kill()
        return None

    def _read(self, pipes: selectors.BaseSelector) -> None:
        for key, _ in pipes.select(max(0.0, min(LOOK_S, self._deadline - time.monotonic()))):
            chunk = os.read(key.fd, 1 << 16)
            if not chunk:
                pipes.unregister(key.fd)
            elif key.fd == self._results_fd:
                room = MOST_RESULT_BYTES - len(self.results)
                self.is_cut |= len(chunk) > room
                self.results += chunk[:room]
            else:
                self.printed += chunk
                del self.printed[:-OUTPUT_KEPT]

    def _why_stop(self, timeout_s: float) -> str | None:
        now = time.monotonic()
        if now >= self._deadline:
            return f"did not finish within {timeout_s:g} s"
        if now < self._looked + LOOK_S:
            return None
        self._looked = now
        if sum(map(_size, self._written)) > MOST_WRITTEN_BYTES:
            return f"wrote more than {MOST_WRITTEN_BYTES >> 30} GB of files"
        return None


def _size(folder: Path) -> int:
    """Bytes on disk of the files in it, some levels down."""
    total = 0
    for where, folders, files in os.walk(folder):
        if where.count("/") - str(folder).count("/") >= 8:
            folders.clear()
        for file in files:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{where}/{file}").st_blocks * 512
    return total
