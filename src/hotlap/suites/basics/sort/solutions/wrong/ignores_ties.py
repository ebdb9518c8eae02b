# expect: wrong
# reason: not a permutation
# device: cpu
"""Sorts the values, then looks each one up: equal values all find the same position."""

import torch


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    position = {value: i for i, value in enumerate(x.tolist())}
    y = torch.sort(x).values
    return y, torch.tensor([position[value] for value in y.tolist()])
