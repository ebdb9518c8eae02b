"""When an answer counts as right, element by element, and what is said of one that is not."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hotlap.errors import ProblemError
from hotlap.model import Errors
from hotlap.problems.native import load
from hotlap.problems.reference import load_reference
from hotlap.referee.buffers import Layout
from hotlap.referee.check import (
    NO_ERRORS,
    Comparison,
    compare_call,
    compare_tensor,
    draw_places,
    merge,
    unwritten,
)
from tests.problems.folders import write_problem

NAN, INF = math.nan, math.inf


def compare(
    out: Any,
    truth: Any,
    rtol: float = 0.0,
    atol: "float | torch.Tensor" = 0.0,
    dtype: torch.dtype = torch.float32,
) -> tuple[str | None, Errors]:
    return compare_tensor(
        "y", torch.tensor(out, dtype=dtype), torch.tensor(truth, dtype=torch.float64), rtol, atol
    )


# --- one output ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "truth", "is_right"),
    [
        ([1.0, NAN], [1.0, NAN], True),
        ([1.0, NAN], [1.0, 2.0], False),
        ([1.0, 2.0], [1.0, NAN], False),
        ([INF], [INF], True),
        ([-INF], [-INF], True),
        ([-INF], [INF], False),
        ([INF], [1e30], False),
        ([1e30], [INF], False),
        ([NAN], [INF], False),
        ([INF], [NAN], False),
        ([0.0], [-0.0], True),
    ],
)
@pytest.mark.parametrize("rtol", [0.0, 0.5])
def test_nan_and_infinity_are_right_exactly_where_the_reference_has_them(
    out: list[float], truth: list[float], is_right: bool, rtol: float
) -> None:
    assert (compare(out, truth, rtol=rtol)[0] is None) == is_right


def test_one_nan_among_many_right_elements_is_wrong() -> None:
    out = [1.0] * 1000
    out[617] = NAN
    wrong, _ = compare(out, [1.0] * 1000, rtol=1.0, atol=1.0)
    assert wrong is not None
    assert "1 of 1000 elements" in wrong
    assert "y[617]: nan, expected 1" in wrong


@pytest.mark.parametrize(
    ("out", "rtol", "atol", "is_right"),
    [
        (102.0, 0.02, 0.0, True),
        (102.5, 0.02, 0.0, False),
        (102.5, 0.02, 0.5, True),
        (98.0, 0.02, 0.0, True),
        (97.5, 0.02, 0.0, False),
        (100.5, 0.0, 0.5, True),
        (100.75, 0.0, 0.5, False),
        (100.0, 0.0, 0.0, True),
    ],
)
def test_the_allowed_error_is_atol_plus_rtol_times_the_truth(
    out: float, rtol: float, atol: float, is_right: bool
) -> None:
    assert (compare([out], [100.0], rtol, atol)[0] is None) == is_right


def test_no_error_is_allowed_where_both_tolerances_are_zero() -> None:
    next_up = float(np.nextafter(np.float32(1), np.float32(2)))
    assert compare([1.0], [1.0])[0] is None
    assert compare([next_up], [1.0])[0] is not None


def test_the_truth_is_not_rounded_to_the_type_of_the_output() -> None:
    third = 1 / 3
    assert compare([third], [third], atol=1e-9)[0] is not None  # float32 misses it by 1e-8
    assert compare([third], [third], atol=1e-8)[0] is None


def test_atol_may_be_a_tensor_with_a_bound_for_each_element() -> None:
    bound = torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert compare([5.0, 6.0], [5.0, 5.0], atol=bound)[0] is None
    wrong, _ = compare([6.0, 6.0], [5.0, 5.0], atol=bound)
    assert wrong is not None
    assert "1 of 2" in wrong
    assert "y[0]" in wrong


@pytest.mark.parametrize(
    ("dtype", "out", "truth", "is_right"),
    [
        (torch.int64, [2**53 + 1], [2**53], False),  # equal as float64
        (torch.int64, [-(2**63)], [-(2**63)], True),
        (torch.int32, [3, 4], [3, 4], True),
        (torch.int8, [-1], [1], False),
        (torch.uint8, [255], [255], True),
        (torch.bool, [True, False], [True, False], True),
        (torch.bool, [True, True], [True, False], False),
    ],
)
def test_integers_and_bools_must_be_equal(
    dtype: torch.dtype, out: list[int], truth: list[int], is_right: bool
) -> None:
    kind = torch.bool if dtype == torch.bool else torch.int64
    wrong, errors = compare_tensor(
        "y", torch.tensor(out, dtype=dtype), torch.tensor(truth, dtype=kind), 9.0, 9.0
    )
    assert (wrong is None) == is_right
    assert errors == NO_ERRORS


@pytest.mark.parametrize(
    "name", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
@pytest.mark.parametrize("out", [2.0, 3.0])
def test_every_floating_type_can_be_compared(name: str, out: float) -> None:
    wrong, _ = compare([out], [2.0], dtype=getattr(torch, name))
    assert (wrong is None) == (out == 2.0)


def test_an_output_without_dimensions_is_one_element() -> None:
    assert compare(2.0, 2.0)[0] is None
    wrong, errors = compare(3.0, 2.0)
    assert wrong == (
        "output y: 1 of 1 elements beyond tolerance; first at y: 3, expected 2 (allowed error 0)"
    )
    assert errors.max_abs_error == 1.0


def test_an_empty_output_is_right_and_has_no_errors() -> None:
    assert compare([], [], rtol=1.0) == (None, NO_ERRORS)
    assert compare([], []) == (None, NO_ERRORS)


def test_the_message_names_count_first_place_both_values_and_the_allowed_error() -> None:
    truth = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    out = truth.to(torch.float32)
    out[1, 0], out[1, 2] = 7.0, -1.0
    wrong, _ = compare_tensor("scores", out, truth, 0.25, 0.125)
    assert wrong == (
        "output scores: 2 of 6 elements beyond tolerance; first at scores[1, 0]: 7, expected 3 "
        "(allowed error 0.875)"
    )


def test_a_float_is_not_cut_to_an_integer_where_the_reference_gives_integers() -> None:
    truth = torch.tensor([3, 4])
    assert compare_tensor("y", torch.tensor([3.0, 4.0]), truth, 0.0, 0.0)[0] is None
    assert compare_tensor("y", torch.tensor([3.9, 4.0]), truth, 0.0, 0.0)[0] is not None


def test_large_integers_are_shown_with_every_digit() -> None:
    wrong, _ = compare_tensor("y", torch.tensor([2**53 + 1]), torch.tensor([2**53]), 0.0, 0.0)
    assert wrong is not None
    assert f"{2**53 + 1}, expected {2**53}" in wrong


# --- errors ----------------------------------------------------------------------------------------


def test_errors_are_the_largest_absolute_the_largest_relative_and_the_share_of_the_tolerance() -> None:
    _, errors = compare([1.5, 100.0], [1.0, 102.0], rtol=0.0, atol=4.0)
    assert errors == Errors(2.0, 0.5, 0.5)


def test_an_exact_answer_has_no_error_even_where_none_is_allowed() -> None:
    assert compare([0.0, 1.0], [0.0, 1.0])[1] == Errors(0.0, 0.0, 0.0)


def test_an_exact_zero_beside_an_inexact_answer_does_not_hide_the_share_of_the_tolerance() -> None:
    _, errors = compare([0.0, 1.5], [0.0, 1.0], rtol=1.0)
    assert errors == Errors(0.5, 0.5, 0.5)


def test_a_relative_error_where_the_truth_is_zero_is_unknown() -> None:
    assert compare([0.5], [0.0], atol=1.0)[1] == Errors(0.5, None, 0.5)


def test_a_share_of_a_tolerance_of_nothing_is_unknown() -> None:
    assert compare([1.5], [1.0])[1] == Errors(0.5, 0.5, None)


@pytest.mark.parametrize(("out", "truth"), [([NAN], [1.0]), ([INF], [INF]), ([1.0], [NAN])])
def test_errors_are_unknown_where_nothing_finite_was_compared(out: list[float], truth: list[float]) -> None:
    assert compare(out, truth, rtol=1.0)[1] == NO_ERRORS


def test_errors_count_the_finite_elements_beside_an_infinite_one() -> None:
    assert compare([INF, 1.5], [INF, 1.0], atol=1.0)[1] == Errors(0.5, 0.5, 0.5)


def test_a_ratio_too_large_for_a_number_is_unknown_and_not_a_crash() -> None:
    wrong, errors = compare([3e38], [1e-300], rtol=1e-6)
    assert wrong is not None
    assert errors.max_rel_error is None
    assert errors.error_over_tolerance is None


def test_merging_keeps_the_larger_of_each_and_what_is_known() -> None:
    assert merge(Errors(1.0, None, 0.5), Errors(0.5, 0.25, 0.75)) == Errors(1.0, 0.25, 0.75)
    assert merge(NO_ERRORS, NO_ERRORS) == NO_ERRORS


# --- the definition, slowly ------------------------------------------------------------------------


def element_is_right(out: float, truth: float, rtol: float, atol: float) -> bool:
    """|out - truth| <= atol + rtol*|truth| for numbers; NaN and infinities where the truth has them."""
    if math.isnan(truth) or math.isnan(out):
        return math.isnan(truth) and math.isnan(out)
    if math.isinf(truth) or math.isinf(out):
        return out == truth
    return abs(truth - out) <= abs(truth) * rtol + atol


VALUES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, NAN, INF, -INF, 3e38]),
    st.floats(-4, 4, width=32),
    st.floats(width=32),
)
TOLERANCES = st.sampled_from([0.0, 2.0**-24, 2.0**-10, 0.5, 3.0])


@given(st.lists(st.tuples(VALUES, VALUES, st.booleans()), max_size=12), TOLERANCES, TOLERANCES)
def test_a_comparison_agrees_with_the_definition_for_each_element(
    pairs: Sequence[tuple[float, float, bool]], rtol: float, atol: float
) -> None:
    truths = [truth for truth, _, _ in pairs]
    out = torch.tensor([truth if same else other for truth, other, same in pairs], dtype=torch.float32)
    wrong, errors = compare_tensor("y", out, torch.tensor(truths, dtype=torch.float64), rtol, atol)
    right = [element_is_right(o, t, rtol, atol) for o, t in zip(out.tolist(), truths, strict=True)]
    assert (wrong is None) == all(right)
    if wrong is not None:
        assert f"{right.count(False)} of {len(right)} elements" in wrong
        assert f"first at y[{right.index(False)}]:" in wrong
    for value in (errors.max_abs_error, errors.max_rel_error, errors.error_over_tolerance):
        assert value is None or (math.isfinite(value) and value >= 0)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12), TOLERANCES)
def test_the_largest_absolute_error_is_that_of_the_finite_elements(
    pairs: Sequence[tuple[float, float]], rtol: float
) -> None:
    out = torch.tensor([o for o, _ in pairs], dtype=torch.float32)
    truths = [t for _, t in pairs]
    _, errors = compare_tensor("y", out, torch.tensor(truths, dtype=torch.float64), rtol, 0.0)
    finite = [
        abs(t - o) for o, t in zip(out.tolist(), truths, strict=True) if math.isfinite(o) and math.isfinite(t)
    ]
    assert errors.max_abs_error == (max(finite) if finite else None)


# --- one call --------------------------------------------------------------------------------------

PLAIN = """\
import torch


