"""Where scatter comes from: from block to block within a process, and from process to process."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, f


@dataclass(frozen=True)
class Components:
    """Standard deviations, in the unit of the values: of blocks within a process pair, of pairs' own part.

    between_high: what the pairs' part is at most, at the level that was asked for. p_value: how likely blocks
    alone scatter pairs that much (F test); above 0.05 a part was not seen.
    """

    within: float
    between: float
    between_high: float
    p_value: float


def variance_components(groups: Sequence[Sequence[float]], level: float = 0.9) -> Components:
    """One-way random effects by the method of moments; an estimate below zero counts as zero.

    groups: the blocks of each process pair, two pairs, two blocks each at least; they may differ in number.
    level: of the one-sided bound `between_high`, which holds though blocks scatter too, so it is not sharp.
    Raises ValueError for fewer, for values that are not finite, or a level outside (0, 1).
    Source: Searle, Casella & McCulloch, Variance Components (1992), section 3.6.
    """
    if not 0 < level < 1:
        raise ValueError(
            f"variance_components: level must be between 0 and 1, both excluded, but got {level=}"
        )
    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    if len(arrays) < 2 or min(a.size for a in arrays) < 2:
        raise ValueError("variance_components: needs two groups of two values at least")
    if not all(np.isfinite(a).all() for a in arrays):
        raise ValueError("variance_components: values must be finite; leave out what was not measured")
    sizes = np.array([a.size for a in arrays], dtype=np.float64)
    means = np.array([a.mean() for a in arrays])
    total, k = sizes.sum(), len(arrays)
    within = sum(float(((a - a.mean()) ** 2).sum()) for a in arrays) / (total - k)
    grand = float((sizes * means).sum() / total)
    mean_square = float((sizes * (means - grand) ** 2).sum()) / (k - 1)
    typical = (total - (sizes**2).sum() / total) / (k - 1)  # the common size, where all are of one
    between = max(0.0, (mean_square - within) / typical)
    # The means scatter by the pairs' part and by what blocks leave: all of it bounds the part.
    of_means = float(((means - means.mean()) ** 2).sum())
    high = of_means / float(chi2.ppf(1 - level, k - 1))
    ratio = mean_square / within if within > 0 else float("inf")
    p_value = float(f.sf(ratio, k - 1, total - k))
    return Components(float(within**0.5), float(between**0.5), float(high**0.5), p_value)
