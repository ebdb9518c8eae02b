"""The same kernel in new processes, with glibc's thresholds pinned as in a contestant, and without.

Each process adds two float32 vectors of 65,536 elements, 32 calls a round whose results stay alive until the
next round, as a contestant's do. Told: microseconds a call, a process at a time.
"""

import os
import statistics
import subprocess
import sys
from typing import Any

import common

from hotlap.referee import sandbox

CALLS, ROUNDS = 32, 60
PROGRAM = f"""
import gc, statistics, sys, time, torch
torch.set_num_threads(1)
gc.disable()
a, b = torch.rand(65536), torch.rand(65536)
junk = [bytes(n) for n in range(1, int(sys.argv[1]), 97)]  # a heap like any other's: authors import things
results, times = [], []
for _ in range({ROUNDS}):
    results = []
    start = time.perf_counter_ns()
    for _ in range({CALLS}):
        results.append(a + b)
    times.append((time.perf_counter_ns() - start) / {CALLS} / 1000)
print(statistics.median(times))
"""


def one_process(pinned: bool, junk: int) -> float:
    variables = sandbox.environment(threads=1)
    if not pinned:
        variables = {name: value for name, value in variables.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(junk)], env=variables, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measure(processes: int) -> tuple[dict[str, Any], list[str]]:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: dict[str, list[float]] = {"pinned": [], "as glibc has them": []}
    for number in range(processes):
        for name, times in found.items():
            times.append(one_process(name == "pinned", 1 + 20_000 * number))
    lines = [
        f"{name:18} {' '.join(f'{one:.0f}' for one in t)} µs; median {statistics.median(t):.0f}"
        for name, t in found.items()
    ]
    ratio = statistics.median(found["as glibc has them"]) / statistics.median(found["pinned"])
    lines.append(f"as glibc has them / pinned: {ratio:.1f}")
    return {"us_a_call": found, "ratio": ratio}, lines


if __name__ == "__main__":
    options = common.arguments(__doc__, processes=12)
    common.report(__doc__, options.json, lambda: measure(options.processes))
