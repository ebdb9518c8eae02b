"""Time the bench workloads of a submission against its baseline, in pairs of rounds.

Defends against: a submission that chooses how often it is called (the baseline's time decides), drift of the
machine (pairs, in random ABBA or BAAB order), and an overstated cost of an empty round (a process of ours
makes those). Does not defend against: calls of one round that are merged or overlapped on several cores.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, cast

from hotlap.errors import ProblemError
from hotlap.model import Fault, Kind, Problem, Samples, Workload
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.referee import check
from hotlap.referee.case import (
    BASELINE_ROUND,
    PILOT_ROUND,
    SAMPLED_WORDS,
    SETTLE_ROUND,
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
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.device import Device
from hotlap.referee.rounds import Assignment, RoundResult, Vault, call_bytes, secret_choice
from hotlap.referee.seat import Seat, SeatFailed

FULL_CHECKS = 270  # calls a workload compared in full: a share of 5 % wrong calls escapes at 1e-6
BASELINE_WORDS = 64  # a round of the baseline, which is the problem's own code
ROUND_NS = 10_000_000  # longer ones are no less noisy and leave time for fewer (docs/decisions/0003)
MIN_PAIRS, MAX_PAIRS = 12, 64  # rounds of each side, in blocks of ABBA or BAAB
FEWEST_PAIRS = 6  # below this there is no interval, however slow the kernel
WORKLOAD_S = 1.4  # what a workload's rounds may take; how many fit is fixed before the first that counts
DISCARDED_PAIRS = 2
PILOT_CALLS, PILOT_ROUNDS = 4, 6
MAX_CALLS = 512
DRAWN_ELEMENTS = 1 << 22  # a round: drawing costs more than most kernels, and every call gets fresh inputs


def measure(case: Case, seat: Seat, baseline: str | None, progress: Progress) -> None:
    """Time every bench workload against the baseline, in place of its untimed record."""
    null = case.device.null_seat()
    null.freeze()
    rival, rival_style = baseline_seat(case, baseline)
    benches = [i for i, run in enumerate(case.runs) if run.kind is Kind.bench]
    for done, position in enumerate(benches):
        run = case.runs[position]
        case.pin(run.axes)
        workload = Workload(Kind.bench, "cpu", run.axes)
        tally = Tally(run.checked_calls, run.total_calls, run.sampled_words, run.errors)

        def report(text: str, fraction: float, done: int = done) -> None:
            progress(text, 0.2 + 0.8 * (done + fraction) / len(benches))

        axes = shapes.all_axes(case.problem, run.axes)
        try:
            _time_workload(case, Seats(seat, rival, null, rival_style), run.index, axes, tally, report)
        except SeatFailed as error:
            tally.failure = error.failure
            _drop_ours(case.device)
        except BaseException:
            _drop_ours(case.device)
            raise
        case.runs[position] = record(case, run.index, workload, axes, tally)
        if tally.failure is not None:
            return


def _drop_ours(device: Device) -> None:
    """End baseline and null seat after a round that broke off: one may wait for a GO that does not come, and
    the next author must not meet it."""
    device.drop_baseline()
    device.drop_null()


def baseline_key(problem: Problem, wanted: str | None) -> str:
    return f"{problem.folder} {problem.id} {wanted}"


def baseline_seat(case: Case, wanted: str | None) -> tuple[Seat, str]:
    """The baseline's seat and style, loaded; one that an earlier run on this device left is used again."""
    key = baseline_key(case.problem, wanted)
    device = cast(CpuDevice, case.device)
    rival, style = device.baseline_seat(key)
    if style is None:
        rival.await_start()
        style = load_baseline(case, rival, wanted)
        device.keep_baseline(key, rival, style)
    rival.freeze()
    return rival, style


def load_baseline(case: Case, rival: Seat, wanted: str | None) -> str:
    """Load the problem's own baseline into its seat; a failure there is the problem's. Returns its style."""
    names = list(case.reference.baselines) or ["reference"]
    name = wanted or names[0]
    paths = {file: rival.place(file, content) for file, content in _baseline_files(case, name).items()}
    try:
        reply = rival.ask(
            "load",
            rival.limits.load_s,
            op="load",
            path=paths[references.BASELINE_FILE],
            lang="python",
            axes_names=[],
            contract=case.problem.contract,
        )
    except SeatFailed as error:
        raise ProblemError(f"{case.problem.id}: baseline {name} does not load: {error}") from None
    return str(reply.get("style"))


