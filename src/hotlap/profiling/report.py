"""What a profile holds, as frozen dataclasses. What a tool did not tell is None, and `missing` says why.

Shares are fractions of 1. Times are of a machine under a profiler: they explain and never count.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hotlap.model import Device, Failure, SubmissionInfo


@dataclass(frozen=True)
class Bottleneck:
    """What holds a kernel up.

    kind: memory, compute, latency, launch, host, page-faults, library, interpreter or unknown. headline: it
    in a line. evidence: the numbers. hint: what to try.
    """

    kind: str
    headline: str
    evidence: tuple[str, ...]
    hint: str | None = None


@dataclass(frozen=True)
class KernelCounters:
    """One launch on a GPU as ncu counted it. Shares of throughput are of the peak over the kernel's time."""

    name: str
    grid: str
    block: str
    time_ns: float | None
    dram_read_bytes: float | None
    dram_write_bytes: float | None
    dram_share: float | None
    l2_share: float | None
    l1_share: float | None
    l2_hit_share: float | None
    l1_hit_share: float | None
    compute_share: float | None
    issue_share: float | None
    pipes: Mapping[str, float]
    occupancy: float | None
    occupancy_possible: float | None
    occupancy_limits: tuple[str, ...]
    waves: float | None
    registers: int | None
    shared_bytes: float | None
    local_requests: float | None  # loads and stores of spilled registers and local arrays
    stalls: Mapping[str, float]  # of a warp's time between two instructions, the largest first
    threads_per_instruction: float | None  # of 32: below that lanes idle in divergent branches
    excess_sectors_share: float | None  # of the global memory traffic: what coalesced access would not need
    excess_wavefronts_share: float | None  # of the shared memory traffic: bank conflicts


@dataclass(frozen=True)
class KernelTime:
    """All launches of one kernel in a timeline. share: of the time that kernels ran."""

    name: str
    launches_per_call: float
    share: float
    mean_ns: float
    registers: int | None = None
    occupancy: float | None = None  # as the profiler estimates it from the launch


@dataclass(frozen=True)
class OpTime:
    """One operation of a library in a timeline of the host. share: of the calls' wall time, its own part."""

    name: str
    per_call: float
    share: float


@dataclass(frozen=True)
class Timeline:
    """What ran when, over `calls` calls one after another.

    wall_ns: of a call, measured without a profiler. kernel_ns: of a call, on the GPU. idle_share: of the wall
    time, without a kernel on the GPU. transfers, fills, waits: copies, memory sets, synchronizations a call.
    """

    calls: int
    wall_ns: float | None
    kernel_ns: float | None = None
    idle_share: float | None = None
    kernels_per_call: float | None = None
    kernels: tuple[KernelTime, ...] = ()
    transfers: float | None = None
    fills: float | None = None
    waits: float | None = None
    ops: tuple[OpTime, ...] = ()


@dataclass(frozen=True)
class KernelResources:
    """What the compiler gave a kernel. stack_bytes, local_bytes: spilled registers and local arrays."""

    name: str
    registers: int
    stack_bytes: int
    shared_bytes: int
    local_bytes: int
    file: str


@dataclass(frozen=True)
class SanitizerReport:
    """What compute-sanitizer found with one of its tools. first: its words on the first error."""

    tool: str
    axes: Mapping[str, int]
    errors: int
    first: str | None
    kernel: str | None
    place: str | None  # file:line, where the code was built with line numbers


@dataclass(frozen=True)
class HotLine:
    """A line of source, or of another's code, and its share of the samples or instructions."""

    file: str
    line: int
    share: float
    text: str | None = None


@dataclass(frozen=True)
class HotFunction:
    """A function outside of the author's file or in it, with its own share of instructions."""

    name: str
    library: str
    share: float


@dataclass(frozen=True)
class CpuProfile:
    """A call on a CPU; the numbers are of one call.

    counted_by: where instructions come from, perf or callgrind. split: whose code the time or the
    instructions (`split_of`) went to.
    """

    calls: int
    wall_ns: float
    busy_cores: float | None
    threads: int | None
    cores: int
    page_faults: float | None
    bytes_moved: int | None
    bandwidth: float | None  # B/s that this machine reached at this footprint when it was calibrated
    instructions: float | None = None
    counted_by: str | None = None
    instructions_per_cycle: float | None = None
    cache_misses: float | None = None
    branch_misses: float | None = None
    lines: tuple[HotLine, ...] = ()
    functions: tuple[HotFunction, ...] = ()
    split: Mapping[str, float] | None = None
    split_of: str | None = None  # time or instructions


@dataclass(frozen=True)
class Profile:
    """Why a kernel takes the time that it takes, on one workload of one device. It judges nothing.

    status: what `check` said of the kernel before. missing: one line for each tool that could not be used.
    files: artefacts, relative to `folder`, each with how to look at it.
    """

    id: str
    problem: str
    submission: SubmissionInfo
    device: Device
    axes: Mapping[str, int]
    status: str | None
    failure: Failure | None
    bottleneck: Bottleneck
    cpu: CpuProfile | None
    timeline: Timeline | None
    kernels: tuple[KernelCounters, ...]
    resources: tuple[KernelResources, ...]
    sanitizer: tuple[SanitizerReport, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    folder: str
    files: Mapping[str, str]
    started_at: str
    hotlap_version: str
