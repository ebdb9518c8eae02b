"""The few calls of the CUDA driver that a contestant needs, by ctypes: it imports nobody's package for them.

The primary context is the one that frameworks use, so pointers and streams are shared with them. Stream 0 is
the legacy default stream: what most launches that name no stream go to, and what all others wait for.
"""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from typing import Any

LAZY_PEER_ACCESS = 1  # the only flag that cuIpcOpenMemHandle takes
WAIT_GEQ = 0
HANDLE_BYTES = 64
SPIN = b"""
.version 7.0
.target sm_60
.address_size 64
.visible .entry spin(.param .u64 ns)
{
  .reg .u64 %start, %now, %ns;
  .reg .pred %more;
  ld.param.u64 %ns, [ns];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %more, %now, %ns;
  @%more bra again;
  ret;
}
"""


class CudaFailed(Exception):
    """The driver refused a call, or an earlier kernel failed; the text is for the author."""


class IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_byte * HANDLE_BYTES)]


class Cuda:
    """The primary context of the first visible device, current in this thread."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", c_uint(0))
        device, context = c_int(), c_void_p()
        self._call("cuDeviceGet", byref(device), c_int(0))
        self._call("cuDevicePrimaryCtxRetain", byref(context), device)
        self._call("cuCtxSetCurrent", context)
        # Now: loading code while the stream waits for a flag waits for the stream.
        module, self._spin = c_void_p(), c_void_p()
        self._call("cuModuleLoadData", byref(module), SPIN)
        self._call("cuModuleGetFunction", byref(self._spin), module, b"spin")

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.lib, name)(*arguments)
        if code:
            raise CudaFailed(f"CUDA error: {self.describe(code)}")

    def describe(self, code: int) -> str:
        """What an error code means: the driver's sentence and its name."""
        name, text = c_char_p(), c_char_p()
        self.lib.cuGetErrorName(c_int(code), byref(name))
        self.lib.cuGetErrorString(c_int(code), byref(text))
        return f"{(text.value or b'unknown').decode()} ({(name.value or str(code).encode()).decode()})"

    def open(self, handle: str) -> int:
        """Map memory that the referee exported; its address here."""
        pointer, raw = c_uint64(), IpcHandle.from_buffer_copy(bytes.fromhex(handle))
        self._call("cuIpcOpenMemHandle_v2", byref(pointer), raw, c_uint(LAZY_PEER_ACCESS))
        return pointer.value

    def close(self, pointer: int) -> None:
        self._call("cuIpcCloseMemHandle", c_uint64(pointer))

    def export(self, pointer: int) -> tuple[str, int] | None:
        """Handle and base address of the allocation around an address; None where it cannot be shared."""
        base, size, handle = c_uint64(), c_size_t(), IpcHandle()
        if self.lib.cuMemGetAddressRange_v2(byref(base), byref(size), c_uint64(pointer)):
            return None
        if self.lib.cuIpcGetMemHandle(byref(handle), base):
            return None
        return bytes(handle).hex(), base.value

    def write_flag(self, address: int, number: int) -> None:
        """Queue on stream 0: put a 32-bit number at a device address."""
        self._call("cuStreamWriteValue32_v2", None, c_uint64(address), c_uint32(number), c_uint(0))

    def await_flag(self, address: int, number: int) -> None:
        """Queue on stream 0: wait until the number at a device address is at least this."""
        self._call("cuStreamWaitValue32_v2", None, c_uint64(address), c_uint32(number), c_uint(WAIT_GEQ))

    def spin(self, time_ns: int) -> None:
        """Queue on stream 0 one thread that waits on the device's clock; for 0 ns it ends at once."""
        argument = c_uint64(time_ns)
        arguments = (c_void_p * 1)(ctypes.addressof(argument))
        self._call("cuLaunchKernel", self._spin, *map(c_uint, (1, 1, 1, 1, 1, 1, 0)), None, arguments, None)

    def synchronize(self) -> None:
        """Wait for stream 0. Raises CudaFailed for whatever went wrong on the device since the last time."""
        self._call("cuStreamSynchronize", None)
