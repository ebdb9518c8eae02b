"""Memory that referee and contestant share: one memfd for each input and output, a slot for each call.

Defends against: writes to inputs (sealed: the referee's mapping stays writable, the contestant can make
no writable one), shrinking a file under the referee, and unwritten or late outputs (poison). Each buffer
is alone in its file; nothing secret lies beside it.
"""

import contextlib
import fcntl
import math
import mmap
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

PAGE = 4096
F_SEAL_FUTURE_WRITE = 0x0010  # Linux 5.1; not in Python's fcntl before 3.13
SIZE_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
POISON_WORD_BYTES = 8
NAN_BITS = {  # sign and payload are random; these bits make it a quiet NaN
    "float64": (8, 0x7FF8000000000000),
    "float32": (4, 0x7FC00000),
    "float16": (2, 0x7E00),
    "bfloat16": (2, 0x7FC0),
}


@dataclass(frozen=True)
class Layout:
    """One array of a buffer: dtype name, shape, bytes an element."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    itemsize: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.itemsize

    @property
    def stride(self) -> int:
        """Bytes from slot to slot: whole pages, and at least one spare word behind the array, which must
        stay as it was."""
        return -(-(self.bytes + POISON_WORD_BYTES) // PAGE) * PAGE

    def describe(self) -> dict[str, Any]:
        """What a contestant needs to see the array in its slot."""
        return {
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "elements": self.elements,
            "itemsize": self.itemsize,
        }


class Buffer:
    """`count` slots of one array. `bytes` is the referee's view, shape (count, stride) uint8."""

    def __init__(self, layout: Layout, count: int, writable: bool):
        self.layout, self.count, self.writable = layout, count, writable
        size = layout.stride * count
        self.fd = os.memfd_create(f"hotlap-{layout.name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.memory = mmap.mmap(self.fd, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        seals = SIZE_SEALS if writable else SIZE_SEALS | F_SEAL_FUTURE_WRITE
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
        self.bytes = np.frombuffer(self.memory, dtype=np.uint8).reshape(count, layout.stride)
        self.words = self.bytes.view(np.uint64)
        self.flat = self.words.reshape(-1)

    def describe(self) -> dict[str, Any]:
        """What the contestant needs to map it."""
        return self.layout.describe() | {
            "stride": self.layout.stride,
            "bytes": self.layout.stride * self.count,
            "writable": self.writable,
        }

    def write(self, slot: int, array: np.ndarray) -> None:
        """Copy one array of raw bytes, shape (bytes,) uint8, into a slot."""
        self.bytes[slot, : self.layout.bytes] = array

    def read(self, slot: int) -> np.ndarray:
        """A private copy of a slot's array, shape (bytes,) uint8."""
        return self.bytes[slot, : self.layout.bytes].copy()

    def poison(self, word: int, calls: int) -> None:
        """Fill the slots of the first `calls` calls, spare bytes behind the arrays included."""
        self.words[:calls] = np.uint64(word)

    def close(self) -> None:
        del self.bytes, self.words, self.flat
        with contextlib.suppress(BufferError):  # a view is still alive; the memory goes with it
            self.memory.close()
        os.close(self.fd)


def poison_word(dtype: str) -> int:
    """A random 8-byte pattern that no honest kernel leaves: for floats a NaN with a random payload, else
    random bits."""
    word = int.from_bytes(os.urandom(8), "little")
    if dtype not in NAN_BITS:
        return word
    size, bits = NAN_BITS[dtype]
    for lane in range(8 // size):
        word |= bits << (8 * size * lane)
    return word
