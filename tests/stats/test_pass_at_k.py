from itertools import combinations

import pytest

from hotlap.stats import pass_at_k


@pytest.mark.parametrize(("samples", "passed"), [(1, 0), (1, 1), (5, 2), (7, 1), (6, 6)])
def test_it_is_the_share_of_draws_of_k_that_hold_a_sample_that_passed(samples: int, passed: int) -> None:
    for k in range(1, samples + 1):
        draws = list(combinations(range(samples), k))
        hits = sum(min(draw) < passed for draw in draws)
        assert pass_at_k(samples, passed, k) == pytest.approx(hits / len(draws))


def test_one_draw_passes_as_often_as_samples_do() -> None:
    assert pass_at_k(8, 3, 1) == pytest.approx(3 / 8)


def test_large_counts_neither_overflow_nor_round_to_nothing() -> None:
    assert pass_at_k(10_000, 1, 10) == pytest.approx(1e-3)


@pytest.mark.parametrize(("samples", "passed", "k"), [(4, 5, 1), (4, -1, 1), (4, 1, 0), (4, 1, 5), (0, 0, 1)])
def test_counts_that_cannot_be_are_refused(samples: int, passed: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass_at_k: needs"):
        pass_at_k(samples, passed, k)
