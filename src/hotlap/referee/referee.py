"""Referee one submission on a device: build, load, check every workload, have the bench ones measured.

The referee owns inputs, references, clock and checks. It returns a Run: what it saw, judged by nobody yet.
Defends against all that `rounds`, `seat`, `check`, `build` and `measure` name.
"""

import datetime
import importlib.util
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import hotlap
from hotlap.errors import (
    DeviceError,
    HarnessError,
    OutOfDeviceMemory,
    ProblemError,
    SubmissionError,
    UsageError,
)
from hotlap.model import (
    Failure,
    Fault,
    Kind,
    Problem,
    Run,
    Sandbox,
    Status,
    Submission,
    Timing,
    Trust,
    Workload,
)
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.referee import build, sandbox
from hotlap.referee.case import (
    AGAIN_ROUND,
    FIRST_ROUND,
    HIDDEN_KEY,
    SAMPLED_WORDS,
    Case,
    Progress,
    Tally,
    account,
    buffer_budget,
    draw,
    named,
    prepare,
    record,
    silent,
)
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import Device
from hotlap.referee.loading import imports, is_compiled, load
from hotlap.referee.measure import baseline_key, measure
from hotlap.referee.measure_claims import take_claims
from hotlap.referee.measure_cuda import measure_cuda
from hotlap.referee.rng import Rng, derive, new_master_key
from hotlap.referee.rounds import Assignment, Vault
from hotlap.referee.seat import SeatFailed

HIDDEN_WORKLOADS = 3
HOG_SHARE = 0.4  # of the device's memory: more than any kernel's buffers and workspace
FEW_ELEMENTS = 4096


def referee(
    problem: Problem,
    submission: Submission,
    device: Device,
    *,
    run_id: str,
    timed: bool = True,
    interpret: bool = False,
    baseline: str | None = None,
    progress: Progress = silent,
) -> Run:
    """The raw run of one submission. What is the submission's or machine's fault is in it, not raised.

    timed=False checks without timing; interpret=True runs Triton files in Triton's interpreter.
    Raises UsageError for a baseline that the problem does not have.
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    start = time.monotonic()
    failure: Failure | None = None
    case: Case | None = None
    reference = references.load_reference(problem)
    if baseline is not None and baseline not in reference.baselines:
        allowed = ", ".join(reference.baselines) or "none: it has only its reference"
        raise UsageError(f"{problem.id} has no baseline {baseline!r}; allowed: {allowed}")
    # Drawn again after the submission is loaded; until then no input exists.
    case = Case(problem, submission, device, reference, new_master_key(), queued_s=device.take_queued_s())
    case.interprets = interpret
    try:
        _refuse(problem, submission, device, interpret)
        _referee(case, timed, interpret, baseline, progress)
    except SeatFailed as error:
        failure = error.failure
    except SubmissionError as error:
        failure = Failure(Status.failed, Fault.submission, "load", str(error))
    except ProblemError as error:
        failure = Failure(Status.void, Fault.problem, "check", str(error))
    except DeviceError as error:
        failure = Failure(Status.void, Fault.device, "measure", str(error))
    except (
        HarnessError,
        OSError,
        MemoryError,
        RuntimeError,
    ) as error:  # RuntimeError: torch's of CUDA's errors
        failure = Failure(Status.void, Fault.harness, "measure", f"{type(error).__name__}: {error}")
    total = time.monotonic() - start
    return Run(
        id=run_id,
        problem=problem.id,
        submission=submission,
        style=case.style or None,
        device=replace(
            device.info,
            freezer=device.freezer_found,
            sm_clock_mhz=(min(case.clocks_mhz), max(case.clocks_mhz)) if case.clocks_mhz else None,
        ),
        trust=device.trust,
        trust_reason=device.trust_reason,
        sandbox=Sandbox(sandbox.kind(), tuple(dict.fromkeys(case.gaps))),
        workloads=tuple(case.runs),
        failure=failure,
        timing=Timing(
            queued_s=round(case.queued_s, 3),
            build_s=round(case.build_s + case.loaded_s, 3),
            check_s=round(case.check_s, 3),
            measure_s=round(case.measure_s, 3),
            total_s=round(total, 3),
        ),
        started_at=started,
        hotlap_version=hotlap.__version__,
        master_key=case.master.hex(),
        timed=timed,
        problem_folder=str(problem.folder.resolve()),
    )


def _refuse(problem: Problem, submission: Submission, device: Device, interpret: bool) -> None:
    """Turn down what cannot be judged at all: SubmissionError, or DeviceError if it could elsewhere."""
    if submission.refused is not None:
        raise SubmissionError(submission.refused)
    if problem.contract != "kernel" and is_compiled(submission):
        raise SubmissionError(
            f"{submission.file}: {problem.id} calls `{problem.contract}` of a Python file; load C++ and CUDA "
            "from there"
        )
    if device.info.kind == "cuda":
        if submission.lang == "cpp":
            raise DeviceError(
                f"{submission.file} is C++: it runs on a CPU; use --device cpu, or write a .cu file"
            )
        return
    if submission.lang == "cu":
        raise DeviceError(f"{submission.file} is CUDA: it needs a GPU; this device is a CPU")
    if submission.lang == "triton" and not interpret:
        raise DeviceError(f"{submission.file} is Triton: it runs on a GPU; on a CPU use `hotlap check`")
    if submission.lang == "triton" and importlib.util.find_spec("triton") is None:
        raise DeviceError(f"{submission.file} needs Triton, which is not installed: pip install triton")


def _referee(case: Case, timed: bool, interpret: bool, baseline: str | None, progress: Progress) -> None:
    device, problem, submission = case.device, case.problem, case.submission
    with ExitStack() as ends:
        if case.reference.pin is not None:
            # What this machine lacks is told before a submission trips over it. These inputs serve no call.
            case.pin(_workloads(case, timed)[0].axes)
        start = time.monotonic()
        progress("starting contestants", 0.0)
        device.refuse_others()
        if timed and device.trust is not Trust.self_reported:
            device.null_seat()  # its calm rounds come before any of the author's code
        case.seat = seat = device.take_seat(imports(submission, device.info.kind), interpret)
        ends.callback(lambda: case.seat.close())  # on a GPU another may have taken its place by then
        ends.push(lambda kind, error, trace: _blame_hog(case, device, error))
        case.gaps += seat.gaps + device.device_gaps()
        device.freezer_found = seat.freezer
        if timed and device.trust is not Trust.self_reported:
            device.baseline_seat(baseline_key(problem, baseline))  # starts while we build and load
        if is_compiled(submission):
            progress("compiling", 0.02)
            built = build.build(problem, submission, device.limits, device.arch)
            case.build_s = built.seconds
            if built.failure is not None:
                raise SeatFailed(built.failure)
            case.library = built.library or b""
        progress("loading", 0.05)
        seat.await_start()
        case.style = load(seat, problem, submission, case.library, beside=case.reference.beside)
        case.loaded_s = time.monotonic() - start - case.build_s
        case.master = new_master_key()

        start = time.monotonic()
        ends.enter_context(device.quiet())
        device.set_referee_affinity()
        ends.callback(device.restore_affinity)
        for index, workload in enumerate(_workloads(case, timed)):
            hidden = workload.kind is Kind.hidden
            progress(f"checking {'hidden workload' if hidden else named(workload.axes)}", 0.1)
            _check_workload(case, index, workload)
        case.check_s = time.monotonic() - start
        if not timed or any(run.failure for run in case.runs):
            return
        start = time.monotonic()
        if isinstance(device, CpuDevice):
            measure(case, seat, baseline, progress)
        elif isinstance(device, CudaDevice):
            measure_cuda(case, baseline, progress)
        else:
            take_claims(case, progress)
        case.measure_s = time.monotonic() - start


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether a GPU was full, in our words or in torch's."""
    return isinstance(error, OutOfDeviceMemory) or type(error).__name__ == "OutOfMemoryError"


