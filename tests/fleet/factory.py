"""Hand-made rows and headers: each test changes what it is about."""

from dataclasses import replace
from typing import Any

from hotlap.fleet.results import DEFAULT, Estimate, SuiteHeader, SuiteRow
from hotlap.model import Fault, Status
from tests import run_factory

PROBLEMS = ("basics/matmul@1", "basics/softmax@2", "basics/sort@3", "basics/vectoradd@4")


def header(*problems: str, **changes: Any) -> SuiteHeader:
    """Of a run of these problems, by default four of one suite."""
    made = SuiteHeader(
        "basics",
        problems or PROBLEMS,
        (DEFAULT,),
        None,
        run_factory.CPU,
        "0.1.0",
        "2026-11-30T10:00:00+00:00",
    )
    return replace(made, **changes)


def row(
    problem: str = PROBLEMS[0], sample: str = "0", speedup: float | None = 1.5, **changes: Any
) -> SuiteRow:
    """An accepted sample with this speedup, known to 2 %; the baseline takes 200 us."""
    found = None if speedup is None else Estimate(speedup, speedup * 0.98, speedup * 1.02)
    time = None if speedup is None else Estimate(200_000 / speedup, 199_000 / speedup, 201_000 / speedup)
    made = SuiteRow(
        problem=problem,
        sample=sample,
        file=f"{sample}.py",
        sha256="ab" * 32,
        lang="python",
        status=Status.accepted,
        fault=None,
        reason=None,
        compiled=True,
        time_ns=time,
        speedups={DEFAULT: found} if found else {},
        baseline_ns={DEFAULT: 200_000.0} if found else {},
        no_speedup=None if found else "too short to be timed",
        attempts=1,
        runs=("01JD3W8Q4N",),
        trust="referee-host",
        seconds=4.2,
        started_at="2026-11-30T10:00:01+00:00",
    )
    return replace(made, **changes)


def rejected(
    problem: str = PROBLEMS[0], sample: str = "0", status: Status = Status.wrong, **changes: Any
) -> SuiteRow:
    """A sample that was not accepted."""
    fault = Fault.device if status is Status.void else Fault.submission
    made = row(problem, sample, None, status=status, fault=fault, reason=f"n=7: {status}", no_speedup=None)
    return replace(made, **changes)
