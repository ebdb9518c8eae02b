# expect: accepted
# device: cpu
"""NumPy, every step into the output: no temporary is larger than a column."""

import numpy as np
import torch


def kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    values, y = x.numpy(), out.numpy()
    np.subtract(values, values.max(axis=1, keepdims=True), out=y)
    np.exp(y, out=y)
    np.divide(y, y.sum(axis=1, keepdims=True), out=y)
