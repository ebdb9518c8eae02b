"""Where a GPU cannot be shared: check the bench workloads, and note what times the contestant claims."""

from hotlap.model import Kind, Workload
from hotlap.problems import shapes
from hotlap.referee.case import (
    SAMPLED_WORDS,
    TIMED_ROUND,
    Case,
    Progress,
    Tally,
    account,
    draw,
    named,
    prepare,
    record,
)
from hotlap.referee.seat import SeatFailed

MOST_NS = 10**15  # of a call that somebody claims: eleven days


def take_claims(case: Case, progress: Progress) -> None:
    """One more checked round of every bench workload, then the contestant's own timing; nothing ranks."""
    for position, run in enumerate(case.runs):
        if run.kind is not Kind.bench:
            continue
        case.pin(run.axes)
        progress(f"claimed time of {named(run.axes)}", position / len(case.runs))
        axes = shapes.all_axes(case.problem, run.axes)
        tally = Tally(run.checked_calls, run.total_calls, run.sampled_words, run.errors)
        try:
            _claim(case, run.index, axes, tally)
        except SeatFailed as error:
            tally.failure = error.failure
        case.runs[position] = record(case, run.index, Workload(Kind.bench, "gpu", run.axes), axes, tally)
        if tally.failure is not None:
            return


def _claim(case: Case, index: int, axes: dict[str, int], tally: Tally) -> None:
    prepare(case.seat, axes, case.call)
    assignment = case.device.assignment(case.problem, axes, case.seat, case.style, 1)
    try:
        vault = draw(case, index, TIMED_ROUND, axes, 1)
        result = assignment.round(vault, [0], SAMPLED_WORDS, case.limits.measure_s)
        account(case, axes, vault, result, tally, TIMED_ROUND)
        case.seat.thaw()
        said = case.seat.ask("measure", case.limits.measure_s, op="claim").get("time_ns")
        case.seat.freeze()
    finally:
        assignment.close()
    is_a_time = (
        isinstance(said, int | float) and 0 < said < MOST_NS
    )  # it may say NaN, or any number of digits
    tally.claimed_time_ns = float(said) if is_a_time else None
