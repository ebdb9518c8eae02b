"""A trace in Chrome's format, read into numbers a call."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.profiling.timeline import cpu_timeline, events, gpu_timeline


def span(
    category: str, name: str, start: float, duration: float, tid: int = 1, **details: Any
) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": tid,
        "ts": start,
        "dur": duration,
        "args": details,
    }


def trace(*spans: dict[str, Any]) -> str:
    return json.dumps({"schemaVersion": 1, "traceEvents": list(spans)})


TWO_CALLS = trace(
    span("user_annotation", "hotlap", 0, 30),
    span("cuda_runtime", "cudaLaunchKernel", 1, 2),
    span("cuda_runtime", "cudaStreamSynchronize", 5, 20),
    span("kernel", "big", 10, 40, tid=7, **{"registers per thread": 49, "est. achieved occupancy %": 62}),
    span("kernel", "small", 45, 10, tid=8),  # beside the first for 5 us
    span("gpu_memcpy", "Memcpy DtoH", 60, 5, tid=7),
    span("gpu_memset", "Memset", 66, 1, tid=7),
    span("user_annotation", "hotlap", 100, 30),
    span("cuda_runtime", "cudaMemcpyAsync", 101, 2),
    span("kernel", "big", 110, 40, tid=7),
    span("cuda_runtime", "cudaDeviceSynchronize", 140, 20),  # ours, after the calls
)


def test_a_gpus_timeline_counts_kernels_copies_fills_and_waits_of_a_call() -> None:
    found = gpu_timeline(events(TWO_CALLS), 2, 100_000.0)
    assert found.kernels_per_call == 1.5
    assert (found.transfers, found.fills, found.waits) == (0.5, 0.5, 0.5)


def test_kernels_that_run_side_by_side_are_busy_time_once() -> None:
    found = gpu_timeline(events(TWO_CALLS), 2, 100_000.0)
    assert found.kernel_ns == pytest.approx(42_500.0)  # 10 to 55 and 110 to 150, of two calls
    assert found.idle_share == pytest.approx(0.575)


def test_kernels_come_by_their_share_with_what_the_launch_was_given() -> None:
    big, small = gpu_timeline(events(TWO_CALLS), 2, None).kernels
    assert (big.name, big.launches_per_call, big.mean_ns) == ("big", 1.0, 40_000.0)
    assert (big.registers, big.occupancy) == (49, 0.62)
    assert big.share == pytest.approx(80 / 90)
    assert (small.registers, small.occupancy) == (None, None)


def test_without_a_wall_time_or_a_kernel_no_idle_share_is_claimed() -> None:
    assert gpu_timeline(events(TWO_CALLS), 2, None).idle_share is None
    assert gpu_timeline([], 2, 100.0).idle_share is None


def test_an_operations_own_time_is_without_what_runs_within_it() -> None:
    text = trace(
        span("user_annotation", "hotlap", 0, 100),
        span("cpu_op", "aten::softmax", 0, 90),
        span("cpu_op", "aten::_softmax", 5, 80),
        span("cpu_op", "aten::add", 91, 5),
    )
    found = cpu_timeline(events(text), 2, 50_000.0)
    assert [(op.name, op.per_call, round(op.share, 3)) for op in found.ops] == [
        ("aten::_softmax", 0.5, 0.8),
        ("aten::softmax", 0.5, 0.1),
        ("aten::add", 0.5, 0.05),
    ]


def test_operations_of_other_threads_do_not_lie_within_each_other() -> None:
    text = trace(
        span("user_annotation", "hotlap", 0, 10),
        span("cpu_op", "a", 0, 10, tid=1),
        span("cpu_op", "b", 2, 5, tid=2),
    )
    assert {op.name: op.share for op in cpu_timeline(events(text), 1, None).ops} == {"a": 1.0, "b": 0.5}


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["traceEvents", "ph", "cat", "name", "ts", "dur", "args", "X"]), inner
        )
    ),
    max_leaves=20,
)


@given(anything)
def test_whatever_a_kernel_puts_in_the_place_of_a_trace_is_read_as_data(value: Any) -> None:
    found = events(json.dumps(value))
    assert all(isinstance(event.start_us, float) for event in found)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, b"\xff\xfe"])
def test_what_is_no_json_holds_no_events(text: str | bytes) -> None:
    assert events(text) == []