def _blame_hog(case: Case, device: Device, error: BaseException | None) -> None:
    """Say whose doing it is that a GPU was full, while the contestant is still there to see what it holds.

    Raises SeatFailed where it was the contestant's, else OutOfDeviceMemory for torch's error.
    """
    if is_out_of_memory(error) and device.info.kind == "cuda":
        hog = _memory_hog(case, device)
        if hog is not None:
            raise SeatFailed(hog) from None
        raise OutOfDeviceMemory(f"the GPU has too little memory left: {error}") from None


def _memory_hog(case: Case, device: Device) -> Failure | None:
    """After a GPU had no memory left: end the contestant and see how much comes back; None if little."""
    if case.seat is None or device.info.kind != "cuda":
        return None
    before = device.free_bytes()
    case.seat.close()
    held = device.free_bytes() - before
    if held < HOG_SHARE * device.info.memory_bytes:
        return None
    message = f"took {held / 1e9:.0f} GB of device memory, so that too little was left for the referee"
    return Failure(Status.failed, Fault.submission, "call", message)


def _workloads(case: Case, timed: bool) -> list[Workload]:
    """This device's workloads in order: tests, hidden ones drawn now, bench ones. Raises ProblemError.

    A foreign problem that has tests is only checked on these: its benchmarks may be a thousand times larger.
    """
    profile = case.device.info.kind if case.device.info.kind == "cpu" else "gpu"
    mine = [w for w in case.problem.workloads if w.profile == profile]
    tests = [w for w in mine if w.kind is Kind.test]
    benches = [w for w in mine if w.kind is Kind.bench]
    if not benches:
        raise ProblemError(
            f"{case.problem.id} has no bench workload of profile {profile!r}; add one to problem.toml"
        )
    if case.problem.contract != "kernel" and tests and not timed:
        return tests
    rng = Rng(derive(case.master, HIDDEN_KEY))
    drawn = references.hidden_axes(case.reference, case.problem, rng, profile, HIDDEN_WORKLOADS)
    return [*tests, *(Workload(Kind.hidden, profile, axes) for axes in drawn), *benches]


