"""Referee one submission on the CPU: build, load, check every workload, time the bench ones.

The referee owns inputs, references, clock and checks. It returns a Run: what it saw, judged by nobody yet.
Defends against all that `rounds`, `seat`, `check` and `build` name; the choice of calls per round comes from
the baseline and the choice of calls to compare in full from the operating system, never from the submission.
Does not defend against: calls of one round that are merged or overlapped on several cores.
"""

import datetime
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import hotlap
from hotlap.errors import DeviceError, HarnessError, ProblemError, SubmissionError, UsageError
from hotlap.model import (
    Errors,
    Failure,
    Fault,
    Kind,
    Problem,
    Run,
    Samples,
    Sandbox,
    Status,
    Submission,
    Timing,
    Trust,
    Workload,
    WorkloadRun,
)
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.referee import build, check, sandbox
from hotlap.referee.device import CpuDevice
from hotlap.referee.limits import Limits
from hotlap.referee.rng import Rng, derive, new_master_key
from hotlap.referee.rounds import Assignment, RoundResult, Vault, call_bytes, draw_vault, secret_choice
from hotlap.referee.seat import Seat, SeatFailed

FULL_CHECKS = 270  # calls a workload compared in full: a share of 5 % wrong calls escapes at 1e-6
SAMPLED_WORDS = 16_384  # a workload, over all its timed calls
BASELINE_WORDS = 64  # a round of the baseline, which is the problem's own code
ROUND_NS = 4_000_000  # longer rounds are no less noisy, and leave time for fewer (docs/decisions/0003)
MAX_CALLS = 512
MIN_PAIRS, MAX_PAIRS = 12, 64  # rounds of each side, in blocks of ABBA or BAAB
FEWEST_PAIRS = 6  # below this there is no interval, however slow the kernel
WORKLOAD_S = 1.4  # what a workload's rounds may take; how many fit is fixed before the first that counts
DISCARDED_PAIRS = 2
PILOT_CALLS, PILOT_ROUNDS = 4, 6
DRAWN_ELEMENTS = 1 << 22  # a round: drawing costs more than most kernels, and every call gets fresh inputs
MEMORY_SHARE = 0.25  # of the free memory, for one seat's buffers
HIDDEN_WORKLOADS = 3
HIDDEN_KEY = -1  # in the place of a workload's index, when hidden axes are drawn
# The number of a round is part of every key in it: untimed rounds first, then those of the clock.
PILOT_ROUND, BASELINE_ROUND, FIRST_ROUND, AGAIN_ROUND, SETTLE_ROUND, TIMED_ROUND = -10, -1, 0, 1, 2, 3

Progress = Callable[[str, float | None], None]


def silent(text: str, fraction: float | None) -> None:
    """The progress of a caller who does not want to see any."""


@dataclass
class Tally:
    """What was seen of one workload so far."""

    checked_calls: int = 0
    total_calls: int = 0
    sampled_words: int = 0
    errors: Errors | None = None
    failure: Failure | None = None
    failed_call: tuple[int, int] | None = None
    samples: Samples | None = None
    footprint_bytes: int | None = None


@dataclass
class Case:
    """One submission under one problem on one device, while it is refereed."""

    problem: Problem
    submission: Submission
    device: CpuDevice
    reference: references.Reference
    master: bytes
    pool: ThreadPoolExecutor
    style: str = ""
    loaded_s: float = 0.0
    check_s: float = 0.0
    measure_s: float = 0.0
    build_s: float = 0.0
    queued_s: float = 0.0
    runs: list[WorkloadRun] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)

    @property
    def limits(self) -> Limits:
        return self.device.limits


