#! hotlap problem basics/vectoradd
"""A liar: adds once for each size, and hands out that answer from then on.

A harness that repeats a call with the same inputs to time it would find every answer right. The referee gives
fresh inputs to every call.
"""

import torch

answers: dict[int, torch.Tensor] = {}


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    if a.numel() not in answers:
        answers[a.numel()] = a + b
    out.copy_(answers[a.numel()])
