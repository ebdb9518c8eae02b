"""A GPU as a device: its fingerprint, who else uses it, and how its rounds are made."""

import contextlib
import functools
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap.errors import DeviceError, HarnessError
from hotlap.model import Problem, Trust
from hotlap.problems.reference import Reference
from hotlap.referee import cgroup, check, check_cuda, sandbox
from hotlap.referee.clock_cuda import (
    CudaAssignment,
    CudaSeat,
    CudaVault,
    Shelf,
    Stalled,
    call_bytes_cuda,
    draw_cuda_vault,
    empty_round,
    measure_pace,
)
from hotlap.referee.cuda import arch_of, attribute, bus_of, find, fingerprint, gpu_of, uuid_of
from hotlap.referee.limits import Limits
from hotlap.referee.nvml import Nvml
from hotlap.referee.seat import SeatFailed, printable, sweep_folders
from hotlap.referee.wings import Wings

CALM_ROUNDS = 20


class InOrder:
    """An executor's `map` that runs in the calling thread: torch's current stream belongs to a thread."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        return map(function, items)


class CudaDevice(Wings[CudaSeat]):
    """One GPU. Keeps the null seat, the last baseline's, and warm contestants with their frameworks loaded.

    `open_device` makes it, holds its lock and closes it. Raises DeviceError where the GPU cannot be refereed
    now: MPS, or somebody else's work on it.
    """

    # Of the free memory, for a seat's buffers: the vault, returned tensors and references need theirs beside.
    memory_share = 0.15
    trust = Trust.referee_gpu
    trust_reason: str | None = None
    call_bytes = staticmethod(call_bytes_cuda)

    def __init__(self, ordinal: int, limits: Limits, freezer: str, queued_s: float, warm: int):
        super().__init__(queued_s)
        cgroup.sweep()
        sweep_folders()
        handle = find(ordinal)
        if attribute("MPS_ENABLED", handle) or _mps_is_running():
            raise DeviceError(
                f"cuda:{ordinal} is shared through MPS: kernels of several processes would run at once, and "
                "the referee could exclude nothing; stop it (echo quit | nvidia-cuda-mps-control)"
            )
        self.limits = replace(limits, memory_bytes=sandbox.GPU_HOST_MEMORY_BYTES)
        self.freezer, self.ordinal = freezer, ordinal
        self.contestant_cpus = tuple(sorted(os.sched_getaffinity(0)))
        self.nvml = Nvml(uuid_of(handle))
        self.access = sandbox.access_to(uuid_of(handle), arch_of(handle), self.nvml.minor(), bus_of(handle))
        self.arch = self.access.arch
        self.pool = InOrder()
        self.calm_empty_ns = 0
        self.shelves = (Shelf(), Shelf())  # the places of a duel's sides
        self.info = fingerprint(handle, self.nvml.driver_version())
        try:
            self.warm_up(warm)  # their frameworks load while ours does
            self.gpu = gpu_of(ordinal)
            self.refuse_others()
            self.compare: check.Compare = functools.partial(check_cuda.compare_tensor, self.gpu)
            self.stamps = self.gpu.stamps
            self.pace = measure_pace(self.gpu, self.stamps)
        except BaseException:
            self.close()
            raise

    # --- what is done on it

    def draw_vault(
        self, problem: Problem, reference: Reference, axes: Mapping[str, int], keys: Sequence[int]
    ) -> CudaVault:
        """Fresh inputs on the GPU, one key a call. Raises ProblemError."""
        return draw_cuda_vault(self.gpu, problem, reference, axes, keys)

    def assignment(
        self, problem: Problem, axes: Mapping[str, int], seat: CudaSeat, style: str, slots: int
    ) -> CudaAssignment:
        """A workload's buffers in the hands of a seat. Raises SeatFailed."""
        return CudaAssignment(problem, axes, seat, style, slots, self.stamps, self.pace)

    def empty_round(self) -> int:
        """Nanoseconds of a round without calls, by a process of ours; never more than in the calm before any
        author's code."""
        return min(self.raw_empty_round(self.null_seat()), self.calm_empty_ns)

    def raw_empty_round(self, null: CudaSeat) -> int:
        """Nanoseconds of a round without calls, by a process of ours."""
        try:
            return empty_round(null, self.stamps)
        except (Stalled, SeatFailed) as error:
            self.drop_null()
            raise HarnessError(
                f"an empty round of our own process failed: {str(error) or 'it stalled'}"
            ) from None
        except BaseException:
            self.drop_null()  # it waits for a GO that does not come
            raise

    def see_clock(self) -> int | None:
        """MHz at which the multiprocessors run now."""
        return self.nvml.sm_clock_mhz()

    def free_bytes(self) -> int:
        import torch

        torch.cuda.empty_cache()
        return self.gpu.free_bytes()

    def empty_shelves(self) -> None:
        """Give back the memory in which the sides of a duel had their arrays; both must be dead."""
        for shelf in self.shelves:
            shelf.empty(self.gpu)

    # --- who else is on it

    def refuse_others(self, patience_s: float = 1.0) -> None:
        """Raise DeviceError when a process that is not ours has a compute context on this GPU.

        Every verdict begins here, so this is also where its thread takes up the GPU's context and stream.
        """
        self.gpu.use()
        for _ in range(int(10 * patience_s)):  # a process that was just killed is listed for a moment
            seen = self.nvml.compute_processes()
            if os.getpid() not in seen:
                return  # NVML does not count as we do, as in a container: `gaps` says so
            others = sorted(pid for pid in seen if not _descends(pid, os.getpid()))
            if not others:
                return
            time.sleep(0.1)
        who = ", ".join(f"process {pid} ({_name(pid)})" for pid in others)
        raise DeviceError(f"cuda:{self.ordinal} is in use by {who}; wait until it has ended, or end it")

    def device_gaps(self) -> list[str]:
        """What is not seen of this GPU."""
        missing = [self.nvml.gap] if self.nvml.gap else []
        if not missing and os.getpid() not in self.nvml.compute_processes():
            missing.append(
                "NVML numbers processes as another namespace does: other users of the GPU are not seen"
            )
        if self.nvml.graphics_processes():
            missing.append("graphics programs use this GPU: times may scatter")
        return missing

    def gaps(self) -> list[str]:
        """What this machine cannot enforce for a contestant, or not see."""
        return [*self.null_seat().gaps, *self.device_gaps()]

    # --- seats

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing to hold still: contestants in the wings have no context yet, and no core is timed."""
        yield

    def set_referee_affinity(self) -> None:
        """Nothing to do: the time is the GPU's, and the referee's threads may run anywhere."""

    def restore_affinity(self) -> None:
        """Nothing to do either."""

    def _start(self, imports: str, interpret_triton: bool) -> CudaSeat:
        return CudaSeat(
            lambda: self.gpu, self.access, self.contestant_cpus, self.limits, imports, self.freezer
        )

    def _calm(self, null: CudaSeat) -> None:
        """Its first rounds give `calm_empty_ns`: their third quartile."""
        times_ns = [self.raw_empty_round(null) for _ in range(CALM_ROUNDS)]
        found_ns = int(statistics.quantiles(times_ns, n=4)[2])
        # A null seat that had to be replaced meets whatever an author left on the GPU.
        self.calm_empty_ns = min(found_ns, self.calm_empty_ns or found_ns)


def _mps_is_running() -> bool:
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return (Path(folder) / "control").exists()


def _descends(pid: int, ancestor: int) -> bool:
    """Whether a process is `ancestor` or was started by it, however far up."""
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
    return False


def _name(pid: int) -> str:
    try:
        return printable(Path(f"/proc/{pid}/comm").read_text().strip())
    except OSError:
        return "of another namespace"
