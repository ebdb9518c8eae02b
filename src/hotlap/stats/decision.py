"""What a duel may say: from the blocks of one pair of processes, and from one number a pair.

An effect is log(time b / time a), so above 0 a is faster. The unit of replication is the pair of processes:
blocks of one pair share what its two processes happen to be (code placement, memory), so however many there
are, they speak of that pair alone. Hence a screen of one pair allows for a pair's own part, which calibration
found, and everything finer rests on one number a pair.

The rule of `decide`, for an interval that may be read after every pair:

| interval | says |
|---|---|
| wholly within (-margin, margin) | equivalent, even where it excludes 0: no claims finer than the margin |
| else above 0, or below 0 | decided: a, or b, is faster |
| else | unresolved: another pair, or an end without an answer |

So a decided difference has a known sign, and may reach the margin for all that was seen. As the interval
closes on an effect, one above half the margin is decided and one below it is equivalent. Over all the times
one looks, each error has at most the chance 1 - level: to name the slower side, or either where there is no
difference; and to call equivalent what differs by the margin or more.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm
from scipy.stats import t as student

from hotlap.model import Decision, Outcome
from hotlap.stats.bootstrap import bootstrap_interval
from hotlap.stats.confidence_sequence import confidence_sequence
from hotlap.stats.hodges_lehmann import hodges_lehmann
from hotlap.stats.proportion import clopper_pearson

FEWEST_PAIRS = 4  # below it the sequence at 95 % is infinite
MOST_PAIRS = 24
SCREEN_FACTOR = 3.0  # how many times its doubt an effect must exceed for one pair to decide it


def screen(effects: Sequence[float], margin: float, process_part: float, level: float = 0.95) -> Decision:
    """Whether one pair of processes is enough: it decides only what is far beyond doubt, else unresolved.

    effects: shape (blocks,), of one pair. process_part: standard deviation of a pair's own part, better too
    large than too small (`Components.between_high`): one of twice that may decide wrongly in 13 % of pairs.
    Decided when the Hodges-Lehmann estimate exceeds the margin and SCREEN_FACTOR * (radius + process_part),
    with the radius of the t interval at `level`. The interval that comes back is the radius and the process
    part in quadrature; None, with nothing decided, for fewer than two blocks, or where all are alike (the
    clock's tick rules).
    Raises ValueError for no effects, one that is not finite, a negative process part, or a level outside
    (0, 1).
    """
    if not 0 <= process_part < math.inf:
        raise ValueError(f"screen: process_part must be 0 or more and finite, but got {process_part=}")
    if not 0 < level < 1:
        raise ValueError(f"screen: level must be between 0 and 1, both excluded, but got {level=}")
    effect, n = hodges_lehmann(effects), len(effects)
    if n < 2 or min(effects) == max(effects):
        return Decision(Outcome.unresolved, None, effect, None, 1)
    tail = (1 + level) / 2
    radius = float(student.ppf(tail, n - 1) * np.std(effects, ddof=1)) / math.sqrt(n)
    half_width = math.hypot(radius, float(norm.ppf(tail)) * process_part)
    ci = (effect - half_width, effect + half_width)
    if abs(effect) > max(margin, SCREEN_FACTOR * (radius + process_part)):
        return Decision(Outcome.decided, _faster(effect), effect, ci, 1)
    return Decision(Outcome.unresolved, None, effect, ci, 1)


def decide(
    pair_effects: Sequence[float],
    margin: float,
    level: float = 0.95,
    fewest: int = FEWEST_PAIRS,
    placed: Sequence[bool] | None = None,
) -> Decision:
    """What one number a process pair says, by the rule above; it may be asked after every pair.

    pair_effects: shape (pairs,), in the order in which they came. placed: shape (pairs,), whether A got its
    process and memory before B; what that is worth is estimated and left out. The effect is their mean, or
    the end of the interval that is nearest to it. The interval is None, and nothing is decided, for fewer
    than `fewest` pairs, for pairs that are all alike (the clock's tick rules), and where pairs contradict
    each other.
    Raises ValueError for a value that is not finite, a margin that is not positive, or level outside (0, 1).
    """
    if not margin > 0:
        raise ValueError(f"decide: margin must be above 0, but got {margin=}")
    pairs = len(pair_effects)
    low, high = confidence_sequence(pair_effects, level, signs=placed)
    mean = _centre(pair_effects, placed) if pairs else None
    if mean is None or pairs < fewest or math.isinf(low) or low > high:
        return Decision(Outcome.unresolved, None, mean, None, pairs)
    effect = min(max(mean, low), high)
    if -margin < low and high < margin:
        return Decision(Outcome.equivalent, None, effect, (low, high), pairs)
    if low > 0 or high < 0:
        return Decision(Outcome.decided, _faster(effect), effect, (low, high), pairs)
    return Decision(Outcome.unresolved, None, effect, (low, high), pairs)


def without_placement(pair_effects: Sequence[float], placed: Sequence[bool]) -> list[float]:
    """Pair effects with what the placement is worth taken off: as if both placements had one mean.

    placed: shape (pairs,), whether A got its process and memory before B.
    """
    centre = _centre(pair_effects, placed)
    means = {
        sign: float(np.mean([e for e, s in zip(pair_effects, placed, strict=True) if s == sign]))
        for sign in set(placed)
    }
    return [e - means[s] + centre for e, s in zip(pair_effects, placed, strict=True)]


def _centre(pair_effects: Sequence[float], placed: Sequence[bool] | None) -> float:
    """Halfway between the means of both placements, where both occur; else the mean."""
    values, signs = np.asarray(pair_effects, dtype=np.float64), np.asarray(placed, dtype=bool)
    if placed is None or signs.all() or not signs.any():
        return float(values.mean())
    return float(values[signs].mean() + values[~signs].mean()) / 2


def overall(pair_effects_by_workload: Sequence[Sequence[float]]) -> list[float]:
    """Pair effects of the mean over workloads, shape (pairs,): what `decide` needs for all of them together.

    pair_effects_by_workload: shape (workloads, pairs). Averaged within each pair, so that what the workloads
    of a pair share (its processes) stays in the scatter from pair to pair.
    Raises ValueError when there is no workload, or their numbers of pairs differ.
    """
    lengths = [len(effects) for effects in pair_effects_by_workload]
    if not lengths or min(lengths) != max(lengths):
        raise ValueError(f"overall: needs as many pairs of each workload, but got {lengths}")
    return [math.fsum(effects) / len(effects) for effects in zip(*pair_effects_by_workload, strict=True)]


class OrderEffect(NamedTuple):
    """How much longer, on the log scale, a round at either end of its block takes, with its interval."""

    estimate: float
    low: float
    high: float


def order_effect(effects: Sequence[float], a_first: Sequence[bool], level: float = 0.999) -> OrderEffect:
    """Half the difference between BAAB and ABBA blocks: 0 unless a round's time depends on its place.

    effects, a_first: shape (blocks,), of any number of pairs; a_first says that a block was ABBA. An interval
    beyond the margin says that the measurement is at fault, not that one side is faster. Infinite with fewer
    than two blocks of either order, or where the blocks of an order are all alike.
    Raises ValueError when lengths differ, or level is outside (0, 1).
    Source: Welch's t interval.
    """
    if len(effects) != len(a_first):
        raise ValueError(
            f"order_effect: needs one order for each effect, but got {len(effects)} and {len(a_first)}"
        )
    if not 0 < level < 1:
        raise ValueError(f"order_effect: level must be between 0 and 1, both excluded, but got {level=}")
    values, is_abba = np.asarray(effects, dtype=np.float64), np.asarray(a_first, dtype=bool)
    groups = [values[~is_abba], values[is_abba]]
    if min(group.size for group in groups) == 0:
        return OrderEffect(0.0, -math.inf, math.inf)
    estimate = float(groups[0].mean() - groups[1].mean()) / 2
    if min(group.size for group in groups) < 2 or min(np.ptp(group) for group in groups) == 0:
        return OrderEffect(estimate, -math.inf, math.inf)
    parts = np.array([group.var(ddof=1) / group.size for group in groups])
    freedom = parts.sum() ** 2 / sum(p**2 / (g.size - 1) for p, g in zip(parts, groups, strict=True))
    radius = float(student.ppf((1 + level) / 2, freedom) * np.sqrt(parts.sum())) / 2
    return OrderEffect(estimate, estimate - radius, estimate + radius)


class Floor(NamedTuple):
    """The floor of comparison, log-ratio, and what it is at most."""

    estimate: float
    high: float


def floor95(pair_effects: Sequence[float], pairs: int = 8, level: float = 0.95) -> Floor:
    """How far from 0 the mean of `pairs` process pairs is, 95 % of the time, for a kernel with itself.

    pair_effects: shape (n,), n >= 2, all of a kernel with itself. The mean of `pairs` of them has the second
    moment spread^2/pairs + bias^2: spread^2 is the sample variance, bias^2 = max(0, mean^2 - spread^2/n) what
    the mean of all n exceeds its own noise by. The estimate is 1.96 times its root: the 95th percentile for a
    normal mean without bias, more than that with one.
    `high` is a one-sided bound at `level`: the larger of estimate * sqrt((n - 1) / q), q the (1 - level)
    quantile of chi-squared with n - 1 degrees of freedom, and the upper end of the estimate's bootstrap
    interval. It holds for normal pairs without bias; with a bias of a fifth to half the spread in about 90 %
    of cases, with Student's t of 3 degrees in 80 to 90 % (tests/stats/test_decision.py). Infinite where all
    pairs are alike.
    Raises ValueError for fewer than two values, one that is not finite, or pairs below 1.
    """
    values = np.asarray(pair_effects, dtype=np.float64)
    n = values.size
    if n < 2 or pairs < 1:
        raise ValueError(f"floor95: needs two effects and a mean of one pair at least, but got {n}, {pairs=}")

    def estimate(x: NDArray[np.float64], axis: int = -1) -> Any:
        variance = x.var(axis=axis, ddof=1)
        size = x.shape[axis]  # the bootstrap leaves one out
        bias_squared = np.maximum(0.0, x.mean(axis=axis) ** 2 - variance / size)
        return norm.ppf(0.975) * np.sqrt(variance / pairs + bias_squared)

    found = float(estimate(values))
    by_spread = found * math.sqrt((n - 1) / float(chi2.ppf(1 - level, n - 1)))
    _, resampled = bootstrap_interval(values, estimate, 2 * level - 1)
    return Floor(found, max(by_spread, resampled))


def successive_duels(
    pair_effects: Sequence[float],
    margin: float,
    level: float = 0.95,
    most: int = MOST_PAIRS,
    placed: Sequence[bool] | None = None,
) -> list[Decision]:
    """The duels that these pairs would have been, one after another, each of pairs of its own.

    pair_effects: shape (n,). A duel ends when `decide` says something, or unresolved after `most` pairs. One
    for which the pairs run out is left out, so long duels are a little too rare.
    """
    found: list[Decision] = []
    start = 0
    for end in range(1, len(pair_effects) + 1):
        signs = None if placed is None else placed[start:end]
        decision = decide(pair_effects[start:end], margin, level, placed=signs)
        if decision.verdict is not Outcome.unresolved or decision.pairs == most:
            found.append(decision)
            start = end
    return found


class AaErrors(NamedTuple):
    """Duels of a kernel with itself. wrong: those that named a winner; low, high: interval of their share."""

    duels: int
    wrong: int
    equivalent: int
    low: float
    high: float


def aa_errors(duels: Sequence[Decision]) -> AaErrors | None:
    """Wrong decisions among duels of a kernel with itself, as `successive_duels` gives them; None of none.

    The interval of the share of wrong ones is Clopper and Pearson's, at 95 %.
    """
    if not duels:
        return None
    wrong = sum(duel.verdict is Outcome.decided for duel in duels)
    equivalent = sum(duel.verdict is Outcome.equivalent for duel in duels)
    return AaErrors(len(duels), wrong, equivalent, *clopper_pearson(wrong, len(duels)))


def _faster(effect: float) -> str:
    return "a" if effect > 0 else "b"
