"""Judge every sample of a suite on one device, one after another, and never lose one that was judged.

Defends against: a kernel that crashes or a device that fails (that sample alone is void or failed), a kill at
any moment (`journal`), and builds that disturb what is being timed: on a CPU they all come first, on a GPU
they go on beside it, since there the clock is the GPU's.
"""

import contextlib
import datetime
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import hotlap
from hotlap import schema
from hotlap.calibrate import load_calibration
from hotlap.errors import DeviceError, HarnessError, HotlapError, ProblemError, UsageError
from hotlap.fleet import journal
from hotlap.fleet.results import DEFAULT, Estimate, SuiteHeader, SuiteRow
from hotlap.fleet.suite import Sample
from hotlap.model import Calibration, Fault, Problem, Status, Submission, Trust, Verdict
from hotlap.problems.reference import load_reference
from hotlap.referee import build
from hotlap.referee.device import Device, open_device
from hotlap.stats.geomean import geomean
from hotlap.verdict import read_submission, verdict

VERDICTS = "verdicts"
WARM_ON_GPU = 2
# What a device refuses whatever the file says: a second try would be refused too.
REFUSED = {("cpu", "cu"), ("cpu", "triton"), ("cuda", "cpp")}

Phase = Callable[[str, float | None], None]


@dataclass(frozen=True)
class State:
    """How far a run is."""

    total: int
    done: int
    accepted: int
    seconds_left: float | None  # None until a sample is done


class Listener:
    """What a run tells whoever watches; this one ignores it."""

    def started(self, sample: Sample | None, state: State) -> None:
        """A sample is about to be judged; None while sources are built."""

    def phase(self, phase: str, fraction: float | None = None) -> None:
        """A phase of judging it."""

    def judged(self, row: SuiteRow, state: State) -> None:
        """A row is on disk."""

    def waiting(self, message: str) -> None:
        """Somebody else holds the device."""


class Lane:
    """The device: opened for this process alone, and opened anew after something went wrong with it."""

    def __init__(self, name: str, on_wait: Callable[[str], None]) -> None:
        self.name, self.on_wait = name, on_wait
        self._ends = ExitStack()
        self.open()

    def open(self) -> None:
        """Raises UsageError, DeviceError."""
        self.device: Device = self._ends.enter_context(open_device(self.name, on_wait=self.on_wait))
        self.calibration: Calibration | None = load_calibration(self.device.info)

    def close(self) -> None:
        self._ends.close()

    def reopen(self) -> None:
        """A device that is really broken says so here. Raises DeviceError."""
        self.close()
        try:
            self.open()
            if self.device.trust is not Trust.self_reported:
                self.device.null_seat()
        except RuntimeError as error:  # torch's of CUDA's errors
            raise DeviceError(f"{self.name} does not come back after a void verdict: {error}") from None


@contextmanager
def opened_lane(name: str, on_wait: Callable[[str], None]) -> Iterator[Lane]:
    lane = Lane(name, on_wait)
    try:
        yield lane
    finally:
        lane.close()


def check_baselines(problems: Sequence[Problem], baselines: Sequence[str]) -> None:
    """Raises UsageError where a problem lacks one of these baselines, before anything is judged."""
    for problem in problems if baselines else ():
        known = load_reference(problem).baselines
        for name in baselines:
            if name not in known:
                allowed = ", ".join(known) or "none: it has only its reference"
                raise UsageError(f"--baseline {name}: {problem.id} has no such baseline; allowed: {allowed}")


def run(
    suite: str,
    problems: Sequence[Problem],
    samples: Sequence[Sample],
    out: Path,
    *,
    device: str = "cpu",
    baselines: Sequence[str] = (),
    wanted: int | None = None,
    listener: Listener | None = None,
) -> tuple[SuiteHeader, list[SuiteRow]]:
    """Judge what the journal in `out` does not hold yet; header and rows of all of it.

    wanted: samples a problem, None for as many as there are. Raises UsageError for a journal of another run
    or of other files, DeviceError where the device is gone: the same call goes on where this one stopped.
    """
    told = listener or Listener()
    with opened_lane(device, told.waiting) as lane:
        check_baselines(problems, baselines)  # executes references: not while another process is timing
        header = SuiteHeader(
            suite,
            tuple(problem.id for problem in problems),
            tuple(baselines) or (DEFAULT,),
            wanted,
            replace(lane.device.info, sm_clock_mhz=None),
            hotlap.__version__,
            _now(),
        )
        with journal.opened(out, header) as book:
            _judge_all(book, samples, lane, out / VERDICTS, told)
            return book.header, book.rows


