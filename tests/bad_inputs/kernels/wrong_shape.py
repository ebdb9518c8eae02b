import torch


def kernel(a, b):
    return torch.cat((a + b, a[:2]))
