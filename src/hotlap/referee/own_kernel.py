"""A C++ kernel of ours in a seat, under the clock of all others: a CPU as contestants meet it."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hotlap.errors import DeviceError
from hotlap.model import Cost, Problem, Submission, TensorSpec, Tolerance
from hotlap.referee import build
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.loading import load
from hotlap.referee.rounds import Assignment
from hotlap.referee.seat import Seat, SeatFailed


@dataclass(frozen=True)
class OwnKernel:
    """A kernel that is loaded, and the seat whose empty rounds are taken off its times."""

    problem: Problem
    axes: Mapping[str, int]
    seat: Seat
    null: Seat
    style: str

    def call_ns(self, calls: int, rounds: int) -> list[float]:
        """Nanoseconds of one call in each round of so many calls, shape (rounds,).

        One more comes first and does not count: in it the kernel maps its memory. Inputs, float32 all, are
        random and written just before. Raises SeatFailed.
        """
        assignment = Assignment(self.problem, self.axes, self.seat, self.style, calls)
        inputs = [buffer for buffer in assignment.inputs if buffer is not None]
        random = np.random.default_rng()
        values = [random.random(b.layout.elements, dtype=np.float32).view(np.uint8) for b in inputs]
        times_ns, empty_ns = [], []
        try:
            for _ in range(1 + rounds):
                empty_ns.append(self.null.empty_round())
                self.seat.ready(calls, [])
                for buffer, value in zip(inputs, values, strict=True):
                    for slot in range(calls):
                        buffer.write(slot, value)
                for output in assignment.outputs:
                    output.poison(0, calls)
                times_ns.append(self.seat.time_round(self.seat.limits.call_s))
                self.seat.finish()
        finally:
            assignment.close()
        # The shortest empty round: a time that is too long by a little only lowers what the machine can do.
        return [max(1.0, t - min(empty_ns)) / calls for t in times_ns[1:]]


@contextlib.contextmanager
def seated(device: CpuDevice, problem: Problem, source: str, axes: Mapping[str, int]) -> Iterator[OwnKernel]:
    """A kernel of ours, built and loaded. Raises DeviceError where there is no C++ compiler, or it fails."""
    submission = Submission("calibrate.cpp", source, "cpp", "", None)
    built = build.build(problem, submission, device.limits)
    if built.library is None:
        raise DeviceError(f"a calibration kernel does not compile: {built.failure and built.failure.detail}")
    device.set_referee_affinity()
    try:
        seat, null = device.take_seat("bare"), device.null_seat()
        try:
            seat.await_start()
            style = load(seat, problem, submission, built.library)
            seat.thaw()
            seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=dict(axes))
            yield OwnKernel(problem, axes, seat, null, style)
        finally:
            seat.close()
    except SeatFailed as error:
        raise DeviceError(f"calibration failed: {error}") from None
    finally:
        device.restore_affinity()


def problem_in_memory(
    axes: Sequence[str], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> Problem:
    """A problem without a folder, so that a kernel of ours goes through the build and the seat of all others.

    axes: names of its var axes.
    """
    return Problem(
        suite="calibration",
        name="calibration",
        version="0",
        title="calibration",
        folder=Path(),
        statement="",
        tags=(),
        axes=dict.fromkeys(axes),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        tolerance=Tolerance("0", "0"),
        cost=Cost(),
        workloads=(),
    )
