"""Compare an output with its truth in one pass on the GPU; only what is wrong takes more."""

import math
import struct
from typing import TYPE_CHECKING

from hotlap.model import Errors
from hotlap.referee import check
from hotlap.referee.cuda import Gpu

if TYPE_CHECKING:
    import torch

DTYPES = ("float64", "float32", "float16", "bfloat16")


def compare_tensor(
    gpu: Gpu,
    name: str,
    out: "torch.Tensor",
    truth: "torch.Tensor",
    rtol: float,
    atol: "torch.Tensor | float",
) -> tuple[str | None, Errors]:
    """As `check.compare_tensor`, for tensors on the GPU. What is not floating, or is wrong, goes there."""
    import torch

    dtype = str(out.dtype).removeprefix("torch.")
    if dtype not in DTYPES or not math.isfinite(rtol) or not out.numel():
        return check.compare_tensor(name, out, truth, rtol, atol)
    bounds, floor = None, 0.0
    if isinstance(atol, torch.Tensor):
        bounds = atol.to(torch.float64).expand_as(truth).contiguous()
    else:
        floor = float(atol)
    exact, given = truth.to(torch.float64).contiguous(), out.contiguous()
    found = torch.zeros(6, dtype=torch.int64, device=gpu.torch_device)
    gpu.launch_over(
        f"compare_{dtype}",
        out.numel(),
        given.data_ptr(),
        exact.data_ptr(),
        out.numel(),
        float(rtol),
        floor,
        0 if bounds is None else bounds.data_ptr(),
        found.data_ptr(),
    )
    wrong, hides_relative, hides_over, *largest = found.tolist()
    if wrong:
        # To say where takes several copies in float64: the GPU may have no room for them.
        limit = atol.cpu() if isinstance(atol, torch.Tensor) else atol
        return check.compare_tensor(name, out.cpu(), truth.cpu(), rtol, limit)
    absolute, relative, over = (struct.unpack("<d", struct.pack("<q", bits))[0] for bits in largest)
    return None, Errors(absolute, _known(relative, hides_relative), _known(over, hides_over))


def _known(ratio: float, hides: int) -> float | None:
    """A largest ratio, unless places where its bound is 0 hide an error, or no number is large enough."""
    return None if hides or math.isinf(ratio) else ratio
