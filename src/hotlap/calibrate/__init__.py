"""What a machine can do, and what it can tell apart: measured, and kept by device and driver."""

from hotlap.calibrate.machine import calibrate, footprints_below, measure_ceilings
from hotlap.calibrate.stored import load_calibration, update

__all__ = ["calibrate", "footprints_below", "load_calibration", "measure_ceilings", "update"]
