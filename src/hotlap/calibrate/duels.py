"""What a machine can tell apart: kernels of three kinds against themselves, and against themselves slowed.

All pairs of processes of all times are kept in the calibration; what is claimed is computed from all of them.
"""

import datetime
import hashlib
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hotlap.calibrate.stored import load_calibration, update
from hotlap.duel import (
    ERROR,
    FINEST,
    TIERS,
    UNCALIBRATED_PART,
    Match,
    give_back_places,
    match_of,
    pair_effects,
    play_pair,
)
from hotlap.errors import DeviceError
from hotlap.model import Calibration, Decision, Kind, PairBlocks, Period, Submission
from hotlap.problems import reference as references
from hotlap.problems.find import find
from hotlap.referee.case import Case, Progress, silent
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import Device
from hotlap.referee.rivals import Rival, RivalFailed
from hotlap.referee.rng import new_master_key
from hotlap.stats.decision import (
    AaErrors,
    Floor,
    OrderEffect,
    aa_errors,
    decide,
    floor95,
    order_effect,
    successive_duels,
    without_placement,
)
from hotlap.stats.variance import Components, variance_components

KINDS = ("memory", "matrix", "launch")
SUITE, FILE = "calibration", "torch_out.py"
DUEL = next(tier for tier in TIERS if tier.name == "duel")
PAIRS = 8  # of a duel whose 95 % floor is stated
FEWEST_SHOWN = 4
FEWEST_OF_A_PLACEMENT = 2
FEWEST_PAIRS = 8  # of a kind, before it claims anything
NORMAL95 = 1.96
SEEN = 0.05  # p-value below which a pair's own part counts
TRUTH_ROUNDS = 30


def duel_with_itself(
    device: Device, kind: str, pairs: int, slowed_by: float = 0.0, progress: Progress = silent
) -> Period:
    """Pairs of processes of one kind of kernel with itself, added to the stored calibration.

    slowed_by: by which share B's rounds are made longer, by a wait of known length; how much longer they
    really are is measured on empty rounds. Raises DeviceError.
    """
    if not isinstance(device, CpuDevice | CudaDevice):
        raise DeviceError(f"{device.info.name} cannot be calibrated: {device.trust_reason}")
    match = match_of_kind(device, kind)
    what = f"calibrating {kind}" + (f" slowed by {slowed_by:.2%}" if slowed_by else "")
    found: list[PairBlocks] = []
    try:
        true_effect = slow(device, match, slowed_by) if slowed_by else 0.0
        for pair in range(pairs):
            progress(f"{what}: pair {pair + 1} of {pairs}", pair / pairs)
            found += play_pair(match, DUEL)
    except RivalFailed as failed:
        raise DeviceError(f"{kind}: a calibration kernel failed: {failed.failure.message}") from None
    finally:  # a pair is a pair, whatever became of the next
        give_back_places(device)
        if found:
            period = Period(kind, _now(), true_effect, tuple(found))
            stored = load_calibration(device.info)
            periods = (*(stored.periods if stored else ()), period)
            update(device.info, periods=periods, **claims(periods))
    return period


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def match_of_kind(device: CpuDevice | CudaDevice, kind: str) -> Match:
    """A match of a calibration kernel with itself."""
    problem = find(f"{SUITE}/{kind}")
    file = problem.folder / "solutions" / "correct" / FILE
    source = file.read_text()
    submission = Submission(FILE, source, "python", hashlib.sha256(source.encode()).hexdigest())
    reference = references.load_reference(problem)
    a, b = (Rival(side, Case(problem, submission, device, reference, new_master_key())) for side in "ab")
    profile = "cpu" if device.info.kind == "cpu" else "gpu"
    benches = [w for w in problem.workloads if w.kind is Kind.bench and w.profile == profile]
    device.null_seat()
    return match_of(device, (a, b), benches, FINEST, UNCALIBRATED_PART[device.info.kind], ERROR)


def slow(device: CpuDevice | CudaDevice, match: Match, share: float) -> float:
    """Make B's rounds longer by about a share; the log-ratio by which they are, from empty rounds.

    A's rounds end with a wait, too, of no length: what one more kernel costs is the same on both sides.
    """
    first = play_pair(match, DUEL)[0]
    round_ns = first.a_ns * match.benches[0].calls
    handicaps = (1, max(2, round(share * round_ns)))
    for rival, handicap_ns in zip(match.rivals, handicaps, strict=True):
        rival.handicap_ns = handicap_ns
    null = device.null_seat()
    times: dict[int, list[int]] = {handicap_ns: [] for handicap_ns in handicaps}
    try:
        for _ in range(TRUTH_ROUNDS):
            for null.handicap_ns in handicaps:
                times[null.handicap_ns].append(_empty_ns(device))
    finally:
        null.handicap_ns = 0
    longer = statistics.median(times[handicaps[1]]) - statistics.median(times[handicaps[0]])
    return math.log1p(longer / round_ns)


