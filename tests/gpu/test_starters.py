"""Every bundled starter for a GPU passes as it is."""

from collections.abc import Callable

import pytest

from hotlap.model import Verdict
from tests.gpu.cases import Case, starters


@pytest.mark.parametrize("case", starters(), ids=lambda case: case.name)
def test_starter_passes_as_it_is(case: Case, hold_to: Callable[[Case], Verdict]) -> None:
    hold_to(case)
