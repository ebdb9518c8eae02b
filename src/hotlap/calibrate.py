"""What this machine can do, measured once and kept: memory bandwidth at several footprints.

The bandwidth is the referee's: kernels of ours in a seat, slots that the referee has just written, the same
clock. So the floor that `judge` derives from it is a floor of just that situation.
"""

import contextlib
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hotlap import model, runs, schema
from hotlap.errors import DeviceError, HotlapError
from hotlap.model import Bandwidth, Calibration, Cost, Problem, Submission, TensorSpec, Tolerance
from hotlap.referee import build
from hotlap.referee.bandwidth_cuda import bandwidth
from hotlap.referee.case import Progress, silent
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import Device
from hotlap.referee.loading import load
from hotlap.referee.rounds import Assignment
from hotlap.referee.seat import Seat, SeatFailed

CALL_BYTES = 1 << 20
FOOTPRINTS = tuple(mib << 20 for mib in (1, 4, 16, 64, 256))
GPU_FOOTPRINTS = tuple(mib << 20 for mib in (256, 1024, 4096))  # several times an L2 and more
FEWEST_ROUNDS, MOST_ROUNDS, CALLS_IN_ALL = 7, 40, 400  # many short rounds find the machine at its best
STREAMED = "#if defined(__AVX2__)\n#include <immintrin.h>\n#endif\n#include <string.h>\n"
# One loop a kind of traffic; several ways to write, because which is fastest depends on the processor.
READ = """
extern "C" int kernel(const float* x, float* y, int64_t n) {
  float total = 0;
  #pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i];
  y[0] = total;
  return 0;
}
"""
WRITE = """
extern "C" int kernel(float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = 1.0f;
  return 0;
}
"""
WRITE_STREAMED = (
    STREAMED
    + """
extern "C" int kernel(float* y, int64_t n) {
#if defined(__AVX2__)
  #pragma omp parallel for
  for (int64_t i = 0; i < n / 8; ++i) _mm256_stream_ps(y + 8 * i, _mm256_set1_ps(1.0f));
#else
  memset(y, 1, n * 4);
#endif
  return 0;
}
"""
)
COPY = """
extern "C" int kernel(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i];
  return 0;
}
"""
COPY_STREAMED = (
    STREAMED
    + """
extern "C" int kernel(const float* x, float* y, int64_t n) {
#if defined(__AVX2__)
  #pragma omp parallel for
  for (int64_t i = 0; i < n / 8; ++i) _mm256_stream_ps(y + 8 * i, _mm256_load_ps(x + 8 * i));
#else
  memcpy(y, x, n * 4);
#endif
  return 0;
}
"""
)
ADD = """
extern "C" int kernel(const float* x0, const float* x1, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x0[i] + x1[i];
  return 0;
}
"""
ADD_STREAMED = (
    STREAMED
    + """
extern "C" int kernel(const float* x0, const float* x1, float* y, int64_t n) {
#if defined(__AVX2__)
  #pragma omp parallel for
  for (int64_t i = 0; i < n / 8; ++i)
    _mm256_stream_ps(y + 8 * i, _mm256_add_ps(_mm256_load_ps(x0 + 8 * i), _mm256_load_ps(x1 + 8 * i)));
#else
  for (int64_t i = 0; i < n; ++i) y[i] = x0[i] + x1[i];
#endif
  return 0;
}
"""
)


@dataclass(frozen=True)
class Traffic:
    """One mix of reads and writes over arrays of CALL_BYTES, and the kernels that may do it fastest."""

    name: str  # a field of Bandwidth
    sources: tuple[str, ...]
    inputs: int
    writes: bool

    @property
    def bytes_moved(self) -> int:
        """Of one call."""
        return CALL_BYTES * (self.inputs + self.writes)


TRAFFIC = (
    Traffic("read", (READ,), 1, False),
    Traffic("write", (WRITE, WRITE_STREAMED), 0, True),
    Traffic("copy", (COPY, COPY_STREAMED), 1, True),
    Traffic("add", (ADD, ADD_STREAMED), 2, True),
)


def calibrate(
    device: Device, progress: Progress = silent, footprints: Sequence[int] | None = None
) -> Calibration:
    """Measure this device and store the result: at each footprint the best bandwidth ever seen on it, so that
    a slow minute of the machine does not raise the floor. All footprints take about half a minute on a CPU, a
    second on a GPU.

    Raises DeviceError where there is no C++ compiler, or a kernel of ours fails.
    """
    if isinstance(device, CudaDevice):
        progress("calibrating bandwidth", None)
        measured = [bandwidth(device, footprint) for footprint in footprints or GPU_FOOTPRINTS]
    elif isinstance(device, CpuDevice):
        measured = _measure_cpu(device, progress, footprints or FOOTPRINTS)
    else:
        raise DeviceError(f"{device.info.name} cannot be calibrated: {device.trust_reason}")
    stored = load_calibration(device.info)
    calibration = Calibration(
        device_uuid=device.info.uuid,
        driver=device.info.driver,
        measured_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        bandwidth=merged(measured, stored.bandwidth if stored else ()),
    )
    path = _path(device.info)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(schema.to_json(calibration))
    return calibration


