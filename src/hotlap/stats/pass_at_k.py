"""pass@k: how likely one of k samples passes, from n samples of which c did."""

from math import comb


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Probability, 0 to 1, that at least one of k samples passes, drawn without replacement from these.

    Unbiased over models: 1 - C(n-c, k) / C(n, k). Raises ValueError for counts that cannot be, and where k
    is more than the samples: then nothing unbiased can be said.
    Source: Chen et al. (2021), arXiv 2107.03374, equation 1.
    """
    if not 0 <= passed <= samples:
        raise ValueError(f"pass_at_k: needs 0 <= passed <= samples, but got {passed=}, {samples=}")
    if not 1 <= k <= samples:
        raise ValueError(f"pass_at_k: needs 1 <= k <= samples, but got {k=}, {samples=}")
    return 1 - comb(samples - passed, k) / comb(samples, k)