def _baseline_files(case: Case, name: str) -> Mapping[str, bytes]:
    """What a baseline's seat gets: its code, and a file that names the one function that is called."""
    if case.problem.contract != "kernel":
        return case.reference.baseline_files[name]
    files = {file.name: file.read_bytes() for file in case.problem.folder.glob("*.py")}
    return files | {references.BASELINE_FILE: f"from reference import {name} as kernel\n".encode()}


@dataclass(frozen=True)
class Seats:
    """The submission's seat, the baseline's, and the one that makes no calls."""

    submission: Seat
    baseline: Seat
    null: Seat
    baseline_style: str


def _time_workload(
    case: Case,
    seats: Seats,
    index: int,
    axes: dict[str, int],
    tally: Tally,
    report: Callable[[str, float], None],
) -> None:
    report(f"timing {named(axes)}", 0.0)
    calls = calls_per_round(case, seats.baseline, seats.baseline_style, seats.null, index, axes)
    tally.footprint_bytes = calls * call_bytes(case.problem, axes)
    with ExitStack() as ends:
        # A workload may change what prepare built for the last one, so it is prepared again.
        prepare(seats.submission, axes, case.call)
        mine = Assignment(case.problem, axes, seats.submission, case.style, calls)
        ends.callback(mine.close)
        seats.submission.freeze()
        theirs = Assignment(case.problem, axes, seats.baseline, seats.baseline_style, calls)
        ends.callback(theirs.close)
        seats.baseline.freeze()
        if case.style == "returns":
            _settle_layout(case, mine, index, axes, tally)
        if seats.baseline_style == "returns":
            _baseline_round(case, theirs, axes, draw(case, index, BASELINE_ROUND, axes, 1))
        tally.samples = _timed_rounds(case, seats, mine, theirs, index, axes, calls, tally, report)


def _settle_layout(case: Case, mine: Assignment, index: int, axes: dict[str, int], tally: Tally) -> None:
    """One untimed, checked call on the timed buffers: fixes the layout of what the kernel returns."""
    vault = draw(case, index, SETTLE_ROUND, axes, 1)
    result = mine.round(vault, [0], 64, case.limits.call_s)
    account(case, axes, vault, result, tally, SETTLE_ROUND)


class SideFailed(Exception):
    """The round of one side of a pair failed; `side` is its assignment."""

    def __init__(self, side: Assignment, error: SeatFailed):
        super().__init__(str(error))
        self.side, self.error = side, error


def paired_rounds(
    case: Case,
    null: Seat,
    sides: Sequence[Assignment],
    vault: Vault,
    full: Sequence[int],
    samples: int,
) -> tuple[dict[Assignment, RoundResult], int]:
    """One round of each side and an empty one, as close together as can be: what the host does to one it then
    does to the others. Both sides are treated alike, in their order, down to what is read of them.

    Returns each side's result and the nanoseconds of the empty round. Raises SideFailed.
    """
    times: dict[Assignment, int] = {}
    results: dict[Assignment, RoundResult] = {}
    side = sides[0]
    try:
        for side in sides:
            side.ready(vault)
        # While the slots are filled the contestants' core would fall asleep, and waking it takes longer
        # than an empty round (docs/LOG.md): so the null seat spins on it until the clock starts.
        null.announce(0, [])
        for side in sides:
            side.fill(vault)
        null.freeze()
        for side in sides:
            times[side] = side.time(case.limits.measure_s)
        empty_ns = null.time_round(null.limits.call_s)
        null.finish()
        for side in sides:
            results[side] = side.read(times[side], full, samples)
    except SeatFailed as error:
        if error.failure.fault is Fault.harness:
            raise
        raise SideFailed(side, error) from None
    # What goes on on this core now may be the contestant's doing (its timers run while it is frozen), so an
    # empty round counts for no more than before any author's code was there.
    return results, min(empty_ns, cast(CpuDevice, case.device).calm_empty_ns)


def _baseline_round(case: Case, theirs: Assignment, axes: dict[str, int], vault: Vault) -> int:
    """Nanoseconds of a round of the baseline, its first call compared. Raises ProblemError."""
    try:
        result = theirs.round(vault, [0], BASELINE_WORDS, case.limits.measure_s)
    except SeatFailed as error:
        raise baseline_failed(case, error) from None
    refuse_wrong_baseline(case, axes, vault, result)
    return result.time_ns


def refuse_wrong_baseline(case: Case, axes: dict[str, int], vault: Any, result: RoundResult) -> None:
    """Compare the calls whose outputs are in the result. Raises ProblemError."""
    wrong = result.wrong
    for call, outputs in result.outputs.items():
        inputs = vault.inputs[call]
        compared = check.compare_call(
            case.problem, case.reference, axes, inputs, outputs, case.device.compare
        )
        wrong = wrong or compared.wrong
    if wrong is not None:
        raise ProblemError(f"{case.problem.id}: the baseline is wrong: {wrong}")


