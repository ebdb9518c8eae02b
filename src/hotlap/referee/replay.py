"""Make one call of a stored run again on the same inputs, and keep inputs and outputs for the author."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.errors import DeviceError, UsageError
from hotlap.model import Problem, Run, WorkloadRun
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.referee import build, check
from hotlap.referee.case import drawn_on, prepare
from hotlap.referee.device import Device
from hotlap.referee.loading import imports, is_compiled, load
from hotlap.referee.rng import derive
from hotlap.referee.seat import SeatFailed


@dataclass(frozen=True)
class ReplayResult:
    """The call that was made again: its place in the run, what was wrong with it now, the files written."""

    run: str
    problem: str
    workload: int
    axes: dict[str, int]
    round: int
    call: int
    wrong: str | None
    files: tuple[Path, ...]


def replay(problem: Problem, run: Run, index: int | None, device: Device, out: Path) -> ReplayResult:
    """Replay the failing call of one workload (the first call of one that did not fail).

    Raises UsageError for a workload that the run does not have.
    """
    workload = _choose(run, index)
    round_index, call = workload.failed_call or (0, 0)
    axes = shapes.all_axes(problem, workload.axes)
    problem, reference, arguments = references.pinned(
        problem, references.load_reference(problem), axes, drawn_on(device)
    )
    key = derive(bytes.fromhex(run.master_key), workload.index, round_index, call)
    vault: Any = device.draw_vault(problem, reference, axes, [key])
    files = _dump(out, [s.name for s in problem.inputs], vault.inputs[0])
    built = (
        build.build(problem, run.submission, device.limits, device.arch)
        if is_compiled(run.submission)
        else None
    )
    if built is not None and built.library is None:
        raise DeviceError(f"run {run.id} does not build here: {built.failure and built.failure.message}")
    library = b"" if built is None else built.library or b""
    interpreted = run.submission.lang == "triton" and device.info.kind == "cpu"
    seat: Any = device.take_seat(imports(run.submission, device.info.kind), interpreted)
    try:
        seat.await_start()
        style = load(seat, problem, run.submission, library, beside=reference.beside)
        prepare(seat, axes, arguments)
        assignment = device.assignment(problem, axes, seat, style, 1)
        try:
            # The first call of a process: on a GPU autotuners and compilers land in it.
            is_slow = device.info.kind == "cuda" or interpreted
            limit_s = seat.limits.prepare_s if is_slow else seat.limits.call_s
            result = assignment.round(vault, [0], check_words(problem), limit_s)
        finally:
            assignment.close()
    except SeatFailed as error:
        return _result(run, workload, round_index, call, error.failure.message, files)
    finally:
        seat.close()
    outputs = result.outputs[0]
    files += _dump(out, [s.name for s in problem.outputs], outputs)
    if reference.check is None:
        truths = references.compute_reference(reference, problem, vault.inputs[0], axes)
        files += _dump(out, [f"{s.name}.expected" for s in problem.outputs], truths)
    comparison = check.compare_call(problem, reference, axes, vault.inputs[0], outputs, device.compare)
    return _result(run, workload, round_index, call, result.wrong or comparison.wrong, files)


def check_words(problem: Problem) -> int:
    """Sampled words of a replayed call: enough to see an output that was not written."""
    return 1024 * len(problem.outputs)


def _choose(run: Run, index: int | None) -> WorkloadRun:
    if not run.workloads:
        raise UsageError(f"run {run.id} reached no workload; there is no call to replay")
    if index is None:
        return next((w for w in run.workloads if w.failure is not None), run.workloads[0])
    for workload in run.workloads:
        if workload.index == index:
            return workload
    allowed = f"0 to {max(w.index for w in run.workloads)}"
    raise UsageError(f"run {run.id} has no workload {index}; allowed: {allowed}")


def _result(
    run: Run, workload: WorkloadRun, round_index: int, call: int, wrong: str | None, files: Sequence[Path]
) -> ReplayResult:
    return ReplayResult(
        run.id, run.problem, workload.index, dict(workload.axes), round_index, call, wrong, tuple(files)
    )


def _dump(folder: Path, names: Sequence[str], values: Sequence[Any]) -> list[Path]:
    """Write tensors and scalars as .npy files; types that NumPy does not have become float32."""
    import numpy as np
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, value in zip(names, values, strict=True):
        tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
        if tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
            tensor = tensor.to(torch.float32)
        path = folder / f"{name}.npy"
        np.save(path, tensor.contiguous().cpu().numpy())
        written.append(path)
    return written
