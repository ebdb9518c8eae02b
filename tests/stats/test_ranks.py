import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.stats import rank_intervals

FASTER, SLOWER, OPEN = (0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)


@pytest.mark.parametrize(
    ("count", "differences", "expected"),
    [
        (1, {}, [(1, 1)]),
        (2, {}, [(1, 2), (1, 2)]),
        (2, {(0, 1): FASTER}, [(1, 1), (2, 2)]),
        (2, {(0, 1): SLOWER}, [(2, 2), (1, 1)]),
        (3, {(0, 1): FASTER, (1, 2): OPEN, (0, 2): FASTER}, [(1, 1), (2, 3), (2, 3)]),
        (3, {(0, 1): FASTER, (1, 2): FASTER}, [(1, 1), (2, 2), (3, 3)]),  # by the chain
        (3, {(0, 1): FASTER, (1, 2): FASTER, (2, 0): FASTER}, [(1, 3)] * 3),  # a circle decides nothing
        (3, {(0, 1): OPEN, (1, 2): OPEN, (0, 2): FASTER}, [(1, 2), (1, 3), (2, 3)]),
    ],
)
def test_places_are_what_the_decided_pairs_leave_open(
    count: int, differences: dict[tuple[int, int], tuple[float, float]], expected: list[tuple[int, int]]
) -> None:
    assert rank_intervals(count, differences) == expected


@given(st.permutations(range(6)))
def test_all_pairs_decided_is_an_order(order: list[int]) -> None:
    decided = {(order[i], order[j]): FASTER for i, j in itertools.combinations(range(6), 2)}
    places = rank_intervals(6, decided)
    assert [places[entrant] for entrant in order] == [(i, i) for i in range(1, 7)]


@pytest.mark.parametrize("pair", [(0, 0), (0, 2), (-1, 1)])
def test_pairs_that_do_not_exist_are_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="rank_intervals"):
        rank_intervals(2, {pair: OPEN})
