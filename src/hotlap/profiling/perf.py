"""The processor's own counters, by `perf stat` from outside of the sandbox, while the driver's calls run."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from hotlap.profiling.sandboxed import Under
from hotlap.profiling.tools import Tool
from hotlap.profiling.workbench import CONTROL

EVENTS = (
    *("instructions:u", "cycles:u", "branch-misses:u", "cache-misses:u"),
    *("page-faults", "context-switches", "task-clock"),
)
PROBE_S = 10.0


def refusal(perf: Tool) -> str | None:
    """One line on why perf may not count here, or None where it may."""
    probe = [perf.path, "stat", "-e", "task-clock", "true"]
    try:
        done = subprocess.run(probe, capture_output=True, text=True, timeout=PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"perf does not run ({error})"
    if done.returncode == 0:
        return None
    paranoid = Path("/proc/sys/kernel/perf_event_paranoid")
    level = paranoid.read_text().strip() if paranoid.exists() else "unknown"
    said = next((line.strip() for line in done.stderr.splitlines() if line.strip()), "no reason given")
    return f"perf may not count here (kernel.perf_event_paranoid is {level}): {said[:160]}"


def under(perf: Tool, counts: Path) -> Under:
    """How the driver runs under perf, which counts when the driver says so and writes to `counts`."""
    order, answer = (f"{{out}}/{pipe}" for pipe in CONTROL)
    command = (perf.path, "stat", "-D", "-1", "--control", f"fifo:{order},{answer}")
    return Under(outer=(*command, "-x", ";", "-o", str(counts), "-e", ",".join(EVENTS), "--"))


def parse(text: str) -> Mapping[str, float]:
    """Counts by event, `instructions` and so on; an event that this machine does not count is not there."""
    found = {}
    for row in text.splitlines():
        cells = row.split(";")
        if len(cells) >= 3 and not row.startswith("#"):
            try:
                found[cells[2].removesuffix(":u")] = float(cells[0])
            except ValueError:
                continue  # <not supported>, <not counted>
    return found
