"""The nouns of hotlap as frozen dataclasses. Nothing here imports anything else of hotlap.

Absence is `None` beside a reason, never a sentinel. Units are in the names. JSON is made from these
classes by `hotlap.schema`; the field names are the wire format.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

JUDGE_VERSION = 2
VERDICT_SCHEMA = "hotlap.verdict/1"


class Status(StrEnum):
    """What the judge says of a run."""

    accepted = "accepted"
    wrong = "wrong"  # answers differ from the reference
    failed = "failed"  # build, crash, timeout, contract
    suspect = "suspect"  # faster than the machine can move the bytes: held for a human
    void = "void"  # device, harness, or problem while judging: not the author's fault


class Fault(StrEnum):
    """Whose fault a run that is not accepted is."""

    submission = "submission"
    problem = "problem"
    device = "device"
    harness = "harness"


class Trust(StrEnum):
    """How the time was obtained. Only the first two rank, each on its device's board."""

    referee_gpu = "referee-gpu"
    referee_host = "referee-host"
    self_reported = "self-reported"


class Kind(StrEnum):
    """What a workload is for. Hidden ones are drawn in each run, checked and never timed."""

    test = "test"
    bench = "bench"
    hidden = "hidden"


# --- problem -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorSpec:
    """One input or output. `shape` holds axis names, expressions over axes, or numbers; a scalar
    input has shape None and reaches the kernel as a Python number."""

    name: str
    dtype: str
    shape: tuple[str | int, ...] | None
    mutable: bool = False
    constant: bool = False


@dataclass(frozen=True)
class Tolerance:
    """Expressions for |out - ref| <= atol + rtol*|ref|; `eps` is the output dtype's epsilon."""

    rtol: str
    atol: str


@dataclass(frozen=True)
class Cost:
    """Expressions over axes: compulsory bytes moved and arithmetic done by one call."""

    bytes: str | None = None
    flops: str | None = None
    flops_are_minimal: bool = False


@dataclass(frozen=True)
class Workload:
    """One set of axis values. `profile` names the kind of device that uses it."""

    kind: Kind
    profile: str
    axes: Mapping[str, int]


@dataclass(frozen=True)
class Problem:
    """What to compute. `id` is suite/name@version."""

    suite: str
    name: str
    version: str
    title: str
    folder: Path
    statement: str
    tags: tuple[str, ...]
    axes: Mapping[str, int | None]  # None: a value from each workload
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    tolerance: Tolerance
    cost: Cost
    workloads: tuple[Workload, ...]
    reference_dtype: str = "float64"
    precision: str | None = None
    contract: str = "kernel"  # how a submission is called: kernel, custom_kernel, ModelNew, run

    @property
    def id(self) -> str:
        return f"{self.suite}/{self.name}@{self.version}"


# --- submission ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submission:
    """Source of one author for one problem; `sha256` of name and text identifies it. `refused` says why a
    file cannot be judged at all (too large, not text); then `source` is empty."""

    file: str
    source: str
    lang: str  # python, triton, cpp, cu
    sha256: str
    author: str | None = None
    refused: str | None = None


# --- run: what the referee saw -------------------------------------------------------------------


@dataclass(frozen=True)
class Device:
    """Fingerprint of the machine part that ran the kernel. `cores` of a GPU are its multiprocessors."""

    kind: str  # cpu or cuda
    name: str
    uuid: str
    cores: int
    memory_bytes: int
    driver: str
    os: str
    python: str
    torch: str | None
    contestant_cpus: tuple[int, ...] = ()
    freezer: str | None = None
    capability: str | None = None  # compute capability, such as 9.0
    cuda: str | None = None  # newest CUDA version that the driver knows
    sm_clock_mhz: tuple[int, int] | None = None  # lowest and highest seen while timing


