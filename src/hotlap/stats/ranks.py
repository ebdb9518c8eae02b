"""Which place each of several has, where some differences are decided and some are not."""

from collections.abc import Mapping


def rank_intervals(
    count: int, differences: Mapping[tuple[int, int], tuple[float, float]]
) -> list[tuple[int, int]]:
    """Best and worst place of each of `count` entrants, from 1; ties share their places.

    differences: for a pair (i, j) an interval of how much longer j takes than i; above zero i is faster.
    A pair that is missing, or whose interval holds zero, decides nothing. A chain decides: who is faster than
    somebody is faster than all whom that one beats. Intervals that contradict each other (a circle) decide
    nothing among those in it.
    Raises ValueError for a pair outside 0 .. count - 1, or of one with itself.
    """
    beats = [[False] * count for _ in range(count)]
    for (i, j), (low, high) in differences.items():
        if not (0 <= i < count and 0 <= j < count and i != j):
            raise ValueError(f"rank_intervals: no such pair of {count} entrants: {(i, j)}")
        beats[i][j] |= low > 0
        beats[j][i] |= high < 0
    for k in range(count):
        for i in range(count):
            for j in range(count):
                beats[i][j] |= beats[i][k] and beats[k][j]
    return [
        (
            1 + sum(beats[j][i] and not beats[i][j] for j in range(count)),
            count - sum(beats[i][j] and not beats[j][i] for j in range(count)),
        )
        for i in range(count)
    ]
