# expect: accepted
# device: cpu
"""NumPy's BLAS on the same memory: torch tensors on the CPU are NumPy arrays at no cost."""

import numpy as np
import torch


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    np.matmul(a.numpy(), b.numpy(), out=out.numpy())
