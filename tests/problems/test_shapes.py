from pathlib import Path

import pytest
import torch

from hotlap.errors import ProblemError
from hotlap.model import TensorSpec
from hotlap.problems import shapes
from hotlap.problems.dtypes import DTYPES, is_float
from hotlap.problems.native import load
from tests.problems.folders import write_problem

AXES = {"rows": 5, "cols": 3}
EPS = 2.0**-23


@pytest.mark.parametrize("dtype", DTYPES)
def test_size_and_epsilon_of_each_dtype_are_those_of_torch(dtype: str) -> None:
    torch_dtype = getattr(torch, dtype)
    assert shapes.itemsize(dtype) == torch_dtype.itemsize
    assert is_float(dtype) == torch_dtype.is_floating_point
    if is_float(dtype):
        assert DTYPES[dtype].eps == torch.finfo(torch_dtype).eps


def test_all_axes_holds_constants_in_the_order_of_the_file(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path))
    assert list(shapes.all_axes(problem, {"cols": 3, "rows": 5}).items()) == [
        ("rows", 5),
        ("cols", 3),
        ("heads", 2),
    ]


def test_all_axes_of_all_axes_is_the_same(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path))
    axes = shapes.all_axes(problem, AXES)
    assert shapes.all_axes(problem, axes) == axes


def test_all_axes_names_an_axis_without_a_value(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no value for axis cols"):
        shapes.all_axes(load(write_problem(tmp_path)), {"rows": 1})


@pytest.mark.parametrize(
    ("shape", "expected", "n_bytes"),
    [(("rows", "2*cols", 4), (5, 6, 4), 240), ((), (), 2), (("max(rows, cols)",), (5,), 10)],
)
def test_a_shape_is_evaluated_and_counted_in_bytes(
    shape: tuple[str | int, ...], expected: tuple[int, ...], n_bytes: int
) -> None:
    spec = TensorSpec("x", "float16", shape)
    assert shapes.shape_of(spec, AXES) == expected
    assert shapes.bytes_of(spec, AXES) == n_bytes


def test_a_scalar_has_no_shape_and_no_buffer() -> None:
    scalar = TensorSpec("alpha", "float32", None)
    assert shapes.bytes_of(scalar, AXES) == 0
    with pytest.raises(ValueError, match="alpha is a scalar"):
        shapes.shape_of(scalar, AXES)


@pytest.mark.parametrize("size", ["rows - 5", "rows / 5", "cols - rows"])
def test_a_size_that_is_not_a_positive_integer_is_a_fault_of_the_problem(size: str) -> None:
    with pytest.raises(ProblemError, match=r"x.shape\[0\].*with rows=5, cols=3; allowed: a positive integer"):
        shapes.shape_of(TensorSpec("x", "int8", (size,)), AXES)


def test_cost_is_evaluated_for_the_axes_of_a_workload(tmp_path: Path) -> None:
    assert shapes.cost(load(write_problem(tmp_path)), AXES) == (16 * 15, 2 * 15)


def test_a_cost_that_is_not_given_is_none(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path, ('flops = "2*rows*cols"\n', "")))
    assert shapes.cost(problem, AXES) == (240, None)


def test_a_fractional_cost_is_rounded(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path, ("2*rows*cols", "rows*log2(rows)")))
    assert shapes.cost(problem, AXES)[1] == 12


def test_tolerance_uses_the_epsilon_of_the_output(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path))
    assert shapes.tolerance(problem, problem.outputs[0], AXES) == (8 * EPS, 0.0)


def test_eps_in_is_that_of_the_widest_float_tensor(tmp_path: Path) -> None:
    half = '[[inputs]]\nname = "h"\ndtype = "float16"\nshape = ["rows"]\n[[outputs]]'
    changes = [('dtype = "float32"\nshape = "scalar"', 'dtype = "float64"\nshape = "scalar"')]
    problem = load(write_problem(tmp_path, *changes, ("[[outputs]]", half), ("atol = 0", 'atol = "eps_in"')))
    assert shapes.tolerance(problem, problem.outputs[0], AXES)[1] == EPS


def test_an_integer_output_must_be_equal(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path))
    assert shapes.tolerance(problem, TensorSpec("i", "int64", ("rows",)), AXES) == (0.0, 0.0)
