"""Callgrind's file, row by row, and the source lines of its addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.profiling.callgrind import Counted, located, parse
from tests.profiling.captured import text

CALL_OF_A_HELPER = """\
ob=/submission/kernel.so
fl=/source/k.cpp
fn=kernel
0x10 5 10
cfn=helper
calls=1 0x20 20
0x14 6 1000
fn=helper
0x20 20 1000
"""
CALL_OF_A_LIBRARY = """\
ob=/submission/kernel.so
fl=/source/k.cpp
fn=kernel
0x10 5 10
cob=/usr/lib/libm.so.6
cfn=expf
calls=1 0x99 3
0x14 6 1000

ob=/usr/lib/libm.so.6
fn=expf
0x99 3 1000
"""


def test_own_costs_add_up_to_what_callgrind_says_in_all() -> None:
    summary = next(line for line in text("callgrind.out").splitlines() if line.startswith("summary:"))
    assert parse(text("callgrind.out")).instructions == int(summary.split()[1])


def test_a_function_of_a_library_has_its_own_share() -> None:
    found = parse(text("callgrind.out"))
    (function, library), most = max(found.functions.items(), key=lambda item: item[1])
    assert (function, library) == ("__expf_fma", "libm.so.6")
    assert 0.6 < most / found.instructions < 0.65


def test_a_line_has_what_it_calls_in_a_library_too() -> None:
    found = parse(CALL_OF_A_LIBRARY)
    assert found.instructions == 1010
    assert found.lines == {("k.cpp", 5): 10, ("k.cpp", 6): 1000}
    assert found.addresses == {0x10: 10, 0x14: 1000}
    assert found.functions == {("kernel", "kernel.so"): 10, ("expf", "libm.so.6"): 1000}


def test_a_call_within_the_authors_code_counts_where_it_leads_and_not_where_it_comes_from() -> None:
    assert parse(CALL_OF_A_HELPER).lines == {("k.cpp", 5): 10, ("k.cpp", 20): 1000}


def test_what_was_inlined_from_a_header_counts_for_the_line_that_uses_it() -> None:
    counted = Counted(35, {}, {0x10: 10, 0x14: 20, 0x18: 5}, {})
    printed = (
        "0x0000000000000010\n/source/k.cpp:5\n"
        "0x0000000000000014\n/usr/include/stl_algo.h:5665\n/source/k.cpp:8 (discriminator 2)\n"
        "0x0000000000000018\n/usr/include/start.h:1\n"
    )
    assert located(counted, printed, "k.cpp") == {("k.cpp", 5): 10, ("k.cpp", 8): 20, ("start.h", 1): 5}


@pytest.mark.parametrize("printed", ["", "??:0\n", "0x10\n??:?\n", "0x\n/source/k.cpp:5\n"])
def test_addresses_without_a_known_line_are_left_out(printed: str) -> None:
    assert located(Counted(10, {}, {0x10: 10}, {}), printed, "k.cpp") == {}


@given(st.text(max_size=300))
def test_whatever_the_file_holds_is_read_as_data(found: str) -> None:
    assert parse(found).instructions >= 0
