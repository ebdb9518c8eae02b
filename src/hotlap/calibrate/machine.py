"""What a machine can do: memory bandwidth at several footprints, and the ceilings of a roofline."""

from collections.abc import Callable, Mapping, Sequence

from hotlap.calibrate.stored import load_calibration, update
from hotlap.errors import DeviceError
from hotlap.model import Bandwidth, Calibration, Ceiling
from hotlap.referee import bandwidth_cpu, bandwidth_cuda, ceilings_cpu, ceilings_cuda
from hotlap.referee.case import Progress, silent
from hotlap.referee.ceilings_cuda import Unsupported
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import Device
from hotlap.roofline import ceiling

Rates = Mapping[int, Mapping[str, Sequence[float]]]  # bytes a second of rounds, by footprint and traffic
TRAFFIC = ("read", "write", "copy", "add")  # the fields of Bandwidth
MEMORY_CEILINGS = ("read", "write", "copy")


def calibrate(
    device: Device, progress: Progress = silent, footprints: Sequence[int] | None = None
) -> Calibration:
    """Measure this device's bandwidth and store it: at each footprint the best ever seen on it, so that a
    slow minute of the machine does not raise the floor. The largest footprint also gives the ceilings of
    memory. All footprints take about half a minute on a CPU, a second on a GPU.

    Raises DeviceError where there is no C++ compiler, or a kernel of ours fails.
    """
    measured = rates(device, progress, footprints)
    stored = load_calibration(device.info)
    bandwidth = merged(best(measured), stored.bandwidth if stored else ())
    largest = measured.get(bandwidth[-1].footprint_bytes)
    found = memory_ceilings(largest) if largest is not None else []
    return update(
        device.info, bandwidth=bandwidth, ceilings=best_of(found, stored.ceilings if stored else ())
    )


def measure_ceilings(device: Device, progress: Progress = silent) -> tuple[Calibration, dict[str, str]]:
    """Measure what this device's caches, arithmetic and launches can do, and store it; with it, by name, why
    a ceiling is left out. Takes a few seconds.

    Raises DeviceError where there is no C++ compiler, or a kernel of ours fails.
    """
    found, absent = [], {}
    ways = ways_of(device)
    for step, (name, measure) in enumerate(ways.items()):
        progress(f"calibrating {name}", step / len(ways))
        try:
            found.append(ceiling(name, measure()))
        except Unsupported as error:
            absent[name] = str(error)
    stored = load_calibration(device.info)
    return update(device.info, ceilings=best_of(found, stored.ceilings if stored else ())), absent


def rates(device: Device, progress: Progress, footprints: Sequence[int] | None = None) -> Rates:
    """Bytes a second in each round at each footprint, by default all. Raises DeviceError."""
    if isinstance(device, CudaDevice):
        return bandwidth_cuda.rates(device, footprints or bandwidth_cuda.FOOTPRINTS, progress)
    if isinstance(device, CpuDevice):
        return bandwidth_cpu.rates(device, footprints or bandwidth_cpu.FOOTPRINTS, progress)
    raise DeviceError(f"{device.info.name} cannot be calibrated: {device.trust_reason}")


def ways_of(device: Device) -> dict[str, Callable[[], list[float]]]:
    """How each ceiling but those of memory is measured: by its name, what gives its values in its unit.

    Raises DeviceError for a device that cannot be calibrated.
    """
    if isinstance(device, CudaDevice):
        return ceilings_cuda.ways(device)
    if isinstance(device, CpuDevice):
        return ceilings_cpu.ways(device)
    raise DeviceError(f"{device.info.name} cannot be calibrated: {device.trust_reason}")


def best(measured: Rates) -> list[Bandwidth]:
    """The fastest round of each kind of traffic at each footprint."""
    return [
        Bandwidth(footprint, **{name: max(rounds) for name, rounds in kinds.items()})
        for footprint, kinds in measured.items()
    ]


def merged(new: Sequence[Bandwidth], old: Sequence[Bandwidth]) -> tuple[Bandwidth, ...]:
    """The best of each kind of traffic at each footprint, smallest footprint first."""
    found: dict[int, Bandwidth] = {}
    for one in (*old, *new):
        other = found.get(one.footprint_bytes, one)
        kinds = {name: max(getattr(one, name), getattr(other, name)) for name in TRAFFIC}
        found[one.footprint_bytes] = Bandwidth(one.footprint_bytes, **kinds)
    return tuple(found[footprint] for footprint in sorted(found))


def memory_ceilings(kinds: Mapping[str, Sequence[float]]) -> list[Ceiling]:
    """Those of memory, from the rounds at one footprint, bytes a second by kind of traffic."""
    return [ceiling(f"memory-{name}", kinds[name]) for name in MEMORY_CEILINGS]


def best_of(new: Sequence[Ceiling], old: Sequence[Ceiling]) -> tuple[Ceiling, ...]:
    """Of each name the ceiling that is farther up: a slow minute lowers none, as with bandwidth."""
    found = {one.name: one for one in old}
    for one in new:
        known = found.get(one.name)
        if known is None or _is_farther(one, known):
            found[one.name] = one
    return tuple(found.values())


def _is_farther(one: Ceiling, other: Ceiling) -> bool:
    """Less time, or more in a second."""
    if one.unit == "ns":
        return one.value.estimate < other.value.estimate
    return one.value.estimate > other.value.estimate


def footprints_below(footprints: Sequence[int], kind: str) -> list[int]:
    """The calibrated footprints on which the floors of workloads of these rest. kind: cpu, cuda."""
    grid = bandwidth_cpu.FOOTPRINTS if kind == "cpu" else bandwidth_cuda.FOOTPRINTS
    wanted = {max((f for f in grid if f <= footprint), default=None) for footprint in footprints}
    return sorted(f for f in wanted if f is not None)
