"""Ceilings of a GPU beyond its memory: L2, arithmetic and launches, on the referee's own stream and clock.

Memory is in `bandwidth_cuda`. One function a ceiling; each gives its values in the ceiling's unit.
"""

import contextlib
import itertools
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hotlap.referee.bandwidth_cuda import span_ns
from hotlap.referee.clock_cuda import read_stamps
from hotlap.referee.cuda import GRANULE, Gpu, attribute, called, driver
from hotlap.referee.cuda_device import CudaDevice

L2_SHARE = 3  # of the L2, one part in: it must fit beside all else, wherever its halves keep copies
L2_READ_BYTES = 16 << 30  # by one launch, which costs nothing beside that
L2_ROUNDS = 12
L2_BLOCK = 256  # threads

ARITHMETIC = ("float64", "float32", "tf32", "bfloat16", "float16", "float8_e4m3fn")
LEAST_CAPABILITY = {"tf32": (8, 0), "bfloat16": (8, 0), "float8_e4m3fn": (8, 9)}
SIZES = (2048, 4096, 8192)  # of square matrices
PRODUCTS, UNTIMED_PRODUCTS = 16, 2
PEAK_S = 0.5  # no larger size where its products would take longer

LAUNCHES = (100, 600)  # fewer than the 1,000 that a stream can hold; what they differ in is launches alone
LAUNCH_ROUNDS = 12


class Unsupported(Exception):
    """This GPU, or this torch, has nothing that could be measured; says what is missing."""


def ways(device: CudaDevice) -> dict[str, Callable[[], list[float]]]:
    """How each ceiling is measured: by its name, what gives its values in its unit, shape (rounds,).

    Each may raise Unsupported, OutOfDeviceMemory or CudaError.
    """
    return {
        "l2-read": lambda: l2_read(device),
        **{f"peak-{name}": partial(peak, device, name) for name in ARITHMETIC},
        "launch": lambda: launch(device),
        "launch-graph": lambda: launch_graph(device),
    }


# --- L2 --------------------------------------------------------------------------------------------


