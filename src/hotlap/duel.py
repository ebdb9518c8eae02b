"""A duel: which of two submissions is faster, and how sure that is.

Both are alive together, each with buffers of its own; rounds go in blocks of ABBA or BAAB, drawn at random; a
pair of fresh processes gives one number a workload, and only those numbers decide. Tiers escalate, each on
data of its own, so what was lucky in one does not count in the next.
"""

import datetime
import math
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import hotlap
from hotlap import judge, runs
from hotlap.errors import DeviceError, HarnessError, ProblemError, UsageError
from hotlap.model import (
    Calibration,
    Decision,
    Duel,
    DuelWorkload,
    Kind,
    Outcome,
    PairBlocks,
    Problem,
    Samples,
    Status,
    Submission,
    SubmissionInfo,
    Verdict,
    Workload,
)
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.referee import build, measure, measure_cuda, rivals_cpu, rivals_cuda
from hotlap.referee import referee as referees
from hotlap.referee.case import SAMPLED_WORDS, Case, Progress, named, silent
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import Device
from hotlap.referee.loading import is_compiled
from hotlap.referee.rivals import Bench, Block, Rival, RivalFailed, bench_of, summed_up, timed_ns
from hotlap.referee.rivals_cpu import CpuRivals
from hotlap.referee.rivals_cuda import CudaRivals
from hotlap.referee.rng import new_master_key
from hotlap.stats.decision import FEWEST_PAIRS, SCREEN_FACTOR, decide, order_effect, overall, screen
from hotlap.stats.hodges_lehmann import hodges_lehmann

FINEST = 0.0005  # no margin is finer, however quiet the machine
UNCALIBRATED = {"cuda": 0.005, "cpu": 0.03}  # the margin where nobody measured what this machine tells apart
UNCALIBRATED_PART = {"cuda": 0.001, "cpu": 0.01}  # sd of a pair's own part, likewise
MODES_DIFFER = 0.005  # the finest margin between kernels that are launched in different ways
CLOCKS_DIFFER = 0.02  # share by which the medians of both sides' clocks may differ
ROUND_NS = {"cuda": measure_cuda.ROUND_NS, "cpu": measure.ROUND_NS}
MOST_BLOCKS = 2.5  # times the tier's
CPU_BLOCKS = 3
FEWEST_FOR_ORDER = 8  # blocks, before an order effect can be told
SIDES = ("a", "b")
ERROR = 0.05
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Tier:
    """How hard to look. level: of its intervals. Tiers of one or two pairs decide only what exceeds three
    times their doubt, which errs less than 1 - level (docs/measurement.md); the others err 4.5 % in all."""

    name: str
    level: float
    fewest: int  # process pairs
    most: int
    blocks: int  # a pair and workload

    @property
    def is_screen(self) -> bool:
        """Whether it rests on its blocks, and on what is known of processes, as it has too few of them."""
        return self.most < FEWEST_PAIRS


TIERS = (
    Tier("screen", 0.99, 1, 1, 8),
    Tier("confirm", 0.99, 2, 2, 8),
    Tier("duel", 0.96, 4, 16, 8),
    Tier("final", 0.995, 8, 48, 12),
)
TIER_NAMES = tuple(tier.name for tier in TIERS)


class NotAccepted(Exception):
    """One side was not accepted, so there is no duel; its verdict says why."""

    def __init__(self, side: str, file: str, reason: str, verdict: Verdict | None):
        super().__init__(f"{side} ({file}) is not accepted: {reason}; a duel needs two right kernels")
        self.side, self.file, self.reason, self.verdict = side, file, reason, verdict


@dataclass
class Match:
    """One duel while it goes on."""

    device: CpuDevice | CudaDevice
    rivals: tuple[Rival, Rival]
    benches: Sequence[Bench]
    margin: float
    part: float  # sd of a pair's own part
    error: float
    swapped: bool  # who gets its buffers first in a pair: drawn, then it changes from pair to pair
    pairs: int = 0
    timed_ns: int = 0
    round_ns: dict[int, float] = field(default_factory=dict)  # of A in each workload so far
    overlaps: list[str] = field(default_factory=list)
    clocks_mhz: dict[str, list[int]] = field(default_factory=lambda: {side: [] for side in SIDES})
    tier: Tier = TIERS[0]  # the last one with a finished pair
    found: list[list[PairBlocks]] = field(default_factory=list)  # in it, of each workload: a pair each

    def level(self) -> float:
        """Of this tier's intervals."""
        return 1 - (1 - self.tier.level) * self.error / ERROR


