"""Every file of the corpus that is for a GPU gets the verdict that it states, and no liar gains by it."""

from collections.abc import Callable

import pytest

from hotlap.model import Verdict
from tests.gpu.cases import Case, corpus

# Where calls in a row cost less than 80 % of a call alone, the call alone ranks: 1 / 0.8 is left to gain.
MOST_GAIN = 1.25


@pytest.mark.parametrize("case", corpus("exploits"), ids=lambda case: case.name)
def test_exploit_gets_the_verdict_that_it_states_and_gains_nothing(
    case: Case, hold_to: Callable[[Case], Verdict]
) -> None:
    given = hold_to(case)
    if given.status == "accepted":
        assert given.score is not None, given.score_reason
        assert given.score.speedup_ci is not None
        assert given.score.speedup_ci[0] < MOST_GAIN


@pytest.mark.parametrize("case", corpus("honest"), ids=lambda case: case.name)
def test_honest_kernel_is_accepted_in_the_mode_that_it_needs(
    case: Case, hold_to: Callable[[Case], Verdict]
) -> None:
    hold_to(case)
