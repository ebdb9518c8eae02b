"""Every ceiling of a GPU is measured, and they are in the order that hardware has them in."""

from typing import Any

import pytest

from hotlap.calibrate import calibrate, measure_ceilings
from hotlap.referee.ceilings_cuda import ways


@pytest.fixture(scope="module")
def measured(device: Any) -> tuple[dict[str, float], dict[str, str]]:
    """Medians by name, and why others are absent."""
    calibrate(device)
    calibration, absent = measure_ceilings(device)
    for one in calibration.ceilings:
        print(one)
    return {one.name: one.value.estimate for one in calibration.ceilings}, absent


def test_each_ceiling_is_there_or_says_why_not(
    device: Any, measured: tuple[dict[str, float], dict[str, str]]
) -> None:
    found, absent = measured
    memory = {"memory-read", "memory-write", "memory-copy"}
    assert set(found) | set(absent) == memory | set(ways(device))
    assert memory | {"l2-read", "peak-float32", "launch", "launch-graph"} <= set(found)


def test_the_cache_is_faster_than_the_memory(
    measured: tuple[dict[str, float], dict[str, str]],
) -> None:
    found, _ = measured
    assert found["l2-read"] > found["memory-read"]


def test_narrower_arithmetic_is_faster(measured: tuple[dict[str, float], dict[str, str]]) -> None:
    found, _ = measured
    order = [f"peak-{name}" for name in ("float32", "tf32", "bfloat16", "float8_e4m3fn")]
    peaks = [found[name] for name in order if name in found]
    assert peaks == sorted(peaks)


def test_a_launch_takes_microseconds_and_less_in_a_graph(
    measured: tuple[dict[str, float], dict[str, str]],
) -> None:
    found, _ = measured
    assert 100 < found["launch-graph"] <= 1.2 * found["launch"] < 20_000
