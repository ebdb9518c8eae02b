"""Ceilings of a CPU beyond its memory: arithmetic and calls, by kernels of ours in a seat.

Memory is in `bandwidth_cpu`.
"""

from collections.abc import Callable

from hotlap.model import TensorSpec
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.own_kernel import problem_in_memory, seated

ROUNDS = 25
CHUNKS_PER_CORE = 16  # a core that is late takes fewer
CHUNK_OPERATIONS = 3 << 21  # multiply-adds; a multiple of any number of lanes and sums below
CALLS = 1 << 20
# As many independent sums as hide the latency of a multiply-add, and still fit the registers.
MULTIPLY_ADD = """
#if defined(__AVX512F__)
#define BYTES 64
#define SUMS 24
#elif defined(__AVX__)
#define BYTES 32
#define SUMS 12
#elif defined(__aarch64__)
#define BYTES 16
#define SUMS 24
#else
#define BYTES 16
#define SUMS 12
#endif
typedef TYPE lanes __attribute__((vector_size(BYTES)));
static const int LANES = BYTES / sizeof(TYPE);

extern "C" int kernel(TYPE* y, int64_t chunks, int64_t operations) {
  #pragma omp parallel for schedule(dynamic)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    lanes sums[SUMS], factor = lanes{} + TYPE(0.5), addend = lanes{} + TYPE(chunk + 1);
    for (int i = 0; i < SUMS; ++i) sums[i] = lanes{} + TYPE(i);  // equal ones would be computed once
    for (int64_t step = 0; step < operations / (SUMS * LANES); ++step) {
      #pragma GCC unroll 24
      for (int i = 0; i < SUMS; ++i) sums[i] = sums[i] * factor + addend;
    }
    lanes total = {};
    for (int i = 0; i < SUMS; ++i) total += sums[i];
    y[chunk] = total[0];
  }
  return 0;
}
"""
# Called through a pointer that the compiler cannot see through.
EMPTY_CALLS = """
static void nothing() {}

extern "C" int kernel(float* y, int64_t calls) {
  void (*volatile function)() = nothing;
  for (int64_t call = 0; call < calls; ++call) function();
  y[0] = 1.0f;
  return 0;
}
"""


def ways(device: CpuDevice) -> dict[str, Callable[[], list[float]]]:
    """How each ceiling is measured: by its name, what gives its values in its unit, shape (rounds,).

    Each raises DeviceError where there is no C++ compiler, or a kernel of ours fails.
    """
    return {
        "peak-float64": lambda: peak(device, "float64", "double"),
        "peak-float32": lambda: peak(device, "float32", "float"),
        "launch": lambda: launch(device),
    }


def peak(device: CpuDevice, dtype: str, c_type: str) -> list[float]:
    """FLOP/s of multiply-adds in registers, on all cores that contestants have; each counts as two."""
    chunks = CHUNKS_PER_CORE * len(device.contestant_cpus)
    axes = {"chunks": chunks, "operations": CHUNK_OPERATIONS}
    problem = problem_in_memory(list(axes), [], [TensorSpec("y", dtype, ("chunks",))])
    with seated(device, problem, MULTIPLY_ADD.replace("TYPE", c_type), axes) as kernel:
        return [2 * CHUNK_OPERATIONS * chunks / ns * 1e9 for ns in kernel.call_ns(1, ROUNDS)]


def launch(device: CpuDevice) -> list[float]:
    """Nanoseconds of one call of a function that does nothing."""
    problem = problem_in_memory(["calls"], [], [TensorSpec("y", "float32", (1,))])
    with seated(device, problem, EMPTY_CALLS, {"calls": CALLS}) as kernel:
        return [ns / CALLS for ns in kernel.call_ns(1, ROUNDS)]
