"""The rules that name what holds a kernel up."""

from dataclasses import replace
from typing import Any

import pytest

from hotlap.profiling import bottleneck, counters
from hotlap.profiling.report import (
    Bottleneck,
    CpuProfile,
    HotFunction,
    HotLine,
    KernelCounters,
    KernelTime,
    OpTime,
    Timeline,
)
from tests.profiling.captured import text

SOFTMAX, ADD = counters.parse(text("ncu_raw.csv"))
CALL = CpuProfile(
    calls=400,
    wall_ns=1e6,
    busy_cores=1.0,
    threads=1,
    cores=1,
    page_faults=0.0,
    bytes_moved=2_000_000,
    bandwidth=20e9,
)


def of_kernel(kernel: KernelCounters = ADD, bytes_moved: int | None = None, **changes: Any) -> Bottleneck:
    return bottleneck.of_gpu([replace(kernel, **changes)], None, bytes_moved)


def of_call(*, timeline: Timeline | None = None, is_compiled: bool = True, **changes: Any) -> Bottleneck:
    return bottleneck.of_cpu(replace(CALL, **changes), timeline, is_compiled)


# --- GPU -------------------------------------------------------------------------------------------


def test_a_kernel_near_the_memorys_peak_is_memory_bound() -> None:
    found = of_kernel(ADD)
    assert (found.kind, found.headline) == ("memory", "DRAM at 90 % of its peak")
    assert "537 MB read, 249 MB written" in " ".join(found.evidence)
    assert "warps wait for data from memory 74 %" in " ".join(found.evidence)


def test_a_kernel_that_keeps_the_schedulers_busy_is_compute_bound() -> None:
    found = of_kernel(SOFTMAX)
    assert (found.kind, found.headline) == ("compute", "the issue of instructions at 73 % of the peak")


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({"dram_share": 0.3, "l2_share": 0.8}, "memory", "the L2 cache at 80 %"),
        ({"dram_share": 0.3, "l2_share": 0.3, "l1_share": 0.7}, "memory", "the L1 cache and shared memory"),
        (
            {"dram_share": 0.2, "l2_share": 0.2, "compute_share": 0.9, "pipes": {"tensor cores": 0.88}},
            "compute",
            "tensor cores at 88 %",
        ),
        ({"dram_share": 0.2, "l2_share": 0.2, "l1_share": 0.1}, "latency", "warps wait for data from memory"),
        (
            {"dram_share": 0.2, "l2_share": 0.2, "l1_share": 0.1, "waves": 0.1, "grid": "(13, 1, 1)"},
            "latency",
            "the grid (13, 1, 1) fills 10 % of the GPU",
        ),
    ],
)
def test_the_busiest_unit_is_named_and_where_none_is_busy_what_warps_wait_for(
    changes: dict[str, Any], kind: str, says: str
) -> None:
    found = of_kernel(ADD, **changes)
    assert found.kind == kind
    assert says in found.headline


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"excess_sectors_share": 0.4}, "uncoalesced access: 40 %"),
        ({"excess_wavefronts_share": 0.5}, "bank conflicts: 50 %"),
        ({"local_requests": 4096.0}, "spills or local arrays: 4.1 k requests"),
        ({"threads_per_instruction": 12.0}, "divergence: 12 of 32 lanes"),
    ],
)
def test_what_wastes_work_is_told(changes: dict[str, Any], says: str) -> None:
    assert says in " ".join(of_kernel(ADD, **changes).evidence)


def test_what_limits_the_occupancy_is_told_where_it_is_limited() -> None:
    found = of_kernel(ADD, occupancy_possible=0.25, occupancy_limits=("registers",))
    assert "of 25 % possible (limited by registers)" in " ".join(found.evidence)
    assert "limited" not in " ".join(of_kernel(ADD).evidence)


def test_bytes_beyond_the_compulsory_ones_are_what_to_save() -> None:
    assert "1.9 times what the problem needs" in str(of_kernel(ADD, 403_000_000).hint)
    assert "little is left to gain" in str(of_kernel(ADD, 805_306_368).hint)


