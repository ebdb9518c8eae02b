"""What drawing inputs costs, in ns an element, for the two generators that numpy has with enough state."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import common
import numpy as np

ELEMENTS = 1 << 18
GENERATORS = {"Philox": np.random.Philox, "SFC64": np.random.SFC64}


def measure(repeats: int) -> tuple[dict[str, Any], list[str]]:
    results: dict[str, dict[str, float]] = {}
    for name, bits in GENERATORS.items():
        generator = np.random.Generator(bits())
        draws: dict[str, Callable[..., Any]] = {
            "uniform": generator.random,
            "normal": generator.standard_normal,
        }
        for kind, draw in draws.items():
            times = []
            for _ in range(repeats):
                start = time.perf_counter_ns()
                draw(ELEMENTS, dtype=np.float32)
                times.append((time.perf_counter_ns() - start) / ELEMENTS)
            results.setdefault(kind, {})[name] = statistics.median(times)
    lines = [
        f"float32 {kind}: " + ", ".join(f"{name} {ns:.1f} ns" for name, ns in found.items())
        for kind, found in results.items()
    ]
    return {"ns_an_element": results, "n": repeats}, lines


if __name__ == "__main__":
    options = common.arguments(__doc__, repeats=50)
    common.report(__doc__, options.json, lambda: measure(options.repeats))