def _judge_all(
    book: journal.Journal, samples: Sequence[Sample], lane: Lane, verdicts: Path, told: Listener
) -> None:
    submissions = {(s.problem.id, s.name): read_submission(s.path) for s in samples}
    _refuse_changed(book, submissions)
    known = {(row.problem, row.sample) for row in book.rows}
    left = [sample for sample in samples if (sample.problem.id, sample.name) not in known]
    try:
        verdicts.mkdir(exist_ok=True)
    except OSError as error:
        raise _not_written(verdicts, error) from None
    start, total = time.monotonic(), len(known) + len(left)

    def state(done: int) -> State:
        each = (time.monotonic() - start) / done if done else None
        accepted = sum(row.status is Status.accepted for row in book.rows)
        return State(total, len(book.rows), accepted, None if each is None else each * (len(left) - done))

    pairs = [(sample, submissions[sample.problem.id, sample.name]) for sample in left]
    with _builds(pairs, lane, lambda: told.started(None, state(0))) as await_build:
        for number, (sample, submission) in enumerate(pairs):
            told.started(sample, state(number))
            await_build(sample.problem, submission)
            row = _row(sample, submission, book.header.baselines, lane, verdicts, told.phase)
            try:
                book.append(row)
            except OSError as error:
                raise _not_written(verdicts.parent, error) from None
            told.judged(row, state(number + 1))


def _not_written(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: cannot be written ({error.strerror}); "
        "what was judged before is kept, and the same command goes on"
    )


def _keep(path: Path, found: Verdict) -> None:
    try:
        path.write_text(schema.to_json(found), encoding="utf-8")
    except OSError as error:
        raise _not_written(path, error) from None


def _refuse_changed(book: journal.Journal, submissions: dict[tuple[str, str], Submission]) -> None:
    """A row speaks of the file that it judged. Raises UsageError where that file says something else now."""
    for row in book.rows:
        now = submissions.get((row.problem, row.sample))
        if now is not None and now.sha256 != row.sha256:
            raise UsageError(
                f"{row.problem}, sample {row.sample}: {row.file} has changed since it was judged; "
                "give another --out, or the file as it was"
            )


# --- builds ----------------------------------------------------------------------------------------


