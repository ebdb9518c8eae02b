"""Where the seconds of `hotlap run basics/vectoradd SOLUTION` go: cold, and each further one in a process.

Cold: a fresh `hotlap run`, wall time; start = all outside the run itself: interpreter, imports, exit.
Further: one open device with `warm_up(1)` before each run, either back to back or after 3 s of rest, in which
the warm contestant gets ready. Every C++ source is new, so each is compiled.
Targets on two cores: 10 s cold, 4 s for each further one.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import common

from hotlap.model import Problem, Verdict
from hotlap.problems.find import find
from hotlap.referee.device import open_device
from hotlap.verdict import read_submission, verdict

SOLUTIONS = {"python": "starter/kernel.py", "cpp": "solutions/correct/streaming.cpp"}
PARTS = ("start", "build", "check", "measure", "rest")
REST_S = 3.0


def cold(problem: Problem, lang: str) -> dict[str, float]:
    """One `hotlap run` in a new process, with an empty build cache."""
    command = [str(Path(sys.executable).parent / "hotlap"), "run", "basics/vectoradd"]
    with tempfile.TemporaryDirectory() as cache:
        start = time.monotonic()
        done = subprocess.run(
            [*command, str(problem.folder / SOLUTIONS[lang]), "--json"],
            env=os.environ | {"XDG_CACHE_HOME": cache},
            capture_output=True,
            check=True,
        )
        wall = time.monotonic() - start
    found = json.loads(done.stdout)
    return parts(found["timing"], wall) | {"half_width": common.half_width(found["score"]["speedup_ci"])}


def further(problem: Problem, lang: str, runs: int, rest_s: float) -> list[dict[str, float]]:
    """The runs after the first on one device."""
    rows = []
    submission = read_submission(problem.folder / SOLUTIONS[lang])
    comment = "#" if lang == "python" else "//"
    with open_device() as device:
        for number in range(runs + 1):
            device.warm_up(1)
            time.sleep(rest_s)
            start = time.monotonic()
            new = replace(submission, source=f"{submission.source}\n{comment} {time.time_ns()}\n")
            found = verdict(problem, new, device)
            row = parts(asdict(found.timing), time.monotonic() - start)
            if number:
                rows.append(row | {"half_width": half_width(found)})
    return rows


def parts(timing: dict[str, float], wall: float) -> dict[str, float]:
    known = {name: timing[f"{name}_s"] for name in ("build", "check", "measure")}
    rest = timing["total_s"] - sum(known.values())
    wall -= timing["queued_s"]  # for another process's run, which is no work of this one
    return {"start": wall - timing["total_s"], **known, "rest": rest, "wall": wall}


def half_width(found: Verdict) -> float:
    if found.score is None or found.score.speedup_ci is None:
        raise SystemExit(f"{found.status}: {found.reason or found.score_reason}")
    return common.half_width(found.score.speedup_ci)


def import_torch_s() -> float:
    """CPU seconds of a Python that imports torch."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(runs: int) -> tuple[dict[str, Any], list[str]]:
    problem = find("basics/vectoradd")
    results: dict[str, Any] = {}
    heads = [*PARTS, "wall", "worst", "speedup"]
    lines = [f"{'seconds, median':28}{''.join(f'{head:>9}' for head in heads)}"]
    for lang in SOLUTIONS:
        cases = {
            f"{lang}, cold": [cold(problem, lang) for _ in range(runs)],
            f"{lang}, back to back": further(problem, lang, runs, 0.0),
            f"{lang}, after {REST_S:g} s of rest": further(problem, lang, runs, REST_S),
        }
        for name, rows in cases.items():
            middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
            worst = max(row["wall"] for row in rows)
            results[name] = {"median": middle, "worst_wall": worst, "runs": rows}
            lines.append(
                f"{name:28}{''.join(f'{middle[p]:9.2f}' for p in PARTS)}{middle['wall']:9.2f}{worst:9.2f}"
                f"{'±':>3}{100 * middle['half_width']:.1f} %"
            )
    imports = [import_torch_s() for _ in range(runs)]
    results["import_torch_cpu_s"] = common.spread(imports)
    lines.append(f"import torch: {statistics.median(imports):.2f} s of CPU; medians of {runs}")
    return results, lines


if __name__ == "__main__":
    options = common.arguments(__doc__, runs=5)
    common.report(__doc__, options.json, lambda: measure(options.runs))