def baseline_failed(case: Case, error: SeatFailed) -> ProblemError:
    return ProblemError(f"{case.problem.id}: the baseline {error}")


def prepare_baseline(case: Case, baseline: Seat, axes: dict[str, int]) -> None:
    """Tell a foreign problem's baseline of its arguments. Raises ProblemError."""
    try:
        prepare(baseline, axes, case.call)
    except SeatFailed as error:
        raise baseline_failed(case, error) from None


def calls_per_round(
    case: Case, baseline: Seat, style: str, null: Seat, index: int, axes: dict[str, int]
) -> int:
    """N from the baseline's time for a call, memory and the cost of drawing; never from the submission."""
    case.pin(axes)
    budget = buffer_budget(case, axes)
    calls = min(PILOT_CALLS, max(1, budget // call_bytes(case.problem, axes)))
    if case.call is not None:
        prepare_baseline(case, baseline, axes)
    pilot = Assignment(case.problem, axes, baseline, style, calls)
    try:
        times = []
        for number in range(PILOT_ROUNDS):
            vault = draw(case, index, PILOT_ROUND + number, axes, 1 if number == 0 else calls)
            time_ns = _baseline_round(case, pilot, axes, vault)
            if number:
                times.append(time_ns)
            baseline.freeze()
    finally:
        pilot.close()
    empty = statistics.median(null.empty_round() for _ in range(3))
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
    pairs, wanted, samples_each = MIN_PAIRS, wanted_calls(calls, MIN_PAIRS), SAMPLED_WORDS // MIN_PAIRS
    deadline = time.monotonic() + case.limits.measure_s
    took_s: list[float] = []
    pair = -DISCARDED_PAIRS
    while pair < pairs:
        started = time.monotonic()
        if pair == 0:
            pairs = affordable_pairs(WORKLOAD_S, min(took_s), MIN_PAIRS, MAX_PAIRS)
            wanted = wanted_calls(calls, pairs)
            samples_each = -(-SAMPLED_WORDS // pairs)
        round_index = TIMED_ROUND + DISCARDED_PAIRS + pair
        vault = draw(case, index, round_index, axes, calls)
        full = wanted[pair] if pair >= 0 else [0]

        if pair % 2 == 0:
            submission_first = bool(os.urandom(1)[0] & 1)  # this block of two pairs is ABBA or BAAB
        sides = (mine, theirs) if (pair % 2 == 0) == submission_first else (theirs, mine)
        try:
            results, empty = paired_rounds(case, seats.null, sides, vault, full, samples_each)
        except SideFailed as failed:
            if failed.side is theirs:
                raise baseline_failed(case, failed.error) from None
            raise failed.error from None
        # What a discarded round shows of errors counts; that its calls were not all compared does not.
        seen = tally if pair >= 0 else Tally(errors=tally.errors)
        account(case, axes, vault, results[mine], seen, round_index)
        tally.errors, tally.failure, tally.failed_call = seen.errors, seen.failure, seen.failed_call
        refuse_wrong_baseline(case, axes, vault, replace(results[theirs], outputs={}))
        if tally.failure is not None:
            break
        if pair >= 0:
            submission_ns.append(results[mine].time_ns)
            baseline_ns.append(results[theirs].time_ns)
            empty_ns.append(empty)
        pair += 1
        took_s.append(time.monotonic() - started)
        report(f"timing {named(axes)}", max(0, pair) / pairs)
        if time.monotonic() > deadline and pair >= FEWEST_PAIRS:
            break
    return Samples(calls, tuple(submission_ns), tuple(baseline_ns), tuple(empty_ns))


def affordable_pairs(workload_s: float, pair_s: float, fewest: int, most: int) -> int:
    """How many pairs of rounds a workload gets: an even number, from what a discarded pair took, so that it
    cannot depend on how the counted ones turn out."""
    count = int(workload_s / max(pair_s, 1e-6))
    return max(fewest, min(most, count - count % 2))


def wanted_calls(calls: int, rounds: int, count: int = FULL_CHECKS) -> list[list[int]]:
    """Which calls of each round are compared in full: so many of all of them, secretly drawn."""
    chosen = secret_choice(calls * rounds, count)
    return [[c - r * calls for c in chosen if r * calls <= c < (r + 1) * calls] for r in range(rounds)]
