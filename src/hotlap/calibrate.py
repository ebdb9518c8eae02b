"""What this machine can do, measured once and kept: memory bandwidth at several footprints.

The bandwidth is the referee's: kernels of ours in a seat, slots that the referee has just written, the same
clock. So the floor that `judge` derives from it is a floor of just that situation.
"""

import contextlib
import datetime
from pathlib import Path

import numpy as np

from hotlap import runs, schema
from hotlap.errors import DeviceError, HotlapError
from hotlap.model import Bandwidth, Calibration, Cost, Device, Problem, Submission, TensorSpec, Tolerance
from hotlap.referee import build
from hotlap.referee.case import Progress, silent
from hotlap.referee.device import CpuDevice
from hotlap.referee.referee import load
from hotlap.referee.rounds import Assignment
from hotlap.referee.seat import Seat, SeatFailed

CALL_BYTES = 1 << 20
FOOTPRINTS = tuple(mib << 20 for mib in (1, 4, 16, 64, 256))
ROUNDS = 7
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
# traffic: (sources, inputs, bytes of the output, bytes moved) for a call over CALL_BYTES
TRAFFIC: dict[str, tuple[tuple[str, ...], bool, bool, int]] = {
    "read": ((READ,), True, False, CALL_BYTES),
    "write": ((WRITE, WRITE_STREAMED), False, True, CALL_BYTES),
    "copy": ((COPY, COPY_STREAMED), True, True, 2 * CALL_BYTES),
}


def calibrate(device: CpuDevice, progress: Progress = silent) -> Calibration:
    """Measure this device and store the result. Takes about ten seconds.

    Raises DeviceError where there is no C++ compiler, or a kernel of ours fails.
    """
    best: dict[int, dict[str, float]] = {footprint: {} for footprint in FOOTPRINTS}
    steps = sum(len(sources) for sources, *_ in TRAFFIC.values())
    step = 0
    device.set_referee_affinity()
    try:
        for traffic, (sources, reads, writes, moved) in TRAFFIC.items():
            for source in sources:
                progress(f"calibrating {traffic} bandwidth", step / steps)
                for footprint, seconds in _time(device, source, reads, writes).items():
                    best[footprint][traffic] = max(best[footprint].get(traffic, 0.0), moved / seconds)
                step += 1
    except SeatFailed as error:
        raise DeviceError(f"calibration failed: {error}") from None
    finally:
        device.restore_affinity()
    calibration = Calibration(
        device_uuid=device.info.uuid,
        driver=device.info.driver,
        measured_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        bandwidth=tuple(
            Bandwidth(f, kinds["read"], kinds["write"], kinds["copy"]) for f, kinds in best.items()
        ),
    )
    path = _path(device.info)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(schema.to_json(calibration))
    return calibration


def load_calibration(device: Device) -> Calibration | None:
    """The stored calibration of this device and driver; None when there is none that can be read."""
    with contextlib.suppress(OSError, HotlapError):
        return schema.from_json(Calibration, _path(device).read_text())
    return None


def _path(device: Device) -> Path:
    return runs.home() / "calibration" / f"{device.uuid}-{device.driver}.json"


def _time(device: CpuDevice, source: str, reads: bool, writes: bool) -> dict[int, float]:
    """Best seconds of one call at each footprint."""
    problem = _problem(reads, writes)
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
        per_call = CALL_BYTES * (reads + writes)
        return {
            footprint: _best_call(problem, axes, seat, null, style, max(1, footprint // per_call))
            for footprint in FOOTPRINTS
        }
    finally:
        seat.close()


def _best_call(
    problem: Problem, axes: dict[str, int], seat: Seat, null: Seat, style: str, calls: int
) -> float:
    assignment = Assignment(problem, axes, seat, style, calls)
    values = np.random.default_rng().random(CALL_BYTES // 4, dtype=np.float32).view(np.uint8)
    times = []
    try:
        for _ in range(ROUNDS):
            null.ready(0, [])
            empty = null.time_round(null.limits.call_s)
            null.finish()
            seat.ready(calls, [])
            for buffer in assignment.inputs:
                for slot in range(calls):
                    if buffer is not None:
                        buffer.write(slot, values)
            for output in assignment.outputs:
                output.poison(0, calls)
            times.append((seat.time_round(seat.limits.call_s), empty))
            seat.finish()
    finally:
        assignment.close()
    # The best of each: an overstated bandwidth only lowers the floor, which accuses nobody.
    return max(1.0, min(t for t, _ in times) - min(empty for _, empty in times)) / calls / 1e9


def _problem(reads: bool, writes: bool) -> Problem:
    """A problem in memory alone, so that its kernels go through the build and seat of all others."""
    x = (TensorSpec("x", "float32", ("n",)),) if reads else ()
    y = (TensorSpec("y", "float32", ("n",) if writes else (1,)),)
    return Problem(
        suite="calibration",
        name="bandwidth",
        version="0",
        title="bandwidth",
        folder=Path(),
        statement="",
        tags=(),
        axes={"n": None},
        inputs=x,
        outputs=y,
        tolerance=Tolerance("0", "0"),
        cost=Cost(),
        workloads=(),
    )
