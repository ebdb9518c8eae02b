# expect: failed
# fault: submission
# reason: memory
# problem: basics/vectoradd
# Takes all the memory of the device, and keeps it.
import torch

held = []


def kernel(a, b):
    for size in (1 << 30, 1 << 21):
        try:
            while True:
                held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            pass
    return a + b