def l2_read(device: CudaDevice) -> list[float]:
    """Bytes a second of one kernel that reads a third of the L2 again and again."""
    gpu = device.gpu
    cache = attribute("L2_CACHE_SIZE", gpu.device)
    if not cache:
        raise Unsupported("the driver does not say how large the L2 is")
    # As many blocks as are on the GPU at once, and pairs of vectors, the same number for each thread.
    grid = device.info.cores * (attribute("MAX_THREADS_PER_MULTIPROCESSOR", gpu.device) // L2_BLOCK)
    stride = 2 * 16 * L2_BLOCK * grid
    size = max(1, cache // L2_SHARE // stride) * stride
    passes = max(1, L2_READ_BYTES // size)
    block = gpu.allocate(size)

    def read(times: int) -> None:
        gpu.launch("reread", grid, L2_BLOCK, block, size // 16, times, block)

    try:
        return [
            passes * size / span_ns(device, lambda: read(1), lambda: read(passes)) * 1e9
            for _ in range(L2_ROUNDS)
        ]
    finally:
        gpu.free(block)


# --- arithmetic ------------------------------------------------------------------------------------


def peak(device: CudaDevice, arithmetic: str) -> list[float]:
    """FLOP/s of torch's products of square matrices of random normal numbers, at the size that does best.

    arithmetic: one of ARITHMETIC. Raises Unsupported.
    """
    if (reason := lacking(arithmetic, device.info.capability or "0.0")) is not None:
        raise Unsupported(reason)
    best: list[float] = []
    last_s = 0.0
    for size in SIZES:
        expected_s = last_s * 8 * (PRODUCTS + UNTIMED_PRODUCTS)  # twice the size, 8 times the work
        if expected_s > PEAK_S or 4 * size**2 * 8 > device.free_bytes():
            break
        times_ns = _products_ns(device, arithmetic, size)
        rates = [2 * size**3 / ns * 1e9 for ns in times_ns]
        if not best or statistics.median(rates) > statistics.median(best):
            best = rates
        last_s = statistics.median(times_ns) / 1e9
    if not best:
        raise Unsupported(f"too little free memory for products of {SIZES[0]} x {SIZES[0]} matrices")
    return best


def lacking(arithmetic: str, capability: str) -> str | None:
    """What a GPU of this compute capability (such as 9.0), or torch, lacks for it; None for nothing."""
    import torch

    least = LEAST_CAPABILITY.get(arithmetic, (0, 0))
    if tuple(map(int, capability.split("."))) < least:
        return f"needs compute capability {least[0]}.{least[1]}, this GPU has {capability}"
    if arithmetic != "tf32" and not hasattr(torch, arithmetic):
        return f"torch {torch.__version__} has no {arithmetic}"
    return None


def _products_ns(device: CudaDevice, arithmetic: str, size: int) -> list[int]:
    with tf32_allowed(arithmetic == "tf32"):
        try:
            multiply = product(device.gpu.torch_device, arithmetic, size)
            for _ in range(UNTIMED_PRODUCTS):  # libraries load their kernels and take their workspace
                multiply()
        except RuntimeError as error:
            raise Unsupported(f"torch: {str(error).splitlines()[0]}") from None
        return [span_ns(device, device.gpu.sweep, multiply) for _ in range(PRODUCTS)]


def product(where: Any, arithmetic: str, size: int) -> Callable[[], Any]:
    """What queues one product of two square matrices, which it keeps. where: a torch.device."""
    import torch

    dtype = torch.float32 if arithmetic == "tf32" else getattr(torch, arithmetic)
    if dtype.itemsize == 1:
        a, b = (torch.randn(size, size, device=where).to(dtype) for _ in range(2))
        one, columns = torch.ones((), device=where), b.t()
        return lambda: torch._scaled_mm(a, columns, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
    a, b = (torch.randn(size, size, dtype=dtype, device=where) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: torch.matmul(a, b, out=out)


@contextlib.contextmanager
def tf32_allowed(allowed: bool) -> Iterator[None]:
    """torch's products of float32 matrices in TF32, or not, and as before after."""
    import torch

    settings = torch.backends.cuda.matmul
    before = settings.allow_tf32
    settings.allow_tf32 = allowed
    try:
        yield
    finally:
        settings.allow_tf32 = before


# --- launches --------------------------------------------------------------------------------------


def launch(device: CudaDevice) -> list[float]:
    """Nanoseconds that one more kernel which does nothing costs, where many are queued in a stream."""
    return _added_ns(device, partial(_queue_nothing, device.gpu))


def launch_graph(device: CudaDevice) -> list[float]:
    """Nanoseconds that one more such kernel costs in a graph, each node behind the last."""
    gpu = device.gpu
    graphs = {count: _graph(gpu, count) for count in LAUNCHES}
    try:
        return _added_ns(device, lambda count: called("cuGraphLaunch", graphs[count], gpu.stream))
    finally:
        for graph in graphs.values():
            called("cuGraphExecDestroy", graph)


def _queue_nothing(gpu: Gpu, count: int) -> None:
    for _ in range(count):
        gpu.launch("nothing", 1, 1)


def _graph(gpu: Gpu, count: int) -> Any:
    mode = driver().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    called("cuStreamBeginCapture", gpu.stream, mode)
    try:
        _queue_nothing(gpu, count)
    finally:
        graph = called("cuStreamEndCapture", gpu.stream)
    try:
        return called("cuGraphInstantiate", graph, 0)
    finally:
        called("cuGraphDestroy", graph)


def _added_ns(device: CudaDevice, queue: Callable[[int], Any]) -> list[float]:
    """Nanoseconds that each of many more launches adds. queue: queues so many."""
    gpu, stamps = device.gpu, device.stamps
    gate, numbers = gpu.allocate(GRANULE), itertools.count(1)

    def behind_gate_ns(count: int) -> int:
        # The stream waits until all is queued: else the host's pace would be measured, not the GPU's.
        number = next(numbers)
        gpu.await_flag(gate, number)
        try:
            gpu.launch("stamp", 1, 1, stamps)
            queue(count)
            gpu.launch("stamp", 1, 1, stamps + 8)
        finally:
            gpu.rescue_flag(gate, number)
        start, end = read_stamps(gpu, stamps, 2)
        return end - start

    few, many = LAUNCHES
    try:
        for count in LAUNCHES:  # what is loaded at a first launch must not wait for the gate
            queue(count)
        gpu.synchronize()
        return [(behind_gate_ns(many) - behind_gate_ns(few)) / (many - few) for _ in range(LAUNCH_ROUNDS)]
    finally:
        gpu.synchronize()
        gpu.free(gate)
