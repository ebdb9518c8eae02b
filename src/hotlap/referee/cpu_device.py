"""The CPU as a device: its fingerprint, its cores, and how its rounds are made."""

import contextlib
import ctypes
import hashlib
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hotlap import model
from hotlap.errors import DeviceError
from hotlap.model import Problem, Trust
from hotlap.problems.reference import Reference
from hotlap.referee import cgroup, check
from hotlap.referee.limits import Limits
from hotlap.referee.rounds import Assignment, Vault, call_bytes, draw_vault
from hotlap.referee.seat import Seat, sweep_folders
from hotlap.referee.wings import Wings

CALM_ROUNDS = 31
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


class CpuDevice(Wings[Seat]):
    """The CPU as a device: one core for the referee, the others for contestants.

    Keeps the null seat, the last baseline's seat, and warm contestants for the next run. `open_device` makes
    it, holds its lock and closes it.
    """

    memory_share = 0.25  # of the free memory, for one seat's buffers
    trust = Trust.referee_host
    trust_reason: str | None = None
    arch: str | None = None
    compare: check.Compare = staticmethod(check.compare_tensor)
    call_bytes = staticmethod(call_bytes)

    def __init__(self, limits: Limits, freezer: str, queued_s: float, warm: int):
        super().__init__(queued_s)
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            raise DeviceError(
                "this process may use 1 core; the referee needs one and the contestant another: allow 2 cores"
            )
        cgroup.sweep()
        sweep_folders()
        self.limits, self.freezer = limits, freezer
        self.referee_cpu, self.contestant_cpus = cores[0], tuple(cores[1:])
        self.pool = ThreadPoolExecutor(
            len(cores), thread_name_prefix="referee", initializer=os.sched_setaffinity, initargs=(0, cores)
        )
        self.calm_empty_ns = 0
        self.warm_up(warm)  # first: contestants and referee import torch side by side
        import torch

        # Threads that spin after an operation would disturb the contestant; calls run side by side instead.
        torch.set_num_threads(1)
        _keep_freed_memory()
        self.info = fingerprint(self.contestant_cpus)

    def close(self) -> None:
        """End every contestant of this device."""
        super().close()
        self.pool.shutdown()

    def draw_vault(
        self, problem: Problem, reference: Reference, axes: Mapping[str, int], keys: Sequence[int]
    ) -> Vault:
        """Fresh inputs, one key a call. Raises ProblemError."""
        return draw_vault(problem, reference, axes, keys, self.pool)

    def assignment(
        self, problem: Problem, axes: Mapping[str, int], seat: Seat, style: str, slots: int
    ) -> Assignment:
        """A workload's buffers in the hands of a seat. Raises SeatFailed."""
        return Assignment(problem, axes, seat, style, slots)

    def refuse_others(self) -> None:
        """Nothing to refuse: a CPU always has other users."""

    def device_gaps(self) -> list[str]:
        """What is not seen of the CPU: nothing that we know of."""
        return []

    def free_bytes(self) -> int:
        return free_memory_bytes()

    def set_referee_affinity(self) -> None:
        """Keep the calling thread on the referee's core: it spins while it times."""
        self._affinity_before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.referee_cpu})

    def restore_affinity(self) -> None:
        os.sched_setaffinity(0, self._affinity_before)

    def _start(self, imports: str, interpret_triton: bool) -> Seat:
        return Seat(self.contestant_cpus, self.limits, imports, self.freezer, interpret_triton)

    def _calm(self, null: Seat) -> None:
        """Its first rounds give `calm_empty_ns`: their third quartile."""
        times_ns = [null.empty_round() for _ in range(CALM_ROUNDS)]
        found_ns = int(statistics.quantiles(times_ns, n=4)[2])
        self.calm_empty_ns = min(found_ns, self.calm_empty_ns or found_ns)


def free_memory_bytes() -> int:
    """Of the host, without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


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
