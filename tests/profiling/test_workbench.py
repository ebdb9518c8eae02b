"""A kernel in the driver's hands: it is called on inputs of the referee's, and what it does wrong is data."""

from pathlib import Path

import pytest

from hotlap.model import Fault, Status
from hotlap.problems.native import load
from hotlap.profiling.sandboxed import Under
from hotlap.profiling.workbench import Outcome
from tests.profiling.conftest import BenchOf
from tests.referee.scaled import KERNEL, cpp, write_scaled


@pytest.mark.parametrize(("source", "name"), [(KERNEL, "kernel.py"), (cpp(), "kernel.cpp")])
def test_a_timed_task_tells_of_a_call(source: str, name: str, bench_of: BenchOf) -> None:
    outcome = bench_of(source, name).run(["timed"], 60)
    assert outcome.failure is None
    assert (outcome.number("timed", "wall_ns") or 0) > 0
    assert (outcome.number("timed", "threads") or 0) >= 1


@pytest.mark.parametrize(
    ("said", "number"),
    [
        (3, 3.0),
        (1.5, 1.5),
        (10**400, None),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        ("3", None),
    ],
)
def test_a_number_that_none_can_be_is_none(said: object, number: float | None) -> None:
    outcome = Outcome(results={"timed": {"calls": said}}, failure=None, printed="", files=())
    assert outcome.number("timed", "calls") == number


def test_counts_that_none_can_be_are_left_out() -> None:
    lines = {"1": 5, "2": 10**400, "3": -1, "4": "many"}
    assert Outcome({"sampled": {"lines": lines}}, None, "", ()).counts("sampled", "lines") == {"1": 5}


def test_a_sampled_task_names_the_authors_lines_with_what_they_call(bench_of: BenchOf) -> None:
    source = "import torch\ndef kernel(x, alpha):\n    torch.ones(99999).sin()\n    return alpha * x\n"
    outcome = bench_of(source).run(["sampled"], 60)
    assert max(outcome.counts("sampled", "lines").items(), key=lambda item: item[1])[0] == "3"


def test_a_traced_task_leaves_a_timeline_of_torchs_operations(bench_of: BenchOf) -> None:
    outcome = bench_of(KERNEL).run(["traced"], 60, ["trace.json"])
    path = outcome.file("trace.json")
    assert path is not None
    assert "aten::mul" in path.read_text()


def test_inputs_that_a_kernel_may_change_are_made_anew(tmp_path: Path, bench_of: BenchOf) -> None:
    shape = 'name = "x"\ndtype = "float32"\nshape = ["n", "width"]\n'
    problem = load(write_scaled(tmp_path / "mutable", (shape, f"{shape}mutable = true\n")))
    body = ("assert not (x == 7).all()", "y = alpha * x", "x.fill_(7)", "return y")
    source = "\n    ".join(("def kernel(x, alpha):", *body))
    assert bench_of(source, problem=problem).run(["timed"], 60).failure is None


@pytest.mark.parametrize(
    ("source", "phase", "message"),
    [
        ("1 / 0\n", "load", "raised ZeroDivisionError: division by zero"),
        ("def other(x): ...\n", "load", "defines no function `kernel`"),
        ("def prepare(axes): 1 / 0\n" + KERNEL, "prepare", "raised ZeroDivisionError"),
        ("def kernel(x, alpha): 1 / 0\n", "call", "raised ZeroDivisionError"),
        ("import os\ndef kernel(x, alpha): os._exit(7)\n", "call", "exited with code 7 before its calls"),
        ("import os\ndef kernel(x, alpha): os.kill(os.getpid(), 9)\n", "call", "was killed by SIGKILL"),
        ("import os\ndef kernel(x, alpha): x.fill_(1)\n", "call", "was killed by SIGSEGV"),
    ],
)
def test_what_a_kernel_does_wrong_is_its_failure(
    source: str, phase: str, message: str, bench_of: BenchOf
) -> None:
    failure = bench_of(source).run(["timed"], 60).failure
    assert failure is not None
    assert (failure.status, failure.fault, failure.phase) == (Status.failed, Fault.submission, phase)
    assert message in failure.message