def referee(
    problem: Problem,
    submission: Submission,
    device: CpuDevice,
    *,
    run_id: str,
    timed: bool = True,
    interpret: bool = False,
    baseline: str | None = None,
    progress: Progress = silent,
) -> Run:
    """The raw run of one submission. What is the submission's or machine's fault is in it, not raised.

    timed=False checks without timing; interpret=True runs Triton files in Triton's interpreter.
    Raises UsageError for a baseline that the problem does not have.
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    start = time.monotonic()
    failure: Failure | None = None
    case: Case | None = None
    reference = references.load_reference(problem)
    if baseline is not None and baseline not in reference.baselines:
        allowed = ", ".join(reference.baselines) or "none: it has only its reference"
        raise UsageError(f"{problem.id} has no baseline {baseline!r}; allowed: {allowed}")
    # Drawn again after the submission is loaded; until then no input exists.
    case = Case(
        problem, submission, device, reference, new_master_key(), device.pool, queued_s=device.take_queued_s()
    )
    try:
        _refuse(submission, device.limits, interpret)
        _referee(case, timed, interpret, baseline, progress)
    except SeatFailed as error:
        failure = error.failure
    except SubmissionError as error:
        failure = Failure(Status.failed, Fault.submission, "load", str(error))
    except ProblemError as error:
        failure = Failure(Status.void, Fault.problem, "check", str(error))
    except DeviceError as error:
        failure = Failure(Status.void, Fault.device, "measure", str(error))
    except (HarnessError, OSError, MemoryError) as error:
        failure = Failure(Status.void, Fault.harness, "measure", f"{type(error).__name__}: {error}")
    total = time.monotonic() - start
    return Run(
        id=run_id,
        problem=problem.id,
        submission=submission,
        style=case.style or None,
        device=replace(device.info, freezer=device.freezer_found),
        trust=Trust.referee_host,
        trust_reason=None,
        sandbox=Sandbox(sandbox.kind(), tuple(dict.fromkeys(case.gaps))),
        workloads=tuple(case.runs),
        failure=failure,
        timing=Timing(
            queued_s=round(case.queued_s, 3),
            build_s=round(case.build_s + case.loaded_s, 3),
            check_s=round(case.check_s, 3),
            measure_s=round(case.measure_s, 3),
            total_s=round(total, 3),
        ),
        started_at=started,
        hotlap_version=hotlap.__version__,
        master_key=case.master.hex(),
        timed=timed,
        problem_folder=str(problem.folder.resolve()),
    )


def _refuse(submission: Submission, limits: Limits, interpret: bool) -> None:
    """Turn down what cannot be judged at all: SubmissionError, or DeviceError if it could elsewhere."""
    if submission.refused is not None:
        raise SubmissionError(submission.refused)
    if submission.lang == "cu":
        raise DeviceError(f"{submission.file} is CUDA: it needs a GPU; this device is a CPU")
    if submission.lang == "triton" and not interpret:
        raise DeviceError(f"{submission.file} is Triton: it runs on a GPU; on a CPU use `hotlap check`")


def _referee(case: Case, timed: bool, interpret: bool, baseline: str | None, progress: Progress) -> None:
    device, problem, submission = case.device, case.problem, case.submission
    with ExitStack() as ends:
        start = time.monotonic()
        progress("starting contestants", 0.0)
        seat = device.take_seat("bare" if submission.lang == "cpp" else "torch", interpret)
        ends.callback(seat.close)
        case.gaps += seat.gaps
        device.freezer_found = seat.freezer
        if timed:
            device.baseline_seat(_baseline_key(problem, baseline))  # starts while we build and load
        data = submission.source.encode()
        if submission.lang == "cpp":
            progress("compiling", 0.02)
            built = build.build(problem, submission, device.limits)
            case.build_s = built.seconds
            if built.failure is not None:
                raise SeatFailed(built.failure)
            data = built.library or b""
        progress("loading", 0.05)
        seat.await_start()
        case.style = load(seat, problem, submission, data)
        case.loaded_s = time.monotonic() - start - case.build_s
        case.master = new_master_key()

        start = time.monotonic()
        ends.enter_context(device.quiet())
        device.set_referee_affinity()
        ends.callback(device.restore_affinity)
        for index, workload in enumerate(_workloads(case)):
            progress(f"checking {_named(workload)}", 0.1)
            _check_workload(case, seat, index, workload)
        case.check_s = time.monotonic() - start
        if not timed or any(run.failure for run in case.runs):
            return
        start = time.monotonic()
        _measure(case, seat, baseline, progress)
        case.measure_s = time.monotonic() - start


def load(seat: Seat, problem: Problem, submission: Submission, data: bytes) -> str:
    name = "kernel.so" if submission.lang == "cpp" else Path(submission.file).name
    path = seat.place(name, data)
    lang = "cpp" if submission.lang == "cpp" else "python"
    axes_names = build.var_axes(problem)
    reply = seat.ask("load", seat.limits.load_s, op="load", path=path, lang=lang, axes_names=axes_names)
    seat.freeze()
    return str(reply.get("style"))


def _named(workload: Workload) -> str:
    return (
        "hidden workload"
        if workload.kind is Kind.hidden
        else " ".join(f"{k}={v}" for k, v in workload.axes.items())
    )


def _workloads(case: Case) -> list[Workload]:
    """This device's workloads in order: tests, hidden ones drawn now, bench ones. Raises ProblemError."""
    profile = case.device.info.kind if case.device.info.kind == "cpu" else "gpu"
    mine = [w for w in case.problem.workloads if w.profile == profile]
    tests = [w for w in mine if w.kind is Kind.test]
    benches = [w for w in mine if w.kind is Kind.bench]
    if not benches:
        raise ProblemError(
            f"{case.problem.id} has no bench workload of profile {profile!r}; add one to problem.toml"
        )
    rng = Rng(derive(case.master, HIDDEN_KEY))
    drawn = references.hidden_axes(case.reference, case.problem, rng, profile, HIDDEN_WORKLOADS)
    return [*tests, *(Workload(Kind.hidden, profile, axes) for axes in drawn), *benches]


