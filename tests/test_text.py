"""Units, digits, and text of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap import text


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (None, "—"),
        (0.0, "0.000 ns"),
        (0.25, "0.250 ns"),
        (12.5, "12.50 ns"),
        (999.99, "1.000 µs"),  # never 1000.0 ns
        (1_000.0, "1.000 µs"),
        (312_400.0, "312.4 µs"),
        (999_960.0, "1.000 ms"),
        (20_000_000.0, "20.00 ms"),
        (61e9, "61.00 s"),
        (12_345e9, "12345 s"),
    ],
)
def test_a_time_is_shown_in_its_unit_with_four_digits(ns: float | None, shown: str) -> None:
    assert text.time(ns) == shown


def test_an_interval_has_the_unit_and_decimals_of_its_estimate() -> None:
    assert text.time_bounds(999_000.0, 998_000.0, 1_000_500.0) == "[998.0, 1000.5]"


@pytest.mark.parametrize(
    ("value", "bounds", "shown"),
    [
        (None, None, "—"),
        (1.4183, (1.40, 1.44), "1.42x [1.40, 1.44]"),
        (1.4183, (1.4170, 1.4196), "1.418x [1.417, 1.420]"),
        (12.34, (12.0, 12.6), "12.3x [12.0, 12.6]"),
        (123.4, (119.0, 126.0), "123x [119, 126]"),
    ],
)
def test_a_speedup_has_as_many_decimals_as_its_interval_supports(
    value: float | None, bounds: tuple[float, float] | None, shown: str
) -> None:
    parts = [text.speedup(value, bounds)]
    if value is not None and bounds is not None:
        parts.append(text.speedup_bounds(value, bounds))
    assert " ".join(parts) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(None, "—"), (0.443, "44 %"), (1.02, "102 %"), (0.05, "5 %"), (0.0123, "1.2 %"), (0.0, "0 %")],
)
def test_a_fraction_is_shown_in_percent(fraction: float | None, shown: str) -> None:
    assert text.percent(fraction) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "—"), (12, "12 B"), (999, "999 B"), (999_900, "1 MB"), (16_777_216, "16.8 MB")],
)
def test_bytes_are_shown_with_a_decimal_prefix(value: int | None, shown: str) -> None:
    assert text.si(value, "B") == shown


@pytest.mark.parametrize(
    ("values", "unit", "shown"),
    [
        ((4.1423e12, 4.139e12, 4.14491e12), "B/s", "4.142 TB/s [4.139, 4.145]"),
        ((57.98e9, 57.73e9, 158.1e9), "FLOP/s", "57.98 GFLOP/s [57.73, 158.10]"),
        ((9.9996e11, 9.9e11, 1e12), "B/s", "1.000 TB/s [0.990, 1.000]"),
        ((812.0, 800.0, 820.0), "B/s", "812.0 B/s [800.0, 820.0]"),
        ((2e18, 1e18, 3e18), "FLOP/s", "2000 PFLOP/s [1000, 3000]"),
    ],
)
def test_a_rate_has_four_digits_and_its_interval_as_many_decimals(
    values: tuple[float, float, float], unit: str, shown: str
) -> None:
    assert text.si_interval(*values, unit) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\rb", r"a\x0db"),
        ("\x9b1A", r"\x9b1A"),
        ("evil\u202etxt", r"evil\u202etxt"),
        ("\U000e0041", r"\U000e0041"),
        ("tab\tand\nline µ —", "tab\tand\nline µ —"),
    ],
)
def test_invisible_characters_are_shown_as_escapes(raw: str, shown: str) -> None:
    assert text.clean(raw) == shown


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=50))
def test_cleaned_text_holds_no_control_character(raw: str) -> None:
    cleaned = text.clean(raw, one_line=True)
    assert all(char.isprintable() or char.isspace() for char in cleaned)
    assert not set(cleaned) & set("\n\r\t\x0b\x0c\x1b\x85\u2028\u2029")
    assert text.clean(cleaned, one_line=True) == cleaned


def test_redacted_axes_are_called_hidden() -> None:
    assert text.axes(None) == "hidden"
    assert text.axes({"rows": 4096, "cols": 1}) == "rows=4096 cols=1"
