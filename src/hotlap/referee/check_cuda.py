"""Compare an output with its truth in one pass on the GPU; only what is wrong takes more."""

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from hotlap.model import Errors
from hotlap.referee import check
from hotlap.referee.cuda import Gpu

if TYPE_CHECKING:
    import torch

DTYPES = ("float64", "float32", "float16", "bfloat16")
PIECE = 1 << 24  # elements: half a GB of float64 copies


def compare_tensor(
    gpu: Gpu,
    name: str,
    out: "torch.Tensor",
    truth: "torch.Tensor",
    rtol: float,
    atol: "torch.Tensor | float",
) -> tuple[str | None, Errors]:
    """As `check.compare_tensor`, for tensors on the GPU. What is not floating goes there."""
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
        return explain(name, given, exact, rtol, floor if bounds is None else bounds)
    absolute, relative, over = (struct.unpack("<d", struct.pack("<q", bits))[0] for bits in largest)
    return None, Errors(absolute, _known(relative, hides_relative), _known(over, hides_over))


def explain(
    name: str,
    out: "torch.Tensor",
    true: "torch.Tensor",
    rtol: float,
    atol: "torch.Tensor | float",
    piece_elements: int = PIECE,
) -> tuple[str | None, Errors]:
    """As `check.compare_tensor` of a wrong output, in pieces: the GPU may have no room for more.

    true and atol: float64; all contiguous.
    """
    import torch

    found: check.Faults | None = None
    worst = check.NO_ERRORS
    given, exact = out.reshape(-1), true.reshape(-1)
    for start in range(0, out.numel(), piece_elements):
        piece = slice(start, start + piece_elements)
        got, right = given[piece], exact[piece]
        scale = right.abs()
        allowed = scale * rtol
        allowed += atol.reshape(-1)[piece] if isinstance(atol, torch.Tensor) else atol
        here, errors = check.element_faults(got, right, torch.sub(right, got).abs_(), scale, allowed)
        worst = check.merge(worst, errors)
        if here is not None:
            before = found or replace(here, count=0, first=start + here.first)
            found = replace(before, count=before.count + here.count)
    return check.complaint(name, out.shape, found), worst


def _known(ratio: float, hides: int) -> float | None:
    """A largest ratio, unless places where its bound is 0 hide an error, or no number is large enough."""
    return None if hides or math.isinf(ratio) else ratio