# --- correctness -----------------------------------------------------------------------------------


def _check_workload(case: Case, seat: Seat, index: int, workload: Workload) -> None:
    """Prepare and make a few untimed, fully checked calls; records the workload's run."""
    tally = Tally()
    axes = shapes.all_axes(case.problem, workload.axes)
    try:
        _require_memory(case.problem, axes, 1)
        seat.thaw()
        seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=axes)
        _untimed_calls(case, seat, index, axes, tally)
    except SeatFailed as error:
        tally.failure = error.failure
        tally.failed_call = (0, 0)
        case.runs.append(_record(case, index, workload, axes, tally))
        raise
    except (ProblemError, DeviceError) as error:
        # With the workload, and not of the run alone: what is hidden of a workload must include its message.
        fault = Fault.problem if isinstance(error, ProblemError) else Fault.device
        tally.failure = Failure(Status.void, fault, "check", str(error))
        tally.failed_call = (0, 0)
        case.runs.append(_record(case, index, workload, axes, tally))
        raise
    case.runs.append(_record(case, index, workload, axes, tally))


def _untimed_calls(case: Case, seat: Seat, index: int, axes: dict[str, int], tally: Tally) -> None:
    """One call, then two in one round on the same buffers: an answer that was kept shows as wrong."""
    assignment = Assignment(case.problem, axes, seat, case.style, slots=2)
    vault = _vault(case, index, FIRST_ROUND, axes, 1)
    try:
        for number, calls in ((FIRST_ROUND, 1), (AGAIN_ROUND, 2)):
            vault = _vault(case, index, number, axes, calls)
            result = assignment.round(vault, range(calls), SAMPLED_WORDS // 16, seat.limits.call_s)
            _account(case, axes, vault, result, tally, number)
            if tally.failure is not None:
                return
    except SeatFailed as error:
        written = _written_input(case, axes, vault, error.failure)
        raise SeatFailed(written) if written is not None else error from None
    finally:
        assignment.close()


def _written_input(case: Case, axes: dict[str, int], vault: Vault, failure: Failure) -> Failure | None:
    """After a crash on sealed inputs: make the same call on writable copies and see what it wrote.

    The referee reads the answer off memory; the contestant is not asked.
    """
    if not failure.message.startswith(("was killed by SIGSEGV", "was killed by SIGBUS")):
        return None
    seat = case.device.take_seat("bare" if case.submission.lang == "cpp" else "torch")
    try:
        seat.await_start()
        data = case.submission.source.encode()
        if case.submission.lang == "cpp":
            data = build.build(case.problem, case.submission, case.limits).library or b""
        load(seat, case.problem, case.submission, data)
        seat.thaw()
        seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=axes)
        calls = len(vault.inputs)
        assignment = Assignment(case.problem, axes, seat, case.style, calls, writable_inputs=True)
        try:
            assignment.round(vault, [], 1, seat.limits.call_s)
            touched = assignment.written_inputs(vault)
        finally:
            assignment.close()
    except (SeatFailed, HarnessError):
        return None
    finally:
        seat.close()
    return replace(failure, message=f"wrote to input {touched[0]}; inputs are read-only") if touched else None


