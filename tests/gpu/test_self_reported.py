"""A GPU that cannot be shared: answers are checked as ever, times are the contestant's word and rank nowhere.

In a process of its own, and before the other tests: they hold the device to the end.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hotlap
from hotlap.model import Kind, Verdict
from hotlap.problems.find import find
from hotlap.schema import from_json
from tests.gpu.table import Row, row

SOFTMAX = find("basics/softmax").folder
RIGHT = ("torch_out.py", "torch_returns.py", "row_in_registers.cu")  # each way of giving an output
WRONG = "no_max.py"
# Through the host's memory and its reference the real sizes would take minutes.
SMALLER = {"rows = 16384": "rows = 1024", "rows = 262144": "rows = 8192", "rows = 4096": "rows = 64"}
SCRIPT = """
import sys
from pathlib import Path
from hotlap.problems.native import load
from hotlap.referee.device import open_device
from hotlap.schema import to_json
from hotlap.verdict import read_submission, verdict

problem, out, *files = map(Path, sys.argv[1:])
with open_device("cuda:0", shares=False) as device:
    for file in files:
        given = verdict(load(problem), read_submission(file), device, timed=True)
        (out / f"{file.name}.json").write_text(to_json(given))
"""


def smaller_softmax(folder: Path) -> Path:
    """The problem with bench workloads that a host computes in no time."""
    problem = folder / "softmax"
    shutil.copytree(SOFTMAX, problem)
    sheet = (problem / "problem.toml").read_text()
    for size, smaller in SMALLER.items():
        assert sheet.count(size) == 1, size
        sheet = sheet.replace(size, smaller)
    (problem / "problem.toml").write_text(sheet)
    return problem


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> dict[str, Verdict]:
    """The verdicts on all files, by name."""
    folder = tmp_path_factory.mktemp("self-reported")
    solutions = SOFTMAX / "solutions"
    right = [name for name in RIGHT if Path(name).suffix != ".cu" or has_nvcc()]
    files = [*(solutions / "correct" / name for name in right), solutions / "wrong" / WRONG]
    source = str(Path(hotlap.__file__).parents[1])  # where hotlap is not installed
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(smaller_softmax(folder)), str(folder), *map(str, files)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    seconds = (time.monotonic() - start) / len(files)
    found = {file.name: from_json(Verdict, (folder / f"{file.name}.json").read_text()) for file in files}
    for name, verdict in found.items():
        expected = "wrong" if name == WRONG else "accepted"
        rows.append(row(f"self-reported: {name}", expected, verdict, seconds))
    return found


def has_nvcc() -> bool:
    return bool(shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc"))


@pytest.fixture(params=RIGHT)
def accepted(request: pytest.FixtureRequest, given: dict[str, Verdict]) -> Verdict:
    """The verdict on a right kernel."""
    if request.param not in given:
        pytest.skip("nvcc is not installed")
    return given[request.param]


def test_a_right_kernel_is_accepted_and_says_that_its_times_are_self_reported(accepted: Verdict) -> None:
    assert accepted.status == "accepted", accepted.reason
    assert (accepted.trust, accepted.device.kind) == ("self-reported", "cuda")
    assert accepted.trust_reason == "sharing was not asked for"


def test_there_is_no_score_and_the_reason_is_given(accepted: Verdict) -> None:
    assert accepted.score is None
    assert re.match("self-reported: ", accepted.score_reason or "")


def test_every_bench_workload_has_a_claimed_time_and_no_other(accepted: Verdict) -> None:
    benches = [w for w in accepted.workloads if w.kind is Kind.bench]
    assert len(benches) == len(SMALLER)
    assert [(w.time_ns, w.speedup) for w in benches] == [(None, None)] * len(benches)
    claimed = [w.claimed_time_ns or 0.0 for w in benches]
    assert all(1e3 < time_ns < 1e8 for time_ns in claimed), claimed


def test_other_workloads_have_no_claimed_time(accepted: Verdict) -> None:
    assert {w.claimed_time_ns for w in accepted.workloads if w.kind is not Kind.bench} == {None}


def test_calls_were_checked(accepted: Verdict) -> None:
    assert all(w.checked_calls > 0 for w in accepted.workloads)


def test_the_verdict_lists_that_the_gpu_s_work_is_not_seen(accepted: Verdict) -> None:
    assert any("not seen" in gap for gap in accepted.sandbox.gaps), accepted.sandbox.gaps


def test_a_wrong_kernel_is_wrong_all_the_same(given: dict[str, Verdict]) -> None:
    verdict = given[WRONG]
    assert verdict.status == "wrong", verdict.reason
    assert "elements beyond tolerance" in (verdict.reason or "")
    assert (verdict.trust, verdict.score) == ("self-reported", None)
