"""What this machine can do: measured by kernels of ours, stored, and found again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap import calibrate, runs
from hotlap.calibrate import load_calibration
from hotlap.errors import DeviceError
from hotlap.model import Calibration
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "FOOTPRINTS", FOOTPRINTS)  # the smaller ones: the others take longer
        return calibrate.calibrate(device)


def test_read_write_and_copy_are_measured_at_every_footprint(measured: Calibration) -> None:
    assert [b.footprint_bytes for b in measured.bandwidth] == list(FOOTPRINTS)
    rates = [rate for b in measured.bandwidth for rate in (b.read, b.write, b.copy)]
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
