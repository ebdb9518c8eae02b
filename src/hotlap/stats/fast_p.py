"""fast_p: the share of problems solved right and more than p times faster than the baseline."""

import math
from collections.abc import Sequence


def fast_p(speedups: Sequence[float | None], correct: Sequence[bool], p: float) -> float:
    """Share, 0 to 1, of problems that are correct with speedup > p; fast_p(…, 0) is the share correct.

    speedups, correct: shape (problems,). A problem that is not correct counts as not fast and needs
    no speedup (None); problems that are void are the caller's to leave out.
    Raises ValueError when there is no problem, lengths differ, or a correct one has no speedup.
    Source: KernelBench, arXiv 2502.10517, section 3.
    """
    _check("fast_p", "speedup", speedups, correct)
    return sum(is_fast(s, c, p) for s, c in zip(speedups, correct, strict=True)) / len(correct)


def sure_fast_p(lows: Sequence[float | None], correct: Sequence[bool], p: float) -> float:
    """fast_p of what is beyond doubt: the lower bound of the speedup's interval must be > p.

    lows: shape (problems,), -inf where a bound is unknown: such a problem counts for p = 0 alone, since a
    correct kernel has some speedup. Never above fast_p. Raises ValueError as fast_p does.
    """
    _check("sure_fast_p", "lower bound", lows, correct)
    return sum(is_surely_fast(low, c, p) for low, c in zip(lows, correct, strict=True)) / len(correct)


def is_fast(speedup: float | None, correct: bool, p: float) -> bool:
    """Whether a kernel is correct with speedup > p. Raises ValueError for a correct one without speedup."""
    if not correct:
        return False
    if speedup is None or math.isnan(speedup):
        raise ValueError("fast_p: a correct problem has no speedup; measure it or leave it out")
    return speedup > p


def is_surely_fast(low: float | None, correct: bool, p: float) -> bool:
    """Whether a kernel is correct and the lower bound of its speedup > p. Raises ValueError as is_fast."""
    if not correct:
        return False
    if low is None or math.isnan(low):
        raise ValueError("sure_fast_p: a correct problem has no lower bound; measure it or leave it out")
    return p == 0 or low > p


def _check(caller: str, noun: str, values: Sequence[float | None], correct: Sequence[bool]) -> None:
    if len(values) != len(correct):
        raise ValueError(
            f"{caller}: needs one {noun} (or None) for each problem, "
            f"but got {len(values)} {noun}s for {len(correct)} problems"
        )
    if len(correct) == 0:
        raise ValueError(f"{caller}: needs at least one problem, but got none")