def duel(
    problem: Problem,
    a: Submission,
    b: Submission,
    device: Device,
    calibration: Calibration | None = None,
    *,
    margin: float | None = None,
    last_tier: str = "duel",
    max_seconds: float | None = None,
    error: float = ERROR,
    progress: Progress = silent,
) -> Duel:
    """Compare two submissions on one device.

    margin: the difference below which they count as equal, a log-ratio (0.0005 is 0.05 %). error: the chance
    of a wrong decision, over all tiers. last_tier: how far to escalate. Ctrl-C and max_seconds end it with
    what is known by then. Raises UsageError for a margin that this machine cannot tell, a tier that does not
    exist, or a device without the referee's clock; NotAccepted where one side is not right.
    """
    if not isinstance(device, CpuDevice | CudaDevice):
        raise UsageError(f"{device.info.name}: times are self-reported here ({device.trust_reason}); no duel")
    if last_tier not in TIER_NAMES:
        raise UsageError(f"tier {last_tier!r} does not exist; allowed: {', '.join(TIER_NAMES)}")
    floor95 = calibration.floor95 if calibration else None
    record = Duel(
        verdict=Outcome.unresolved,
        faster=None,
        a=_info(a),
        b=_info(b),
        effect=None,
        ci=None,
        margin=allowed_margin(margin, floor95, device.info.kind),
        calibrated=floor95 is not None,
        floor95=floor95,
        tier=None,
        level=None,
        pairs=0,
        pairs_in_all=0,
        gpu_s=0.0,
        total_s=0.0,
        workloads=(),
        reason=None,
        notes=(),
        problem=problem.id,
        device=device.info,
        trust=device.trust,
        started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        hotlap_version=hotlap.__version__,
    )
    if (a.source, a.lang) == (b.source, b.lang):
        return replace(
            record, verdict=Outcome.equivalent, reason="the files are identical: nothing was timed"
        )
    start = time.monotonic()
    deadline = math.inf if max_seconds is None else start + max_seconds
    match: Match | None = None
    reason, is_void = None, False
    try:
        known = calibration.pair_part if calibration else None
        part = UNCALIBRATED_PART[device.info.kind] if known is None else known
        match = _begin(problem, (a, b), device, record.margin, part, error, progress)
        if play(match, last_tier, deadline, progress) is Outcome.unresolved and time.monotonic() > deadline:
            reason = f"stopped after {max_seconds:g} s"
        device.refuse_others()
        reason, is_void = (vetoed, True) if (vetoed := veto(match)) else (reason, False)
    except KeyboardInterrupt:
        if match is None or not match.pairs:
            raise
        vetoed = veto(match)
        reason, is_void = (f"{INTERRUPTED}; {vetoed}", True) if vetoed else (INTERRUPTED, False)
    except RivalFailed as failed:
        if failed.failure.status is not Status.void:
            file = failed.rival.case.submission.file
            what = f"{failed.failure.status} in the duel: {failed.failure.message}"
            raise NotAccepted(failed.rival.name, file, what, None) from None
        reason, is_void = failed.failure.message, True
    except (DeviceError, HarnessError, ProblemError) as stopped:
        reason, is_void = str(stopped), True
    finally:
        give_back_places(device)
    if match is not None:
        record = _filled(record, match)
    if is_void:
        record = replace(record, verdict=Outcome.void, faster=None)
    return replace(record, reason=reason, total_s=round(time.monotonic() - start, 3))


def allowed_margin(wanted: float | None, floor95: float | None, kind: str) -> float:
    """The margin to use. Raises UsageError for one that this machine cannot tell."""
    finest = max(FINEST, floor95) if floor95 is not None else UNCALIBRATED[kind]
    if wanted is None:
        return finest
    if wanted < finest:
        why = (
            f"this machine tells apart {finest * 100:.2g} %"
            if floor95 is not None
            else f"{finest * 100:.2g} % is the finest without a calibration (`hotlap calibrate`)"
        )
        raise UsageError(
            f"margin {wanted * 100:.3g} % is too fine: {why}; give --margin {finest * 100:.2g}% or more"
        )
    return wanted


# --- before the first pair -------------------------------------------------------------------------