def _empty_ns(device: CpuDevice | CudaDevice) -> int:
    if isinstance(device, CudaDevice):
        return device.raw_empty_round(device.null_seat())
    return device.null_seat().empty_round()


# --- what is claimed -------------------------------------------------------------------------------


@dataclass(frozen=True)
class KindFound:
    """What the pairs of one kind say, all log-ratios."""

    kind: str
    pairs: int
    floor95: Floor  # of duels of PAIRS pairs
    errors: AaErrors | None  # of duels of at most PAIRS pairs that stop as soon as they are decided
    order: OrderEffect
    placement: OrderEffect  # how much longer the side in the second place takes, where that was largest
    components: Components
    block_sd: float


@dataclass(frozen=True)
class Step:
    """One rung of the ladder of known differences."""

    kind: str
    true_effect: float
    measured: float
    ci: tuple[float, float] | None
    pairs: int
    found: bool


def kinds_found(periods: Sequence[Period], margin: float = FINEST) -> Iterator[KindFound]:
    """For each kind with enough pairs of a kernel with itself.

    What a placement is worth holds for one period: its places are those of one match.
    """
    for kind in KINDS:
        mine = [p for p in periods if p.kind == kind and p.true_effect == 0 and p.pairs]
        pairs = [pair for p in mine for pair in p.pairs]
        if len(pairs) < FEWEST_SHOWN:
            continue
        parts = variance_components([pair.effects for pair in pairs])
        centred = [e - statistics.fmean(pair.effects) for pair in pairs for e in pair.effects]
        beside = [effect for p in mine for effect in _beside_placement(p)]
        duels = [duel for p in mine for duel in _duels(p, margin)]
        longest = max(mine, key=lambda p: len(p.pairs))
        told = [p for p in mine if _tells_placement(p)] or [longest]
        placements = [order_effect([-e for e in pair_effects(p.pairs)], _placed(p), 0.95) for p in told]
        yield KindFound(
            kind,
            len(pairs),
            floor95(beside if len(beside) >= FEWEST_SHOWN else pair_effects(pairs), PAIRS),
            aa_errors(duels),
            order_effect(centred, [first for pair in pairs for first in pair.a_first]),
            max(placements, key=lambda found: abs(found.estimate)),
            parts,
            parts.within,
        )


def _placed(period: Period) -> list[bool]:
    return [pair.a_placed_first for pair in period.pairs]


def _tells_placement(period: Period) -> bool:
    placed = _placed(period)
    return min(placed.count(True), placed.count(False)) >= FEWEST_OF_A_PLACEMENT


def _duels(period: Period, margin: float) -> list[Decision]:
    """The duels of at most PAIRS pairs that a period's pairs make up."""
    return successive_duels(pair_effects(period.pairs), margin, DUEL.level, PAIRS, _placed(period))


def _beside_placement(period: Period) -> list[float]:
    """A period's pairs without what their placement is worth; none where there are too few to tell it."""
    if not _tells_placement(period):
        return []
    n = len(period.pairs)
    left = without_placement(pair_effects(period.pairs), _placed(period))
    centre = statistics.fmean(left)
    wider = math.sqrt((n - 1) / (n - 2))  # one more number was estimated from these pairs
    return [centre + wider * (effect - centre) for effect in left]


def steps_found(periods: Sequence[Period], margin: float = FINEST) -> list[Step]:
    """Each period of the ladder as a duel of all its pairs."""
    steps = []
    for period in periods:
        if period.true_effect != 0:
            effects = pair_effects(period.pairs)
            given = decide(effects, margin, DUEL.level, placed=_placed(period))
            steps.append(
                Step(
                    period.kind,
                    period.true_effect,
                    given.effect if given.effect is not None else statistics.fmean(effects),
                    given.ci,
                    len(effects),
                    given.faster == "a",
                )
            )
    return steps


def claims(periods: Sequence[Period]) -> dict[str, float | None]:
    """The fields of a calibration that rest on its periods; none where there are too few pairs.

    `run` compares with nobody: of a pair's own part it has that of one process, as half-width at 95 %. A
    duel's screens take the bound of the part, since they err where it is larger than believed. Where pairs of
    no kind scatter more than their blocks explain, no part was seen: then both are as without a calibration.
    """
    found = [kind for kind in kinds_found(periods) if kind.pairs >= FEWEST_PAIRS]
    if not found:
        return {}
    seen = [kind.components for kind in found if kind.components.p_value < SEEN]
    return {
        "floor95": max(kind.floor95.estimate for kind in found),
        "process_part": NORMAL95 * max(parts.between for parts in seen) / math.sqrt(2)
        if seen
        else Calibration.process_part,
        "pair_part": max(parts.between_high for parts in seen) if seen else None,
    }
