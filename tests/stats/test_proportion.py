import numpy as np
import pytest

from hotlap.stats import clopper_pearson
from tests.stats.coverage import monte_carlo_error


@pytest.mark.parametrize(
    ("hits", "trials", "expected"),
    [(0, 60, (0.0, 0.0596)), (60, 60, (0.9404, 1.0)), (7, 7, (0.5904, 1.0)), (3, 20, (0.0321, 0.3789))],
)
def test_known_intervals(hits: int, trials: int, expected: tuple[float, float]) -> None:
    assert clopper_pearson(hits, trials) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("probability", [0.01, 0.05, 0.5, 0.93])
@pytest.mark.parametrize("trials", [7, 60])
def test_it_covers_the_truth_at_least_as_often_as_it_says(probability: float, trials: int) -> None:
    hits = np.random.default_rng(20261130).binomial(trials, probability, size=2000)
    covered = np.mean(
        [low <= probability <= high for low, high in (clopper_pearson(int(h), trials) for h in hits)]
    )
    assert covered >= 0.95 - monte_carlo_error(0.95)


@pytest.mark.parametrize(
    ("hits", "trials", "level"), [(-1, 5, 0.95), (6, 5, 0.95), (0, 0, 0.95), (1, 5, 1.0)]
)
def test_counts_that_cannot_be_are_refused(hits: int, trials: int, level: float) -> None:
    with pytest.raises(ValueError, match="clopper_pearson"):
        clopper_pearson(hits, trials, level)
