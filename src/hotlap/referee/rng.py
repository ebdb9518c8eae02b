"""Random inputs from 128-bit keys: Philox, one key a call, derived from the run's master key.

Defends against guessing or replaying inputs: the master key is drawn after the submission is loaded, no
two calls share a key, and torch's own CPU generator, which keeps 32 bits of a seed, is not used.
"""

import hashlib
import math
import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

    from hotlap.referee.cuda import Gpu

Shape = tuple[int, ...] | list[int] | int

NUMPY_DTYPES = {
    "float64": np.float64,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "bool": np.bool_,
}


def new_master_key() -> bytes:
    """16 secret bytes from the operating system."""
    return os.urandom(16)


def derive(master: bytes, *path: int) -> int:
    """128-bit key for one place in a run, such as (workload, round, call)."""
    text = struct.pack(f"<{len(path)}q", *path)
    return int.from_bytes(hashlib.blake2b(text, key=master, digest_size=16).digest(), "little")


class Rng:
    """Draws torch tensors on the CPU. The same key gives the same draws on every machine with the same
    numpy stream; a key serves one call."""

    def __init__(self, key: int):
        words = np.array([key & (2**64 - 1), key >> 64], dtype=np.uint64)
        self._generator = np.random.Generator(np.random.Philox(key=words))

    def normal(
        self, shape: Shape, dtype: str = "float32", mean: float = 0.0, std: float = 1.0
    ) -> "torch.Tensor":
        kind = np.float64 if dtype == "float64" else np.float32
        values = self._generator.standard_normal(shape, dtype=kind)
        if std != 1.0:
            values *= kind(std)
        if mean != 0.0:
            values += kind(mean)
        return _tensor(values, dtype)

    def uniform(self, low: float, high: float, shape: Shape, dtype: str = "float32") -> "torch.Tensor":
        """Uniform on [low, high); rounding to a narrow dtype can reach high."""
        kind = np.float64 if dtype == "float64" else np.float32
        values = self._generator.random(shape, dtype=kind)
        values *= kind(high - low)
        values += kind(low)
        return _tensor(values, dtype)

    def integers(self, low: int, high: int, shape: Shape, dtype: str = "int64") -> "torch.Tensor":
        """Uniform on low, ..., high - 1."""
        wide = NUMPY_DTYPES.get(dtype, np.int64)
        return _tensor(self._generator.integers(low, high, size=shape, dtype=wide), dtype)

    def permutation(self, n: int, dtype: str = "int64") -> "torch.Tensor":
        return _tensor(self._generator.permutation(n), dtype)

    def choice(self, n: int, shape: Shape, dtype: str = "int64") -> "torch.Tensor":
        """Distinct integers of 0, ..., n - 1."""
        count = math.prod(shape) if isinstance(shape, tuple | list) else shape
        return _tensor(self._generator.choice(n, size=count, replace=False).reshape(shape), dtype)

    def seed(self) -> int:
        """A secret 63-bit seed, for formats that bring their own generator."""
        return int(self._generator.integers(0, 2**63 - 1))


class CudaRng:
    """The same draws on a GPU, by kernels of ours: other numbers than `Rng` gives for a key, as good ones."""

    def __init__(self, key: int, gpu: "Gpu"):
        self._gpu = gpu
        self._key = (key & (2**64 - 1), key >> 64)
        self._drawn = 0

    def normal(
        self, shape: Shape, dtype: str = "float32", mean: float = 0.0, std: float = 1.0
    ) -> "torch.Tensor":
        kind = "float64" if dtype == "float64" else "float32"
        return self._draw(f"normal_{kind}", shape, kind, float(mean), float(std)).to(_torch_dtype(dtype))

    def uniform(self, low: float, high: float, shape: Shape, dtype: str = "float32") -> "torch.Tensor":
        """Uniform on [low, high); rounding to a narrow dtype can reach high."""
        kind = "float64" if dtype == "float64" else "float32"
        values = self._draw(f"uniform_{kind}", shape, kind, float(low), float(high - low))
        return values.to(_torch_dtype(dtype))

    def integers(self, low: int, high: int, shape: Shape, dtype: str = "int64") -> "torch.Tensor":
        """Uniform on low, ..., high - 1."""
        if high <= low:
            raise ValueError(f"integers: low must be below high, found {low} and {high}")
        values = self._draw("integers", shape, "int64", low & (2**64 - 1), (high - low) & (2**64 - 1))
        return values.to(_torch_dtype(dtype))

    def permutation(self, n: int, dtype: str = "int64") -> "torch.Tensor":
        return self.integers(-(2**63), 2**63, n).argsort().to(_torch_dtype(dtype))

    def choice(self, n: int, shape: Shape, dtype: str = "int64") -> "torch.Tensor":
        """Distinct integers of 0, ..., n - 1."""
        count = math.prod(shape) if isinstance(shape, tuple | list) else shape
        if count > n:
            raise ValueError(f"choice: at most {n} distinct integers of {n}, found {count}")
        return self.permutation(n, dtype)[:count].reshape(shape)

    def seed(self) -> int:
        """A secret 63-bit seed, for formats that bring their own generator."""
        return int(self.integers(0, 2**63 - 1, 1))

    def _draw(self, kernel: str, shape: Shape, dtype: str, *settings: float) -> "torch.Tensor":
        import torch

        values = torch.empty(shape, dtype=_torch_dtype(dtype), device=self._gpu.torch_device)
        count = values.numel()
        blocks = -(-count // (4 if dtype == "float32" else 2))
        if count:
            self._gpu.launch_over(
                kernel, blocks, values.data_ptr(), count, *self._key, self._drawn, *settings
            )
        self._drawn += blocks
        return values


def _torch_dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _tensor(values: Any, dtype: str) -> "torch.Tensor":
    import torch

    return torch.from_numpy(np.asarray(values)).to(getattr(torch, dtype))
