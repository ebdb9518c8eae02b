"""One GPU as the referee drives it: memory, exports, flags, our kernels, all on one stream.

The driver API and not a framework, because three things must be exact here: which allocation a handle
exports, which stream an operation lands on, and that nothing happens between two of them. torch shares the
context and, while `Gpu` lives, the stream: what the referee computes with it is in order with all else.
"""

import ctypes
import functools
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap import model
from hotlap.contestant.gpu import DeviceBytes
from hotlap.errors import HarnessError, OutOfDeviceMemory, UsageError

GRANULE = 2 << 20  # what an IPC handle exports is whole granules: nothing else may lie in them
SWEEP_BYTES = 256 << 20
HANDLE_BYTES = 64
STAMPS = 4096
WAIT_GEQ = 0
DRIVER_NODES = ("/dev/nvidiactl", "/dev/dxg")  # dxg: on WSL
STICKY = {
    f"CUDA_ERROR_{name}"
    for name in ("ILLEGAL_ADDRESS", "MISALIGNED_ADDRESS", "ASSERT", "LAUNCH_FAILED", "CONTEXT_IS_DESTROYED")
}
KERNELS = (
    *("stamp", "spin", "poison", "copy", "sweep", "add", "sample", "behind", "differ", "exchange"),
    *("reread", "nothing"),
    *("compare_float64", "compare_float32", "compare_float16", "compare_bfloat16"),
    *("uniform_float32", "uniform_float64", "normal_float32", "normal_float64", "integers"),
)
NEEDS = "pip install cuda-bindings nvidia-ml-py"


class CudaError(HarnessError):
    """The driver refused a call of the referee's own."""


@functools.cache
def driver() -> Any:
    """The driver API of cuda-bindings. Raises UsageError where it, or a driver, is missing."""
    if not any(Path(node).exists() for node in DRIVER_NODES):
        raise UsageError(
            f"no NVIDIA driver on this machine: neither of {', '.join(DRIVER_NODES)} is there. "
            "CUDA and Triton need a GPU; for all else: --device cpu"
        )
    try:
        from cuda.bindings import driver as found
    except ImportError:
        raise UsageError(
            f"a GPU is refereed through cuda-bindings, which is not installed: {NEEDS}"
        ) from None
    # More hardware queues than the usual 8: the stream that rescues must not share one with a waiting stream.
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    try:
        (code,) = found.cuInit(0)
    except (RuntimeError, OSError) as error:
        raise UsageError(f"no NVIDIA driver: {error}; install one, or use --device cpu") from None
    if int(code):
        raise UsageError(f"no usable NVIDIA GPU: cuInit says {code.name}; use --device cpu")
    return found


def called(name: str, *arguments: Any) -> Any:
    """What a driver call returns beside its code. Raises OutOfDeviceMemory, CudaError."""
    code, *values = getattr(driver(), name)(*arguments)
    if int(code):
        if code.name == "CUDA_ERROR_OUT_OF_MEMORY":
            raise OutOfDeviceMemory(f"{name}: the GPU has no memory left")
        lost = "; this process cannot use the GPU any more: start hotlap again" if code.name in STICKY else ""
        raise CudaError(f"{name}: {code.name} ({int(code)}){lost}")
    return values[0] if len(values) == 1 else tuple(values)


def attribute(name: str, device: Any) -> int:
    """A device attribute; 0 where this driver or binding does not know it."""
    attributes = driver().CUdevice_attribute
    member = getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}", None)
    return 0 if member is None else int(called("cuDeviceGetAttribute", member, device))


def find(ordinal: int) -> Any:
    """The device of a number. Raises UsageError naming those that exist."""
    count = int(called("cuDeviceGetCount"))
    if ordinal >= count:
        allowed = ", ".join(f"cuda:{i}" for i in range(count)) or "none: no GPU is visible"
        raise UsageError(f"device cuda:{ordinal} does not exist; allowed: cpu, {allowed}")
    return called("cuDeviceGet", ordinal)


def uuid_of(device: Any) -> str:
    """GPU-xxxxxxxx-…, as nvidia-smi writes it."""
    raw = bytes(called("cuDeviceGetUuid", device).bytes).hex()
    return "GPU-" + "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))


def arch_of(device: Any) -> str:
    """The architecture that compilers are told, such as sm_90."""
    major, minor = (attribute(f"COMPUTE_CAPABILITY_{part}", device) for part in ("MAJOR", "MINOR"))
    return f"sm_{major}{minor}"


