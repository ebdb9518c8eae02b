"""Hand-made verdicts: every field plausible, each test changes what it is about."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap.model import (
    Cost,
    Device,
    Fault,
    Finding,
    Interval,
    Kind,
    Problem,
    Sandbox,
    Score,
    Status,
    SubmissionInfo,
    TensorSpec,
    Timing,
    Tolerance,
    Trust,
    Verdict,
    Workload,
    WorkloadVerdict,
)

CPU = Device(
    kind="cpu",
    name="Example CPU @ 2.00GHz",
    uuid="cpu-example",
    cores=2,
    memory_bytes=8 << 30,
    driver="6.1.0",
    os="Linux",
    python="3.11.7",
    torch="2.8.0",
)

GPU = Device(
    kind="cuda",
    name="Example GPU",
    uuid="GPU-example",
    cores=132,
    memory_bytes=140 << 30,
    driver="580.1",
    os="Linux",
    python="3.12.3",
    torch="2.11.0",
    capability="9.0",
    cuda="13.0",
    sm_clock_mhz=(1830, 1980),
)

FINDING = Finding("timer-rebinding", "kernel.py", 12, "assigns to time.perf_counter")


def bench(**changes: Any) -> WorkloadVerdict:
    """A timed workload that went well."""
    made = WorkloadVerdict(
        axes={"rows": 1024, "cols": 1021},
        kind=Kind.bench,
        status="correct",
        time_ns=Interval(312_400.0, 311_800.0, 313_100.0, n=12, p05=309_000.0),
        calls_per_round=64,
        checked_calls=270,
        excluded_share=0.05,
        baseline_time_ns=Interval(443_600.0, 442_000.0, 445_000.0, n=12, p05=440_000.0),
        speedup=1.42,
        speedup_ci=(1.40, 1.44),
        floor_ns=137_456.0,
        bound="memory",
        max_abs_error=1e-7,
        max_rel_error=3e-7,
        error_over_tolerance=0.2,
    )
    return replace(made, **changes)


def untimed(kind: Kind = Kind.test, **changes: Any) -> WorkloadVerdict:
    """A workload that was checked and, by its kind, not timed."""
    made = WorkloadVerdict(
        axes={"rows": 7, "cols": 13}, kind=kind, status="correct", checked_calls=2, error_over_tolerance=0.11
    )
    return replace(made, **changes)


def accepted(**changes: Any) -> Verdict:
    """A verdict with one test, one bench and one hidden workload, all correct."""
    made = Verdict(
        run="01JD3W8Q4N",
        status=Status.accepted,
        reason=None,
        fault=None,
        detail=None,
        output=None,
        problem="basics/softmax@3f2a9c1b77de",
        submission=SubmissionInfo("ab" * 32, "kernel.py", "python", "out", "ada"),
        device=CPU,
        trust=Trust.referee_host,
        trust_reason=None,
        sandbox=Sandbox("bwrap"),
        score=Score(312_400.0, 311_800.0, 313_100.0, "geomean", 1.42, (1.40, 1.44), 0.44),
        score_reason=None,
        workloads=(untimed(), bench(), untimed(Kind.hidden)),
        findings=(),
        timing=Timing(build_s=1.2, check_s=0.8, measure_s=2.1, total_s=4.3),
        started_at="2026-11-30T10:00:00Z",
        hotlap_version="0.1.0",
    )
    return replace(made, **changes)


def on_gpu(**changes: Any) -> Verdict:
    """An accepted verdict of a GPU: calls of 131.82 us, launched as a graph."""
    time = Interval(131_820.0, 131_690.0, 131_950.0, n=24, p05=131_500.0)
    timed = bench(mode="graph", time_ns=time, single_call_ns=time, speedup=1.4142, speedup_ci=(1.412, 1.416))
    made = accepted(
        device=GPU,
        trust=Trust.referee_gpu,
        score=Score(131_820.0, 131_690.0, 131_950.0, "geomean", 1.4142, (1.412, 1.416), 0.91),
        workloads=(untimed(mode="graph"), timed, untimed(Kind.hidden, mode="stream")),
    )
    return replace(made, **changes)


def claimed(**changes: Any) -> Verdict:
    """A verdict of a GPU whose clock the referee could not hold."""
    times = {"time_ns": None, "speedup": None, "floor_ns": None, "checked_calls": 2}
    made = on_gpu(
        trust=Trust.self_reported,
        trust_reason="no IPC here",
        score=None,
        score_reason="self-reported: no IPC here",
        workloads=(untimed(mode="stream"), bench(mode="stream", claimed_time_ns=125_437.0, **times)),
    )
    return replace(made, **changes)


def rejected(status: Status, reason: str, fault: Fault = Fault.submission, **changes: Any) -> Verdict:
    """A verdict without a score."""
    unscored = {"score": None, "score_reason": f"the run is {status}", "workloads": ()}
    return accepted(status=status, reason=reason, fault=fault, **(unscored | changes))


def problem(folder: Path, **changes: Any) -> Problem:
    """A small problem that lies in `folder`."""
    made = Problem(
        suite="basics",
        name="softmax",
        version="3f2a9c1b77de",
        title="Row softmax",
        folder=folder,
        statement="# Row softmax\n\nDivide.\n",
        tags=("reduction",),
        axes={"rows": None, "cols": None},
        inputs=(TensorSpec("x", "float32", ("rows", "cols")), TensorSpec("scale", "float32", None)),
        outputs=(TensorSpec("y", "float32", ("rows", "cols"), mutable=True),),
        tolerance=Tolerance("8*eps", "4*eps"),
        cost=Cost("8*rows*cols", None),
        workloads=(Workload(Kind.bench, "cpu", {"rows": 256, "cols": 512}),),
    )
    return replace(made, **changes)
