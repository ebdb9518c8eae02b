"""How often something happens, from how often it did."""

from scipy.stats import beta


def clopper_pearson(hits: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval (low, high) for a probability after `hits` in `trials`; never too narrow.

    Raises ValueError for counts that cannot be, or a level outside (0, 1).
    Source: Clopper & Pearson (1934).
    """
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(
            f"clopper_pearson: needs 0 <= hits <= trials, trials at least 1, but got {hits=}, {trials=}"
        )
    if not 0 < level < 1:
        raise ValueError(f"clopper_pearson: level must be between 0 and 1, both excluded, but got {level=}")
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(beta.ppf(1 - tail, hits + 1, trials - hits))
    return low, high
