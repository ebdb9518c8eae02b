"""What a GPU's memory can do, by the referee's own kernels and clock: the floor's denominator."""

from collections.abc import Callable

from hotlap.model import Bandwidth
from hotlap.referee.clock_cuda import COVER_NS, read_stamps
from hotlap.referee.cuda_device import CudaDevice

REPEATS = 8
POISON = 0x7FC0_1234_7FC0_5678


def bandwidth(device: CudaDevice, footprint: int) -> Bandwidth:
    """Best bytes a second at a footprint in bytes, a multiple of 48 KB, the L2 cleaned before each."""
    gpu, stamps = device.gpu, device.stamps
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
    best = dict.fromkeys(ways, float("inf"))
    try:
        for _ in range(REPEATS):
            for name, run in ways.items():
                gpu.launch("spin", 1, 1, COVER_NS)
                gpu.sweep()
                gpu.launch("stamp", 1, 1, stamps)
                run()
                gpu.launch("stamp", 1, 1, stamps + 8)
                start, end = read_stamps(gpu, stamps, 2)
                best[name] = min(best[name], end - start)
    finally:
        gpu.free(block)
    return Bandwidth(footprint, **{name: footprint / ns * 1e9 for name, ns in best.items()})