def _account(
    case: Case, axes: dict[str, int], vault: Vault, result: RoundResult, tally: Tally, round_index: int
) -> None:
    """Compare the calls that were copied whole, side by side, and add all that was seen to the tally."""
    tally.total_calls += len(vault.inputs)
    tally.sampled_words += result.sampled_words

    def one(call: int) -> check.Comparison:
        return check.compare_call(
            case.problem, case.reference, axes, vault.inputs[call], result.outputs[call]
        )

    calls = sorted(result.outputs)
    compared = list(case.pool.map(one, calls)) if len(calls) > 1 else [one(call) for call in calls]
    tally.checked_calls += len(calls)
    for call, comparison in zip(calls, compared, strict=True):
        tally.errors = check.merge(tally.errors or check.NO_ERRORS, comparison.errors)
        if comparison.wrong is not None and tally.failure is None:
            tally.failure = Failure(Status.wrong, Fault.submission, "check", comparison.wrong)
            tally.failed_call = (round_index, call)
    if result.wrong is not None:
        # Said first: what was never written explains the elements that are wrong.
        tally.failure = Failure(Status.wrong, Fault.submission, "check", result.wrong)
        tally.failed_call = (round_index, result.wrong_call or 0)


def _record(case: Case, index: int, workload: Workload, axes: dict[str, int], tally: Tally) -> WorkloadRun:
    bytes_moved, flops = shapes.cost(case.problem, axes)
    return WorkloadRun(
        index=index,
        kind=workload.kind,
        axes=dict(workload.axes),
        checked_calls=tally.checked_calls,
        total_calls=tally.total_calls,
        sampled_words=tally.sampled_words,
        errors=tally.errors,
        failure=tally.failure,
        failed_call=tally.failed_call,
        samples=tally.samples,
        bytes_moved=bytes_moved,
        flops=flops,
        footprint_bytes=tally.footprint_bytes,
        mode=None,
    )


def _require_memory(problem: Problem, axes: dict[str, int], calls: int) -> int:
    """Bytes that one seat's buffers may take. Raises DeviceError when even one call needs more."""
    budget = int(MEMORY_SHARE * _available_bytes())
    needed = call_bytes(problem, axes) * calls
    if needed > budget:
        raise DeviceError(
            f"{problem.id} {axes}: one call needs {needed / 1e9:.1f} GB of buffers; allowed is a quarter "
            f"of the free memory, {budget / 1e9:.1f} GB; use a smaller workload or a larger machine"
        )
    return budget


def _available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# --- timing ----------------------------------------------------------------------------------------


