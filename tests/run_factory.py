"""Hand-made runs: what a referee might have seen, each test changes what it is about."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hotlap.model import (
    Bandwidth,
    Calibration,
    Device,
    Errors,
    Failure,
    Fault,
    Kind,
    Run,
    Samples,
    Sandbox,
    Status,
    Submission,
    Timing,
    Trust,
    WorkloadRun,
)

CPU = Device(
    "cpu", "Example CPU", "CPU-1", 4, 8 << 30, "6.1", "Linux", "3.11.2", "2.13.0", (1, 2, 3), "cgroup2"
)
GPU = Device(
    "cuda",
    "Example GPU",
    "GPU-1",
    132,
    140 << 30,
    "580.1",
    "Linux",
    "3.12.3",
    "2.11.0",
    capability="9.0",
    cuda="13.0",
    sm_clock_mhz=(1830, 1980),
)
CALLS = 10
EMPTY_NS = 50_000
ROUNDS = 12


def samples(
    submission_ns: float = 100_000,
    baseline_ns: float = 200_000,
    rounds: int = ROUNDS,
    calls: int = CALLS,
    wobble: Sequence[float] = (0.0,),
    single_ns: float | None = None,
    single_rounds: int = ROUNDS,
) -> Samples:
    """Rounds whose calls take these times; round i is longer by the share wobble[i], for both sides.

    single_ns: what a round's only call takes, where a GPU made such rounds.
    """
    factors = [1 + wobble[i % len(wobble)] for i in range(rounds)]
    return Samples(
        calls_per_round=calls,
        submission_ns=tuple(round(EMPTY_NS + calls * submission_ns * f) for f in factors),
        baseline_ns=tuple(round(EMPTY_NS + calls * baseline_ns * f) for f in factors),
        empty_ns=(EMPTY_NS,) * rounds,
        single_ns=() if single_ns is None else (round(EMPTY_NS + single_ns),) * single_rounds,
    )


def workload(kind: Kind = Kind.bench, **changes: Any) -> WorkloadRun:
    """A workload that went well; timed if it is a bench one."""
    made = WorkloadRun(
        index=0,
        kind=kind,
        axes={"n": 1000},
        checked_calls=270,
        total_calls=1000,
        sampled_words=16_384,
        errors=Errors(1e-7, 2e-7, 0.25),
        failure=None,
        samples=samples() if kind is Kind.bench else None,
        bytes_moved=1_000_000,
        flops=1000,
        footprint_bytes=10_000_000,
    )
    return replace(made, **changes)


def run(*workloads: WorkloadRun, **changes: Any) -> Run:
    made = Run(
        id="01JD3W8Q4N",
        problem="basics/vectoradd@0123456789ab",
        submission=Submission("kernel.py", "def kernel(): ...\n", "python", "ab" * 32, "ada"),
        style="out",
        device=CPU,
        trust=Trust.referee_host,
        trust_reason=None,
        sandbox=Sandbox("bwrap", ("no pids cgroup",)),
        workloads=workloads or (workload(),),
        failure=None,
        timing=Timing(0.0, 1.0, 2.0, 3.0, 6.0),
        started_at="2026-11-30T10:00:00+00:00",
        hotlap_version="0.1.0",
        master_key="00112233445566778899aabbccddeeff",
        timed=True,
        problem_folder="/problems/vectoradd",
    )
    return replace(made, **changes)


def gpu_run(*workloads: WorkloadRun, **changes: Any) -> Run:
    """A run on a GPU, its workloads in graph mode."""
    modes = tuple(replace(w, mode=w.mode or "graph") for w in workloads or (workload(),))
    return run(*modes, **({"device": GPU, "trust": Trust.referee_gpu} | changes))


def self_reported(claimed_time_ns: float | None = 125_000.0, **changes: Any) -> Run:
    """A run where the referee could not hold the clock."""
    claimed = workload(mode="stream", samples=None, claimed_time_ns=claimed_time_ns)
    why = {"trust": Trust.self_reported, "trust_reason": "this GPU cannot share memory between processes"}
    return gpu_run(claimed, **(why | changes))


def failure(status: Status, fault: Fault, message: str = "said so", **changes: Any) -> Failure:
    return replace(Failure(status, fault, "call", message, "a traceback", "some output"), **changes)


def calibration(bytes_per_s: float = 1e10, process_part: float = 0.002) -> Calibration:
    """A machine that reads that fast at 4 MB, and half as fast at 64 MB and beyond."""
    grid = tuple(
        Bandwidth(footprint, rate, rate / 2, rate / 4, rate / 8)
        for footprint, rate in ((64 << 20, bytes_per_s / 2), (4 << 20, bytes_per_s))
    )
    return Calibration("CPU-1", "6.1", "2026-11-30T10:00:00+00:00", grid, process_part)
