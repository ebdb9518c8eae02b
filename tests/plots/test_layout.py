"""Ticks and labels: round numbers, few of them, and nothing on top of another."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.plots.layout import Label, apart, even_ticks, log_padded, log_ticks, padded, ratio_ticks

GAP = 0.2
positions = st.floats(0, 5, allow_nan=False)
ranges = st.tuples(st.floats(1e-9, 1e15), st.floats(1.001, 1e12)).map(lambda r: (r[0], r[0] * r[1]))


@given(st.lists(positions, min_size=1, max_size=8))
def test_labels_that_share_some_x_stay_a_gap_apart(wishes: list[float]) -> None:
    ys = sorted(apart([Label(0, 1, y) for y in wishes], GAP))
    assert all(b - a >= GAP - 1e-9 for a, b in pairwise(ys))


@given(st.lists(positions, min_size=1, max_size=8))
def test_labels_beside_each_other_stay_where_they_want_to_be(wishes: list[float]) -> None:
    labels = [Label(2 * place, 2 * place + 1, y) for place, y in enumerate(wishes)]
    assert apart(labels, GAP) == pytest.approx(wishes)


def test_labels_move_no_farther_than_they_must() -> None:
    assert sorted(apart([Label(0, 1, 1.0), Label(0, 1, 1.0)], GAP)) == pytest.approx([0.9, 1.1])


def test_a_fixed_label_stays_and_the_other_gives_way() -> None:
    free, fixed = apart([Label(0, 1, 1.02), Label(0, 1, 1.0, fixed=True)], GAP)
    assert fixed == pytest.approx(1.0, abs=1e-4)
    assert abs(free - fixed) == pytest.approx(GAP, abs=1e-4)


def test_of_labels_at_one_height_the_rightmost_is_on_top() -> None:
    left, right = apart([Label(0, 3, 1.0), Label(1, 4, 1.0)], GAP)
    assert right > left


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (1, 100, 9, [1, 2, 5, 10, 20, 50, 100]),
        (1, 100, 5, [1, 3, 10, 30, 100]),
        (1, 100, 3, [1, 10, 100]),
        (1, 1e8, 3, [1, 1e3, 1e6]),
    ],
)
def test_a_log_axis_gets_round_numbers_and_fewer_where_there_is_less_room(
    low: float, high: float, most: int, ticks: list[float]
) -> None:
    assert log_ticks(low, high, most) == pytest.approx(ticks)


@given(ranges, st.integers(2, 9))
def test_ticks_lie_in_the_range_and_are_no_more_than_asked_for(ends: tuple[float, float], most: int) -> None:
    low, high = ends
    for ticks in (log_ticks(low, high, most), even_ticks(low, high, most), ratio_ticks(low, high, most)):
        assert len(ticks) <= most
        assert all(low * (1 - 1e-9) <= tick <= high * (1 + 1e-9) for tick in ticks)


def test_a_log_axis_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="0 < low < high"):
        log_ticks(0, 1, 5)


@pytest.mark.parametrize(("low", "high"), [(0.98, 1.02), (0.9, 1.6), (120, 800), (1, 1e4)])
def test_a_short_log_axis_has_ticks_too(low: float, high: float) -> None:
    assert len(ratio_ticks(low, high, 5)) >= 2


@pytest.mark.parametrize("value", [0.0, -3.0, 5.0])
def test_a_range_without_width_gets_one(value: float) -> None:
    low, high = padded(value, value)
    assert low < value < high


def test_a_ratio_without_width_gets_one() -> None:
    low, high = log_padded(2.0, 2.0)
    assert low < 2.0 < high
