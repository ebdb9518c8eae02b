"""Small problems in memory, and contestants that run one kernel of them."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap.contestant import wire
from hotlap.model import Cost, Problem, Submission, TensorSpec, Tolerance
from hotlap.problems.reference import Reference
from hotlap.referee import build
from hotlap.referee.limits import Limits
from hotlap.referee.loading import load
from hotlap.referee.rng import Rng
from hotlap.referee.rounds import Assignment, RoundResult, Vault, draw_vault
from hotlap.referee.seat import Seat

LIMITS = replace(Limits(), memory_bytes=2 << 30, processes=128, call_s=5.0, load_s=30.0, prepare_s=5.0)
CPUS = tuple(sorted(os.sched_getaffinity(0))[1:]) or (0,)


def vector(name: str, dtype: str = "float32", **changes: Any) -> TensorSpec:
    return TensorSpec(name, dtype, ("n",), **changes)


def problem(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], axes: Mapping[str, int | None] | None = None
) -> Problem:
    return Problem(
        suite="demo",
        name="memory",
        version="0",
        title="A problem in memory",
        folder=Path(),
        statement="",
        tags=(),
        axes=axes or {"n": None},
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        tolerance=Tolerance("2*eps", "0"),
        cost=Cost(),
        workloads=(),
    )


DOUBLING = problem([vector("x")], [vector("y")])


def normal_x(axes: Mapping[str, int], rng: Rng, device: str) -> tuple[Any, ...]:
    return (rng.normal((axes["n"],)),)


DOUBLE = Reference(normal_x, lambda x: 2 * x, {})


def library(source: str, given: Problem = DOUBLING) -> bytes:
    """The shared library of a C++ kernel, which must build."""
    built = build.build(given, Submission("kernel.cpp", source, "cpp", "", None), Limits())
    assert built.library is not None, built.failure
    return built.library


@contextlib.contextmanager
def seated(imports: str = "bare", freezer: str = "best", limits: Limits = LIMITS) -> Iterator[Seat]:
    seat = Seat(CPUS, limits, imports, freezer)
    try:
        seat.await_start()
        yield seat
    finally:
        seat.close()


def take(
    seat: Seat, source: str, axes: Mapping[str, int], given: Problem = DOUBLING, lang: str = "cpp"
) -> str:
    """Load a kernel into a seat and prepare it; returns its style."""
    data = library(source, given) if lang == "cpp" else source.encode()
    seat.thaw()  # the last kernel's round left it frozen
    file = "kernel.cpp" if lang == "cpp" else "kernel.py"
    style = load(seat, given, Submission(file, source, lang, "", None), data)
    seat.thaw()
    seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=dict(axes))
    return style


def settle(seat: Seat) -> None:
    """Hear a contestant out after a round that failed, so that it can load another kernel."""
    with contextlib.suppress(wire.PeerGone, wire.PeerSilent):
        seat.thaw()
        while True:
            seat.channel.receive(0.1)


@contextlib.contextmanager
def assigned(
    seat: Seat, style: str, axes: Mapping[str, int], given: Problem = DOUBLING, slots: int = 4
) -> Iterator[Assignment]:
    assignment = Assignment(given, axes, seat, style, slots)
    try:
        yield assignment
    finally:
        assignment.close()


def vault(
    calls: int, axes: Mapping[str, int], given: Problem = DOUBLING, reference: Reference = DOUBLE
) -> Vault:
    with ThreadPoolExecutor(1) as pool:
        return draw_vault(
            given, reference, axes, [int.from_bytes(os.urandom(16), "big") for _ in range(calls)], pool
        )


def play(
    seat: Seat,
    style: str,
    axes: Mapping[str, int],
    given: Problem = DOUBLING,
    reference: Reference = DOUBLE,
    calls: Sequence[int] = (1, 3),
    each: Callable[[Vault, RoundResult], None] = lambda vault, result: None,
) -> RoundResult:
    """A round of one call, then one of several, on one assignment; the last round's result."""
    with assigned(seat, style, axes, given, max(calls)) as assignment:
        for count in calls:
            drawn = vault(count, axes, given, reference)
            result = assignment.round(drawn, range(count), 64, seat.limits.call_s)
            each(drawn, result)
    return result
