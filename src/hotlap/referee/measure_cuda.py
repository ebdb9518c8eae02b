"""Time the bench workloads of a submission on a GPU against its baseline, in pairs of rounds.

Defends against: a submission that chooses how often it is called (the baseline's time decides), drift of the
machine (pairs, in random ABBA or BAAB order), an overstated cost of an empty round (a process of ours makes
those, and before any author's code they were as short), work that is left on the GPU to slow the rival (its
process is frozen while the rival is timed; what it had queued delays the rival's inputs, which is seen).
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, cast

from hotlap.errors import HarnessError, OutOfDeviceMemory
from hotlap.model import Failure, Fault, Kind, Problem, Samples, Status, Workload
from hotlap.problems import shapes
from hotlap.referee import caches, check
from hotlap.referee.case import (
    SAMPLED_WORDS,
    TIMED_ROUND,
    Case,
    Progress,
    Tally,
    account,
    buffer_budget,
    draw,
    named,
    prepare,
    record,
)
from hotlap.referee.clock_cuda import MODES, CudaAssignment, CudaSeat, Stalled
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.loading import load
from hotlap.referee.measure import (
    BASELINE_WORDS,
    MAX_CALLS,
    affordable_pairs,
    baseline_failed,
    baseline_key,
    load_baseline,
    refuse_wrong_baseline,
    wanted_calls,
)
from hotlap.referee.rounds import RoundResult
from hotlap.referee.seat import SeatFailed, SeatSilent

ROUND_NS = 5_000_000  # in rounds of 20 ms a matrix product scattered by 2.3 %, likely at its power limit
MIN_PAIRS, MAX_PAIRS = 12, 24
WORKLOAD_S = 0.5  # what a workload's pairs may take; how many fit is fixed before the first that counts
DISCARDED_PAIRS = 2
SINGLE_ROUNDS = 8
PILOT_CALLS, PILOT_ROUNDS = 4, 3
RETRIES = 8  # in a workload, of rounds in which something else had the GPU
# Numbers of rounds are part of their keys. No key serves two modes, nor checks and timing: inputs that were
# seen in one mode must not come back in the next.
SETTLE_ROUND, PILOT_ROUND, SINGLE_ROUND, MODE_ROUNDS = -1000, -2000, 1_000_000, 100_000


STALLED = "its calls could not be queued ahead of GO"
REASON_CHARS = 300


class Intruded(Exception):
    """Something else had the GPU while a round's inputs were copied, again and again."""


@dataclass
class Side:
    """One of the two that are timed: its process, how its calls are launched, and its buffers."""

    seat: CudaSeat
    style: str
    restart: Callable[["Side"], None]
    failed: Callable[[SeatFailed], Exception]
    is_submission: bool
    mode: str
    work: CudaAssignment | None = None
    left: list[str] = field(default_factory=list)  # which modes were left, and why

    @property
    def assignment(self) -> CudaAssignment:
        if self.work is None:
            raise RuntimeError("a side was used before it had its buffers")
        return self.work

    def close(self) -> None:
        if self.work is not None:
            self.work.close()
            self.work = None

    def leave_mode(self, why: str) -> None:
        """Go one mode down the list, in a fresh process: a failed capture can leave a framework unusable."""
        self.close()
        self.left.append(f"not {self.mode}: {why[:REASON_CHARS]}")
        self.mode = MODES[MODES.index(self.mode) + 1]
        self.restart(self)


