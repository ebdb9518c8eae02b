"""Put a submission into a seat and have it loaded."""

from collections.abc import Mapping
from pathlib import Path

from hotlap.contestant import wire
from hotlap.model import Failure, Fault, Problem, Status, Submission
from hotlap.referee import build
from hotlap.referee.seat import Seat, SeatFailed

STYLES = ("out", "returns", "c")
SUBMISSION_NAME = "hotlap_submission.py"  # of one that is called as a file that it may import


def is_compiled(submission: Submission) -> bool:
    return submission.lang in ("cpp", "cu")


def imports(submission: Submission, device_kind: str) -> str:
    """What a contestant has loaded before the kernel is there: C++ on a CPU needs no framework."""
    return "bare" if submission.lang == "cpp" and device_kind == "cpu" else "torch"


def load(
    seat: Seat,
    problem: Problem,
    submission: Submission,
    library: bytes = b"",
    cached: bytes = b"",
    beside: Mapping[str, bytes] | None = None,
) -> str:
    """Have a seat load a kernel; returns how it gives its outputs: out, returns or c. Raises SeatFailed.

    library: what a compiled submission was built to. cached: what `caches.collect` took from its last
    process. beside: files that it may import.
    """
    compiled = is_compiled(submission)
    name = "kernel.so" if compiled else Path(submission.file).name
    for other, content in (beside or {}).items():
        seat.place(other, content)
    if beside and name in beside:
        name = SUBMISSION_NAME
    path = seat.place(name, library if compiled else submission.source.encode())
    lang = submission.lang if compiled else "python"
    axes_names = build.var_axes(problem)
    if cached:
        seat.place(wire.CACHES, cached)
    reply = seat.ask(
        "load",
        seat.limits.load_s,
        op="load",
        path=path,
        lang=lang,
        axes_names=axes_names,
        contract=problem.contract,
    )
    seat.freeze()
    style = reply.get("style")
    if style not in STYLES:
        message = "broke the protocol: it names no style of kernel"
        raise SeatFailed(Failure(Status.failed, Fault.submission, "load", message))
    return str(style)
