"""What the benchmarks share: how quiet the machine was, quantiles, and how results are printed."""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap.model import Kind, Problem, Submission
from hotlap.problems.reference import load_reference

TICKS = os.sysconf("SC_CLK_TCK")


def arguments(doc: str | None, **numbers: int) -> argparse.Namespace:
    """`--json`, and an integer option for each of `numbers` with its default."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, quartiles, least, largest, n."""
    low, middle, high = (
        statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    )
    return {
        "median": middle,
        "q1": low,
        "q3": high,
        "min": min(values),
        "max": max(values),
        "n": len(values),
    }


def half_width(interval: tuple[float, float]) -> float:
    """Relative half-width of an interval of ratios."""
    low, high = interval
    return float((high - low) / (high + low))


@contextmanager
def own_home() -> Iterator[Path]:
    """A HOTLAP_HOME of this benchmark's own: it leaves no runs behind, and sees no calibration."""
    with tempfile.TemporaryDirectory(prefix="hotlap-benchmark-") as folder:
        before = os.environ.get("HOTLAP_HOME")
        os.environ["HOTLAP_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop("HOTLAP_HOME")
            if before is not None:
                os.environ["HOTLAP_HOME"] = before


def with_one_bench(problem: Problem) -> Problem:
    """The problem with its smallest bench workload of a CPU and no other workload."""
    benches = [w for w in problem.workloads if w.kind is Kind.bench and w.profile == "cpu"]
    return replace(problem, workloads=(min(benches, key=lambda w: sum(w.axes.values())),))


def baseline_as_submission(problem: Problem) -> Submission:
    """The code of the baseline, handed in as a submission: its true speedup is 1."""
    name = next(iter(load_reference(problem).baselines), "reference")
    source = (problem.folder / "reference.py").read_text() + f"\n\nkernel = {name}\n"
    return Submission("kernel.py", source, "python", "0" * 64, None)


def report(doc: str | None, as_json: bool, measure: Callable[[], tuple[dict[str, Any], list[str]]]) -> None:
    """Run `measure`, which gives results and lines for a reader; print either, and how quiet it was."""
    load, others, start = os.getloadavg()[0], _others_cpu_s(), time.monotonic()
    cores = len(os.sched_getaffinity(0))
    with own_home():
        results, lines = measure()
    wall = time.monotonic() - start
    now = _others_cpu_s()
    busy = sum(max(0.0, now[pid] - others.get(pid, 0.0)) for pid in now if pid in others)
    machine = {
        "cpu": _cpu_name(),
        "cores": cores,
        "os": f"{platform.system()} {platform.release()}",
        "load_before": round(load, 2),
        "others_cores": round(busy / wall, 2),
        "wall_s": round(wall, 1),
    }
    if as_json:
        print(json.dumps({"machine": machine, **results}))
        return
    print((doc or "").partition("\n")[0])
    print("\n".join(lines))
    print(
        f"{machine['cpu']}, {machine['cores']} cores, {machine['os']}; load {load:.2f} before, others used "
        f"{machine['others_cores']:.2f} cores meanwhile; {wall:.0f} s"
    )


def _others_cpu_s() -> dict[int, float]:
    """CPU seconds of each process that neither is ours nor descends from us, its ended children included."""
    stats: dict[int, tuple[int, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            stats[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / TICKS)
    ours = {os.getpid()}
    while True:
        more = {pid for pid, (parent, _) in stats.items() if parent in ours} - ours
        if not more:
            break
        ours |= more
    return {pid: cpu for pid, (_, cpu) in stats.items() if pid not in ours}


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.machine()
