"""A whole run: what the referee sees of one submission, and what no submission may know beforehand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hotlap import judge, runs
from hotlap.errors import UsageError
from hotlap.model import Fault, Kind, Run, Status, Submission
from hotlap.problems.native import load
from hotlap.referee.device import CpuDevice, open_device
from hotlap.referee.measure import baseline_key
from hotlap.referee.referee import HIDDEN_WORKLOADS, referee
from hotlap.verdict import verdict
from tests.referee.scaled import KERNEL, cpp, write_scaled

MAKE_INPUTS = "def make_inputs(axes, rng, device):"


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CpuDevice]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        with open_device(warm=2) as opened:
            yield opened


def python(source: str) -> Submission:
    return Submission("kernel.py", source, "python", "0" * 64, "ada")


def compiled(source: str) -> Submission:
    return Submission("kernel.cpp", source, "cpp", "0" * 64, "ada")


def refereed(
    device: CpuDevice, folder: Path, submission: Submission | None = None, timed: bool = False
) -> Run:
    """The run of a submission, by default of a right kernel in C++."""
    return referee(load(folder), submission or compiled(cpp()), device, run_id=runs.new_id(), timed=timed)


def status_of(run: Run) -> tuple[Status, Fault | None]:
    given = judge.judge(run)
    return given.status, given.fault


# --- a run that goes well --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def logged(device: CpuDevice, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[str]]:
    """A timed run of a right kernel, and a secret number of every call, as the problem saw it."""
    root = tmp_path_factory.mktemp("logged")
    log = root / "log"
    logs = (
        f"{MAKE_INPUTS}\n    with open({str(log)!r}, 'a') as file:\n        file.write(f'{{rng.seed()}}\\n')"
    )
    folder = write_scaled(root, (MAKE_INPUTS, logs))
    run = refereed(device, folder, python(KERNEL), timed=True)
    return run, log.read_text().splitlines()


def test_a_right_kernel_is_timed_against_the_baseline(logged: tuple[Run, list[str]]) -> None:
    run, _ = logged
    assert status_of(run) == (Status.accepted, None)
    assert run.style == "returns"
    bench = run.workloads[-1]
    assert bench.samples is not None
    rounds = len(bench.samples.submission_ns)
    assert rounds >= 12
    assert len(bench.samples.baseline_ns) == len(bench.samples.empty_ns) == rounds
    assert bench.checked_calls >= min(270, bench.total_calls)
    assert bench.sampled_words >= 16_384


def test_every_workload_is_seen_in_order_with_three_hidden_ones(logged: tuple[Run, list[str]]) -> None:
    run, _ = logged
    assert [w.kind for w in run.workloads] == [Kind.test, *[Kind.hidden] * HIDDEN_WORKLOADS, Kind.bench]
    assert [w.index for w in run.workloads] == list(range(5))
    assert all(w.checked_calls >= 3 for w in run.workloads)
    assert all(w.samples is None for w in run.workloads if w.kind is not Kind.bench)


def test_no_inputs_are_drawn_twice(logged: tuple[Run, list[str]]) -> None:
    run, lines = logged
    bench = run.workloads[-1]
    assert bench.samples is not None
    assert len(lines) > bench.samples.calls_per_round * len(bench.samples.submission_ns)
    assert len(set(lines)) == len(lines)


def test_a_run_holds_what_a_replay_needs(logged: tuple[Run, list[str]]) -> None:
    run, _ = logged
    assert len(bytes.fromhex(run.master_key)) == 16
    assert load(Path(run.problem_folder)).id == run.problem
    assert run.submission.source == KERNEL


# --- checks without a clock ------------------------------------------------------------------------


def test_a_check_has_no_samples_and_no_score(device: CpuDevice, tmp_path: Path) -> None:
    run = refereed(device, write_scaled(tmp_path))
    assert [w.samples for w in run.workloads] == [None] * 5
    given = judge.judge(run)
    assert (given.status, given.score, given.score_reason) == (Status.accepted, None, "checked, not timed")


def test_hidden_workloads_and_keys_are_drawn_anew_in_each_run(device: CpuDevice, tmp_path: Path) -> None:
    folder = write_scaled(tmp_path)
    first, second = refereed(device, folder), refereed(device, folder)
    hidden = [[w.axes["n"] for w in run.workloads if w.kind is Kind.hidden] for run in (first, second)]
    assert hidden[0] != hidden[1]
    assert all(10_011 < n <= 20_011 for drawn in hidden for n in drawn)
    assert first.master_key != second.master_key


def test_prepare_is_called_for_every_workload_with_all_its_axes(device: CpuDevice, tmp_path: Path) -> None:
    source = """
axes = None
def prepare(given):
    global axes
    axes = given
def kernel(x, alpha):
    assert axes == {"n": x.shape[0], "width": 2}, axes
    return alpha * x
