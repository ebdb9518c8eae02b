"""A GPU whose memory or flags cannot be shared: answers are checked, times are only claimed.

The rounds are those of the CPU referee, through host memory that both can see, so what is right and wrong is
known as surely as ever. What the GPU did in between nobody but the contestant saw.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from hotlap.model import Problem, Trust
from hotlap.problems.reference import Reference
from hotlap.referee import cgroup, check, sandbox
from hotlap.referee.cpu_device import free_memory_bytes
from hotlap.referee.cuda import arch_of, bus_of, find, fingerprint, uuid_of
from hotlap.referee.limits import Limits
from hotlap.referee.nvml import Nvml
from hotlap.referee.rounds import Assignment, Vault, call_bytes, draw_vault
from hotlap.referee.seat import Seat, sweep_folders
from hotlap.referee.wings import Wings


class UnsharedDevice(Wings[Seat]):
    """One GPU, for `self-reported` verdicts. `trust_reason` says what is missing."""

    memory_share = 0.25
    trust = Trust.self_reported
    compare: check.Compare = staticmethod(check.compare_tensor)
    call_bytes = staticmethod(call_bytes)

    def __init__(self, ordinal: int, limits: Limits, freezer: str, queued_s: float, warm: int, reason: str):
        super().__init__(queued_s)
        cgroup.sweep()
        sweep_folders()
        handle = find(ordinal)
        self.trust_reason: str | None = reason
        self.limits, self.freezer = replace(limits, memory_bytes=sandbox.GPU_HOST_MEMORY_BYTES), freezer
        self.nvml = Nvml(uuid_of(handle))
        self.access = sandbox.access_to(uuid_of(handle), arch_of(handle), self.nvml.minor(), bus_of(handle))
        self.arch: str | None = self.access.arch
        self.pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="referee")
        self.warm_up(warm)
        self.info = fingerprint(handle, self.nvml.driver_version())

    def close(self) -> None:
        """End every contestant of this device."""
        super().close()
        self.pool.shutdown()

    def draw_vault(
        self, problem: Problem, reference: Reference, axes: Mapping[str, int], keys: Sequence[int]
    ) -> Vault:
        """Fresh inputs in host memory, one key a call. Raises ProblemError."""
        return draw_vault(problem, reference, axes, keys, self.pool)

    def assignment(
        self, problem: Problem, axes: Mapping[str, int], seat: Seat, style: str, slots: int
    ) -> Assignment:
        """A workload's buffers in the hands of a seat: it writes into them, whatever the kernel's style."""
        return Assignment(problem, axes, seat, "out", slots)

    def free_bytes(self) -> int:
        return free_memory_bytes()

    def refuse_others(self) -> None:
        """Nothing to refuse: a claimed time ranks nowhere."""

    def device_gaps(self) -> list[str]:
        """What is not seen of this GPU."""
        return ["the GPU's work is not seen: times are the contestant's own"]

    def set_referee_affinity(self) -> None:
        """Nothing to do: nothing here is timed by the referee."""

    def restore_affinity(self) -> None:
        """Nothing to do either."""

    def _start(self, imports: str, interpret_triton: bool) -> Seat:
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        return Seat(cpus, self.limits, imports, self.freezer, access=self.access)

    def _calm(self, null: Seat) -> None:
        """Nothing to measure."""
