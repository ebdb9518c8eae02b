"""What this machine can do: measured by kernels of ours, stored, and found again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap import calibrate, runs
from hotlap.calibrate import footprints_below, load_calibration, measure_ceilings, update
from hotlap.calibrate.machine import best, best_of, memory_ceilings, merged
from hotlap.errors import DeviceError
from hotlap.model import Bandwidth, Calibration, PairBlocks, Period
from hotlap.referee import build
from hotlap.referee.bandwidth_cpu import FOOTPRINTS as GRID
from hotlap.referee.device import CpuDevice, open_device
from hotlap.roofline import ceiling

FOOTPRINTS = (4 << 20, 16 << 20)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CpuDevice]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        patch.setenv("HOTLAP_HOME", str(tmp_path_factory.mktemp("home")))
        with open_device() as opened:
            yield opened


@pytest.fixture(scope="module")
def measured(device: CpuDevice) -> Calibration:
    return calibrate.calibrate(device, footprints=FOOTPRINTS)


def test_every_mix_of_reads_and_writes_is_measured_at_every_footprint(measured: Calibration) -> None:
    assert [b.footprint_bytes for b in measured.bandwidth] == list(FOOTPRINTS)
    rates = [rate for b in measured.bandwidth for rate in (b.read, b.write, b.copy, b.add)]
    assert all(1e8 < rate < 1e13 for rate in rates)  # bytes a second, of any machine there is


def test_a_calibration_is_that_of_its_device(measured: Calibration, device: CpuDevice) -> None:
    assert (measured.device_uuid, measured.driver) == (device.info.uuid, device.info.driver)


def test_a_stored_calibration_is_found_by_its_device(measured: Calibration, device: CpuDevice) -> None:
    assert load_calibration(device.info) == measured


@pytest.mark.parametrize("changes", [{"uuid": "CPU-other"}, {"driver": "another"}])
def test_another_device_or_driver_has_none(
    measured: Calibration, device: CpuDevice, changes: dict[str, str]
) -> None:
    assert load_calibration(replace(device.info, **changes)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["", "\xff\xfe", "{half", '{"schema": "hotlap.calibration/9"}', "[]"])
def test_a_calibration_that_cannot_be_read_counts_as_none(
    measured: Calibration, device: CpuDevice, content: str
) -> None:
    (stored,) = (runs.home() / "calibration").iterdir()
    kept = stored.read_text()
    stored.write_text(content, encoding="latin-1")
    try:
        assert load_calibration(device.info) is None
    finally:
        stored.write_text(kept)


def test_without_a_compiler_calibration_is_the_device_s_fault(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("HOTLAP_HOME", str(tmp_path))
    build.compiler.cache_clear()
    try:
        with pytest.raises(DeviceError, match="CXX=no-such-compiler does not run"):
            calibrate.calibrate(device)
    finally:
        build.compiler.cache_clear()
    assert load_calibration(device.info) is None


def test_of_two_calibrations_the_best_of_each_counts_at_each_footprint() -> None:
    new = [Bandwidth(16, 5.0, 1.0, 3.0, 4.0), Bandwidth(4, 1.0, 1.0, 1.0, 1.0)]
    old = [Bandwidth(16, 2.0, 9.0, 3.0, 5.0), Bandwidth(64, 7.0, 7.0, 7.0, 7.0)]
    assert merged(new, old) == (
        Bandwidth(4, 1.0, 1.0, 1.0, 1.0),
        Bandwidth(16, 5.0, 9.0, 3.0, 5.0),
        Bandwidth(64, 7.0, 7.0, 7.0, 7.0),
    )


def test_the_best_bandwidth_is_that_of_the_fastest_round() -> None:
    rounds = {"read": [1.0, 3.0], "write": [2.0, 1.0], "copy": [4.0], "add": [5.0, 5.5]}
    assert best({4096: rounds}) == [Bandwidth(4096, 3.0, 2.0, 4.0, 5.5)]


def test_the_ceilings_of_memory_are_medians_of_reads_writes_and_copies() -> None:
    kinds = {name: [base + i for i in range(7)] for base, name in enumerate(("read", "write", "copy", "add"))}
    found = memory_ceilings(kinds)
    assert [(c.name, c.unit, c.value.estimate) for c in found] == [
        ("memory-read", "B/s", 3.0),
        ("memory-write", "B/s", 4.0),
        ("memory-copy", "B/s", 5.0),
    ]


def test_of_two_ceilings_the_farther_one_stays_and_so_do_others() -> None:
    slow, quick = ceiling("launch", [2.0] * 6), ceiling("launch", [1.0] * 6)  # ns
    low, high = ceiling("l2-read", [3.0] * 6), ceiling("l2-read", [4.0] * 6)  # B/s
    assert best_of([quick, low], [slow, high]) == (quick, high)
    assert best_of([slow, high], [quick, low]) == (quick, high)
    assert best_of([slow], [low]) == (low, slow)


def test_the_largest_footprint_gives_the_ceilings_of_memory(measured: Calibration, device: CpuDevice) -> None:
    assert [c.name for c in measured.ceilings] == ["memory-read", "memory-write", "memory-copy"]
    again = calibrate.calibrate(device, footprints=FOOTPRINTS[:1])
    assert again.ceilings == measured.ceilings


def test_the_ceilings_of_a_cpu_are_stored_beside_its_bandwidth(
    measured: Calibration, device: CpuDevice
) -> None:
    found, absent = measure_ceilings(device)
    values = {c.name: c.value for c in found.ceilings}
    assert {"peak-float64", "peak-float32", "launch", "memory-read"} <= set(values)
    assert all(0 < v.ci_low <= v.estimate <= v.ci_high for v in values.values())
    # One core of any processor there is. Sums that a compiler merged would go beyond.
    assert 1e8 < values["peak-float64"].estimate < values["peak-float32"].estimate
    assert values["peak-float32"].estimate < 4e11 * len(device.contestant_cpus)
    assert 0.1 < values["launch"].estimate < 100
    assert absent == {}
    assert [b.footprint_bytes for b in found.bandwidth] == [b.footprint_bytes for b in measured.bandwidth]


def test_what_is_stored_beside_stays_when_something_is_measured_again(
    measured: Calibration, device: CpuDevice
) -> None:
    periods = (Period("memory", "2026-11-30", 0.0, (PairBlocks((0.1,), (True,), 1.0, 1.1),)),)
    update(device.info, periods=periods, floor95=0.0001, process_part=0.0005)
    again = calibrate.calibrate(device, footprints=FOOTPRINTS[:1])
    assert (again.periods, again.floor95, again.process_part) == (periods, 0.0001, 0.0005)
    assert load_calibration(device.info) == again


def test_a_device_without_a_calibration_gets_one_from_any_part_of_it(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOTLAP_HOME", str(tmp_path))
    stored = update(device.info, floor95=0.0002)
    assert (stored.device_uuid, stored.driver, stored.bandwidth) == (device.info.uuid, device.info.driver, ())
    assert load_calibration(device.info) == stored


def test_measuring_again_keeps_what_is_stored_and_never_lowers_it(
    measured: Calibration, device: CpuDevice
) -> None:
    again = calibrate.calibrate(device, footprints=FOOTPRINTS[:1])
    assert [b.footprint_bytes for b in again.bandwidth] == list(FOOTPRINTS)
    assert again.bandwidth[1] == measured.bandwidth[1]
    assert again.bandwidth[0].copy >= measured.bandwidth[0].copy
    assert load_calibration(device.info) == again


@pytest.mark.parametrize(
    ("footprints", "below"),
    [
        ([], []),
        ([1000], []),
        ([GRID[0]], [GRID[0]]),
        ([GRID[1] - 1, GRID[1]], list(GRID[:2])),
        ([1 << 50, 1 << 49], [GRID[-1]]),
    ],
)
def test_a_workload_s_floor_rests_on_the_next_smaller_footprint(
    footprints: list[int], below: list[int]
) -> None:
    assert footprints_below(footprints, "cpu") == below
