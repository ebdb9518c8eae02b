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
    if len(speedups) != len(correct):
        raise ValueError(
            "fast_p: needs one speedup (or None) for each problem, "
            f"but got {len(speedups)} speedups for {len(correct)} problems"
        )
    if len(correct) == 0:
        raise ValueError("fast_p: needs at least one problem, but got none")
    return sum(_is_fast(s, c, p) for s, c in zip(speedups, correct, strict=True)) / len(correct)


def _is_fast(speedup: float | None, correct: bool, p: float) -> bool:
    if not correct:
        return False
    if speedup is None or math.isnan(speedup):
        raise ValueError("fast_p: a correct problem has no speedup; measure it or leave it out")
    return speedup > p
