"""What this machine can do: measured by kernels of ours, stored, and found again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap import calibrate, runs
from hotlap.calibrate import footprints_below, load_calibration, merged
from hotlap.errors import DeviceError
from hotlap.model import Bandwidth, Calibration
from hotlap.referee import build
from hotlap.referee.device import CpuDevice, open_device

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


@pytest.mark.parametrize("content", ["", "{half", '{"schema": "hotlap.calibration/9"}', "[]"])
def test_a_calibration_that_cannot_be_read_counts_as_none(
    measured: Calibration, device: CpuDevice, content: str
) -> None:
    (stored,) = (runs.home() / "calibration").iterdir()
    kept = stored.read_text()
    stored.write_text(content)
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
        ([calibrate.FOOTPRINTS[0]], [calibrate.FOOTPRINTS[0]]),
        ([calibrate.FOOTPRINTS[1] - 1, calibrate.FOOTPRINTS[1]], list(calibrate.FOOTPRINTS[:2])),
        ([1 << 50, 1 << 49], [calibrate.FOOTPRINTS[-1]]),
    ],
)
def test_a_workload_s_floor_rests_on_the_next_smaller_footprint(
    footprints: list[int], below: list[int]
) -> None:
    assert footprints_below(footprints, "cpu") == below
