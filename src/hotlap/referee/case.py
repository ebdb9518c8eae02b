"""One submission under one problem on one device while it is refereed, and what was seen of it so far."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hotlap.contestant import wire
from hotlap.errors import DeviceError, OutOfDeviceMemory
from hotlap.model import (
    Errors,
    Failure,
    Fault,
    Problem,
    Samples,
    Status,
    Submission,
    Workload,
    WorkloadRun,
)
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.problems.dtypes import DTYPES, is_float
from hotlap.referee import check
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import Device
from hotlap.referee.limits import Limits
from hotlap.referee.rng import derive
from hotlap.referee.rounds import RoundResult, Vault

SAMPLED_WORDS = 16_384  # a workload, over all its timed calls
HIDDEN_KEY = -1  # in the place of a workload's index, when hidden axes are drawn
# The number of a round is part of every key in it: untimed rounds first, then those of the clock.
PILOT_ROUND, BASELINE_ROUND, FIRST_ROUND, AGAIN_ROUND, SETTLE_ROUND, TIMED_ROUND = -10, -1, 0, 1, 2, 3

MAX_CALL_BYTES = wire.MAX_MESSAGE_BYTES * 3 // 4 - 4096  # in base 64, beside the rest of a message

Progress = Callable[[str, float | None], None]


def silent(text: str, fraction: float | None) -> None:
    """The progress of a caller who does not want to see any."""


def named(axes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in axes.items())


@dataclass
class Tally:
    """What was seen of one workload so far."""

    checked_calls: int = 0
    total_calls: int = 0
    sampled_words: int = 0
    errors: Errors | None = None
    failure: Failure | None = None
    failed_call: tuple[int, int] | None = None
    samples: Samples | None = None
    footprint_bytes: int | None = None
    mode: str | None = None
    mode_reason: str | None = None
    claimed_time_ns: float | None = None


@dataclass
class Case:
    """One submission under one problem on one device, while it is refereed."""

    problem: Problem
    submission: Submission
    device: Device
    reference: references.Reference
    master: bytes
    style: str = ""
    interprets: bool = False  # Triton's interpreter makes a kernel a thousand times slower
    seat: Any = None  # the submission's: a Seat, or a CudaSeat on a GPU
    library: bytes = b""  # what a compiled submission was built to
    loaded_s: float = 0.0
    check_s: float = 0.0
    measure_s: float = 0.0
    build_s: float = 0.0
    queued_s: float = 0.0
    runs: list[WorkloadRun] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    clocks_mhz: list[int] = field(default_factory=list)
    call: bytes | None = None  # a foreign workload's arguments, without their tensors

    @property
    def limits(self) -> Limits:
        return self.device.limits

    def pin(self, axes: Mapping[str, int]) -> None:
        """Make problem and reference those of one workload, where its format says them only now.

        Raises ProblemError, and DeviceError for what this device, or a contestant, cannot have.
        """
        bound = references.pinned(self.problem, self.reference, axes, drawn_on(self.device))
        self.problem, self.reference, self.call = bound
        if self.call is not None:
            refuse_unwieldy(self.problem, self.call)


def drawn_on(device: Device) -> Any:
    """Where the inputs of a device's rounds are drawn."""
    return device.gpu.torch_device if isinstance(device, CudaDevice) else "cpu"


def refuse_unwieldy(problem: Problem, call: bytes) -> None:
    """Raise DeviceError for a foreign problem whose arguments or results are too many for a contestant."""
    for what, found, most in (
        ("tensors in a call", len(problem.inputs) + len(problem.outputs), wire.MAX_FDS),
        ("tensors in a result", len(problem.outputs), wire.MAX_OUTPUTS),
        ("bytes of arguments beside tensors", len(call), MAX_CALL_BYTES),
    ):
        if found > most:
            raise DeviceError(f"{problem.id}: unsupported here: needs {found} {what}; allowed: {most}")


