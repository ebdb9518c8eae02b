#! hotlap problem basics/vectoradd
"""A liar: leaves the work to a thread and says at once that it is done.

A clock inside this process would stop before the work begins. The referee freezes the process when it says
that it is done, and reads the answer then.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import torch

worker = ThreadPoolExecutor(max_workers=1)


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    worker.submit(add_later, a, b, out)


def add_later(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    time.sleep(0.001)
    torch.add(a, b, out=out)
