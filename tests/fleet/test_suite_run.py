"""A run of real kernels: each sample a row, whatever happens to it or to the run."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hotlap
from hotlap.errors import DeviceError, UsageError
from hotlap.fleet import journal, suite_run
from hotlap.fleet.results import SuiteRow, report
from hotlap.fleet.suite import problems_of, samples_of
from hotlap.fleet.suite_run import Listener, State
from hotlap.model import Fault, Status
from tests.referee.scaled import CPP, KERNEL, write_scaled

# Tests that hold the device wait for each other, and for whoever else holds it.
pytestmark = pytest.mark.timeout(400)

BASICS = Path(hotlap.__file__).parent / "suites" / "basics"
SOLUTIONS = {
    "softmax": ("correct/torch_out.py", "wrong/no_max.py", "wrong/columns.py"),
    "vectoradd": ("correct/torch_add.py", "wrong/in_place.py", "wrong/half_inside.py"),
}
EXPECTED = {
    ("softmax", "columns"): "wrong",
    ("softmax", "no_max"): "wrong",
    ("softmax", "torch_out"): "accepted",
    ("vectoradd", "half_inside"): "wrong",
    ("vectoradd", "in_place"): "failed",
    ("vectoradd", "torch_add"): "accepted",
}


class Recorder(Listener):
    def __init__(self) -> None:
        self.rows: list[SuiteRow] = []
        self.states: list[State] = []

    def judged(self, row: SuiteRow, state: State) -> None:
        self.rows.append(row)
        self.states.append(state)


def basics(folder: Path) -> tuple[Path, Path]:
    """A suite of two problems, and three solutions of each."""
    suite, solutions = folder / "suite", folder / "solutions"
    for name, files in SOLUTIONS.items():
        shutil.copytree(BASICS / name, suite / name)
        (solutions / name).mkdir(parents=True)
        for file in files:
            shutil.copy(BASICS / name / "solutions" / file, solutions / name)
    return suite, solutions


def scaled(folder: Path, kernels: dict[str, str]) -> tuple[Path, Path]:
    """A suite of one tiny problem, and these kernels."""
    suite, solutions = write_scaled(folder).parent, folder / "solutions"
    (solutions / "scaled").mkdir(parents=True)
    for name, source in kernels.items():
        (solutions / "scaled" / name).write_text(source)
    return suite, solutions


def run(suite: Path, solutions: Path, out: Path, **options: object) -> tuple[dict[str, SuiteRow], Recorder]:
    problems = problems_of(str(suite))
    told = Recorder()
    samples = samples_of(problems, solutions).samples
    _, rows = suite_run.run("tried", problems, samples, out, listener=told, **options)  # type: ignore[arg-type]
    return {row.sample: row for row in rows}, told


def statuses(out: Path) -> list[tuple[tuple[str, str], str]]:
    """((problem, sample), status) of each line of the journal."""
    _, rows = journal.read(out)
    names = [(row.problem.partition("@")[0].rpartition("/")[2], row.sample) for row in rows]
    return sorted(zip(names, (row.status.value for row in rows), strict=True))


def test_a_run_killed_at_ten_random_moments_ends_with_each_sample_once(tmp_path: Path) -> None:
    suite, solutions = basics(tmp_path)
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from hotlap.cli.main import main; main()", "suite", "run", str(suite)]
    command += ["--solutions", str(solutions), "--out", str(out)]
    moments = random.Random(20261130)
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with process:
            time.sleep(moments.uniform(0.5, 6.0))
            process.send_signal(signal.SIGKILL)
        path = out / journal.NAME
        if path.exists() and path.stat().st_size:
            # Kills in mid-write are rare: half of them are helped along.
            if moments.random() < 0.5 and len(path.read_bytes().splitlines()) > 1:
                path.write_bytes(path.read_bytes()[: -moments.randrange(1, 60)])
            known = statuses(out)
            assert len({name for name, _ in known}) == len(known)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert statuses(out) == sorted(EXPECTED.items())


def test_a_kernel_costs_its_own_row_whatever_it_does(tmp_path: Path) -> None:
    kernels = {
        "crashes.py": "import os, signal\ndef kernel(x, alpha):\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
        "broken.cpp": "int kernel( {",
        "gpu.cu": "int x;",
        "right.py": KERNEL,
        "right.cpp": CPP,
        "text.py": "\udcff",
    }
    text = kernels.pop("text.py")
    suite, solutions = scaled(tmp_path, kernels)
    (solutions / "scaled" / "text.py").write_bytes(text.encode(errors="surrogateescape"))
    rows, told = run(suite, solutions, tmp_path / "out")
    assert {name: row.status.value for name, row in rows.items()} == {
        "broken": "failed",
        "crashes": "failed",
        "gpu": "void",
        "right.cpp": "accepted",
        "right.py": "accepted",
        "text": "failed",
    }
    assert [rows[name].compiled for name in ("broken", "crashes", "right.cpp", "text")] == [
        False,
        True,
        True,
        False,
    ]
    assert (rows["gpu"].fault, rows["gpu"].attempts) == (Fault.device, 1)
    assert [row.sample for row in told.rows] == list(rows)
    assert (told.states[-1].done, told.states[-1].total, told.states[-1].accepted) == (6, 6, 2)
    for row in rows.values():
        verdict = json.loads((tmp_path / "out" / suite_run.VERDICTS / f"{row.runs[0]}.json").read_text())
        assert verdict["status"] == row.status.value
    table = report(*journal.read(tmp_path / "out")).groups[0]
    assert table.correct is not None
    assert table.correct.share == 2 / 5


def test_what_is_done_is_not_judged_again_and_new_samples_are(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.cpp": "int kernel( {"})
    run(suite, solutions, tmp_path / "out")
    (solutions / "scaled" / "b.cpp").write_text("int kernel( {}")
    rows, told = run(suite, solutions, tmp_path / "out")
    assert list(rows) == ["a", "b"]
    assert [row.sample for row in told.rows] == ["b"]


def test_a_sample_that_changed_after_it_was_judged_is_refused(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.cpp": "int kernel( {"})
    run(suite, solutions, tmp_path / "out")
    (solutions / "scaled" / "a.cpp").write_text(CPP)
    with pytest.raises(UsageError, match=r"sample a: a\.cpp has changed since it was judged"):
        run(suite, solutions, tmp_path / "out")


def test_a_problem_that_changed_is_refused(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.cpp": "int kernel( {"})
    run(suite, solutions, tmp_path / "out")
    toml = suite / "scaled" / "problem.toml"
    toml.write_text(toml.read_text().replace("n = 5", "n = 7"))
    with pytest.raises(UsageError, match="begun with other problems or versions"):
        run(suite, solutions, tmp_path / "out")


def test_a_reference_that_does_not_load_is_the_problems_fault(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.py": KERNEL})
    reference = suite / "scaled" / "reference.py"
    reference.write_text(f"{reference.read_text()}\nraise OSError('gone')\n")
    rows, _ = run(suite, solutions, tmp_path / "out")
    assert (rows["a"].status, rows["a"].fault, rows["a"].attempts) == (Status.void, Fault.problem, 1)
    assert "gone" in (rows["a"].reason or "")


def test_a_baseline_that_a_problem_lacks_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.py": KERNEL})
    with pytest.raises(UsageError, match=r"--baseline baseline_fast: demo/scaled@.* allowed: baseline"):
        run(suite, solutions, tmp_path / "out", baselines=["baseline", "baseline_fast"])
    assert not (tmp_path / "out").exists()


def test_a_speedup_is_measured_against_each_baseline(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.py": KERNEL, "wrong.py": KERNEL.replace("alpha * x", "x")})
    reference = suite / "scaled" / "reference.py"
    twice = "\n\ndef baseline_slow(x, alpha):\n    return alpha * x + 0 * x.sin().cos().exp()\n"
    reference.write_text(reference.read_text() + twice)
    rows, _ = run(suite, solutions, tmp_path / "out", baselines=["baseline", "baseline_slow"])
    assert list(rows["a"].speedups) == ["baseline", "baseline_slow"]
    assert rows["a"].speedups["baseline_slow"].value > rows["a"].speedups["baseline"].value
    assert (len(rows["a"].runs), len(rows["wrong"].runs)) == (2, 1)


def test_a_device_that_does_not_exist_stops_the_run(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.py": KERNEL})
    with pytest.raises((UsageError, DeviceError)):
        run(suite, solutions, tmp_path / "out", device="cuda:99")


def test_a_lane_opens_its_device_anew() -> None:
    with suite_run.opened_lane("cpu", lambda message: None) as lane:
        before = lane.device
        lane.reopen()
        assert lane.device is not before
        assert lane.device.info.uuid == before.info.uuid


def test_what_is_void_for_the_device_is_tried_twice_and_is_not_wrong(tmp_path: Path) -> None:
    suite, solutions = scaled(tmp_path, {"a.cpp": CPP})
    toml = suite / "scaled" / "problem.toml"
    toml.write_text(toml.read_text().replace("n = 20011", "n = 20011000000000"))
    rows, _ = run(suite, solutions, tmp_path / "out")
    assert (rows["a"].status, rows["a"].fault, rows["a"].attempts) == (Status.void, Fault.device, 2)
    table = report(*journal.read(tmp_path / "out")).groups[0]
    assert (table.void, table.wrong, table.correct) == (1, 0, None)
