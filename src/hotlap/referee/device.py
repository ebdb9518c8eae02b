"""The machine part that runs kernels: its fingerprint, its lock, and the seats that wait on it."""

import contextlib
import ctypes
import fcntl
import hashlib
import importlib.util
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from hotlap import model
from hotlap.errors import DeviceError, UsageError
from hotlap.model import Fault
from hotlap.referee import cgroup
from hotlap.referee.limits import Limits
from hotlap.referee.seat import Seat, sweep_folders

CALM_ROUNDS = 31
LOCK = "/tmp/hotlap-cpu.lock"  # not in the runtime folder: that differs by user and by login
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


class CpuDevice:
    """The CPU as a device: one core for the referee, the others for contestants.

    Keeps the null seat, the last baseline's seat, and warm contestants for the next run. `open_device` makes
    it, holds its lock and closes it.
    """

    def __init__(self, limits: Limits, freezer: str, queued_s: float, warm: int):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            raise DeviceError(
                "this process may use 1 core; the referee needs one and the contestant another: allow 2 cores"
            )
        cgroup.sweep()
        sweep_folders()
        self.limits, self.freezer, self.queued_s = limits, freezer, queued_s
        self.referee_cpu, self.contestant_cpus = cores[0], tuple(cores[1:])
        self.pool = ThreadPoolExecutor(
            len(cores), thread_name_prefix="referee", initializer=os.sched_setaffinity, initargs=(0, cores)
        )
        self._warm: list[Seat] = []
        self._null: Seat | None = None
        self.calm_empty_ns = 0
        self._baseline: tuple[str, Seat, str | None] | None = None
        self.freezer_found: str | None = None
        self.warm_up(warm)  # first: contestants and referee import torch side by side
        import torch

        # Threads that spin after an operation would disturb the contestant; calls run side by side instead.
        torch.set_num_threads(1)
        _keep_freed_memory()
        self.info = fingerprint(self.contestant_cpus)

    def close(self) -> None:
        """End every contestant of this device."""
        for seat in (*self._warm, self._null, self._baseline and self._baseline[1]):
            if seat is not None:
                seat.close()
        self._warm, self._null, self._baseline = [], None, None
        self.pool.shutdown()

    def take_queued_s(self) -> float:
        """Seconds that were spent waiting for this device; charged to the first run on it."""
        taken, self.queued_s = self.queued_s, 0.0
        return taken

    def warm_up(self, count: int = 1) -> None:
        """Start contestants now, so that the next run finds them ready. Call it between runs only."""
        for seat in [seat for seat in self._warm if seat.process.poll() is not None]:
            self._warm.remove(seat)
            seat.close()
        while len(self._warm) < count:
            self._warm.append(self._start("torch", False))

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Hold the warm contestants still: one that is starting up would disturb what is being timed."""
        held = [seat for seat in self._warm if seat.process.poll() is None]
        for seat in held:
            seat.freeze()
        try:
            yield
        finally:
            for seat in held:
                seat.thaw()

    def take_seat(self, imports: str = "torch", interpret_triton: bool = False) -> Seat:
        """A contestant for one submission; nothing of any author has run in it. The caller closes it."""
        if imports == "torch" and not interpret_triton:
            while self._warm:
                seat = self._warm.pop(0)
                if seat.process.poll() is None:
                    return seat
                seat.close()
        return self._start(imports, interpret_triton)

    def null_seat(self) -> Seat:
        """A contestant of ours that makes no calls; shared by the runs on this device.

        Its first rounds, made before any author's code runs, give `calm_empty_ns`: their third quartile.
        """
        if self._null is None or self._null.process.poll() is not None:
            if self._null is not None:
                self._null.close()
            self._null = self._start("bare", False)
            self._null.fault = Fault.harness
            self._null.await_start()
            times_ns = [self._null.empty_round() for _ in range(CALM_ROUNDS)]
            self.calm_empty_ns = int(statistics.quantiles(times_ns, n=4)[2])
        return self._null

    def baseline_seat(self, key: str) -> tuple[Seat, str | None]:
        """The seat of a baseline, and its style if that is loaded; the last one is kept, no others."""
        if self._baseline is not None:
            kept, seat, style = self._baseline
            if kept == key and seat.process.poll() is None:
                return seat, style
            seat.close()
        self._baseline = (key, self.take_seat(), None)
        self._baseline[1].fault = Fault.problem
        return self._baseline[1], None

    def keep_baseline(self, key: str, seat: Seat, style: str) -> None:
        self._baseline = (key, seat, style)

    def gaps(self) -> list[str]:
        """What this machine cannot enforce for a contestant."""
        return self.null_seat().gaps

    def _start(self, imports: str, interpret_triton: bool) -> Seat:
        return Seat(self.contestant_cpus, self.limits, imports, self.freezer, interpret_triton)

    def set_referee_affinity(self) -> None:
        """Keep the calling thread on the referee's core: it spins while it times."""
        self._affinity_before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.referee_cpu})

    def restore_affinity(self) -> None:
        os.sched_setaffinity(0, self._affinity_before)


