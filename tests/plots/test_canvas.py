"""Text that fits its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.plots import canvas

LONG = "batch=8 heads=32 sequence=4096 head_dimension=128 causal=1 window=1024"


def test_a_text_that_fits_stays_whole() -> None:
    assert canvas.fitted("rows=7 cols=13", 3.0) == "rows=7 cols=13"


@pytest.mark.parametrize("width", [0.5, 1.0, 2.0, 4.0])
def test_a_text_that_does_not_fit_loses_its_middle(width: float) -> None:
    shown = canvas.fitted(LONG, width)
    assert canvas.text_width(shown) <= width
    assert "…" in shown
    assert LONG.startswith(shown[:3].rstrip(" …"))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60), st.floats(0.5, 4))
def test_no_text_is_wider_than_its_place(text: str, width: float) -> None:
    with canvas.style():
        assert canvas.text_width(canvas.fitted(text, width)) <= width
        assert all(canvas.text_width(line) <= width for line in canvas.wrapped(text, width))


def test_words_are_kept_when_a_text_is_wrapped() -> None:
    assert " ".join(canvas.wrapped(LONG, 2.0)) == LONG
    assert len(canvas.wrapped(LONG, 2.0)) > 1


def test_a_number_and_its_per_cent_sign_stay_together() -> None:
    assert all(not line.startswith("%") for line in canvas.wrapped("at 95 % of 3 % or 7 %", 0.6))


def test_roles_have_colours_of_their_own() -> None:
    roles = [canvas.INK, canvas.MUTED, canvas.RULE, canvas.PAPER, canvas.SUBMISSION, canvas.BASELINE]
    roles += [canvas.LIMIT, canvas.BAND, canvas.LANE]
    assert len(set(roles)) == len(roles)