def measure_cuda(case: Case, baseline: str | None, progress: Progress) -> None:
    """Time every bench workload against the baseline, in place of its untimed record."""
    device = cast(CudaDevice, case.device)
    device.null_seat().freeze()
    first = first_mode(case.problem)
    mine = Side(
        case.seat, case.style, lambda side: _restart(case, device, side), lambda error: error, True, first
    )
    theirs = baseline_side(case, device, baseline)
    benches = [i for i, run in enumerate(case.runs) if run.kind is Kind.bench]
    with ExitStack() as ends:
        ends.callback(mine.close)
        ends.callback(theirs.close)
        for done, position in enumerate(benches):
            run = case.runs[position]
            case.pin(run.axes)
            axes = shapes.all_axes(case.problem, run.axes)

            def report(text: str, fraction: float, done: int = done) -> None:
                progress(text, 0.2 + 0.8 * (done + fraction) / len(benches))

            tally = Tally(run.checked_calls, run.total_calls, run.sampled_words, run.errors)
            try:
                _time_workload(case, device, mine, theirs, run.index, axes, tally, report)
            except SeatFailed as error:
                tally.failure, tally.mode = error.failure, mine.mode
                tally.mode_reason = "; ".join(mine.left) or None
            except BaseException:
                device.drop_baseline()  # it may be out of step, and the next author must not meet it
                raise
            workload = Workload(Kind.bench, "gpu", run.axes)
            case.runs[position] = record(case, run.index, workload, axes, tally)
            if tally.failure is not None:
                if tally.failure.status is Status.void:
                    device.drop_baseline()
                return
        device.refuse_others(patience_s=5.0)  # those that the author's code started may be ending


def first_mode(problem: Problem) -> str:
    """The mode to begin with: a graph would keep the scalars of its capture."""
    return "stream" if any(spec.shape is None for spec in problem.inputs) else MODES[0]


def _baseline_failed(case: Case, error: SeatFailed) -> Exception:
    """Whose fault it is that the baseline failed: where memory or time did not suffice somebody may have it,
    else the problem's."""
    said = error.failure.message
    if error.failure.fault is Fault.harness:
        return error
    if "out of memory" in said or "OutOfMemory" in said:
        return OutOfDeviceMemory(f"{case.problem.id}: the baseline {said}")
    if isinstance(error, SeatSilent):
        return SeatFailed(Failure(Status.void, Fault.device, "measure", f"the baseline {said}"))
    return baseline_failed(case, error)


def baseline_side(case: Case, device: CudaDevice, wanted: str | None) -> Side:
    """The baseline's seat, loaded; one that an earlier run on this device left is used again."""
    key = baseline_key(case.problem, wanted)

    def load_into(seat: CudaSeat) -> str:
        seat.await_start()
        style = load_baseline(case, seat, wanted)
        device.keep_baseline(key, seat, style)
        return style

    def restart(side: Side) -> None:
        side.seat = device.new_baseline_seat(key)
        side.style = load_into(side.seat)

    seat, style = device.baseline_seat(key)
    try:
        style = style or load_into(seat)
    except BaseException:
        device.drop_baseline()
        raise
    side = Side(
        seat,
        style,
        restart,
        lambda error: _baseline_failed(case, error),
        False,
        first_mode(case.problem),
    )
    seat.freeze()
    return side


def _restart(case: Case, device: CudaDevice, side: Side) -> None:
    """A fresh process for the submission, with what the last one compiled."""
    kept = caches.collect(side.seat)
    side.seat.close()
    case.seat = side.seat = device.take_seat("torch")
    side.seat.await_start()
    started = time.monotonic()
    case.style = side.style = load(
        side.seat, case.problem, case.submission, case.library, kept, case.reference.beside
    )
    case.loaded_s += time.monotonic() - started


def _time_workload(
    case: Case,
    device: CudaDevice,
    mine: Side,
    theirs: Side,
    index: int,
    axes: dict[str, int],
    tally: Tally,
    report: Callable[[str, float], None],
) -> None:
    report(f"timing {named(axes)}", 0.0)
    checked = Tally(tally.checked_calls, tally.total_calls, tally.sampled_words, tally.errors)
    mine.close()
    mine.seat.freeze()
    calls = calls_per_round(case, device, theirs, index, axes)
    settle(case, device, theirs, index, axes, calls, Tally())
    while True:
        settle(case, device, mine, index, axes, calls, tally)
        tally.mode, tally.mode_reason = mine.mode, "; ".join(mine.left) or None
        tally.footprint_bytes = calls * device.call_bytes(case.problem, axes)
        stalled = False
        if tally.failure is None:
            try:
                tally.samples = _timed_rounds(case, device, mine, theirs, index, axes, calls, tally, report)
            except Stalled:
                stalled = True
            except Intruded:
                tally.failure = _intruded()
        if not (stalled or _may_be_the_mode(tally.failure, mine.mode)):
            return
        mine.leave_mode(STALLED if tally.failure is None else tally.failure.message)
        tally.failure = tally.failed_call = None
        tally.checked_calls, tally.total_calls = checked.checked_calls, checked.total_calls
        tally.sampled_words, tally.errors = checked.sampled_words, checked.errors