def test_a_traceback_names_the_authors_file_and_nothing_of_ours(bench_of: BenchOf) -> None:
    failure = bench_of("def kernel(x, alpha):\n    1 / 0\n").run(["timed"], 60).failure
    assert failure is not None
    assert failure.detail is not None
    assert 'File "kernel.py", line 2, in kernel' in failure.detail
    assert "driver" not in failure.detail


def test_a_kernel_that_does_not_end_is_ended(bench_of: BenchOf) -> None:
    failure = bench_of("def kernel(x, alpha):\n    while True: pass\n").run(["timed"], 4).failure
    assert failure is not None
    assert "did not finish within 4 s" in failure.message


@pytest.mark.parametrize(
    "write",
    [
        "open('/out/result.json', 'w').write('[1, 2'); os._exit(0)",
        "open('/out/result.json', 'w').write('[1]'); os._exit(0)",
        "open('/out/result.json', 'w').write('{\"timed\": 3}'); os._exit(0)",
        "open('/out/result.json', 'w').write('{\"error\": {}}'); os._exit(0)",
        "os.symlink('/etc/passwd', '/out/result.json'); os._exit(0)",
        "os.mkfifo('/out/result.json'); os._exit(0)",
    ],
)
def test_a_kernel_that_forges_results_fails(write: str, bench_of: BenchOf) -> None:
    source = f"import os\ndef kernel(x, alpha):\n    {write}\n"
    assert bench_of(source).run(["timed"], 60).failure is not None


def test_forged_numbers_are_read_as_data(bench_of: BenchOf) -> None:
    forged = '{"timed": {"wall_ns": "7", "calls": true}, "sampled": {"lines": [1]}}'
    write = f"open('/out/result.json', 'w').write('{forged}'); os._exit(0)"
    source = f"import os\ndef kernel(x, alpha):\n    {write}\n"
    outcome = bench_of(source).run(["timed", "sampled"], 60)
    assert (outcome.number("timed", "wall_ns"), outcome.number("timed", "calls")) == (None, None)
    assert outcome.counts("sampled", "lines") == {}


def test_only_files_that_were_asked_for_are_kept_and_links_never(tmp_path: Path, bench_of: BenchOf) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the caller's own")
    source = (
        "import os\ndef kernel(x, alpha):\n"
        f"    if not os.path.exists('/out/wanted'):\n"
        f"        os.symlink('{secret}', '/out/linked'); open('/out/wanted', 'w').write('1')\n"
        "        open('/out/unwanted', 'w').write('2')\n"
        "    return alpha * x\n"
    )
    outcome = bench_of(source).run(["called"], 60, ["wanted", "linked"])
    assert [path.name for path in outcome.files] == ["wanted"]


def test_a_kernel_sees_neither_the_reference_nor_the_network(bench_of: BenchOf) -> None:
    source = (
        "import os, socket\ndef kernel(x, alpha):\n    found = sorted(os.listdir('/hotlap/hotlap'))\n"
        "    assert found == ['contestant'], found\n"
        "    try: socket.socket(socket.AF_INET)\n"
        "    except PermissionError: return alpha * x\n    assert False\n"
    )
    assert bench_of(source).run(["called"], 60).failure is None


def test_a_tool_inside_the_sandbox_runs_the_driver(bench_of: BenchOf) -> None:
    tool = ("/bin/sh", "-c", 'echo "the tool was here"; exec "$@"', "sh")
    outcome = bench_of(KERNEL).run(["called"], 60, under=Under(inner=tool))
    assert outcome.failure is None
    assert "the tool was here" in outcome.printed


def test_nothing_but_what_was_kept_is_left(tmp_path: Path, bench_of: BenchOf) -> None:
    bench = bench_of(KERNEL)
    bench.run(["called"], 60)
    bench.close()
    assert list((tmp_path / "out").iterdir()) == []


def test_folders_nested_as_deep_as_can_be_are_cleared_away(tmp_path: Path, bench_of: BenchOf) -> None:
    source = (
        "import os\n"
        "def kernel(x, alpha):\n"
        "    os.chdir('/out' if os.path.isdir('/out') else '.')\n"
        "    for _ in range(3000):\n"
        "        os.mkdir('d')\n"
        "        os.chdir('d')\n"
        "    os._exit(0)\n"
    )
    bench = bench_of(source)
    assert bench.run(["timed"], 60).failure is not None
    bench.close()
    assert not list(bench.out.glob(".running-*"))
