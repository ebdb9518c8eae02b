"""Open a device: one process at a time, whoever asks."""

import contextlib
import fcntl
import importlib.util
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO

from hotlap.errors import UsageError
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.cuda import cannot_share, find, uuid_of
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.limits import Limits
from hotlap.referee.unshared_device import UnsharedDevice

CPU_LOCK = "/tmp/hotlap-cpu.lock"  # not in the runtime folder: that differs by user and by login
Device = CpuDevice | CudaDevice | UnsharedDevice


@contextlib.contextmanager
def open_device(
    name: str = "cpu",
    on_wait: Callable[[str], None] | None = None,
    limits: Limits | None = None,
    freezer: str = "best",
    warm: int = 0,
    shares: bool = True,
) -> Iterator[Device]:
    """The device called `name` (cpu, cuda, cuda:N), for this process alone until the block ends.

    Nothing heavy is done before the lock is held: an import here would disturb whoever is timing.
    shares: whether to try to share a GPU's memory between processes; without it times are self-reported.
    on_wait: told, every 0.1 s, who holds the device. freezer: best, cgroup2, cgroup1, init. warm: contestants
    to start at once. Raises UsageError for an unknown name or where torch is missing, DeviceError where the
    machine is too small or the GPU in use.
    """
    cuda = re.fullmatch(r"cuda(?::(\d+))?", name)
    if name != "cpu" and cuda is None:
        raise UsageError(f"device {name!r} does not exist; allowed: cpu, cuda, cuda:N")
    if sys.platform != "linux":
        raise UsageError(f"hotlap referees on Linux; this is {sys.platform}")
    if not _is_installed("torch"):
        raise UsageError("this needs torch, which is not installed: pip install torch")
    if cuda is None:
        lock, what = CPU_LOCK, "the CPU"
    else:
        ordinal = int(cuda[1] or 0)
        lock, what = f"/tmp/hotlap-{uuid_of(find(ordinal))}.lock", f"cuda:{ordinal}"
    with _locked(lock, what, on_wait) as queued_s:
        device: Device
        if cuda is None:
            device = CpuDevice(limits or Limits(), freezer, queued_s, warm)
        else:
            device = _open_gpu(ordinal, limits or Limits(), freezer, queued_s, warm, shares)
        try:
            yield device
        finally:
            device.close()


def _open_gpu(
    ordinal: int, limits: Limits, freezer: str, queued_s: float, warm: int, shares: bool
) -> CudaDevice | UnsharedDevice:
    missing = cannot_share(ordinal) if shares else "sharing was not asked for"
    if missing is not None:
        return UnsharedDevice(ordinal, limits, freezer, queued_s, warm, missing)
    return CudaDevice(ordinal, limits, freezer, queued_s, warm)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def _lock_file(path: str) -> IO[str]:
    """A device's lock file: one for the whole machine, whoever asks and from whatever environment."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644), "r+")
    except PermissionError:  # another user made it: it can still be locked
        return os.fdopen(os.open(path, os.O_RDONLY | flags), "r")


def _sign(file: IO[str], holder: str) -> None:
    """Write who holds the lock, for those who wait; not possible in another user's file."""
    if file.writable():
        file.truncate(0)
        file.seek(0)
        file.write(holder)
        file.flush()


@contextlib.contextmanager
def _locked(path: str, what: str, on_wait: Callable[[str], None] | None) -> Iterator[float]:
    """Hold a device's lock; yields the seconds that were spent waiting for it."""
    start = time.monotonic()
    with _lock_file(path) as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                file.seek(0)
                if on_wait is not None:
                    on_wait(f"waiting for {what}: held by {file.read().strip() or 'another process'}")
                time.sleep(0.1)
        _sign(file, f"process {os.getpid()}")
        yield time.monotonic() - start
        _sign(file, "")