# --- correctness -----------------------------------------------------------------------------------


def _check_workload(case: Case, index: int, workload: Workload) -> None:
    """Prepare and make a few untimed, fully checked calls; records the workload's run."""
    tally = Tally()
    axes = shapes.all_axes(case.problem, workload.axes)
    try:
        case.pin(axes)
        buffer_budget(case, axes)
        prepare(case.seat, axes, case.call)
        _untimed_calls(case, index, axes, tally)
    except SeatFailed as error:
        tally.failure = error.failure
        tally.failed_call = (0, 0)
        case.runs.append(record(case, index, workload, axes, tally))
        raise
    except (ProblemError, DeviceError, RuntimeError) as error:
        # With the workload, and not of the run alone: what is hidden of a workload must include its message.
        hog = _memory_hog(case, case.device) if is_out_of_memory(error) else None
        if not (isinstance(error, ProblemError | DeviceError) or is_out_of_memory(error)):
            raise
        fault = Fault.problem if isinstance(error, ProblemError) else Fault.device
        tally.failure = hog or Failure(Status.void, fault, "check", str(error))
        tally.failed_call = (0, 0)
        case.runs.append(record(case, index, workload, axes, tally))
        raise
    case.runs.append(record(case, index, workload, axes, tally))


def _untimed_calls(case: Case, index: int, axes: dict[str, int], tally: Tally) -> None:
    """One call, then two in one round on the same buffers: an answer that was kept shows as wrong."""
    assignment = case.device.assignment(case.problem, axes, case.seat, case.style, 2)
    try:
        for number, calls in ((FIRST_ROUND, 1), (AGAIN_ROUND, 2)):
            vault = draw(case, index, number, axes, calls)
            if calls > 1 and case.call is not None:
                _refuse_kept_inputs(case, axes, vault.inputs)
            # Autotuners and compilers land in the first call of all.
            is_first = case.device.info.kind == "cuda" and number == FIRST_ROUND
            limit_s = case.limits.prepare_s if is_first or case.interprets else case.limits.call_s
            result = assignment.round(vault, range(calls), SAMPLED_WORDS // 16, limit_s)
            account(case, axes, vault, result, tally, number)
            if tally.failure is not None:
                return
    except SeatFailed as error:
        written = _written_input(case, axes, vault, error.failure)
        raise SeatFailed(written) if written is not None else error from None
    finally:
        assignment.close()


def _is_same(first: Any, second: Any) -> bool:
    """Whether two values of one shape are alike, NaN with NaN: memory for answers holds it."""
    import torch

    if not isinstance(first, torch.Tensor):
        return bool(first == second)
    for count in (FEW_ELEMENTS, first.numel()):  # most differ at once
        a, b = first.reshape(-1)[:count], second.reshape(-1)[:count]
        if not bool(((a == b) | ((a != a) & (b != b))).all()):
            return False
    return True


def _refuse_kept_inputs(case: Case, axes: dict[str, int], calls: Sequence[Sequence[Any]]) -> None:
    """Raise ProblemError for a foreign problem whose calls all get the same: an answer that was kept would be
    right."""
    import torch

    first, second = (
        [value for value in call if isinstance(value, torch.Tensor)] or list(call) for call in calls[:2]
    )
    if all(_is_same(a, b) for a, b in zip(first, second, strict=True)):
        raise ProblemError(
            f"{case.problem.id} {named(axes)}: its inputs are the same in every call, so an answer that was "
            "kept from an earlier one would be accepted; draw them from the seed"
        )


def _written_input(case: Case, axes: dict[str, int], vault: Vault, failure: Failure) -> Failure | None:
    """After a crash on sealed inputs: make the same call on writable copies and see what it wrote.

    The referee reads the answer off memory; the contestant is not asked.
    """
    sealed = isinstance(case.device, CpuDevice) and case.call is None
    if not sealed or not failure.message.startswith(("was killed by SIGSEGV", "was killed by SIGBUS")):
        return None
    seat = case.device.take_seat(imports(case.submission, case.device.info.kind))
    try:
        seat.await_start()
        load(seat, case.problem, case.submission, case.library)
        seat.thaw()
        seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=axes)
        calls = len(vault.inputs)
        assignment = Assignment(case.problem, axes, seat, case.style, calls, writable_inputs=True)
        try:
            assignment.round(vault, [], 1, seat.limits.call_s)
            touched = assignment.written_inputs(vault)
        finally:
            assignment.close()
    except (SeatFailed, HarnessError):
        return None
    finally:
        seat.close()
    return replace(failure, message=f"wrote to input {touched[0]}; inputs are read-only") if touched else None
