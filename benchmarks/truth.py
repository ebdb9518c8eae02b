"""Is a kernel of known length told right? Busy-wait kernels of 0.2, 2 and 20 ms against their verdicts.

The kernel notes the clock, writes the right answer, and spins until the stated time is over: the time is
known by construction, whatever the answer costs. What a verdict says beyond it is error of the referee, the
call itself (some ns in C++, about 0.1 µs in Python) and whatever else took the core meanwhile.
Target: within 1 % and 5 µs a call.
"""

from typing import Any

import common

from hotlap.model import Submission
from hotlap.problems.find import find
from hotlap.referee.device import open_device
from hotlap.verdict import verdict

STATED_MS = (0.2, 2.0, 20.0)
CPP = """
#include <chrono>
extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {{
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds({ns});
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
  while (std::chrono::steady_clock::now() < end) {{}}
  return 0;
}}
"""
PYTHON = """
import time
import torch

def kernel(a, b, out):
    end = time.monotonic_ns() + {ns}
    torch.add(a, b, out=out)
    while time.monotonic_ns() < end:
        pass
"""
SOURCES = {"cpp": ("spin.cpp", CPP), "python": ("spin.py", PYTHON)}


def measure(runs: int) -> tuple[dict[str, Any], list[str]]:
    problem = common.with_one_bench(find("basics/vectoradd"))
    rows: list[dict[str, Any]] = []
    lines = [f"{'kernel':8}{'stated':>10}{'told':>14}{'error':>12}{'error':>9}{'interval':>10}{'n':>5}"]
    with open_device() as device:
        for stated_ms in STATED_MS:
            for lang, (file, text) in SOURCES.items():
                stated_ns = stated_ms * 1e6
                for run in range(runs):
                    source = text.format(ns=round(stated_ns))
                    submission = Submission(file, source, lang, f"{run:064x}", None)
                    found = verdict(problem, submission, device)
                    told = found.workloads[-1].time_ns
                    if told is None:
                        raise SystemExit(f"{file}, {stated_ms} ms: {found.status}: {found.reason}")
                    error_ns = told.estimate - stated_ns
                    half = (told.ci_high - told.ci_low) / 2 / told.estimate
                    rows.append(
                        {
                            "lang": lang,
                            "stated_ns": stated_ns,
                            "told_ns": told.estimate,
                            "error_ns": error_ns,
                            "error": error_ns / stated_ns,
                            "interval": [told.ci_low, told.ci_high],
                            "rounds": told.n,
                            "within": abs(error_ns) <= min(5000, 0.01 * stated_ns),
                        }
                    )
                    lines.append(
                        f"{lang:8}{stated_ms:7g} ms{told.estimate / 1e3:11.2f} µs{error_ns / 1e3:+9.2f} µs"
                        f"{100 * error_ns / stated_ns:+7.2f} %{'±':>4}{100 * half:.2f} %{told.n:5}"
                    )
    within = sum(row["within"] for row in rows)
    lines.append(f"{within} of {len(rows)} within 1 % and 5 µs a call")
    return {"rows": rows, "within": within, "of": len(rows)}, lines


if __name__ == "__main__":
    options = common.arguments(__doc__, runs=3)
    common.report(__doc__, options.json, lambda: measure(options.runs))
