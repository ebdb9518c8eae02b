"""Markup that text cannot break out of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.plots.html import Html, element, inline_svg, joined


@given(st.text())
def test_text_never_becomes_markup(text: str) -> None:
    inner = element("p", text).removeprefix("<p>").removesuffix("</p>")
    assert "<" not in inner
    attribute = element("p", title=text).removeprefix('<p title="').removesuffix('"></p>')
    assert '"' not in attribute
    assert "<" not in attribute


def test_what_was_built_here_stays_as_it_is() -> None:
    assert element("p", element("b", "a & b"), " <c>") == "<p><b>a &amp; b</b> &lt;c&gt;</p>"


def test_absent_children_and_attributes_are_left_out() -> None:
    assert element("p", None, "x", class_=None, data_label="y") == '<p data-label="y">x</p>'
    assert joined("a", None, Html("<br>")) == "a<br>"


def test_control_characters_are_shown_as_escapes() -> None:
    assert element("p", "\x1b[2J\u202e") == "<p>\\x1b[2J\\u202e</p>"


SVG = b"""<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="9" viewBox="0 0 9 9">
<metadata><x xmlns="y">2026</x></metadata><defs><style>*{stroke: red}</style><clipPath id="a"/></defs>
<g clip-path="url(#a)" style="fill: #1c2128"><use xlink:href="#a"/>
<text>id="a" #1c2128 &lt;b&gt;</text></g></svg>"""


@pytest.fixture
def inlined() -> str:
    return inline_svg(SVG, "roofline", "A <label>", {"#1c2128": "var(--ink)"})


def test_ids_and_references_of_an_inlined_picture_are_its_own(inlined: str) -> None:
    assert 'id="roofline-a"' in inlined
    assert 'href="#roofline-a"' in inlined
    assert "url(#roofline-a)" in inlined


def test_an_inlined_picture_takes_the_colours_of_the_page_and_keeps_its_text(inlined: str) -> None:
    assert 'style="fill: var(--ink)"' in inlined
    assert 'id="a" #1c2128 &lt;b&gt;' in inlined


def test_an_inlined_picture_brings_no_style_sheet_no_metadata_and_no_size(inlined: str) -> None:
    assert "<style" not in inlined
    assert "metadata" not in inlined
    assert "width" not in inlined
    assert 'aria-label="A &lt;label&gt;"' in inlined
