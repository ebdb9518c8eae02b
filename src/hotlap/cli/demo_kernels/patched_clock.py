#! hotlap problem basics/vectoradd
"""A liar: stops every clock that a harness in this process could read, and then takes its time.

The answers are right, so there is nothing to reject. But the referee's clock is in another process, and it
goes on: the kernel gets the slow time that it took.
"""

import time

import torch

for clock in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    setattr(time, clock, lambda: 0.0)
    setattr(time, f"{clock}_ns", lambda: 0)


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    for _ in range(5):
        torch.add(a, b, out=out)
