"""What a GPU's memory can do, by the referee's own kernels and clock: the floor's denominator."""

from collections.abc import Callable, Sequence

from hotlap.referee.case import Progress
from hotlap.referee.clock_cuda import COVER_NS, read_stamps
from hotlap.referee.cuda_device import CudaDevice

FOOTPRINTS = tuple(mib << 20 for mib in (256, 1024, 4096))  # several times an L2 and more
REPEATS = 16
POISON = 0x7FC0_1234_7FC0_5678


def rates(
    device: CudaDevice, footprints: Sequence[int], progress: Progress
) -> dict[int, dict[str, list[float]]]:
    """Bytes a second in each round, by footprint in bytes and kind of traffic (a field of Bandwidth), the L2
    cleaned before each; footprints for which there is no memory are left out.

    Raises OutOfDeviceMemory where not even the smallest fits.
    """
    free = device.free_bytes()
    fitting = [footprint for footprint in footprints if footprint < free] or [min(footprints)]
    found = {}
    for step, footprint in enumerate(fitting):
        progress("calibrating bandwidth", step / len(fitting))
        found[footprint] = _rates_at(device, footprint)
    return found


def _rates_at(device: CudaDevice, footprint: int) -> dict[str, list[float]]:
    gpu = device.gpu
    third = footprint // 3 // 16 * 16
    block = gpu.allocate(footprint)
    whole = gpu.spans([(block, footprint)])
    ways: dict[str, Callable[[], None]] = {
        "read": lambda: gpu.launch("sweep", gpu.grid, 256, block, footprint // 16, block),
        "write": lambda: gpu.poison(whole, POISON),
        "copy": lambda: gpu.copy(block, block + footprint // 2, footprint // 2),
        "add": lambda: gpu.launch_over(
            "add", third // 16, block, block + third, block + 2 * third, third // 16
        ),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    try:
        for _ in range(REPEATS):
            for name, queue in ways.items():
                found[name].append(footprint / span_ns(device, gpu.sweep, queue) * 1e9)
    finally:
        gpu.free(block)
    return found


def span_ns(device: CudaDevice, before: Callable[[], object], queue: Callable[[], object]) -> int:
    """Nanoseconds on the GPU of what `queue` queues, behind what `before` does; neither may wait for it."""
    gpu, stamps = device.gpu, device.stamps
    gpu.launch("spin", 1, 1, COVER_NS)
    before()
    gpu.launch("stamp", 1, 1, stamps)
    queue()
    gpu.launch("stamp", 1, 1, stamps + 8)
    start, end = read_stamps(gpu, stamps, 2)
    return end - start
