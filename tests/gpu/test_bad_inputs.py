"""Every bad input gets its verdict, and the next verdict on the same device is unharmed."""

from collections.abc import Callable

import pytest

from hotlap.model import Verdict
from tests.gpu.cases import Case, bad_inputs


@pytest.mark.parametrize("case", bad_inputs(), ids=lambda case: case.name)
def test_bad_input_gets_its_verdict_and_harms_no_other(
    case: Case, hold_to: Callable[[Case], Verdict], unharmed: Callable[[str], None]
) -> None:
    try:
        hold_to(case)
    finally:
        unharmed(case.file.name)
