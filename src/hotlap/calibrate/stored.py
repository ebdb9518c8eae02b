"""The calibration of a device and driver: one JSON file under $HOTLAP_HOME; each measurement adds to it."""

import contextlib
import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap import model, runs, schema
from hotlap.errors import HotlapError
from hotlap.model import Calibration


def load_calibration(device: model.Device) -> Calibration | None:
    """The stored calibration of this device and driver; None when there is none that can be read."""
    with contextlib.suppress(OSError, UnicodeDecodeError, HotlapError):
        return schema.from_json(Calibration, _path(device).read_text())
    return None


def update(device: model.Device, **changes: Any) -> Calibration:
    """The calibration of this device with these fields in place of its own, stored; it keeps all others.

    Raises OSError.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    known = load_calibration(device) or Calibration(device.uuid, device.driver, now, ())
    calibration = replace(known, measured_at=now, **changes)
    path = _path(device)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(schema.to_json(calibration))
    partial.replace(path)
    return calibration


def _path(device: model.Device) -> Path:
    return runs.home() / "calibration" / f"{device.uuid}-{device.driver}.json"
