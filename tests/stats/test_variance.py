import numpy as np
import pytest

from hotlap.stats import variance_components

RNG_SEED = 20261130


def pairs(
    rng: np.random.Generator, count: int, blocks: int, within: float, between: float
) -> list[list[float]]:
    """Blocks of process pairs with known scatter."""
    return [[*(rng.normal(scale=between) + rng.normal(scale=within, size=blocks))] for _ in range(count)]


@pytest.mark.parametrize(("within", "between"), [(1.0, 0.0), (1.0, 1.0), (0.1, 2.0)])
def test_both_parts_are_found_on_average(within: float, between: float) -> None:
    rng = np.random.default_rng(RNG_SEED)
    found = [variance_components(pairs(rng, 12, 8, within, between)) for _ in range(300)]
    assert np.mean([f.within**2 for f in found]) == pytest.approx(within**2, rel=0.05)
    # An estimate below zero counts as zero, so nothing at all comes out a little above it.
    assert np.mean([f.between**2 for f in found]) == pytest.approx(between**2, rel=0.1, abs=0.03 * within**2)


@pytest.mark.parametrize("between", [0.0, 0.3, 3.0])
def test_the_bound_holds_at_least_as_often_as_it_says(between: float) -> None:
    rng = np.random.default_rng(RNG_SEED)
    held = [
        variance_components(pairs(rng, 8, 6, 1.0, between), 0.9).between_high >= between for _ in range(500)
    ]
    assert np.mean(held) >= 0.9 - 3 * (0.9 * 0.1 / 500) ** 0.5


@pytest.mark.parametrize(("between", "share"), [(0.0, 0.05), (3.0, 1.0)])
def test_a_part_is_seen_where_there_is_one_and_else_in_5_percent_of_cases(
    between: float, share: float
) -> None:
    rng = np.random.default_rng(RNG_SEED)
    seen = [variance_components(pairs(rng, 8, 8, 1.0, between)).p_value < 0.05 for _ in range(600)]
    assert np.mean(seen) == pytest.approx(share, abs=0.02)


def test_pairs_may_have_different_numbers_of_blocks() -> None:
    rng = np.random.default_rng(RNG_SEED)
    found = [
        variance_components([group[: 2 + i % 7] for i, group in enumerate(pairs(rng, 20, 9, 1.0, 1.5))])
        for _ in range(300)
    ]
    assert np.mean([f.between**2 for f in found]) == pytest.approx(2.25, rel=0.1)


def test_groups_that_agree_have_no_part_of_their_own() -> None:
    assert variance_components([[1.0, 3.0], [1.0, 3.0], [3.0, 1.0]]).between == 0.0


@pytest.mark.parametrize("groups", [[], [[1.0, 2.0]], [[1.0, 2.0], [1.0]], [[1.0, 2.0], [1.0, float("nan")]]])
def test_too_little_is_refused(groups: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="variance_components"):
        variance_components(groups)