def fingerprint(device: Any, driver_version: str | None) -> model.Device:
    """Who this GPU is: name, UUID, driver."""
    import torch

    version = int(called("cuDriverGetVersion"))
    arch = arch_of(device)
    return model.Device(
        kind="cuda",
        name=bytes(called("cuDeviceGetName", 256, device)).split(b"\0")[0].decode(),
        uuid=uuid_of(device),
        cores=attribute("MULTIPROCESSOR_COUNT", device),
        memory_bytes=int(called("cuDeviceTotalMem", device)),
        driver=driver_version or f"CUDA {version // 1000}.{version % 1000 // 10}",
        os=platform.system(),
        python=platform.python_version(),
        torch=torch.__version__,
        contestant_cpus=tuple(sorted(os.sched_getaffinity(0))),
        capability=f"{arch[3:-1]}.{arch[-1]}",
        cuda=f"{version // 1000}.{version % 1000 // 10}",
    )


def cannot_share(ordinal: int) -> str | None:
    """What of sharing memory and flags between processes this GPU, driver or system lacks; None for nothing.

    Found by doing it, on the primary context, torch's too: attributes promise more than some systems keep.
    """
    device = find(ordinal)
    called("cuCtxSetCurrent", called("cuDevicePrimaryCtxRetain", device))
    address = called("cuMemAlloc", GRANULE)
    try:
        called("cuIpcGetMemHandle", address)
        called("cuStreamWriteValue32", 0, address, 1, 0)
        called("cuStreamWaitValue32", 0, address, 1, WAIT_GEQ)
        called("cuStreamSynchronize", 0)
    except CudaError as error:
        return f"device memory or stream flags cannot be shared between processes here: {error}"
    finally:
        called("cuMemFree", address)
    return None


@functools.cache
def cubin(arch: str) -> bytes:
    """Our kernels for one architecture, such as sm_90, by NVRTC: it comes with torch and needs no nvcc."""
    from cuda.bindings import nvrtc

    source = Path(__file__).with_name("device.cu").read_bytes()
    code, program = nvrtc.nvrtcCreateProgram(source, b"device.cu", 0, [], [])
    if not int(code):
        options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(code):
        log = b" " * int(nvrtc.nvrtcGetProgramLogSize(program)[1])
        nvrtc.nvrtcGetProgramLog(program, log)
        raise HarnessError(f"device.cu does not compile for {arch}: {log.decode(errors='replace')[:2000]}")
    image = b" " * int(nvrtc.nvrtcGetCUBINSize(program)[1])
    nvrtc.nvrtcGetCUBIN(program, image)
    return image


def bus_of(device: Any) -> str:
    """The device's place on the PCI bus, such as 0000:06:00.0."""
    return bytes(called("cuDeviceGetPCIBusId", 32, device)).split(b"\0")[0].decode().lower()


@functools.cache
def gpu_of(ordinal: int) -> "Gpu":
    """The one Gpu of a number in this process."""
    return Gpu(ordinal)


