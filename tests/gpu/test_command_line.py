"""`hotlap run` on a GPU. It goes first: a device is one process's at a time, and other tests keep it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import hotlap
from hotlap.model import Kind, Verdict
from hotlap.schema import from_json
from tests.gpu.cases import RIGHT
from tests.gpu.table import Row, row

MAIN = "from hotlap.cli.main import main; main()"


def test_run_prints_one_verdict_as_json(rows: list[Row]) -> None:
    arguments = ["run", "basics/vectoradd", str(RIGHT), "--device", "cuda:0", "--json"]
    source = str(Path(hotlap.__file__).parents[1])  # where hotlap is not installed
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr.decode()
    given = from_json(Verdict, done.stdout)
    rows.append(row("hotlap run --json, cold", "accepted", given, time.monotonic() - start))
    assert given.status == "accepted", given.reason
    assert given.trust == "referee-gpu"
    assert given.device.kind == "cuda"
    assert all(w.time_ns is not None for w in given.workloads if w.kind is Kind.bench)