def _measure_cpu(device: CpuDevice, progress: Progress, footprints: Sequence[int]) -> list[Bandwidth]:
    best: dict[int, dict[str, float]] = {footprint: {} for footprint in footprints}
    steps = [(traffic, source) for traffic in TRAFFIC for source in traffic.sources]
    device.set_referee_affinity()
    try:
        for step, (traffic, source) in enumerate(steps):
            progress(f"calibrating {traffic.name} bandwidth", step / len(steps))
            for footprint, seconds in _time(device, traffic, source, footprints).items():
                seen = best[footprint].get(traffic.name, 0.0)
                best[footprint][traffic.name] = max(seen, traffic.bytes_moved / seconds)
    except SeatFailed as error:
        raise DeviceError(f"calibration failed: {error}") from None
    finally:
        device.restore_affinity()
    return [Bandwidth(footprint, **kinds) for footprint, kinds in best.items()]


def merged(new: Sequence[Bandwidth], old: Sequence[Bandwidth]) -> tuple[Bandwidth, ...]:
    """The best of each kind of traffic at each footprint, smallest footprint first."""
    found: dict[int, Bandwidth] = {}
    for one in (*old, *new):
        other = found.get(one.footprint_bytes, one)
        kinds = {t.name: max(getattr(one, t.name), getattr(other, t.name)) for t in TRAFFIC}
        found[one.footprint_bytes] = Bandwidth(one.footprint_bytes, **kinds)
    return tuple(found[footprint] for footprint in sorted(found))


def footprints_below(footprints: Sequence[int], kind: str) -> list[int]:
    """The calibrated footprints on which the floors of workloads of these rest. kind: cpu, cuda."""
    grid = FOOTPRINTS if kind == "cpu" else GPU_FOOTPRINTS
    wanted = {max((f for f in grid if f <= footprint), default=None) for footprint in footprints}
    return sorted(f for f in wanted if f is not None)


def load_calibration(device: model.Device) -> Calibration | None:
    """The stored calibration of this device and driver; None when there is none that can be read."""
    with contextlib.suppress(OSError, HotlapError):
        return schema.from_json(Calibration, _path(device).read_text())
    return None


def _path(device: model.Device) -> Path:
    return runs.home() / "calibration" / f"{device.uuid}-{device.driver}.json"


def _time(device: CpuDevice, traffic: Traffic, source: str, footprints: Sequence[int]) -> dict[int, float]:
    """Best seconds of one call at each footprint."""
    problem = _problem(traffic)
    submission = Submission("calibrate.cpp", source, "cpp", "", None)
    built = build.build(problem, submission, device.limits)
    if built.library is None:
        raise DeviceError(f"a calibration kernel does not compile: {built.failure and built.failure.detail}")
    seat, null = device.take_seat("bare"), device.null_seat()
    try:
        seat.await_start()
        style = load(seat, problem, submission, built.library)
        axes = {"n": CALL_BYTES // 4}
        seat.thaw()
        seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=axes)
        return {
            footprint: _best_call(problem, axes, seat, null, style, footprint // traffic.bytes_moved or 1)
            for footprint in footprints
        }
    finally:
        seat.close()


def _best_call(
    problem: Problem, axes: dict[str, int], seat: Seat, null: Seat, style: str, calls: int
) -> float:
    """Best seconds of one call in rounds of so many."""
    assignment = Assignment(problem, axes, seat, style, calls)
    values = np.random.default_rng().random(CALL_BYTES // 4, dtype=np.float32).view(np.uint8)
    times_ns, empty_ns = [], []
    try:
        for _ in range(max(FEWEST_ROUNDS, min(MOST_ROUNDS, CALLS_IN_ALL // calls))):
            empty_ns.append(null.empty_round())
            seat.ready(calls, [])
            for buffer in assignment.inputs:
                for slot in range(calls):
                    if buffer is not None:
                        buffer.write(slot, values)
            for output in assignment.outputs:
                output.poison(0, calls)
            times_ns.append(seat.time_round(seat.limits.call_s))
            seat.finish()
    finally:
        assignment.close()
    # The best of each: an overstated bandwidth only lowers the floor, which accuses nobody.
    return max(1.0, min(times_ns) - min(empty_ns)) / calls / 1e9


def _problem(traffic: Traffic) -> Problem:
    """A problem in memory alone, so that its kernels go through the build and seat of all others."""
    names = ["x"] if traffic.inputs == 1 else [f"x{i}" for i in range(traffic.inputs)]
    return Problem(
        suite="calibration",
        name="bandwidth",
        version="0",
        title="bandwidth",
        folder=Path(),
        statement="",
        tags=(),
        axes={"n": None},
        inputs=tuple(TensorSpec(name, "float32", ("n",)) for name in names),
        outputs=(TensorSpec("y", "float32", ("n",) if traffic.writes else (1,)),),
        tolerance=Tolerance("0", "0"),
        cost=Cost(),
        workloads=(),
    )
