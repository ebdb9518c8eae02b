"""A/A: the baseline's own code as submission. Its speedup is 1; what verdicts say beside that is noise.

On one device, where the baseline keeps its process from run to run, and on a new device for each run, where
both processes are new.
"""

import math
import statistics
from typing import Any

import common

from hotlap.model import Problem, Submission, Verdict
from hotlap.problems.find import find
from hotlap.referee.device import open_device
from hotlap.verdict import verdict


def one_device(problem: Problem, submission: Submission, runs: int) -> list[Verdict]:
    with open_device() as device:
        return [verdict(problem, submission, device) for _ in range(runs)]


def new_devices(problem: Problem, submission: Submission, runs: int) -> list[Verdict]:
    found = []
    for _ in range(runs):
        with open_device() as device:
            found.append(verdict(problem, submission, device))
    return found


def summary(verdicts: list[Verdict]) -> dict[str, Any]:
    """Spread of the speedups of the runs, how many intervals hold 1, and how wide they are."""
    told = [(v.score.speedup, v.score.speedup_ci) for v in verdicts if v.score is not None]
    rows = [(s, ci) for s, ci in told if s is not None and ci is not None]
    if len(rows) < len(verdicts):
        raise SystemExit(f"not all accepted: {[v.reason for v in verdicts if v.score is None]}")
    bench = [w for v in verdicts for w in v.workloads if w.speedup_ci is not None]
    logs = [math.log(s) for s, _ in rows]
    return {
        "speedup": common.spread([s for s, _ in rows]),
        "sd_of_log": statistics.stdev(logs),
        "mean_of_log": statistics.mean(logs),
        "covered": sum(low <= 1 <= high for _, (low, high) in rows),
        "runs": len(rows),
        "half_width": common.spread([common.half_width(ci) for _, ci in rows]),
        "workloads_covered": sum(w.speedup_ci[0] <= 1 <= w.speedup_ci[1] for w in bench if w.speedup_ci),
        "workloads": len(bench),
        "pairs": common.spread([w.time_ns.n for w in bench if w.time_ns]),
        "all": [(s, *ci) for s, ci in rows],
    }


def measure(runs: int) -> tuple[dict[str, Any], list[str]]:
    problem = find("basics/vectoradd")
    submission = common.baseline_as_submission(problem)
    results, lines = {}, []
    for name, judge_all in (("one device", one_device), ("new devices", new_devices)):
        one = results[name] = summary(judge_all(problem, submission, runs))
        s, h = one["speedup"], one["half_width"]
        lines += [
            f"{name}: speedup median {s['median']:.3f}, {s['min']:.3f} to {s['max']:.3f}, sd "
            f"{100 * one['sd_of_log']:.1f} %, n={runs}",
            f"  1 is inside {one['covered']} of {one['runs']} intervals of runs, "
            f"{one['workloads_covered']} of {one['workloads']} of workloads",
            f"  half-width median {100 * h['median']:.1f} %, {100 * h['min']:.1f} to {100 * h['max']:.1f} %; "
            f"{one['pairs']['median']:.0f} pairs a workload",
        ]
    return results, lines


if __name__ == "__main__":
    options = common.arguments(__doc__, runs=10)
    common.report(__doc__, options.json, lambda: measure(options.runs))