"""
    assert status_of(refereed(device, write_scaled(tmp_path), python(source))) == (Status.accepted, None)


def test_a_kernel_that_is_wrong_for_one_workload_is_still_checked_on_the_others(
    device: CpuDevice, tmp_path: Path
) -> None:
    run = refereed(device, write_scaled(tmp_path), compiled(cpp("+ (n == 5)")))
    assert [w.failure is not None for w in run.workloads] == [True, False, False, False, False]
    assert run.workloads[0].failed_call == (0, 0)
    assert status_of(run) == (Status.wrong, Fault.submission)


def test_what_a_kernel_printed_and_raised_reaches_its_author(device: CpuDevice, tmp_path: Path) -> None:
    source = "def kernel(x, alpha):\n    print('about to fail', flush=True)\n    raise ValueError('tile')\n"
    run = refereed(device, write_scaled(tmp_path), python(source))
    assert run.failure is not None
    assert run.failure.message == "raised ValueError: tile"
    assert run.failure.output == "about to fail\n"
    assert run.failure.detail is not None
    assert 'File "kernel.py", line 3, in kernel' in run.failure.detail


@pytest.mark.parametrize(
    ("lang", "message"),
    [("cu", "kernel.cu is CUDA: it needs a GPU"), ("triton", "is Triton: it runs on a GPU")],
)
def test_what_this_device_cannot_run_is_the_device_s_fault(
    device: CpuDevice, tmp_path: Path, lang: str, message: str
) -> None:
    submission = Submission(f"kernel.{lang}", "", lang, "", None)
    run = referee(load(write_scaled(tmp_path)), submission, device, run_id="1", timed=False)
    assert run.failure is not None
    assert message in run.failure.message
    assert status_of(run) == (Status.void, Fault.device)


GIVES_UP = """
calls = 0
def kernel(x, alpha):
    global calls
    calls += 1
    if calls > 200:
        raise RuntimeError("enough")
    return alpha * x
"""


def test_what_waits_for_a_round_that_broke_off_is_not_kept(device: CpuDevice, tmp_path: Path) -> None:
    folder = write_scaled(tmp_path)
    null = device.null_seat()
    run = refereed(device, folder, python(GIVES_UP), timed=True)
    assert status_of(run) == (Status.failed, Fault.submission)
    assert device.null_seat() is not null
    _, style = device.baseline_seat(baseline_key(load(folder), None))
    assert style is None  # a fresh one, not loaded yet
    assert status_of(refereed(device, folder, python(KERNEL), timed=True)) == (Status.accepted, None)


def test_a_baseline_that_does_not_exist_is_a_usage_error(device: CpuDevice, tmp_path: Path) -> None:
    problem = load(write_scaled(tmp_path))
    with pytest.raises(UsageError, match="has no baseline 'fast'; allowed: baseline"):
        referee(problem, python(KERNEL), device, run_id="1", baseline="fast")


# --- the problem's fault ---------------------------------------------------------------------------

BASELINE = "def baseline(x, alpha):\n    return alpha * x"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('no')", "the baseline raised ValueError: no"),
        ("return x", "the baseline is wrong: output y: "),
    ],
)
def test_a_baseline_that_fails_is_the_problem_s_fault(
    device: CpuDevice, tmp_path: Path, body: str, message: str
) -> None:
    folder = write_scaled(tmp_path, (BASELINE, f"def baseline(x, alpha):\n    {body}"))
    run = refereed(device, folder, timed=True)
    assert run.failure is not None
    assert message in run.failure.message
    assert status_of(run) == (Status.void, Fault.problem)


def test_a_reference_that_raises_while_judging_is_the_problem_s_fault(
    device: CpuDevice, tmp_path: Path
) -> None:
    folder = write_scaled(tmp_path, ("reference(x, alpha):", "reference(x, alpha):\n    x[99999]"))
    run = refereed(device, folder)
    assert status_of(run) == (Status.void, Fault.problem)


def test_what_a_problem_says_of_a_hidden_workload_is_redacted(device: CpuDevice, tmp_path: Path) -> None:
    broken = f'{MAKE_INPUTS}\n    assert axes["n"] in (5, 20011), axes'
    folder = write_scaled(tmp_path, (MAKE_INPUTS, broken))
    given = judge.judge(refereed(device, folder))
    hidden = given.workloads[1].axes
    assert hidden is not None
    assert (given.status, given.fault) == (Status.void, Fault.problem)
    assert str(hidden["n"]) in str(given.reason)
    redacted = judge.redact(given)
    assert redacted.reason == "hidden workload: void"
    assert str(hidden["n"]) not in repr(redacted)


def test_a_run_is_stored_with_its_verdict(device: CpuDevice, tmp_path: Path) -> None:
    given = verdict(load(write_scaled(tmp_path)), compiled(cpp()), device, timed=False)
    stored = runs.load(given.run)
    assert (stored.id, stored.problem) == (given.run, given.problem)
    assert judge.judge(stored) == given