def _begin(
    problem: Problem,
    submissions: tuple[Submission, Submission],
    device: CpuDevice | CudaDevice,
    margin: float,
    part: float,
    error: float,
    progress: Progress,
) -> Match:
    """Judge both sides' answers, then fix how many calls a round has. Raises NotAccepted."""
    device.null_seat()  # its calm rounds come before any of the authors' code
    for side, submission in zip(SIDES, submissions, strict=True):
        progress(f"checking {side}: {submission.file}", 0.0)
        _refuse_unaccepted(problem, side, submission, device)
    reference = references.load_reference(problem)
    rivals = tuple(
        Rival(side, _case(problem, submission, device, reference))
        for side, submission in zip(SIDES, submissions, strict=True)
    )
    profile = "cpu" if device.info.kind == "cpu" else "gpu"
    benches = [w for w in problem.workloads if w.kind is Kind.bench and w.profile == profile]
    progress("choosing how many calls a round has", 0.05)
    return match_of(device, (rivals[0], rivals[1]), benches, margin, part, error)


def match_of(
    device: CpuDevice | CudaDevice,
    rivals: tuple[Rival, Rival],
    benches: Sequence[Workload],
    margin: float,
    part: float,
    error: float = ERROR,
) -> Match:
    """A match of two rivals whose answers are right."""
    problem = rivals[0].case.problem
    indexed = [(i, shapes.all_axes(problem, w.axes)) for i, w in enumerate(benches)]
    if isinstance(device, CudaDevice):
        calls = rivals_cuda.calls_of_workloads(device, rivals, indexed)
    else:
        calls = rivals_cpu.calls_of_workloads(device, rivals, indexed)
    return Match(
        device=device,
        rivals=rivals,
        benches=[
            bench_of(rivals[0].case, i, w, n) for i, (w, n) in enumerate(zip(benches, calls, strict=True))
        ],
        margin=margin,
        part=part,
        error=error,
        swapped=bool(os.urandom(1)[0] & 1),
    )


def _refuse_unaccepted(problem: Problem, side: str, submission: Submission, device: Device) -> None:
    run = referees.referee(problem, submission, device, run_id=runs.new_id(), timed=False)
    given = judge.judge(run)
    if given.status is Status.void:
        raise DeviceError(f"{side} ({submission.file}) could not be judged: {given.reason}")
    if given.status is not Status.accepted:
        raise NotAccepted(side, submission.file, f"{given.status}: {given.reason}", given)


def _case(problem: Problem, submission: Submission, device: Device, reference: references.Reference) -> Case:
    case = Case(problem, submission, device, reference, new_master_key())
    if is_compiled(submission):
        case.library = build.build(problem, submission, device.limits, device.arch).library or b""
    return case


# --- pairs -----------------------------------------------------------------------------------------


def play(match: Match, last_tier: str, deadline: float = math.inf, progress: Progress = silent) -> Outcome:
    """Tier after tier, until one decides, or the last or time is over. Raises RivalFailed, DeviceError."""
    for tier in TIERS[: TIER_NAMES.index(last_tier) + 1]:
        if tier.is_screen and tier.name != last_tier and not may_decide(match, tier):
            continue
        found = _play_tier(match, tier, deadline, progress)
        if found is not Outcome.unresolved or time.monotonic() > deadline:
            return found
    return Outcome.unresolved


def _play_tier(match: Match, tier: Tier, deadline: float, progress: Progress) -> Outcome:
    """Pairs of one tier, until it is decided or over."""
    found: list[list[PairBlocks]] = [[] for _ in match.benches]
    for pair in range(tier.most):
        if match.pairs and time.monotonic() > deadline:
            break
        progress(_so_far(match, tier, pair), _done(tier, pair))
        given = play_pair(match, tier)
        for column, blocks in zip(found, given, strict=True):
            column.append(blocks)
        match.tier, match.found = tier, found
        if pair + 1 < tier.fewest:
            continue
        so_far = standing(match)
        if so_far.verdict is not Outcome.unresolved:
            return so_far.verdict
    return Outcome.unresolved


def may_decide(match: Match, tier: Tier) -> bool:
    """Whether a screen would decide the effect that the one before it saw."""
    if not match.found:
        return True
    seen = screen(_blocks(match.found), match.margin, 0.0, match.level())
    if seen.effect is None or seen.ci is None:
        return True
    radius = (seen.ci[1] - seen.ci[0]) / 2
    doubt = (radius * math.sqrt(len(match.found[0])) + match.part) / math.sqrt(tier.most)
    return abs(seen.effect) > SCREEN_FACTOR * doubt


