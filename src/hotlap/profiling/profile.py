"""The one door to a profile: choose a workload, have each tool look at one call, name the limit.

It judges nothing. The author's code runs in the sandbox, under each tool in a process of its own.
"""

import datetime
import shutil
from contextlib import closing
from pathlib import Path

import hotlap
from hotlap import runs
from hotlap.errors import DeviceError, UsageError
from hotlap.model import Calibration, Failure, Problem, Status, Submission, SubmissionInfo, Verdict
from hotlap.problems import shapes
from hotlap.profiling import bottleneck
from hotlap.profiling.cpu import profile_on_cpu
from hotlap.profiling.findings import Findings
from hotlap.profiling.gpu import profile_on_gpu, sanitize
from hotlap.profiling.report import Bottleneck, Profile
from hotlap.profiling.workbench import Workbench
from hotlap.profiling.workload import choose, smallest_test
from hotlap.referee import build
from hotlap.referee.case import Progress, silent
from hotlap.referee.device import Device
from hotlap.referee.loading import is_compiled

KEPT = 50  # profiles in the default folder; a report of counters alone may have 50 MB


def profile(
    problem: Problem,
    submission: Submission,
    device: Device,
    *,
    workload: str | None = None,
    out: Path | None = None,
    sanitized: bool = False,
    sass: bool = False,
    ptx: bool = False,
    checked: Verdict | None = None,
    calibration: Calibration | None = None,
    progress: Progress = silent,
) -> Profile:
    """Why a kernel takes the time that it takes, on one workload.

    workload, out: as on the command line. checked: a verdict on it, for the record; of a kernel that failed,
    nothing but the sanitizers is run. What the kernel does wrong is in `failure`, not raised.
    Raises UsageError for a workload or folder that cannot be, ProblemError, DeviceError.
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    _refuse(submission, device, sanitized=sanitized, code=sass or ptx)
    axes = choose(problem, device.info.kind, workload)
    profile_id = runs.new_id()
    folder = _folder(out, profile_id)
    device.refuse_others()
    is_known_to_fail = checked is not None and checked.status is Status.failed
    found, library = Findings(), b""
    if is_compiled(submission):
        progress("compiling", 0.05)
        built = build.build(problem, submission, device.limits, device.arch)
        found.failure, library = built.failure, built.library or b""
    if found.failure is None:
        if not is_known_to_fail:
            with closing(Workbench(problem, submission, device, axes, folder, library)) as bench:
                if device.info.kind == "cpu":
                    profile_on_cpu(bench, found, calibration, progress)
                else:
                    profile_on_gpu(bench, found, sass=sass, ptx=ptx, progress=progress)
        if sanitized:
            small = smallest_test(problem, device.info.kind)
            with closing(Workbench(problem, submission, device, small, folder, library)) as bench:
                sanitize(bench, found, progress)
    if out is None:
        _prune(folder.parent)
    return Profile(
        id=profile_id,
        problem=problem.id,
        submission=SubmissionInfo(
            submission.sha256,
            submission.file,
            submission.lang,
            checked.submission.style if checked else None,
            submission.author,
        ),
        device=device.info,
        axes=axes,
        status=checked.status.value if checked else None,
        failure=found.failure,
        bottleneck=_bottleneck(found, shapes.cost(problem, axes)[0], is_compiled(submission)),
        cpu=found.cpu,
        timeline=found.timeline,
        kernels=found.kernels,
        resources=found.resources,
        sanitizer=tuple(found.sanitizer),
        missing=tuple(found.missing),
        notes=tuple(found.notes),
        folder=str(folder),
        files=found.files,
        started_at=started,
        hotlap_version=hotlap.__version__,
    )


def _bottleneck(found: Findings, moved: int | None, compiled: bool) -> Bottleneck:
    if found.cpu is not None:
        return bottleneck.of_cpu(found.cpu, found.timeline, compiled)
    if found.failure is not None:
        return Bottleneck("unknown", f"the kernel {_said(found.failure)}", ())
    return bottleneck.of_gpu(found.kernels, found.timeline, moved)


def _said(failure: Failure) -> str:
    return failure.message.splitlines()[0] if failure.message else "failed"


def _refuse(submission: Submission, device: Device, *, sanitized: bool, code: bool) -> None:
    """Raise for what cannot be profiled here at all."""
    if device.info.kind == "cuda":
        if submission.lang == "cpp":
            raise DeviceError(f"{submission.file} is C++: it runs on a CPU; use --device cpu")
        return
    if submission.lang in ("cu", "triton"):
        what = "CUDA" if submission.lang == "cu" else "Triton"
        raise DeviceError(f"{submission.file} is {what}: it is profiled on a GPU; this device is a CPU")
    if sanitized:
        raise UsageError("--sanitize: compute-sanitizer looks at GPU kernels; this device is a CPU")
    if code:
        raise UsageError("--sass, --ptx: they are code of a GPU; this device is a CPU")


def _folder(out: Path | None, profile_id: str) -> Path:
    folder = runs.home() / "profiles" / profile_id if out is None else out.resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be made ({error.strerror}); name a folder that can, by --out"
        ) from None
    return folder


def _prune(folder: Path) -> None:
    """Remove the oldest profiles of the default folder; their names sort by time."""
    for old in sorted(path for path in folder.iterdir() if path.is_dir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