@dataclass(frozen=True)
class Sandbox:
    """Which sandbox held the contestant and what it could not enforce."""

    kind: str  # bwrap or none
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a workload or a run did not finish: status and fault as the referee saw them."""

    status: Status
    fault: Fault | None
    phase: str  # build, load, prepare, call, check, measure
    message: str
    detail: str | None = None  # traceback or compiler output, for the author
    output: str | None = None  # the last of what the kernel printed, escaped


@dataclass(frozen=True)
class Samples:
    """Rounds of one bench workload. All shapes (rounds,), nanoseconds; rounds are paired by index.

    Empty rounds are those of a process of ours that makes no calls. Single rounds, on a GPU, are the
    submission's rounds of one call, shape (single rounds,): what calls that overlap cannot shorten.
    """

    calls_per_round: int
    submission_ns: tuple[int, ...]
    baseline_ns: tuple[int, ...]
    empty_ns: tuple[int, ...]
    single_ns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Errors:
    """Largest errors over every call of a workload that was compared in full."""

    max_abs_error: float | None
    max_rel_error: float | None
    error_over_tolerance: float | None


@dataclass(frozen=True)
class WorkloadRun:
    """What the referee saw of one workload."""

    index: int
    kind: Kind
    axes: Mapping[str, int]
    checked_calls: int
    total_calls: int
    sampled_words: int
    errors: Errors | None
    failure: Failure | None
    failed_call: tuple[int, int] | None = None  # (round, call), for replay
    samples: Samples | None = None
    bytes_moved: int | None = None
    flops: int | None = None
    footprint_bytes: int | None = None
    mode: str | None = None  # graph, stream or after-go; None on a CPU
    mode_reason: str | None = None  # why not an earlier one
    claimed_time_ns: float | None = None  # what the contestant's own clock says of a call; never ranks
    arithmetic: str | None = None  # dtype whose peak bounds `flops`: float32, tf32, bfloat16, ...


@dataclass(frozen=True)
class Finding:
    """A fact about the source text, or about a run (then `line` is None), for a reader. It never decides."""

    rule: str
    file: str
    line: int | None
    fact: str


@dataclass(frozen=True)
class Timing:
    """Where the wall time of a run went, in seconds."""

    queued_s: float = 0.0
    build_s: float = 0.0
    check_s: float = 0.0
    measure_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True)
class Run:
    """The raw result of refereeing one submission on one device.

    `master_key` (hex, 128 bits) lets the author replay any call; it is stored, never published.
    """

    id: str
    problem: str
    submission: Submission
    style: str | None  # out, returns, or c
    device: Device
    trust: Trust
    trust_reason: str | None
    sandbox: Sandbox
    workloads: tuple[WorkloadRun, ...]
    failure: Failure | None
    timing: Timing
    started_at: str
    hotlap_version: str
    master_key: str
    timed: bool
    problem_folder: str  # where a problem given by path lies, for replay


# --- verdict -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval from n rounds. `p05` is the 5th percentile."""

    estimate: float
    ci_low: float
    ci_high: float
    n: int
    p05: float | None = None


@dataclass(frozen=True)
class Score:
    """The number that ranks; absent unless accepted or suspect."""

    time_ns: float
    ci_low_ns: float
    ci_high_ns: float
    aggregate: str
    speedup: float | None
    speedup_ci: tuple[float, float] | None
    floor_fraction: float | None


@dataclass(frozen=True)
class WorkloadVerdict:
    """What the judge says of one workload. `status` is correct, wrong, failed or void."""

    axes: Mapping[str, int] | None
    kind: Kind
    status: str
    mode: str | None = None
    mode_reason: str | None = None
    time_ns: Interval | None = None
    calls_per_round: int | None = None
    single_call_ns: Interval | None = None  # a round's only call; ranks where calls were seen to overlap
    empty_round_ns: Interval | None = None  # c: what a round costs without calls
    claimed_time_ns: float | None = None  # self-reported, never ranks
    checked_calls: int = 0
    excluded_share: float | None = None  # wrong calls of this share would have been seen (1e-6)
    baseline_time_ns: Interval | None = None
    speedup: float | None = None
    speedup_ci: tuple[float, float] | None = None
    floor_ns: float | None = None
    floor_reason: str | None = None
    bytes_per_s: float | None = None  # compulsory bytes over time
    flops_per_s: float | None = None  # the problem's arithmetic over time
    limit_ns: float | None = (
        None  # the roofline: what the slowest of memory, arithmetic and launch needs here
    )
    bound: str | None = None  # which of them that is: memory, compute or launch
    headroom_ns: float | None = None  # time - limit
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    error_over_tolerance: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class SubmissionInfo:
    """What a verdict says of the submission."""

    sha256: str
    file: str
    lang: str
    style: str | None
    author: str | None


