"""Where ticks and labels go: numbers in, numbers out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_FIXED = 1e6  # weight of a label that stays
_STEPS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


@dataclass(frozen=True)
class Label:
    """A label that wants to be at y and covers x from `left` to `right`; y counts up. A fixed one stays."""

    left: float
    right: float
    y: float
    fixed: bool = False


def apart(labels: Sequence[Label], gap: float) -> list[float]:
    """A y for each label, in their order: as near to its own as can be (least squares) while those that share
    some x, directly or through others, stay `gap` apart.

    Of those at about one y the rightmost is on top, so that lines from points to their labels do not cross.
    """
    ys = [0.0] * len(labels)
    for group in _sharing(labels):
        order = sorted(group, key=lambda i: (round(labels[i].y / gap), labels[i].left, -i))
        blocks: list[list[tuple[float, float]]] = []  # (wish less the room taken below, weight)
        for place, index in enumerate(order):
            weight = _FIXED if labels[index].fixed else 1.0
            blocks.append([(labels[index].y - place * gap, weight)])
            while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
                last = blocks.pop()
                blocks[-1] += last
        shared = [_mean(block) for block in blocks for _ in block]
        for place, index in enumerate(order):
            ys[index] = shared[place] + place * gap
    return ys


def _mean(block: Sequence[tuple[float, float]]) -> float:
    return sum(wish * weight for wish, weight in block) / sum(weight for _, weight in block)


def _sharing(labels: Sequence[Label]) -> list[list[int]]:
    """Indices of labels, those together that a chain of shared x connects."""
    groups: list[list[int]] = []
    reach = -math.inf
    for index in sorted(range(len(labels)), key=lambda i: labels[i].left):
        if labels[index].left > reach:
            groups.append([])
        groups[-1].append(index)
        reach = max(reach, labels[index].right)
    return groups


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` round numbers from low to high for a log axis: 1-2-5, 1-3, decades, or every so many.

    Raises ValueError unless 0 < low < high.
    """
    if not 0 < low < high:
        raise ValueError(f"log_ticks: needs 0 < low < high, but got {low=} {high=}")
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in _STEPS:
        ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= most:
            return ticks
    decades = [10.0**power for power in range(first, last + 1) if low <= 10.0**power <= high]
    return decades[:: math.ceil(len(decades) / most)]


def even_ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` evenly spaced round numbers from low to high, at least one if the range allows."""
    if not low < high:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    while True:
        for factor in (1, 2, 5):
            first = math.ceil(low / (step * factor))
            last = math.floor(high / (step * factor))
            if last - first < most:
                return [n * step * factor for n in range(first, last + 1)]
        step *= 10


def ratio_ticks(low: float, high: float, most: int) -> list[float]:
    """Ticks of a log axis that may be short: 1-2-5, or even ones without those that come too near to the one
    before, whichever are more."""
    kept: list[float] = []
    nearest = (high / low) ** (0.8 / most)
    for tick in even_ticks(low, high, most):
        if tick > 0 and (not kept or tick >= nearest * kept[-1]):
            kept.append(tick)
    return max(log_ticks(low, high, most), kept, key=len)


def padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """The range and that share of it on both sides; something to look at where both ends are the same."""
    pad = share * (high - low) or abs(high) * share or share
    return low - pad, high + pad


def log_padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """`padded` on a log axis."""
    ends = padded(math.log(low), math.log(high), share)
    return (math.exp(ends[0]), math.exp(ends[1])) if high > low else (low / 1.2, high * 1.2)