@contextlib.contextmanager
def open_device(
    name: str = "cpu",
    on_wait: Callable[[str], None] | None = None,
    limits: Limits | None = None,
    freezer: str = "best",
    warm: int = 0,
) -> Iterator[CpuDevice]:
    """The device called `name`, for this process alone until the block ends.

    Nothing heavy is done before the lock is held: an import here would disturb whoever is timing.
    on_wait: told, every 0.1 s, who holds the device. freezer: best, cgroup2, cgroup1, init. warm: contestants
    to start at once. Raises UsageError for an unknown name or where torch is missing, DeviceError where the
    machine is too small.
    """
    if name.startswith("cuda"):
        raise UsageError(f"device {name}: only `cpu` is refereed by this version of hotlap")
    if name != "cpu":
        raise UsageError(f"device {name!r} does not exist; allowed: cpu")
    if sys.platform != "linux":
        raise UsageError(f"hotlap referees on Linux; this is {sys.platform}")
    if not _is_installed("torch"):
        raise UsageError("this needs torch, which is not installed: pip install 'hotlap[torch]'")
    with _locked(on_wait) as queued_s:
        device = CpuDevice(limits or Limits(), freezer, queued_s, warm)
        try:
            yield device
        finally:
            device.close()


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def _lock_file() -> IO[str]:
    """The CPU's lock file: one for the whole machine, whoever asks and from whatever environment."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(LOCK, os.O_RDWR | os.O_CREAT | flags, 0o644), "r+")
    except PermissionError:  # another user made it: it can still be locked
        return os.fdopen(os.open(LOCK, os.O_RDONLY | flags), "r")


def _sign(file: IO[str], holder: str) -> None:
    """Write who holds the lock, for those who wait; not possible in another user's file."""
    if file.writable():
        file.truncate(0)
        file.seek(0)
        file.write(holder)
        file.flush()


@contextlib.contextmanager
def _locked(on_wait: Callable[[str], None] | None) -> Iterator[float]:
    """Hold the CPU's lock; yields the seconds that were spent waiting for it."""
    start = time.monotonic()
    with _lock_file() as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                file.seek(0)
                if on_wait is not None:
                    on_wait(f"waiting for the CPU: held by {file.read().strip() or 'another process'}")
                time.sleep(0.1)
        _sign(file, f"process {os.getpid()}")
        yield time.monotonic() - start
        _sign(file, "")


def fingerprint(contestant_cpus: tuple[int, ...]) -> model.Device:
    """Who this CPU is: a stable id from its model, core count and machine id."""
    import torch

    name, cores = _cpu_name(), os.cpu_count() or 1
    machine = ""
    with contextlib.suppress(OSError):
        machine = Path("/etc/machine-id").read_text().strip()
    digest = hashlib.sha256(f"{name}|{cores}|{machine or platform.node()}".encode()).hexdigest()
    return model.Device(
        kind="cpu",
        name=name,
        uuid=f"CPU-{digest[:16]}",
        cores=cores,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        driver=platform.release(),
        os=platform.system(),
        python=platform.python_version(),
        torch=torch.__version__,
        contestant_cpus=contestant_cpus,
    )


def _keep_freed_memory() -> None:
    """Have glibc reuse freed memory: faulting pages in again costs more than comparing what they hold."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.machine()