def _may_be_the_mode(failure: Failure | None, mode: str) -> bool:
    """Whether a kernel that fails like this may be right in a later mode: a graph keeps what the host decided
    at its capture, and streams that wait for each other ahead of GO look like somebody else on the GPU."""
    if failure is None or mode == MODES[-1]:
        return False
    return failure.status is Status.void or (failure.status is Status.wrong and mode == "graph")


def _intruded() -> Failure:
    return Failure(
        Status.void,
        Fault.device,
        "measure",
        "something else ran on the GPU while inputs were copied, in every retry: work that this kernel left "
        "behind, or another program's",
    )


def settle(
    case: Case, device: CudaDevice, side: Side, index: int, axes: dict[str, int], calls: int, tally: Tally
) -> None:
    """Give a side its buffers and find the first mode, from its present one on, in which it is right.

    That takes one round with every call compared in full. What is wrong in the last mode that may be blamed
    stays in the tally.

    Raises what `side.failed` makes of a failure.
    """
    while True:
        mode, trial = side.mode, Tally()
        settling = SETTLE_ROUND - 2 * MODES.index(mode) - (0 if side.is_submission else 100)
        try:
            if side.is_submission or case.call is not None:
                # A workload may change what prepare built for the last one, so it is prepared again.
                prepare(side.seat, axes, case.call)
            side.work = work = device.assignment(case.problem, axes, side.seat, side.style, calls)
            # A first call before any capture: libraries make their handles then, kernels are loaded.
            vault = draw(case, index, settling - 1, axes, 1)
            result = work.round(vault, [0], BASELINE_WORDS, case.limits.prepare_s)
            account(case, axes, vault, result, trial, settling - 1)
            work.mode = mode
            if mode == "graph":
                for count in {calls, 1} if side.is_submission else {calls}:
                    work.capture(count)
            vault = draw(case, index, settling, axes, calls)
            wanted = range(calls) if side.is_submission else [0]  # the baseline is the problem's own code
            result = work.round(vault, wanted, SAMPLED_WORDS // 16, case.limits.measure_s)
            account(case, axes, vault, result, trial, settling)
            _add(tally, trial)
            if trial.failure is None or mode != "graph":
                tally.failure, tally.failed_call = trial.failure, trial.failed_call
                return
            why = trial.failure.message
        except Stalled:
            why = STALLED
        except SeatFailed as error:
            if mode != "graph":
                raise side.failed(error) from None
            why = error.failure.message
        side.leave_mode(why)


def _add(tally: Tally, trial: Tally) -> None:
    tally.checked_calls += trial.checked_calls
    tally.total_calls += trial.total_calls
    tally.sampled_words += trial.sampled_words
    if trial.errors is not None and trial.failure is None:
        tally.errors = check.merge(tally.errors or check.NO_ERRORS, trial.errors)


def calls_per_round(case: Case, device: CudaDevice, theirs: Side, index: int, axes: dict[str, int]) -> int:
    """N from the baseline's time for a call and from memory; never from the submission."""
    theirs.close()
    case.pin(axes)
    most = (buffer_budget(case, axes, theirs.seat.idle_bytes)) // device.call_bytes(case.problem, axes)
    calls = min(PILOT_CALLS, most)
    settle(case, device, theirs, index, axes, calls, Tally())
    times = []
    for number in range(PILOT_ROUNDS):
        vault = draw(case, index, PILOT_ROUND - number, axes, calls)
        times.append(_baseline_round(case, theirs, axes, vault, [0]).time_ns)
    theirs.close()
    nominal = max(1000.0, (min(times) - device.calm_empty_ns) / calls)
    return int(max(1, min(ROUND_NS / nominal, MAX_CALLS, most)))


def _baseline_round(
    case: Case, theirs: Side, axes: dict[str, int], vault: Any, wanted: Sequence[int]
) -> RoundResult:
    try:
        result = theirs.assignment.round(vault, wanted, BASELINE_WORDS, case.limits.measure_s)
    except SeatFailed as error:
        raise theirs.failed(error) from None
    except Stalled:
        raise HarnessError(f"{case.problem.id}: the baseline's calls were not queued in time") from None
    refuse_wrong_baseline(case, axes, vault, result)
    return result


def _timed_rounds(
    case: Case,
    device: CudaDevice,
    mine: Side,
    theirs: Side,
    index: int,
    axes: dict[str, int],
    calls: int,
    tally: Tally,
    report: Callable[[str, float], None],
) -> Samples:
    submission_ns: list[int] = []
    baseline_ns: list[int] = []
    empty_ns: list[int] = []
    single_ns: list[int] = []
    pairs, wanted, samples = MIN_PAIRS, wanted_calls(calls, MIN_PAIRS), SAMPLED_WORDS // MIN_PAIRS
    deadline = time.monotonic() + case.limits.measure_s
    took_s: list[float] = []
    base = MODE_ROUNDS * MODES.index(mine.mode)
    pair, retries, number, is_again = -DISCARDED_PAIRS, 0, TIMED_ROUND + base, False
    while pair < pairs:
        started = time.monotonic()
        if pair == 0:
            pairs = affordable_pairs(WORKLOAD_S, min(took_s), MIN_PAIRS, MAX_PAIRS)
            wanted, samples = wanted_calls(calls, pairs), -(-SAMPLED_WORDS // pairs)
        full = wanted[pair] if pair >= 0 else [0]
        if pair % 2 == 0 and not is_again:
            submission_first = bool(os.urandom(1)[0] & 1)  # this block of two pairs is ABBA or BAAB
        sides = (mine, theirs) if (pair % 2 == 0) == submission_first else (theirs, mine)
        vault = draw(case, index, number, axes, calls)
        times: dict[bool, int] = {}
        intruded = False
        for side in sides:
            if side is mine:
                result = mine.assignment.round(vault, full, samples, case.limits.measure_s)
                # What a discarded round shows of errors counts; how few calls it compared does not.
                counts = pair >= 0 and not result.intrusion_ns
                seen = tally if counts else Tally(errors=tally.errors)
                account(case, axes, vault, result, seen, number)
                tally.errors, tally.failure, tally.failed_call = seen.errors, seen.failure, seen.failed_call
            else:
                result = _baseline_round(case, theirs, axes, vault, [0] if pair < 0 else [])
            times[side is mine] = result.time_ns
            intruded |= result.intrusion_ns > 0
            if tally.failure is not None:
                return _samples(calls, submission_ns, baseline_ns, empty_ns, single_ns)
        del vault, result  # gigabytes, which the next draw needs
        number, is_again = number + 1, intruded
        if intruded:
            retries += 1
            if retries > RETRIES:
                raise Intruded
            continue
        if pair >= 0:
            submission_ns.append(times[True])
            baseline_ns.append(times[False])
            empty_ns.append(device.empty_round())
            if len(single_ns) < SINGLE_ROUNDS and calls > 1:
                first = SINGLE_ROUND + base + pair * (RETRIES + 1)
                single_ns.append(_single_round(case, mine, index, axes, first, tally))
            clock = device.see_clock()
            case.clocks_mhz += [] if clock is None else [clock]
            if tally.failure is not None:
                break
        pair += 1
        took_s.append(time.monotonic() - started)
        report(f"timing {named(axes)}", max(0, pair) / pairs)
        if time.monotonic() > deadline:
            break  # under six rounds there is no interval, and so no score: the judge says so
    return _samples(calls, submission_ns, baseline_ns, empty_ns, single_ns)


def _samples(calls: int, *columns: Sequence[int]) -> Samples:
    return Samples(calls, *(tuple(column) for column in columns))


def _single_round(case: Case, mine: Side, index: int, axes: dict[str, int], first: int, tally: Tally) -> int:
    """Nanoseconds of a round of one call, compared in full: calls that share work cannot do so here.

    Its number, and those of its repetitions, begin at `first`. Raises Intruded.
    """
    for number in range(first, first + RETRIES + 1):
        vault = draw(case, index, number, axes, 1)
        result = mine.assignment.round(vault, [0], BASELINE_WORDS, case.limits.measure_s)
        account(case, axes, vault, result, tally, number)
        if not result.intrusion_ns or tally.failure is not None:
            return result.time_ns
    raise Intruded
