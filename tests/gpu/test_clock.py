"""The referee's time is the time that CUDA events say in another process, for kernels whose time is known."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hotlap.model import Kind, WorkloadVerdict
from hotlap.problems.find import find
from tests.gpu.cases import HERE, Judge, dismiss
from tests.gpu.table import Row

AGREEMENT = 0.005
SPIN = HERE / "spin"


def by_events(workloads: Sequence[WorkloadVerdict], folder: Path, capability: str) -> list[float]:
    """Nanoseconds of a call of each workload, by a process of the test that uses events."""
    library = folder / "spin.so"
    arch = f"-arch=sm_{capability.replace('.', '')}"
    build = ["nvcc", "-shared", "-Xcompiler", "-fPIC", arch, "-o", str(library), str(SPIN / "kernel.cu")]
    subprocess.run(build, check=True)
    rounds = [f"{(w.axes or {})['us']}:{w.calls_per_round}" for w in workloads]
    timed = [sys.executable, str(SPIN / "by_events.py"), str(library), *rounds]
    printed = subprocess.run(timed, check=True, capture_output=True).stdout
    return [float(median_ns) for median_ns, _ in json.loads(printed)]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_referee_and_events_agree_within_half_a_percent(
    device: Any, judged: Judge, rows: list[Row], tmp_path: Path
) -> None:
    given = judged("clock: spin", find(str(SPIN)), SPIN / "kernel.cu", "accepted", timed=True)
    assert given.status == "accepted", given.reason
    workloads = [w for w in given.workloads if w.kind is Kind.bench]
    assert [w.mode for w in workloads] == ["graph"] * 3
    times_ns = [w.time_ns.estimate for w in workloads if w.time_ns is not None]
    dismiss(device)  # contestants that start for the next verdict would share the GPU with the events
    events_ns = by_events(workloads, tmp_path, given.device.capability or "")
    for w, referee, events in zip(workloads, times_ns, events_ns, strict=True):
        rows.append(clock_row((w.axes or {})["us"], referee, events))
    assert [r / e - 1 for r, e in zip(times_ns, events_ns, strict=True)] == pytest.approx(
        [0, 0, 0], abs=AGREEMENT
    )


def clock_row(us: int, referee_ns: float, events_ns: float) -> Row:
    """Both clocks side by side, events in place of a status, their difference in place of a speedup."""
    difference = f"{(referee_ns / events_ns - 1) * 100:+.3f} %"
    expected = f"{events_ns / 1e3:.2f} us"
    return Row(
        f"  spin {us} us: events, referee",
        expected,
        expected,
        "",
        "",
        f"{referee_ns / 1e3:.2f} us",
        difference,
        0.0,
    )