def _measure(case: Case, seat: Seat, baseline: str | None, progress: Progress) -> None:
    """Time every bench workload against the baseline, in place of its untimed record."""
    null = case.device.null_seat()
    _empty_round(null)
    null_threads = null.thread_count()
    rival, rival_style = _baseline_seat(case, baseline)
    benches = [i for i, run in enumerate(case.runs) if run.kind is Kind.bench]
    for done, position in enumerate(benches):
        run = case.runs[position]
        workload = Workload(Kind.bench, "cpu", run.axes)
        tally = Tally(run.checked_calls, run.total_calls, run.sampled_words, run.errors)

        def report(text: str, fraction: float, done: int = done) -> None:
            progress(text, 0.2 + 0.8 * (done + fraction) / len(benches))

        axes = shapes.all_axes(case.problem, run.axes)
        try:
            _time_workload(
                case, Seats(seat, rival, null, null_threads, rival_style), run.index, axes, tally, report
            )
        except SeatFailed as error:
            tally.failure = error.failure
        case.runs[position] = _record(case, run.index, workload, axes, tally)
        if tally.failure is not None:
            return


def _baseline_key(problem: Problem, wanted: str | None) -> str:
    return f"{problem.folder} {problem.id} {wanted}"


def _baseline_seat(case: Case, wanted: str | None) -> tuple[Seat, str]:
    """The baseline's seat and style, loaded; one that an earlier run on this device left is used again."""
    key = _baseline_key(case.problem, wanted)
    rival, style = case.device.baseline_seat(key)
    if style is None:
        rival.await_start()
        style = _load_baseline(case, rival, wanted)
        case.device.keep_baseline(key, rival, style)
    rival.freeze()
    return rival, style


def _load_baseline(case: Case, rival: Seat, wanted: str | None) -> str:
    """Load the problem's own baseline into its seat; a failure there is the problem's. Returns its style."""
    names = list(case.reference.baselines) or ["reference"]
    name = wanted or names[0]
    for file in case.problem.folder.glob("*.py"):
        rival.place(file.name, file.read_bytes())
    path = rival.place("hotlap_baseline.py", f"from reference import {name} as kernel\n".encode())
    try:
        reply = rival.ask("load", rival.limits.load_s, op="load", path=path, lang="python", axes_names=[])
    except SeatFailed as error:
        raise ProblemError(f"{case.problem.id}: baseline {name} does not load: {error}") from None
    return str(reply.get("style"))


@dataclass(frozen=True)
class Seats:
    """The submission's seat, the baseline's, and the one that makes no calls."""

    submission: Seat
    baseline: Seat
    null: Seat
    null_threads: int
    baseline_style: str


def _time_workload(
    case: Case,
    seats: Seats,
    index: int,
    axes: dict[str, int],
    tally: Tally,
    report: Callable[[str, float], None],
) -> None:
    named = " ".join(f"{k}={v}" for k, v in axes.items())
    report(f"timing {named}", 0.0)
    calls = _calls_per_round(case, seats, index, axes)
    tally.footprint_bytes = calls * call_bytes(case.problem, axes)
    with ExitStack() as ends:
        # A workload may change what prepare built for the last one, so it is prepared again.
        seats.submission.thaw()
        seats.submission.ask("prepare", case.limits.prepare_s, op="prepare", axes=axes)
        mine = Assignment(case.problem, axes, seats.submission, case.style, calls)
        ends.callback(mine.close)
        seats.submission.freeze()
        theirs = Assignment(case.problem, axes, seats.baseline, seats.baseline_style, calls)
        ends.callback(theirs.close)
        seats.baseline.freeze()
        if case.style == "returns":
            _settle_layout(case, mine, index, axes, tally)
        if seats.baseline_style == "returns":
            _baseline_round(case, theirs, axes, _vault(case, index, BASELINE_ROUND, axes, 1))
        tally.samples = _timed_rounds(case, seats, mine, theirs, index, axes, calls, tally, report)


def _settle_layout(case: Case, mine: Assignment, index: int, axes: dict[str, int], tally: Tally) -> None:
    """One untimed, checked call on the timed buffers: fixes the layout of what the kernel returns."""
    vault = _vault(case, index, SETTLE_ROUND, axes, 1)
    result = mine.round(vault, [0], 64, case.limits.call_s)
    _account(case, axes, vault, result, tally, SETTLE_ROUND)


