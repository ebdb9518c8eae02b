"""A short look at whether a machine is still the one that was calibrated."""

from dataclasses import dataclass

from hotlap.calibrate.machine import memory_ceilings, rates, ways_of
from hotlap.errors import UsageError
from hotlap.model import Calibration, Ceiling
from hotlap.referee import bandwidth_cpu, bandwidth_cuda
from hotlap.referee.case import Progress, silent
from hotlap.referee.ceilings_cuda import Unsupported
from hotlap.referee.device import Device
from hotlap.roofline import ceiling

MAY_DIFFER = {"cuda": 0.03, "cpu": 0.30}  # shares; a virtual machine's CPU changes from minute to minute
SHORT = ("l2-read", "launch", "peak-bfloat16", "peak-float32")


@dataclass(frozen=True)
class Look:
    """One ceiling then and now, in its unit."""

    name: str
    unit: str
    then: float
    now: float
    has_changed: bool


def check(device: Device, calibration: Calibration | None, progress: Progress = silent) -> list[Look]:
    """Measure some ceilings again, beside what is stored; nothing is stored. Takes seconds.

    Raises UsageError where nothing is stored, DeviceError.
    """
    if calibration is None or not calibration.ceilings:
        raise UsageError(f"{device.info.name} is not calibrated: run `hotlap calibrate` first")
    stored = {one.name: one for one in calibration.ceilings}
    grid = bandwidth_cpu.FOOTPRINTS if device.info.kind == "cpu" else bandwidth_cuda.FOOTPRINTS
    measured = rates(device, progress, grid[-1:])
    found = [one for kinds in measured.values() for one in memory_ceilings(kinds)]
    for name, measure in ways_of(device).items():
        if name in SHORT and name in stored:
            progress(f"looking at {name}", None)
            try:
                found.append(ceiling(name, measure()))
            except Unsupported:
                continue
    allowed = MAY_DIFFER[device.info.kind]
    return [_look(stored[one.name], one, allowed) for one in found if one.name in stored]


def _look(then: Ceiling, now: Ceiling, allowed: float) -> Look:
    ratio = now.value.estimate / then.value.estimate
    return Look(now.name, now.unit, then.value.estimate, now.value.estimate, abs(ratio - 1) > allowed)