class Gpu:
    """The context, our kernels and one stream of a device. Made once for each process and device."""

    def __init__(self, ordinal: int):
        import torch

        self.device = find(ordinal)
        torch.cuda.set_device(ordinal)
        torch.cuda.init()  # type: ignore[no-untyped-call]
        self.torch_device = torch.device("cuda", ordinal)
        self._stream, self._rescue = torch.cuda.Stream(), torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.use()
        self.grid = attribute("MULTIPROCESSOR_COUNT", self.device) * 8
        cu = driver()
        self.stream, self.rescue = (
            cu.CUstream(self._stream.cuda_stream),
            cu.CUstream(self._rescue.cuda_stream),
        )
        module = called("cuModuleLoadData", cubin(arch_of(self.device)))
        # All of them now: loading one while the stream waits for a flag could wait for the stream.
        self._functions = {name: called("cuModuleGetFunction", module, name.encode()) for name in KERNELS}
        self._cold = self.allocate(SWEEP_BYTES)
        self._sink = self.allocate(GRANULE)
        self.stamps = self.allocate(8 * STAMPS)

    def use(self) -> None:
        """Take up context and stream in this thread."""
        import torch

        torch.cuda.set_device(self.torch_device)
        torch.cuda.set_stream(self._stream)

    # --- memory

    def allocate(self, size: int) -> int:
        """Address of zeroed memory in whole granules of its own. Raises OutOfDeviceMemory."""
        whole = -(-max(1, size) // GRANULE) * GRANULE
        try:
            pointer = int(called("cuMemAlloc", whole))
        except OutOfDeviceMemory:
            import torch

            torch.cuda.empty_cache()
            pointer = int(called("cuMemAlloc", whole))
        called("cuMemsetD8Async", self.pointer(pointer), 0, whole, self.stream)
        return pointer

    def pointer(self, address: int) -> Any:
        return driver().CUdeviceptr(address)

    def free(self, address: int) -> None:
        called("cuMemFree", self.pointer(address))

    def free_bytes(self) -> int:
        return int(called("cuMemGetInfo")[0])

    def export(self, address: int) -> str:
        """The handle, in hex, by which another process maps the allocation at an address, zeroed by then."""
        self.synchronize()
        handle = called("cuIpcGetMemHandle", self.pointer(address))
        return ctypes.string_at(int(handle.getPtr()), HANDLE_BYTES).hex()

    def open(self, handle: str) -> tuple[int, int]:
        """Map another process's allocation; its address here and its size. Raises CudaError."""
        ipc = driver().CUipcMemHandle()
        raw = bytes.fromhex(handle)
        if len(raw) != HANDLE_BYTES:
            raise ValueError(f"a handle has {HANDLE_BYTES} bytes, found {len(raw)}")
        ctypes.memmove(int(ipc.getPtr()), raw, HANDLE_BYTES)
        flags = driver().CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
        address = int(called("cuIpcOpenMemHandle", ipc, int(getattr(flags, "value", flags))))
        _, size = called("cuMemGetAddressRange", self.pointer(address))
        return address, int(size)

    def close(self, address: int) -> None:
        called("cuIpcCloseMemHandle", self.pointer(address))

    def tensor(self, address: int, size: int) -> Any:
        """A uint8 tensor over raw device memory, shape (size,); nobody owns it."""
        import torch

        if size == 0:
            return torch.empty(0, dtype=torch.uint8, device=self.torch_device)
        return torch.as_tensor(DeviceBytes(address, size), device=self.torch_device)

    def upload(self, values: np.ndarray) -> Any:
        """A copy of an array in device memory, as a tensor."""
        import torch

        return torch.from_numpy(values).to(self.torch_device)

    def upload_past(self, values: np.ndarray, to: Any) -> None:
        """Copy an array into a tensor now, past whatever the stream waits for."""
        source = np.ascontiguousarray(values)
        called(
            "cuMemcpyHtoDAsync",
            self.pointer(to.data_ptr()),
            source.ctypes.data,
            source.nbytes,
            self.rescue,
        )
        called("cuStreamSynchronize", self.rescue)

    # --- flags

    def write_flag(self, address: int, number: int) -> None:
        called("cuStreamWriteValue32", self.stream, self.pointer(address), number, 0)

    def await_flag(self, address: int, number: int) -> None:
        called("cuStreamWaitValue32", self.stream, self.pointer(address), number, WAIT_GEQ)

    def rescue_flag(self, address: int, number: int) -> None:
        """Write a flag now, past whatever the stream waits for."""
        called("cuStreamWriteValue32", self.rescue, self.pointer(address), number, 0)
        called("cuStreamSynchronize", self.rescue)

    # --- work

    def is_done(self) -> bool:
        """Whether the stream has run dry. Raises CudaError for what a kernel of ours did wrong."""
        (code,) = driver().cuStreamQuery(self.stream)
        if code.name not in ("CUDA_SUCCESS", "CUDA_ERROR_NOT_READY"):
            raise CudaError(f"the referee's stream: {code.name} ({int(code)})")
        return not int(code)

    def synchronize(self) -> None:
        called("cuStreamSynchronize", self.stream)

    def launch(self, name: str, grid: int | tuple[int, int], block: int, *arguments: Any) -> None:
        """Queue one of our kernels. ints go as 64 bits, floats as doubles, ctypes values as they are."""
        given = [_argument(one) for one in arguments]
        values, types = tuple(value for value, _ in given), tuple(kind for _, kind in given)
        x, y = grid if isinstance(grid, tuple) else (grid, 1)
        called(
            "cuLaunchKernel", self._functions[name], x, y, 1, block, 1, 1, 0, self.stream, (values, types), 0
        )

    def launch_over(self, name: str, items: int, *arguments: Any) -> None:
        """Queue a kernel that strides over so many items."""
        self.launch(name, max(1, min(self.grid, -(-items // 256))), 256, *arguments)

    def sweep(self) -> None:
        """Fill the L2 with clean lines of no use to anybody."""
        self.launch("sweep", self.grid, 256, self._cold, SWEEP_BYTES // 16, self._sink)

    def spans(self, spans: Sequence[tuple[int, int]]) -> Any:
        """A table of (address, bytes) on the device, for `poison`. Waits for the stream: not in a round."""
        return self.upload(np.array(spans, np.uint64).reshape(-1, 2).view(np.int64))

    def poison(self, spans: Any, word: int) -> None:
        """Queue filling the spans of a table with a word; the table must live until that is done."""
        count = len(spans)
        size = (max(1, self.grid // count), min(count, 32768))
        self.launch("poison", size, 256, spans.data_ptr(), ctypes.c_uint32(count), word)

    def copy(self, to: int, source: int, size: int) -> None:
        self.launch_over("copy", size // 16, to, source, size // 16)


def _argument(value: Any) -> tuple[Any, Any]:
    """What the driver is given for an argument, and as what type."""
    if type(value) is int:
        return value, ctypes.c_uint64
    if isinstance(value, float):
        return value, ctypes.c_double
    return value.value, type(value)
