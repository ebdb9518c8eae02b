import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.errors import ProblemError
from hotlap.problems.expr import evaluate, names_in

NAMES = {"rows": 7, "cols": 4096, "eps": 2.0**-23}

numbers = st.integers(0, 1000).map(str) | st.floats(0, 1000, allow_nan=False).map(repr)
expressions = st.recursive(
    numbers | st.sampled_from(sorted(NAMES)),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner),
        st.builds("{} ** {}".format, numbers, st.integers(-3, 12)),
        st.builds("-{}".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["sqrt", "log2"]), inner),
    ),
    max_leaves=8,
)


@given(expressions)
def test_generated_expressions_agree_with_python_arithmetic(text: str) -> None:
    scope = {**NAMES, "sqrt": math.sqrt, "log2": math.log2, "min": min, "max": max, "__builtins__": {}}
    try:
        expected = eval(text, scope)
    except (ArithmeticError, ValueError):
        expected = None
    if expected is None or not math.isfinite(expected):
        with pytest.raises(ProblemError):
            evaluate(text, NAMES)
    else:
        found = evaluate(text, NAMES)
        assert (found, type(found)) == (expected, type(expected))


@given(
    st.text()
    | st.text(alphabet="0123456789abcersw()+-*/%., \n", max_size=60)
    | st.text(alphabet="(-9*", min_size=100, max_size=600)
)
def test_arbitrary_text_raises_nothing_but_problem_error(text: str) -> None:
    for call in (lambda: evaluate(text, NAMES), lambda: names_in(text)):
        try:
            call()
        except ProblemError:
            continue


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8*rows*cols", 8 * 7 * 4096),
        ("-rows", -7),
        ("2**10", 1024),
        ("2**-1", 0.5),
        ("cols // 3 % 5", 4096 // 3 % 5),
        ("cols / 2", 2048.0),
        ("max(rows, cols, 9)", 4096),
        (" rows ", 7),
        ("1e-6", 1e-6),
        ("2**999", 2**999),
        ("(-1)**99999999999", -1),
        ("2**-99999999999", 0.0),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(text: str, value: float) -> None:
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", ["not an expression", "allowed: names, numbers"]),
        ("rows cols", ["not an expression"]),
        ("row", ["found name 'row'", "allowed: cols, eps, rows"]),
        ("abs(rows)", ["found function 'abs'", "sqrt(a)"]),
        ("rows.real", ["'rows.real'", "Attribute"]),
        ("__import__('os').system('true')", ["allowed: names, numbers"]),
        ("[rows]", ["'[rows]'", "List"]),
        ("(x := 3)", ["NamedExpr"]),
        ("rows if cols else 1", ["IfExp"]),
        ("rows < 3", ["Compare"]),
        ("~rows", ["'~rows'"]),
        ("+rows", ["'+rows'"]),
        ("rows @ cols", ["'rows @ cols'"]),
        ("'a' * 9", ["\"'a'\""]),
        ("True", ["'True'"]),
        ("1j", ["'1j'"]),
        ("sqrt(1, 2)", ["sqrt with 2 arguments", "allowed: one argument"]),
        ("min(rows)", ["min with 1 arguments", "two arguments or more"]),
        ("max()", ["max with 0 arguments"]),
        ("min(*rows, 1)", ["Starred"]),
        ("max(1, key=2)", ["Call"]),
        ("rows / (cols - 4096)", ["has no value", "division by zero", "cols=4096"]),
        ("sqrt(-1)", ["has no value"]),
        ("log2(0)", ["has no value"]),
        ("(-1) ** 0.5", ["not a finite real number"]),
        ("1e999", ["not a finite real number"]),
        ("9**9**9", ["larger than 2**1000"]),
        ("2**1001", ["larger than 2**1000"]),
        ("3**631", ["below 2**1000"]),
        ("2**600 * 2**600", ["below 2**1000"]),
        ("10.0 ** 400", ["has no value"]),
        ("1+" * 250 + "1", ["501 characters", "at most 500"]),
        ("1+" * 200 + "1", ["nesting deeper than 64"]),
        ("-" * 400 + "1", ["nesting deeper than 64"]),
        ("(" * 249 + "1" + ")" * 249, ["not an expression"]),
    ],
)
def test_a_bad_expression_is_refused_with_what_was_found_and_what_is_allowed(
    text: str, pieces: list[str]
) -> None:
    with pytest.raises(ProblemError) as caught:
        evaluate(text, NAMES)
    for piece in pieces:
        assert piece in str(caught.value)


def test_names_in_lists_names_but_not_functions() -> None:
    assert names_in("max(rows, sqrt(cols) * 2) + eps") == {"rows", "cols", "eps"}


def test_a_name_hidden_as_a_function_argument_is_still_a_name() -> None:
    assert names_in("min(min, 3)") == {"min"}