def test_the_longest_launch_of_a_call_counts() -> None:
    assert bottleneck.of_gpu([ADD, SOFTMAX], None, None).kind == "compute"


TIMELINE = Timeline(20, 100_000.0, 20_000.0, 0.8, 12.0, (KernelTime("k", 12.0, 1.0, 1_667.0),), 0.0, 0.0, 0.0)


def test_a_gpu_that_idles_between_launches_is_launch_bound_whatever_its_kernels_do() -> None:
    found = bottleneck.of_gpu([ADD], TIMELINE, None)
    assert found.kind == "launch"
    assert "kernels run for 20.00 µs of it: 80 % idle" in found.evidence[0]


@pytest.mark.parametrize("changes", [{"waits": 1.0}, {"transfers": 2.0}])
def test_a_gpu_that_idles_while_the_host_waits_or_copies_is_host_bound(changes: dict[str, float]) -> None:
    assert bottleneck.of_gpu([ADD], replace(TIMELINE, **changes), None).kind == "host"


def test_a_gpu_that_is_busy_is_judged_by_its_counters() -> None:
    assert bottleneck.of_gpu([ADD], replace(TIMELINE, idle_share=0.05), None).kind == "memory"


def test_without_counters_the_limit_is_not_known_but_the_rate_is_told() -> None:
    found = bottleneck.of_gpu([], replace(TIMELINE, idle_share=0.05), 80_000_000)
    assert found.kind == "unknown"
    assert "4 TB/s" in " ".join(found.evidence)


def test_without_anything_nothing_is_claimed() -> None:
    assert bottleneck.of_gpu([], None, None) == Bottleneck(
        "unknown", "no profiler saw a kernel of a call", ()
    )


# --- CPU -------------------------------------------------------------------------------------------


def test_a_call_that_moves_most_of_what_the_machine_can_is_memory_bound() -> None:
    found = of_call(wall_ns=125_000.0)
    assert found.kind == "memory"
    assert found.headline == "moving bytes, at 80 % of the best that this machine was seen to do"


def test_without_a_calibration_the_share_is_not_claimed() -> None:
    found = of_call(wall_ns=125_000.0, bandwidth=None)
    assert found.kind == "unknown"
    assert "hotlap calibrate" in found.evidence[0]


def test_a_call_that_takes_memory_from_the_system_is_bound_by_page_faults() -> None:
    assert of_call(page_faults=2000.0).headline.startswith("2000 page faults a call")


@pytest.mark.parametrize(
    ("changes", "is_compiled", "kind", "says"),
    [
        ({"functions": (HotFunction("__expf_fma", "libm.so.6", 0.61),)}, True, "library", "__expf_fma"),
        (
            {"functions": (HotFunction("kernel", "kernel.so", 0.9),), "lines": (HotLine("k.cpp", 12, 0.6),),
             "split_of": "instructions"},
            True,
            "compute",
            "60 % of the instructions are in k.cpp:12",
        ),
        (
            {"lines": (HotLine("k.py", 9, 0.7),), "split_of": "time"},
            False,
            "compute",
            "70 % of the time is in k.py:9",
        ),
        ({"wall_ns": 9_000.0, "bandwidth": None}, False, "interpreter", "Python's own work"),
    ],
)  # fmt: skip
def test_else_the_code_that_the_call_spends_its_time_in_is_named(
    changes: dict[str, Any], is_compiled: bool, kind: str, says: str
) -> None:
    found = of_call(is_compiled=is_compiled, **changes)
    assert found.kind == kind
    assert says in found.headline


def test_an_operation_of_torch_that_takes_most_of_a_call_is_named() -> None:
    timeline = Timeline(16, 1e6, ops=(OpTime("aten::_softmax", 1.0, 0.76),))
    found = of_call(timeline=timeline, is_compiled=False)
    assert (found.kind, found.headline) == ("library", "76 % of a call is inside torch's aten::_softmax")
