"""Every bundled solution for a GPU gets the verdict that its first lines state; right ones are timed."""

from collections.abc import Callable

import pytest

from hotlap.model import Verdict
from tests.gpu.cases import Case, solutions


@pytest.mark.parametrize("case", solutions(), ids=lambda case: case.name)
def test_solution_gets_the_verdict_that_it_states(case: Case, hold_to: Callable[[Case], Verdict]) -> None:
    given = hold_to(case)
    if case.timed and given.status == "accepted":
        assert given.score is not None, given.score_reason