def play_pair(match: Match, tier: Tier) -> list[PairBlocks]:
    """One pair of fresh processes: what each workload gave. Raises RivalFailed, DeviceError."""
    is_first = match.pairs == 0
    checks = -(-measure.FULL_CHECKS // tier.fewest)
    match.device.refuse_others()
    rivals = start_rivals(match.device, match.rivals, match.swapped)
    found: list[PairBlocks] = []
    try:
        for bench in match.benches:
            rivals.settle(bench)
            orders = [bool(byte & 1) for byte in os.urandom(blocks_of(tier, match, bench))]
            rounds = 2 * len(orders)
            wanted = measure.wanted_calls(bench.calls, rounds, checks)
            samples = -(-SAMPLED_WORDS // (rounds * tier.fewest))
            blocks = list(rivals.blocks(bench, orders, wanted, samples))
            match.timed_ns += timed_ns(blocks)
            if is_first:
                _look_for_overlap(match, bench, blocks, rivals.singles(bench))
            given = summed_up(blocks, bench.calls)
            if given is None:
                raise DeviceError(
                    f"{named(bench.workload.axes)}: a call is too short to be told from an empty round; use "
                    "a larger workload"
                )
            match.round_ns[bench.index] = given.a_ns * bench.calls
            found.append(replace(given, a_placed_first=not match.swapped))
    finally:
        rivals.close()
        for side, clocks in rivals.clocks_mhz.items():
            match.clocks_mhz[side] += clocks
    if len({rival.mode for rival in match.rivals}) > 1:
        match.margin = max(match.margin, MODES_DIFFER)
    match.pairs += 1
    match.swapped = not match.swapped
    return found


def give_back_places(device: CpuDevice | CudaDevice) -> None:
    """Free what a match holds between its pairs."""
    if isinstance(device, CudaDevice):
        device.empty_shelves()


def blocks_of(tier: Tier, match: Match, bench: Bench) -> int:
    """How many blocks a pair gets: more where memory or the most calls of a round keep rounds short, and on a
    CPU, where processes take longer to start than rounds. A screen takes the mean of workloads block by
    block, so each has as many."""
    kind = match.device.info.kind
    if tier.is_screen:
        return tier.blocks
    seen_ns = match.round_ns.get(bench.index)
    short = 1.0 if seen_ns is None else min(MOST_BLOCKS, max(1.0, ROUND_NS[kind] / seen_ns))
    return round(tier.blocks * short * (CPU_BLOCKS if kind == "cpu" else 1))


def start_rivals(
    device: CpuDevice | CudaDevice, rivals: tuple[Rival, Rival], swapped: bool
) -> CpuRivals | CudaRivals:
    if isinstance(device, CudaDevice):
        return CudaRivals(device, rivals, swapped)
    return CpuRivals(device, rivals, swapped)


def _look_for_overlap(
    match: Match, bench: Bench, blocks: Sequence[Block], singles: dict[str, list[int]]
) -> None:
    empty = tuple(block.empty_ns for block in blocks)
    rounds = {
        "a": tuple(t for block in blocks for t in block.a_ns),
        "b": tuple(t for block in blocks for t in block.b_ns),
    }
    for rival in match.rivals:
        seen = Samples(bench.calls, rounds[rival.name], (), empty, tuple(singles[rival.name]))
        if judge.calls_overlap(seen, rival.mode):
            match.overlaps.append(f"{rival.name} in {named(bench.workload.axes)}")


# --- what it comes to ------------------------------------------------------------------------------


def pair_effects(pairs: Sequence[PairBlocks]) -> list[float]:
    """One number a pair: the Hodges-Lehmann estimate of its blocks."""
    return [hodges_lehmann(pair.effects) for pair in pairs]


def standing(match: Match) -> Decision:
    """What the pairs of the last tier say so far, over all workloads."""
    return _decision(match, match.found)


def _decision(match: Match, columns: Sequence[Sequence[PairBlocks]]) -> Decision:
    """Of some workloads: their mean, in each pair; in a screen in each block, the mean over its pairs."""
    tier = match.tier
    if tier.is_screen:
        part = match.part / math.sqrt(len(columns[0]))
        given = screen(_blocks(columns), match.margin, part, match.level())
        return replace(given, pairs=len(columns[0]))
    effects = overall([pair_effects(column) for column in columns])
    placed = [pair.a_placed_first for pair in columns[0]]
    return decide(effects, match.margin, match.level(), tier.fewest, placed)


def _blocks(columns: Sequence[Sequence[PairBlocks]]) -> list[float]:
    """Of a screen: the mean over workloads and pairs, block by block."""
    return overall([pair.effects for column in columns for pair in column])


def _so_far(match: Match, tier: Tier, pair: int) -> str:
    text = f"{tier.name}: pair {pair + 1}" + (f" of at most {tier.most}" if tier.most > 1 else "")
    if not pair:
        return text
    seen = standing(match)
    if seen.ci is None or seen.effect is None or not all(map(math.isfinite, seen.ci)):
        return text
    return f"{text}, b takes {seen.effect:+.3%} [{seen.ci[0]:+.3%}, {seen.ci[1]:+.3%}]"


def _done(tier: Tier, pair: int) -> float:
    return (TIER_NAMES.index(tier.name) + pair / tier.most) / len(TIERS)


def _filled(record: Duel, match: Match) -> Duel:
    """The record with what the last tier measured that finished a pair."""
    has_pairs = bool(match.found)
    record = replace(
        record,
        tier=match.tier.name if has_pairs else None,
        level=match.level() if has_pairs else None,
        margin=match.margin,
        pairs=len(match.found[0]) if has_pairs else 0,
        pairs_in_all=match.pairs,
        gpu_s=round(match.timed_ns / 1e9, 3),
        notes=tuple(_notes(match)),
    )
    if not has_pairs:
        return record
    given = standing(match)
    return replace(
        record,
        verdict=given.verdict,
        faster=given.faster,
        effect=given.effect,
        ci=given.ci,
        workloads=tuple(_workload(match, i, bench) for i, bench in enumerate(match.benches)),
    )


def _workload(match: Match, place: int, bench: Bench) -> DuelWorkload:
    pairs = match.found[place]
    given = _decision(match, [pairs])
    is_gpu = isinstance(match.device, CudaDevice)
    a, b = match.rivals
    return DuelWorkload(
        axes=dict(bench.workload.axes),
        verdict=given.verdict,
        faster=given.faster,
        effect=given.effect,
        ci=given.ci,
        a_ns=statistics.median(pair.a_ns for pair in pairs),
        b_ns=statistics.median(pair.b_ns for pair in pairs),
        calls_per_round=bench.calls,
        a_mode=a.mode if is_gpu else None,
        b_mode=b.mode if is_gpu else None,
        pair_effects=tuple(pair_effects(pairs)),
    )


def _notes(match: Match) -> list[str]:
    a, b = match.rivals
    if a.mode == b.mode:
        return []
    return [f"a runs in mode {a.mode}, b in {b.mode}: part of the difference is how their calls are launched"]


def veto(match: Match) -> str | None:
    """Why nothing of this may be believed, or None."""
    if match.overlaps:
        return (
            f"calls overlap ({'; '.join(match.overlaps)}): a round of many is no measure of a call; "
            "`hotlap run` times such a kernel by single calls"
        )
    clocks = [statistics.median(match.clocks_mhz[side]) for side in SIDES if match.clocks_mhz[side]]
    if len(clocks) == len(SIDES) and abs(math.log(clocks[1] / clocks[0])) > CLOCKS_DIFFER:
        return (
            f"the sides ran at different clocks: a at {clocks[0]:.0f} MHz, b at {clocks[1]:.0f} MHz (medians)"
        )
    for bench, pairs in zip(match.benches, match.found, strict=True):
        effects = [e - centre for pair in pairs for centre in [_mean(pair.effects)] for e in pair.effects]
        first = [is_first for pair in pairs for is_first in pair.a_first]
        if len(set(first)) < 2 or len(effects) < FEWEST_FOR_ORDER:
            continue
        estimate, low, high = order_effect(effects, first)
        if low > match.margin or high < -match.margin:
            where = named(bench.workload.axes)
            return f"{where}: who goes first matters ({estimate:+.3%} [{low:+.3%}, {high:+.3%}])"
    return None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _info(submission: Submission) -> SubmissionInfo:
    return SubmissionInfo(submission.sha256, submission.file, submission.lang, None, submission.author)
