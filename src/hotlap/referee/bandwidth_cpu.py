"""What a CPU's memory can do, by kernels of ours in a seat: the floor's denominator.

Slots that the referee has just written, the clock of all others: so the floor that `judge` derives from it is
a floor of just that situation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hotlap.model import TensorSpec
from hotlap.referee.case import Progress
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.own_kernel import problem_in_memory, seated

CALL_BYTES = 1 << 20
FOOTPRINTS = tuple(mib << 20 for mib in (1, 4, 16, 64, 256))
FEWEST_ROUNDS, MOST_ROUNDS, CALLS_IN_ALL = 12, 40, 400  # many short rounds find the machine at its best
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


def rates(
    device: CpuDevice, footprints: Sequence[int], progress: Progress
) -> dict[int, dict[str, list[float]]]:
    """Bytes a second in each round, by footprint in bytes and kind of traffic (a field of Bandwidth); of
    several kernels those of the one with the fastest round. Raises DeviceError."""
    found: dict[int, dict[str, list[float]]] = {footprint: {} for footprint in footprints}
    steps = [(traffic, source) for traffic in TRAFFIC for source in traffic.sources]
    for step, (traffic, source) in enumerate(steps):
        progress(f"calibrating {traffic.name} bandwidth", step / len(steps))
        for footprint, rounds in _rates_of(device, traffic, source, footprints).items():
            known = found[footprint].get(traffic.name, rounds)
            found[footprint][traffic.name] = max(known, rounds, key=max)
    return found


def _rates_of(
    device: CpuDevice, traffic: Traffic, source: str, footprints: Sequence[int]
) -> dict[int, list[float]]:
    names = ["x"] if traffic.inputs == 1 else [f"x{i}" for i in range(traffic.inputs)]
    inputs = [TensorSpec(name, "float32", ("n",)) for name in names]
    problem = problem_in_memory(
        ["n"], inputs, [TensorSpec("y", "float32", ("n",) if traffic.writes else (1,))]
    )
    found = {}
    with seated(device, problem, source, {"n": CALL_BYTES // 4}) as kernel:
        for footprint in footprints:
            calls = footprint // traffic.bytes_moved or 1
            rounds = max(FEWEST_ROUNDS, min(MOST_ROUNDS, CALLS_IN_ALL // calls))
            found[footprint] = [traffic.bytes_moved / ns * 1e9 for ns in kernel.call_ns(calls, rounds)]
    return found
