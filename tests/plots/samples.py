"""Runs as a referee of a GPU might have seen them, with the scatter of real rounds, and their verdicts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hotlap.judge import judge
from hotlap.model import (
    Bandwidth,
    Calibration,
    Ceiling,
    Device,
    Duel,
    DuelWorkload,
    Interval,
    Kind,
    Outcome,
    Run,
    Samples,
    SubmissionInfo,
    Trust,
    Verdict,
    WorkloadRun,
)
from tests import run_factory

H200 = replace(run_factory.GPU, name="NVIDIA H200", driver="580.159.04", sm_clock_mhz=(1980, 1980))


def interval(value: float, share: float = 0.002) -> Interval:
    return Interval(value, value * (1 - share), value * (1 + share), 20)


CALIBRATION = Calibration(
    "GPU-1",
    "580.159.04",
    "2026-11-30T09:00:00+00:00",
    (Bandwidth(1 << 30, 4.35e12, 4.0e12, 4.1e12, 4.2e12),),
    0.002,
    tuple(
        Ceiling(name, unit, interval(value))
        for name, unit, value in (
            ("memory-read", "B/s", 4.35e12),
            ("memory-write", "B/s", 4.0e12),
            ("memory-copy", "B/s", 4.1e12),
            ("l2-read", "B/s", 8.9e12),
            ("peak-float32", "FLOP/s", 5.6e13),
            ("peak-tf32", "FLOP/s", 4.1e14),
            ("peak-bfloat16", "FLOP/s", 7.9e14),
            ("peak-float16", "FLOP/s", 8.0e14),
            ("launch", "ns", 1900.0),
            ("launch-graph", "ns", 1100.0),
        )
    ),
    (),
    0.00011,
)


def rounds(submission_ns: float, baseline_ns: float, n: int, seed: int, scatter: float = 0.001) -> Samples:
    """n rounds of each side, normally scattered by a share of their time, drifting together."""
    rng = np.random.default_rng(seed)
    drift = 1 + scatter * np.linspace(0, 1.5, n)
    calls, empty = max(1, round(5e6 / baseline_ns)), 290_000

    def side(time_ns: float) -> tuple[int, ...]:
        times = empty + calls * time_ns * drift * (1 + scatter * rng.standard_normal(n))
        return tuple(int(t) for t in times)

    empties = tuple(int(t) for t in empty + 300 * rng.standard_normal(n))
    single = tuple(int(empty + 1.03 * submission_ns * (1 + scatter * x)) for x in rng.standard_normal(8))
    return Samples(calls, side(submission_ns), side(baseline_ns), empties, single)


def gpu_workload(
    axes: dict[str, int],
    times: tuple[float, float],
    moved: int,
    flops: int | None,
    n: int = 12,
    seed: int = 1,
) -> WorkloadRun:
    """A bench workload: (submission, baseline) times of a call in ns, compulsory bytes, FLOP."""
    made = run_factory.workload(axes=axes, samples=rounds(*times, n, seed), bytes_moved=moved, flops=flops)
    return replace(made, footprint_bytes=2 << 30, mode="graph", arithmetic="float32")


def softmax_run() -> Run:
    """Three workloads of a memory-bound kernel, one of them no faster than the baseline."""
    shapes = (
        (16384, 4096, 139_580, 208_400),
        (262144, 256, 139_480, 138_200),
        (4096, 50257, 670_310, 771_500),
    )
    benches = [
        gpu_workload(
            {"rows": r, "cols": c}, (mine, theirs), 8 * r * c, 5 * r * c, n=12 if c < 5000 else 24, seed=c
        )
        for r, c, mine, theirs in shapes
    ]
    checked = run_factory.workload(Kind.test, axes={"rows": 129, "cols": 1}, samples=None)
    hidden = run_factory.workload(Kind.hidden, axes={"rows": 12641, "cols": 3943}, samples=None)
    made = run_factory.gpu_run(checked, *benches, hidden, device=H200)
    return replace(made, problem="basics/softmax@c2d9f276b99d")


def matmul_run() -> Run:
    """Two workloads bound by arithmetic, one by memory."""
    shapes = (
        (8192, 8192, 8192, 1_510_000, 1_420_000),
        (4096, 4096, 4096, 188_000, 180_000),
        (16, 8192, 8192, 36_500, 39_000),
    )
    benches = [
        gpu_workload(
            {"m": m, "n": n, "k": k}, (mine, theirs), 2 * (m * k + k * n + m * n), 2 * m * n * k, seed=m
        )
        for m, n, k, mine, theirs in shapes
    ]
    benches = [replace(bench, arithmetic="bfloat16") for bench in benches]
    return replace(run_factory.gpu_run(*benches, device=H200), problem="basics/matmul@0123456789ab")


def without_flops(run: Run) -> Run:
    """As if the problem stated no arithmetic."""
    return replace(run, workloads=tuple(replace(w, flops=None) for w in run.workloads))


def judged(run: Run, calibration: Calibration | None = CALIBRATION) -> Verdict:
    """The verdict on a run of this machine."""
    return judge(run, (), calibration)


def duel(
    effects: Sequence[float] = (0.0124, 0.0031, -0.0002),
    radius: float = 0.0004,
    outcome: Outcome = Outcome.decided,
    device: Device = H200,
    pairs: int = 8,
) -> Duel:
    """A duel of two files with these effects, a workload each."""
    rng = np.random.default_rng(7)
    workloads = []
    for place, effect in enumerate(effects):
        faster = None if abs(effect) < radius else "a" if effect > 0 else "b"
        each = tuple(float(e) for e in effect + radius * rng.standard_normal(pairs))
        workloads.append(
            DuelWorkload(
                {"rows": 4096 << place, "cols": 1024},
                Outcome.equivalent if faster is None else Outcome.decided,
                faster,
                effect,
                (effect - radius, effect + radius),
                129_580.0,
                129_580.0 * (1 + effect),
                38,
                "graph",
                "graph",
                each,
            )
        )
    overall = sum(effects) / len(effects)
    return Duel(
        outcome,
        "a" if outcome is Outcome.decided else None,
        SubmissionInfo("ab" * 32, "online.py", "triton", "out", "ada"),
        SubmissionInfo("cd" * 32, "two_pass.py", "triton", "out", "bob"),
        overall,
        (overall - radius / 2, overall + radius / 2),
        0.0005,
        True,
        0.00011,
        "duel",
        0.96,
        pairs,
        pairs,
        3.1,
        14.2,
        tuple(workloads),
        None,
        (),
        "basics/softmax@c2d9f276b99d",
        device,
        Trust.referee_gpu,
        "2026-11-30T10:00:00+00:00",
        "0.1.0",
    )