@dataclass(frozen=True)
class Verdict:
    """What the judge says of a run. Appended, versioned by `judge_version`, never edited."""

    run: str
    status: Status
    reason: str | None
    fault: Fault | None
    detail: str | None
    output: str | None
    problem: str
    submission: SubmissionInfo
    device: Device
    trust: Trust
    trust_reason: str | None
    sandbox: Sandbox
    score: Score | None
    score_reason: str | None
    workloads: tuple[WorkloadVerdict, ...]
    findings: tuple[Finding, ...]
    timing: Timing
    started_at: str
    hotlap_version: str
    judge_version: int = JUDGE_VERSION
    schema: str = field(default=VERDICT_SCHEMA)


# --- calibration ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bandwidth:
    """Best bandwidth seen at one footprint, bytes a second: reads, writes, a copy (one read, one write) and
    an addition (two reads, one write)."""

    footprint_bytes: int
    read: float
    write: float
    copy: float
    add: float


@dataclass(frozen=True)
class Ceiling:
    """One limit of a machine, measured.

    `name`: memory-read, memory-write, memory-copy and l2-read in B/s, peak-DTYPE in FLOP/s, launch and
    launch-graph in ns (one more kernel that does nothing, in a stream and in a graph).
    """

    name: str
    unit: str  # B/s, FLOP/s, ns
    value: Interval


@dataclass(frozen=True)
class PairBlocks:
    """What one pair of processes gave in one workload: log(time b / time a) of each block of four rounds, and
    whether that was ABBA, else BAAB."""

    effects: tuple[float, ...]
    a_first: tuple[bool, ...]
    a_ns: float  # median time of a call
    b_ns: float
    a_placed_first: bool = True  # whether A got its process and its buffers before B


@dataclass(frozen=True)
class Period:
    """Pairs of one stretch of time: a kind of kernel against itself, or itself slowed by a known part."""

    kind: str  # memory, matrix or launch
    measured_at: str
    true_effect: float  # 0: with itself
    pairs: tuple[PairBlocks, ...]


@dataclass(frozen=True)
class Calibration:
    """What this machine can do and tell apart, by device and driver; periods accumulate."""

    device_uuid: str
    driver: str
    measured_at: str
    bandwidth: tuple[Bandwidth, ...]
    process_part: float = 0.002  # relative half-width added to a run's interval
    ceilings: tuple[Ceiling, ...] = ()
    periods: tuple[Period, ...] = ()
    floor95: float | None = None  # 95 % of duels of a kernel with itself are this near 0 (log-ratio, 8 pairs)
    pair_part: float | None = None  # sd of what a pair of processes has of its own, at most (90 %)


# --- duel ----------------------------------------------------------------------------------------

DUEL_SCHEMA = "hotlap.duel/1"


class Outcome(StrEnum):
    """What a duel says."""

    decided = "decided"
    equivalent = "equivalent"
    unresolved = "unresolved"
    void = "void"


@dataclass(frozen=True)
class Decision:
    """An outcome with the effect it rests on: log(time b / time a), so above 0 a is faster."""

    verdict: Outcome
    faster: str | None  # a or b
    effect: float | None
    ci: tuple[float, float] | None
    pairs: int


@dataclass(frozen=True)
class DuelWorkload:
    """One workload of a duel. `pair_effects`: one number a process pair, of the tier that decided."""

    axes: Mapping[str, int]
    verdict: Outcome
    faster: str | None
    effect: float | None
    ci: tuple[float, float] | None
    a_ns: float | None
    b_ns: float | None
    calls_per_round: int | None
    a_mode: str | None = None
    b_mode: str | None = None
    pair_effects: tuple[float, ...] = ()


@dataclass(frozen=True)
class Duel:
    """A paired comparison of two submissions."""

    verdict: Outcome
    faster: str | None
    a: SubmissionInfo
    b: SubmissionInfo
    effect: float | None  # log(time b / time a), mean over workloads
    ci: tuple[float, float] | None
    margin: float
    calibrated: bool
    floor95: float | None
    tier: str | None  # screen, confirm, duel or final: the one that gave the verdict
    level: float | None  # of its intervals
    pairs: int  # of processes, in that tier
    pairs_in_all: int  # in all tiers; each measures anew
    gpu_s: float  # timed on the device, both sides, all tiers; on a CPU its seconds
    total_s: float
    workloads: tuple[DuelWorkload, ...]
    reason: str | None
    notes: tuple[str, ...]
    problem: str
    device: Device
    trust: Trust
    started_at: str
    hotlap_version: str
    schema: str = field(default=DUEL_SCHEMA)