def prepare(seat: Any, axes: Mapping[str, int], call: bytes | None = None) -> None:
    """Thaw a seat and have it prepare a workload; call: of a foreign one. Raises SeatFailed."""
    seat.thaw()
    more = {} if call is None else {"call": base64.b64encode(call).decode()}
    seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=dict(axes), **more)


def draw(case: Case, index: int, round_index: int, axes: dict[str, int], calls: int) -> Any:
    """Fresh inputs for the calls of one round, each from a key of its own. Raises ProblemError."""
    keys = [derive(case.master, index, round_index, call) for call in range(calls)]
    return case.device.draw_vault(case.problem, case.reference, axes, keys)


def account(
    case: Case, axes: dict[str, int], vault: Vault, result: RoundResult, tally: Tally, round_index: int
) -> None:
    """Compare the calls that were copied whole, side by side, and add all that was seen to the tally."""
    tally.total_calls += len(vault.inputs)
    tally.sampled_words += result.sampled_words

    def one(call: int) -> check.Comparison:
        return check.compare_call(
            case.problem,
            case.reference,
            axes,
            vault.inputs[call],
            result.outputs[call],
            case.device.compare,
        )

    calls = sorted(result.outputs)
    compared = list(case.device.pool.map(one, calls)) if len(calls) > 1 else [one(call) for call in calls]
    tally.checked_calls += len(calls)
    for call, comparison in zip(calls, compared, strict=True):
        tally.errors = check.merge(tally.errors or check.NO_ERRORS, comparison.errors)
        if comparison.wrong is not None and tally.failure is None:
            tally.failure = Failure(Status.wrong, Fault.submission, "check", comparison.wrong)
            tally.failed_call = (round_index, call)
    if result.wrong is not None:
        # Said first: what was never written explains the elements that are wrong.
        tally.failure = Failure(Status.wrong, Fault.submission, "check", result.wrong)
        tally.failed_call = (round_index, result.wrong_call or 0)


def record(case: Case, index: int, workload: Workload, axes: dict[str, int], tally: Tally) -> WorkloadRun:
    bytes_moved, flops = shapes.cost(case.problem, axes)
    return WorkloadRun(
        index=index,
        kind=workload.kind,
        axes=dict(workload.axes),
        checked_calls=tally.checked_calls,
        total_calls=tally.total_calls,
        sampled_words=tally.sampled_words,
        errors=tally.errors,
        failure=tally.failure,
        failed_call=tally.failed_call,
        samples=tally.samples,
        bytes_moved=bytes_moved,
        flops=flops,
        footprint_bytes=tally.footprint_bytes,
        mode=tally.mode,
        mode_reason=tally.mode_reason,
        claimed_time_ns=tally.claimed_time_ns,
        arithmetic=arithmetic(case.problem),
    )


def arithmetic(problem: Problem) -> str | None:
    """The arithmetic whose peak bounds a problem: of its widest float input, or TF32 where that is allowed;
    None where no tensor that comes in is of floats."""
    widths = {
        spec.dtype: DTYPES[spec.dtype].itemsize
        for spec in problem.inputs
        if spec.shape is not None and is_float(spec.dtype)
    }
    if not widths:
        return None
    return problem.precision or max(widths, key=widths.__getitem__)


def buffer_budget(case: Case, axes: dict[str, int], idle_bytes: int = 0) -> int:
    """Bytes that one seat's buffers may take; idle_bytes: what it has already. Raises OutOfDeviceMemory for a
    GPU, DeviceError for a CPU, when even one call needs more."""
    device = case.device
    budget = int(device.memory_share * device.free_bytes()) + idle_bytes
    needed = device.call_bytes(case.problem, axes)
    if needed > budget:
        full = DeviceError if device.info.kind == "cpu" else OutOfDeviceMemory
        raise full(
            f"{case.problem.id} {axes}: one call needs {needed / 1e9:.1f} GB of buffers; allowed is "
            f"{device.memory_share:.0%} of the free memory, {budget / 1e9:.1f} GB; use a smaller workload or "
            "a larger machine"
        )
    return budget