def make_inputs(axes, rng, device):
    return rng.normal((axes["rows"], 2 * axes["cols"])), 3.0


def reference(x, alpha):
    return alpha * x
"""
ONES = torch.ones(1, 6)


def call(tmp_path: Path, extra: str, out: torch.Tensor) -> Comparison:
    """The comparison of one call of `y = 3x` with ones for x."""
    problem = load(write_problem(tmp_path, reference=PLAIN + extra))
    axes = {"rows": 1, "cols": 3, "heads": 2}
    return compare_call(problem, load_reference(problem), axes, (ONES, 3.0), (out,))


def test_a_call_is_compared_with_the_reference(tmp_path: Path) -> None:
    assert call(tmp_path, "", 3 * ONES).wrong is None
    assert call(tmp_path, "", 3.001 * ONES).wrong is not None


def test_a_problem_s_own_check_decides_alone(tmp_path: Path) -> None:
    extra = "\n\ndef check(inputs, outputs):\n    return ['row 1', 'row 2'] if outputs[0].sum() else []\n"
    assert call(tmp_path, extra, 0 * ONES) == Comparison(None, NO_ERRORS)
    assert call(tmp_path, extra, 3 * ONES).wrong == "row 1 (and 1 more)"


def test_a_problem_s_own_tolerance_is_added_to_the_stated_one(tmp_path: Path) -> None:
    extra = "\n\ndef tolerance(x, alpha):\n    return 0.5 * x.abs()\n"
    assert call(tmp_path, extra, 3.5 * ONES).wrong is None
    assert call(tmp_path, extra, 3.6 * ONES).wrong is not None


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        ("def check(inputs, outputs):\n    raise KeyError('k')\n", "check raised KeyError"),
        ("def check(inputs, outputs):\n    return None\n", "check returned NoneType"),
        ("def tolerance(x, alpha):\n    return x / 0 * 0\n", "tolerance for output y: .*finite"),
        ("def tolerance(x, alpha):\n    return x / 0\n", "tolerance for output y: .*finite"),
        ("def tolerance(x, alpha):\n    return -x\n", "tolerance for output y: .*0 or more"),
        ("def tolerance(x, alpha):\n    return x[:, :5]\n", r"tolerance for output y: .*\[1, 5\].*\[1, 6\]"),
        ("def tolerance(x, alpha):\n    return (x, x)\n", "tolerance returned 2 bounds.*1"),
        ("def tolerance(x, alpha):\n    return 'wide'\n", "tolerance for output y: .*str"),
        ("def tolerance(x, alpha):\n    return x[9]\n", "tolerance raised IndexError"),
    ],
)
def test_a_check_or_tolerance_that_breaks_is_the_problem_s_fault(
    tmp_path: Path, extra: str, found: str
) -> None:
    with pytest.raises(ProblemError, match=found):
        call(tmp_path, f"\n\n{extra}", 3 * ONES)


# --- sampled words ---------------------------------------------------------------------------------


def layout(elements: int, itemsize: int = 4) -> Layout:
    return Layout("y", "float32", (elements,), itemsize)


@pytest.mark.parametrize(
    ("elements", "calls", "samples", "each"),
    [
        (1000, 4, 64, 16),
        (1000, 3, 64, 22),  # rounded up: at least 64 in all
        (1000, 512, 64, 1),  # one in each call
        (6, 4, 64, 3),  # no more than there are
        (1, 4, 64, 1),  # half a word counts as one
        (1000, 1, 0, 1),
    ],
)
def test_words_are_drawn_in_every_call(elements: int, calls: int, samples: int, each: int) -> None:
    places = draw_places(layout(elements), calls, samples, 1)
    assert places.words.shape == (calls, each)


@given(st.integers(1, 70), st.sampled_from([1, 2, 4, 8]), st.integers(1, 9), st.integers(0, 99))
def test_drawn_words_lie_within_the_array(elements: int, itemsize: int, calls: int, samples: int) -> None:
    places = draw_places(layout(elements, itemsize), calls, samples, 1)
    assert (places.words >= 0).all()
    assert (8 * (places.words + 1) <= max(8, elements * itemsize)).all()


def test_two_draws_of_places_differ() -> None:
    first, second = (draw_places(layout(1 << 20), 8, 1024, 1).words for _ in range(2))
    assert (first != second).any()


def test_words_that_hold_the_poison_were_not_written() -> None:
    places = draw_places(layout(1000), 1, 4, poison=0x7FC00001_7FC00002)
    words = np.array([[0, 0x7FC00001_7FC00002, 5, 0x7FC00001_7FC00002]], np.uint64)
    assert unwritten(places, words) == 2


@pytest.mark.parametrize("size", range(1, 8))
def test_an_array_smaller_than_a_word_is_judged_by_its_own_bytes(size: int) -> None:
    poison = 0xA1A2A3A4_A5A6A7A8
    places = draw_places(layout(size, 1), 1, 1, poison)
    own = poison & ((1 << 8 * size) - 1)
    assert unwritten(places, np.array([[own]], np.uint64)) == 1  # whatever lies behind it
    assert unwritten(places, np.array([[poison ^ 1]], np.uint64)) == 0


def test_a_comparison_is_said_in_one_line() -> None:
    wrong, _ = compare([[1.0, 2.0]], [[1.0, 3.0]])
    assert wrong is not None
    assert re.fullmatch(r"[^\n]+", wrong)
