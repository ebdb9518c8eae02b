import torch


def kernel(a, b):
    return torch.stack((a + b, a - b), dim=1)[:, 0]
