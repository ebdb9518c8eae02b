"""ncu's raw page, as an H200 gave it: numbers by name, in nanoseconds, bytes and shares of 1."""

import pytest

from hotlap.profiling.counters import parse
from tests.profiling.captured import text

SOFTMAX, ADD = parse(text("ncu_raw.csv"))


def test_every_launch_is_a_row() -> None:
    assert "SoftMaxForwardReg" in SOFTMAX.name
    assert "vectorized_elementwise_kernel" in ADD.name
    assert (ADD.grid, ADD.block) == ("(65536, 1, 1)", "(128, 1, 1)")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("time_ns", 181_184.0),
        ("dram_read_bytes", 536_892_416.0),
        ("dram_write_bytes", 248_780_288.0),
        ("dram_share", 0.90126699),
        ("l2_share", 0.93004469),
        ("l2_hit_share", 0.34662769),
        ("l1_hit_share", 0.0),
        ("compute_share", 0.05690151),
        ("occupancy", 0.84357328),
        ("occupancy_possible", 1.0),
        ("waves", 31.03),
        ("registers", 32),
        ("shared_bytes", 0.0),
        ("local_requests", 0.0),
        ("threads_per_instruction", 32.0),
        ("excess_sectors_share", 0.0),
    ],
)
def test_units_are_nanoseconds_bytes_and_fractions(field: str, value: float) -> None:
    assert getattr(ADD, field) == pytest.approx(value)


def test_pipes_have_their_shares() -> None:
    assert SOFTMAX.pipes["XU (exp, log, roots, conversions)"] == pytest.approx(0.30951647)
    assert SOFTMAX.pipes["tensor cores"] == pytest.approx(0.02446815, rel=0.02)
    assert SOFTMAX.issue_share == pytest.approx(0.73009081)


def test_stalls_are_shares_of_a_warps_time_and_the_largest_is_first() -> None:
    assert list(ADD.stalls)[:3] == ["long_scoreboard", "drain", "short_scoreboard"]
    assert ADD.stalls["long_scoreboard"] == pytest.approx(0.74, abs=0.005)


def test_to_issue_and_to_be_ready_are_no_stalls() -> None:
    assert not {"selected", "not_selected"} & set(SOFTMAX.stalls)


def test_what_allows_the_fewest_blocks_limits_the_occupancy() -> None:
    assert SOFTMAX.occupancy_limits == ("registers", "the block size")


def test_a_metric_that_is_not_there_is_none() -> None:
    (launch,) = parse('"ID","Kernel Name","gpu__time_duration.sum"\n"","","us"\n"0","k","n/a"\n')
    assert (launch.name, launch.time_ns, launch.registers, launch.stalls) == ("k", None, None, {})


@pytest.mark.parametrize("page", ["", "==ERROR== no kernels were profiled\n", '"ID","Kernel Name"\n', "\0"])
def test_a_page_without_launches_gives_none(page: str) -> None:
    assert parse(page) == ()


def test_what_ncu_says_before_its_table_is_passed_over() -> None:
    assert parse(f"==PROF== Connected to process 7\n{text('ncu_raw.csv')}") == (SOFTMAX, ADD)
