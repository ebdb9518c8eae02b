"""What a suite run costs beyond building and measuring, and how its memory grows: trivial samples on the CPU.

A sample is an answer to a tiny problem; its overhead is its wall time without what the verdict counts as
queued, build, check and measure. Memory is the resident set of the process that runs the suite. Right samples
are timed, which takes a second each; by default one in ten is right, the others are wrong.
"""

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import common

from hotlap.fleet import suite_run
from hotlap.fleet.results import SuiteRow
from hotlap.fleet.suite import Sample, problems_of, samples_of
from hotlap.fleet.suite_run import Listener, State

TOML = """\
title = "Copied numbers"
tags = []
[axes]
n = "var"
[[inputs]]
name = "x"
dtype = "float32"
shape = ["n"]
[[outputs]]
name = "y"
dtype = "float32"
shape = ["n"]
[tolerance]
rtol = "0"
atol = "0"
[[workloads]]
kind = "test"
profile = "cpu"
n = 5
[[workloads]]
kind = "bench"
profile = "cpu"
n = 20011
"""
REFERENCE = """\
def make_inputs(axes, rng, device):
    return (rng.normal((axes["n"],)),)


def reference(x):
    return x.clone()


def baseline(x):
    return x.clone()
"""
KERNEL = """\
extern "C" int kernel(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = MORE x[i];
  return 0;
}
"""
PYTHON = "def kernel(x):\n    return MORE x.clone()\n"
MARKS = (20, 200)
SOURCES = 20  # different ones, so that compilers do not take the most of the time


class Watch(Listener):
    """Wall time of each sample, and the resident set after it."""

    def __init__(self) -> None:
        self.walls: list[float] = []
        self.rss_bytes: list[int] = []
        self.rows: list[SuiteRow] = []
        self._start = 0.0

    def started(self, sample: Sample | None, state: State) -> None:
        self._start = time.monotonic()

    def judged(self, row: SuiteRow, state: State) -> None:
        self.walls.append(time.monotonic() - self._start)
        self.rss_bytes.append(rss_bytes())
        self.rows.append(row)


def rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def write(folder: Path, samples: int, right_every: int, ending: str) -> tuple[Path, Path]:
    """A suite of one problem, and samples of it; every so many-th is right."""
    problem, solutions = folder / "tiny" / "copied", folder / "solutions" / "copied"
    problem.mkdir(parents=True)
    solutions.mkdir(parents=True)
    for name, text in (("problem.toml", TOML), ("reference.py", REFERENCE), ("statement.md", "Copy x.\n")):
        (problem / name).write_text(text)
    source = KERNEL if ending == "cpp" else PYTHON
    for number in range(samples):
        more = "" if number % right_every == 0 else f"{1 + number % SOURCES} +"
        (solutions / f"{number}.{ending}").write_text(source.replace("MORE", more))
    return problem.parent, solutions.parent


def measure(samples: int, right_every: int, ending: str) -> tuple[dict[str, Any], list[str]]:
    with tempfile.TemporaryDirectory() as place:
        suite, solutions = write(Path(place), samples, right_every, ending)
        problems, watch, out = problems_of(str(suite)), Watch(), Path(place) / "out"
        found = samples_of(problems, solutions).samples
        start = time.monotonic()
        suite_run.run("tiny", problems, found, out, listener=watch)
        wall_s = time.monotonic() - start
        overheads = [
            wall - counted_s(out, row) for wall, row in zip(watch.walls, watch.rows, strict=True) if row.runs
        ]
    marks = {n: watch.rss_bytes[n - 1] for n in MARKS if n <= len(watch.rss_bytes)}
    statuses = {
        status: sum(row.status == status for row in watch.rows) for status in ("accepted", "wrong", "void")
    }
    results = {
        "samples": len(watch.rows),
        "statuses": statuses,
        "wall_s": wall_s,
        "overhead_s": {
            "median": statistics.median(overheads),
            "p95": statistics.quantiles(overheads, n=20)[-1],
            "worst": max(overheads),
        },
        "rss_bytes": marks,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    over = results["overhead_s"]
    lines = [
        f"{len(watch.rows)} samples ({ending}): {statuses}, {wall_s:.0f} s in all",
        f"overhead a sample: median {over['median']:.3f} s, 95 % {over['p95']:.3f} s, "
        f"worst {over['worst']:.3f} s",
        *(f"resident after {n} samples: {size / 2**20:.0f} MB" for n, size in marks.items()),
    ]
    return results, lines


def counted_s(out: Path, row: SuiteRow) -> float:
    """Seconds that the verdict counts as build, check and measure."""
    timing = json.loads((out / suite_run.VERDICTS / f"{row.runs[0]}.json").read_text())["timing"]
    return float(timing["queued_s"] + timing["build_s"] + timing["check_s"] + timing["measure_s"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument(
        "--right-every", type=int, default=10, help="every so many-th sample is right and timed"
    )
    parser.add_argument("--ending", choices=("cpp", "py"), default="cpp")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    common.report(
        __doc__, options.json, lambda: measure(options.samples, options.right_every, options.ending)
    )