def _vault(case: Case, index: int, round_index: int, axes: dict[str, int], calls: int) -> Vault:
    keys = [derive(case.master, index, round_index, call) for call in range(calls)]
    return draw_vault(case.problem, case.reference, axes, keys, case.pool)


def _pair(
    case: Case, mine: Assignment, theirs: Assignment, sides: Sequence[Assignment], vault: Vault
) -> dict[Assignment, int]:
    """Nanoseconds of one round of each side, as close together as can be: what the host does to one it then
    does to the other. Raises SeatFailed, ProblemError."""
    times: dict[Assignment, int] = {}
    side = mine
    try:
        for side in sides:
            side.fill(vault)
        for side in sides:
            times[side] = side.time(case.limits.measure_s)
    except SeatFailed as error:
        if side is theirs:
            raise _baseline_failed(case, error) from None
        raise
    return times


def _baseline_round(case: Case, theirs: Assignment, axes: dict[str, int], vault: Vault) -> int:
    """Nanoseconds of a round of the baseline, its first call compared. Raises ProblemError."""
    try:
        theirs.fill(vault)
        time_ns = theirs.time(case.limits.measure_s)
    except SeatFailed as error:
        raise _baseline_failed(case, error) from None
    _read_baseline(case, theirs, axes, vault, time_ns, [0])
    return time_ns


def _read_baseline(
    case: Case, theirs: Assignment, axes: dict[str, int], vault: Vault, time_ns: int, full: Sequence[int]
) -> None:
    """Look at what the baseline wrote; the calls `full` are compared. Raises ProblemError."""
    try:
        result = theirs.read(time_ns, full, BASELINE_WORDS)
    except SeatFailed as error:
        raise _baseline_failed(case, error) from None
    wrong = result.wrong
    for call, outputs in result.outputs.items():
        wrong = (
            wrong or check.compare_call(case.problem, case.reference, axes, vault.inputs[call], outputs).wrong
        )
    if wrong is not None:
        raise ProblemError(f"{case.problem.id}: the baseline is wrong: {wrong}")


def _baseline_failed(case: Case, error: SeatFailed) -> ProblemError:
    return ProblemError(f"{case.problem.id}: the baseline {error}")


