# expect: accepted
# device: cpu
"""NumPy's argsort, which need not keep ties as they came: the order of equal elements is free."""

import numpy as np
import torch


def kernel(x: torch.Tensor, out: tuple[torch.Tensor, torch.Tensor]) -> None:
    y, order = out
    order.numpy()[:] = np.argsort(x.numpy())
    np.take(x.numpy(), order.numpy(), out=y.numpy())
