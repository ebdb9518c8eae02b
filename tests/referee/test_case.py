"""What is recorded of a workload beside what was seen of it."""

from pathlib import Path

import pytest

from hotlap.model import TensorSpec
from hotlap.referee.case import arithmetic
from tests.cli.factory import problem


@pytest.mark.parametrize(
    ("dtypes", "precision", "found"),
    [
        (["float32"], None, "float32"),
        (["bfloat16", "float32", "float16"], None, "float32"),
        (["int64", "float16"], None, "float16"),
        (["float8_e4m3fn"], None, "float8_e4m3fn"),
        (["float32", "float32"], "tf32", "tf32"),
        (["int32", "bool"], None, None),
        ([], None, None),
    ],
)
def test_the_arithmetic_of_a_problem_is_that_of_its_widest_float_input(
    dtypes: list[str], precision: str | None, found: str | None
) -> None:
    inputs = tuple(TensorSpec(f"x{i}", dtype, ("rows",)) for i, dtype in enumerate(dtypes))
    assert arithmetic(problem(Path(), inputs=inputs, precision=precision)) == found


def test_a_scalar_says_nothing_of_the_arithmetic() -> None:
    inputs = (TensorSpec("x", "float16", ("rows",)), TensorSpec("scale", "float64", None))
    assert arithmetic(problem(Path(), inputs=inputs)) == "float16"