def _calls_per_round(case: Case, seats: Seats, index: int, axes: dict[str, int]) -> int:
    """N from the baseline's time for a call, memory and the cost of drawing; never from the submission."""
    budget = _require_memory(case.problem, axes, 1)
    calls = min(PILOT_CALLS, max(1, budget // call_bytes(case.problem, axes)))
    pilot = Assignment(case.problem, axes, seats.baseline, seats.baseline_style, calls)
    try:
        times = []
        for number in range(PILOT_ROUNDS):
            vault = _vault(case, index, PILOT_ROUND + number, axes, 1 if number == 0 else calls)
            time_ns = _baseline_round(case, pilot, axes, vault)
            if number:
                times.append(time_ns)
            seats.baseline.freeze()
    finally:
        pilot.close()
    empty = statistics.median(_empty_round(seats.null) for _ in range(3))
    nominal = max(1000.0, (min(times) - empty) / calls)
    elements = sum(shapes.elements_of(s, axes) for s in case.problem.inputs if s.shape is not None)
    return int(
        max(
            1,
            min(
                ROUND_NS / nominal,
                MAX_CALLS,
                budget // call_bytes(case.problem, axes),
                DRAWN_ELEMENTS // max(1, elements),
            ),
        )
    )


@dataclass
class Threads:
    """How many threads a seat's tree has beyond those of the null seat: stopping and starting them is part
    of what an empty round costs.

    The fewest ever seen, counted while the tree was frozen: were it the most, a contestant could start
    threads for the counting alone and have the cost of an empty round overstated.
    """

    seat: Seat
    null_own: int
    fewest: int | None = None

    def count(self) -> int:
        extra = max(0, self.seat.thread_count() - self.null_own)
        self.fewest = extra if self.fewest is None else min(self.fewest, extra)
        return self.fewest


def _empty_round(null: Seat, threads: int = 0) -> int:
    """Nanoseconds of a round without calls, from a process of ours that keeps so many idle threads: a
    contestant could make its own empty rounds slow."""
    null.thaw()
    null.ask("call", null.limits.call_s, op="idle", threads=min(threads, null.limits.processes // 2))
    null.ready(0, [])
    time_ns = null.time_round(null.limits.call_s)
    null.finish()
    return time_ns


def _timed_rounds(
    case: Case,
    seats: Seats,
    mine: Assignment,
    theirs: Assignment,
    index: int,
    axes: dict[str, int],
    calls: int,
    tally: Tally,
    report: Callable[[str, float], None],
) -> Samples:
    submission_ns: list[int] = []
    baseline_ns: list[int] = []
    empty_ns: list[int] = []
    baseline_empty_ns: list[int] = []
    my_threads = Threads(mine.seat, seats.null_threads)
    their_threads = Threads(theirs.seat, seats.null_threads)
    pairs, wanted, samples_each = MIN_PAIRS, _wanted_calls(calls, MIN_PAIRS), SAMPLED_WORDS // MIN_PAIRS
    deadline = time.monotonic() + case.limits.measure_s
    took_s: list[float] = []
    pair = -DISCARDED_PAIRS
    while pair < pairs:
        started = time.monotonic()
        if pair == 0:
            pairs = _affordable_pairs(min(took_s))
            wanted = _wanted_calls(calls, pairs)
            samples_each = -(-SAMPLED_WORDS // pairs)
        round_index = TIMED_ROUND + DISCARDED_PAIRS + pair
        vault = _vault(case, index, round_index, axes, calls)
        full = wanted[pair] if pair >= 0 else [0]

        if pair % 2 == 0:
            submission_first = bool(os.urandom(1)[0] & 1)  # this block of two pairs is ABBA or BAAB
        sides = (mine, theirs) if (pair % 2 == 0) == submission_first else (theirs, mine)
        times = _pair(case, mine, theirs, sides, vault)
        my_count, their_count = my_threads.count(), their_threads.count()
        result = mine.read(times[mine], full, samples_each)
        _account(case, axes, vault, result, tally, round_index)
        _read_baseline(case, theirs, axes, vault, times[theirs], [])
        empty = _empty_round(seats.null, my_count)
        their_empty = empty if their_count == my_count else _empty_round(seats.null, their_count)
        if tally.failure is not None:
            break
        if pair >= 0:
            submission_ns.append(times[mine])
            baseline_ns.append(times[theirs])
            empty_ns.append(empty)
            baseline_empty_ns.append(their_empty)
        pair += 1
        took_s.append(time.monotonic() - started)
        report(f"timing {' '.join(f'{k}={v}' for k, v in axes.items())}", max(0, pair) / pairs)
        if time.monotonic() > deadline and pair >= FEWEST_PAIRS:
            break
    return Samples(calls, tuple(submission_ns), tuple(baseline_ns), tuple(empty_ns), tuple(baseline_empty_ns))


def _affordable_pairs(pair_s: float) -> int:
    """How many pairs of rounds a workload gets: an even number, from what a discarded pair took, so that it
    cannot depend on how the counted ones turn out."""
    count = int(WORKLOAD_S / max(pair_s, 1e-6))
    return max(MIN_PAIRS, min(MAX_PAIRS, count - count % 2))


def _wanted_calls(calls: int, rounds: int) -> list[list[int]]:
    """Which calls of each round are compared in full: FULL_CHECKS of all of them, secretly drawn."""
    chosen = secret_choice(calls * rounds, FULL_CHECKS)
    return [[c - r * calls for c in chosen if r * calls <= c < (r + 1) * calls] for r in range(rounds)]