@contextmanager
def _builds(
    pairs: Sequence[tuple[Sample, Submission]], lane: Lane, on_wait: Callable[[], None]
) -> Iterator[Callable[[Problem, Submission], None]]:
    """Compile sources side by side into the build cache; yields what waits for the build of one.

    On a CPU all is built before this yields: a compiler takes the cores from what is being timed.
    """
    device = lane.device
    kind, cores = device.info.kind, len(os.sched_getaffinity(0))
    sources = {
        (s.problem.id, given.sha256): (s.problem, given) for s, given in pairs if _is_built(kind, given)
    }
    # Half of the cores beside a GPU's referee and contestants, which must not wait for one.
    pool = ThreadPoolExecutor(cores if kind == "cpu" else max(1, cores // 2), thread_name_prefix="build")
    pending: dict[tuple[str, str], Future[build.Built]] = {
        key: pool.submit(build.build, problem, given, device.limits, device.arch)
        for key, (problem, given) in sources.items()
    }

    def await_build(problem: Problem, given: Submission) -> None:
        future = pending.pop((problem.id, given.sha256), None)
        if future is not None:
            with contextlib.suppress(DeviceError, OSError):  # the verdict says it, with whose fault it is
                future.result()

    try:
        if kind == "cpu" and pending:
            on_wait()
            for problem, given in sources.values():
                await_build(problem, given)
        yield await_build
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _is_built(kind: str, given: Submission) -> bool:
    return given.refused is None and given.lang in build.COMPILED and (kind, given.lang) not in REFUSED


# --- a row -----------------------------------------------------------------------------------------


def _row(
    sample: Sample,
    submission: Submission,
    baselines: Sequence[str],
    lane: Lane,
    verdicts: Path,
    phase: Phase,
) -> SuiteRow:
    """Judge one sample against each baseline; what is not accepted once is judged no further."""
    start, started_at = time.monotonic(), _now()
    given: dict[str, Verdict] = {}
    attempts = 1
    for name in baselines:
        found, tries = _judged(sample.problem, submission, name, lane, phase)
        attempts = max(attempts, tries)
        if not isinstance(found, Verdict):
            if given:
                break  # it has a verdict against another baseline
            return _unjudged(sample, submission, found, attempts, started_at, time.monotonic() - start)
        given[name] = found
        _keep(verdicts / f"{found.run}.json", found)
        if found.status is not Status.accepted:
            break
    return row_of(sample, given, attempts, started_at, time.monotonic() - start)


def _judged(
    problem: Problem, submission: Submission, baseline: str, lane: Lane, phase: Phase
) -> tuple[Verdict | HotlapError, int]:
    """The verdict, or why there is none, and in how many tries: what is void for device or harness gets two.

    Raises DeviceError where the device does not come back.
    """
    found = _tried(problem, submission, baseline, lane, phase)
    if not _broke(found, submission, lane):
        return found, 1
    lane.reopen()
    found = _tried(problem, submission, baseline, lane, phase)
    if _broke(found, submission, lane):
        lane.reopen()  # for the next sample
    return found, 2


def _broke(found: Verdict | HotlapError, submission: Submission, lane: Lane) -> bool:
    """Whether something went wrong that neither the submission nor the problem explains."""
    if isinstance(found, Verdict) and found.status is not Status.void:
        return False
    fault = found.fault if isinstance(found, Verdict) else fault_of(found)
    return fault is not Fault.problem and (lane.device.info.kind, submission.lang) not in REFUSED


def _tried(
    problem: Problem, submission: Submission, baseline: str, lane: Lane, phase: Phase
) -> Verdict | HotlapError:
    if lane.device.info.kind == "cuda":
        lane.device.warm_up(WARM_ON_GPU)
    wanted = None if baseline == DEFAULT else baseline
    try:
        return verdict(problem, submission, lane.device, lane.calibration, baseline=wanted, progress=phase)
    except (
        ProblemError,
        DeviceError,
        HarnessError,
    ) as error:  # its reference does not load; calibrating failed
        return error
    except Exception as error:  # the boundary: whatever it is, it costs this sample alone
        return HarnessError(f"{type(error).__name__}: {error}")


def fault_of(error: HotlapError) -> Fault:
    """Whose fault a failure is that came before there was a verdict."""
    if isinstance(error, ProblemError):
        return Fault.problem
    return Fault.device if isinstance(error, DeviceError) else Fault.harness


def row_of(
    sample: Sample, given: dict[str, Verdict], attempts: int, started_at: str, seconds: float
) -> SuiteRow:
    """The row of a sample's verdicts, by baseline. The last one decides: the others were accepted.

    A kernel that was accepted against one baseline and void against the next keeps the speedup that it has.
    """
    verdicts = list(given.values())
    first, last = verdicts[0], verdicts[-1]
    decides = first if last.status is Status.void else last
    is_accepted = decides.status is Status.accepted
    score = first.score if is_accepted else None
    speedups = {name: found for name, one in given.items() if (found := _speedup(one)) and is_accepted}
    theirs = {name: time for name, one in given.items() if (time := _baseline_ns(one)) and is_accepted}
    return SuiteRow(
        problem=first.problem,
        sample=sample.name,
        file=sample.path.name,
        sha256=first.submission.sha256,
        lang=first.submission.lang,
        status=decides.status,
        fault=decides.fault,
        reason=decides.reason,
        compiled=decides.status in (Status.accepted, Status.wrong, Status.suspect) or bool(decides.workloads),
        time_ns=Estimate(score.time_ns, score.ci_low_ns, score.ci_high_ns) if score else None,
        speedups=speedups,
        baseline_ns=theirs,
        no_speedup=None
        if speedups or not is_accepted
        else first.score_reason or "no time against the baseline",
        attempts=attempts,
        runs=tuple(one.run for one in verdicts),
        trust=first.trust.value,
        seconds=round(seconds, 3),
        started_at=started_at,
    )


def _speedup(given: Verdict) -> Estimate | None:
    if given.score is None or given.score.speedup is None:
        return None
    low, high = given.score.speedup_ci or (None, None)
    return Estimate(given.score.speedup, low, high)


def _baseline_ns(given: Verdict) -> float | None:
    times = [w.baseline_time_ns.estimate for w in given.workloads if w.baseline_time_ns is not None]
    return geomean(times) if times else None


def _unjudged(
    sample: Sample,
    submission: Submission,
    error: HotlapError,
    attempts: int,
    started_at: str,
    seconds: float,
) -> SuiteRow:
    return SuiteRow(
        problem=sample.problem.id,
        sample=sample.name,
        file=sample.path.name,
        sha256=submission.sha256,
        lang=submission.lang,
        status=Status.void,
        fault=fault_of(error),
        reason=str(error),
        compiled=False,
        time_ns=None,
        speedups={},
        baseline_ns={},
        no_speedup=None,
        attempts=attempts,
        runs=(),
        trust=None,
        seconds=round(seconds, 3),
        started_at=started_at,
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
