"""The roofline: which ceiling bounds a workload, and how far from it a time is. Pure tables."""

from typing import Any

import pytest

from hotlap.model import Ceiling
from hotlap.roofline import UNITS, ceiling, roofline
from tests.run_factory import workload

FLOOR_NS = 200_000.0
CEILINGS = tuple(
    ceiling(name, [value] * 6)
    for name, value in {
        "memory-read": 4e12,
        "l2-read": 2e13,
        "peak-float32": 5e13,
        "peak-tf32": 4e14,
        "peak-bfloat16": 8e14,
        "peak-float8_e4m3fn": 16e14,
        "launch": 2_000.0,
        "launch-graph": 1_000.0,
    }.items()
)


def without(*names: str) -> tuple[Ceiling, ...]:
    return tuple(one for one in CEILINGS if one.name not in names)


def of(**changes: Any) -> Any:
    """1 GB and 1 GFLOP in float32: memory needs 200 us by the floor, arithmetic 20 us."""
    return workload(
        **({"bytes_moved": 10**9, "flops": 10**9, "arithmetic": "float32", "mode": "graph"} | changes)
    )


@pytest.mark.parametrize(
    ("changes", "floor_ns", "bound", "limit_ns"),
    [
        ({}, FLOOR_NS, "memory", FLOOR_NS),
        ({"flops": 5 * 10**10}, FLOOR_NS, "compute", 1e6),
        ({"flops": 5 * 10**10, "arithmetic": "bfloat16"}, FLOOR_NS, "memory", FLOOR_NS),
        ({"flops": 10**6}, 100.0, "launch", 1_000.0),
        ({"flops": 10**6, "mode": "stream"}, 100.0, "launch", 2_000.0),
        ({"flops": 10**6, "mode": None}, 100.0, "launch", 2_000.0),
        ({"bytes_moved": None}, None, "compute", 20_000.0),
        ({"flops": None}, FLOOR_NS, "memory", FLOOR_NS),
    ],
)
def test_the_slowest_of_memory_arithmetic_and_launch_is_the_limit(
    changes: dict[str, Any], floor_ns: float | None, bound: str, limit_ns: float
) -> None:
    reached = roofline(of(**changes), 3e5, floor_ns, CEILINGS)
    assert (reached.bound, reached.limit_ns) == (bound, pytest.approx(limit_ns))
    assert reached.headroom_ns == pytest.approx(3e5 - limit_ns)


def test_rates_are_what_the_problem_states_over_the_time() -> None:
    reached = roofline(of(), 250_000.0, FLOOR_NS, CEILINGS)
    assert reached.bytes_per_s == pytest.approx(4e12)
    assert reached.flops_per_s == pytest.approx(4e12)


def test_rates_need_no_ceilings_and_ceilings_no_time() -> None:
    unmeasured = roofline(of(), 250_000.0, None, ())
    assert unmeasured.bytes_per_s is not None
    assert (unmeasured.limit_ns, unmeasured.bound, unmeasured.headroom_ns) == (None, None, None)
    untimed = roofline(of(), None, FLOOR_NS, CEILINGS)
    assert (untimed.bytes_per_s, untimed.flops_per_s, untimed.headroom_ns) == (None, None, None)
    assert (untimed.limit_ns, untimed.bound) == (FLOOR_NS, "memory")


def test_a_time_faster_than_the_ceilings_has_less_than_no_headroom() -> None:
    assert roofline(of(), 150_000.0, FLOOR_NS, CEILINGS).headroom_ns == pytest.approx(-50_000.0)


def test_where_there_is_no_floor_the_bytes_may_lie_in_the_cache() -> None:
    reached = roofline(of(flops=None), 3e5, None, CEILINGS)
    assert (reached.bound, reached.limit_ns) == ("memory", pytest.approx(1e9 / 2e13 * 1e9))


@pytest.mark.parametrize(
    ("changes", "floor_ns", "ceilings"),
    [
        ({}, None, without("l2-read")),
        ({}, FLOOR_NS, without("peak-float32")),
        ({"arithmetic": "float16"}, FLOOR_NS, CEILINGS),
        ({"bytes_moved": None, "flops": None}, None, CEILINGS),
        ({"bytes_moved": None, "arithmetic": None}, None, CEILINGS),
    ],
)
def test_what_was_not_measured_or_stated_might_be_the_limit_so_none_is_told(
    changes: dict[str, Any], floor_ns: float | None, ceilings: tuple[Ceiling, ...]
) -> None:
    reached = roofline(of(**changes), 3e5, floor_ns, ceilings)
    assert (reached.limit_ns, reached.bound, reached.headroom_ns) == (None, None, None)


def test_operations_that_are_not_of_floats_have_no_peak_and_do_not_count() -> None:
    reached = roofline(of(flops=10**15, arithmetic=None), 3e5, FLOOR_NS, CEILINGS)
    assert (reached.bound, reached.limit_ns) == ("memory", FLOOR_NS)


def test_launches_count_only_where_they_were_measured() -> None:
    reached = roofline(of(flops=10**6), 3e5, 100.0, without("launch", "launch-graph"))
    assert (reached.bound, reached.limit_ns) == ("memory", 100.0)


@pytest.mark.parametrize(
    ("arithmetic", "left_out", "peak"),
    [
        ("tf32", "", 4e14),
        ("tf32", "peak-tf32", 5e13),  # hardware without it computes in float32
        ("float8_e5m2", "", 16e14),
        ("float8_e4m3fn", "", 16e14),
    ],
)
def test_arithmetic_without_a_peak_of_its_own_has_that_of_its_like(
    arithmetic: str, left_out: str, peak: float
) -> None:
    reached = roofline(of(bytes_moved=None, arithmetic=arithmetic), 3e5, None, without(left_out))
    assert reached.limit_ns == pytest.approx(max(1e9 / peak * 1e9, 1_000.0))


@pytest.mark.parametrize(
    ("name", "unit"),
    [("memory-copy", "B/s"), ("l2-read", "B/s"), ("peak-float64", "FLOP/s"), ("launch-graph", "ns")],
)
def test_a_ceiling_is_the_median_with_its_interval_in_the_unit_of_its_name(name: str, unit: str) -> None:
    found = ceiling(name, [3.0, 1.0, 2.0, 9.0, 4.0, 5.0, 6.0])
    assert (found.name, found.unit, found.value.estimate) == (name, unit, 4.0)
    assert (found.value.ci_low, found.value.ci_high, found.value.n) == (1.0, 9.0, 7)


def test_every_kind_of_ceiling_has_a_unit() -> None:
    assert {one.name.partition("-")[0] for one in CEILINGS} == set(UNITS)


def test_too_few_measurements_for_an_interval_make_no_ceiling() -> None:
    with pytest.raises(ValueError, match="peak-float32: 5 measurements give no 95 % interval"):
        ceiling("peak-float32", [1.0] * 5)
