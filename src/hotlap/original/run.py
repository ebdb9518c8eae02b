"""KernelBot's ranked protocol with a folder's own eval script: test, benchmark, leaderboard, secret twin.

Each mode is a new process; the first that fails ends the run. The score is of the public run; a twin with a
secret seed must pass all modes too. Every stage begins with the folder's files as they are, flat in one
folder; what a submission built stays in /tmp from stage to stage, and never goes from one run to its twin.
"""

import contextlib
import datetime
import hashlib
import re
import secrets
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hotlap import __version__
from hotlap.errors import DeviceError, ProblemError, UsageError
from hotlap.model import Sandbox, Submission, SubmissionInfo, Trust
from hotlap.original import process
from hotlap.original.lines import case_file, result_lines
from hotlap.original.process import Ended, Folders
from hotlap.original.report import Original, Outcome, Stage
from hotlap.original.score import NoScore, score_s
from hotlap.problems.kernelbot import MAX_FILE_BYTES, Task
from hotlap.referee import sandbox
from hotlap.referee.case import Progress, silent
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.device import Device
from hotlap.referee.seat import own_prefix, runtime_folder

BUILD, BUILD_S = "build", 120
MODES = {"test": "test_timeout", "benchmark": "benchmark_timeout", "leaderboard": "ranked_timeout"}
SUCCESS = (0, 112)  # exit codes: 112 is for answers that are wrong, which `check` says too
SEEDS = 2**31
TRUST_REASON = "the folder's eval script held clock and checker in the submission's reach"

# What torch and Triton say on a machine without a GPU; asked only where there is none.
_NEEDS_GPU = re.compile(
    "not compiled with CUDA|no NVIDIA driver|No (CUDA|HIP) GPU|without ATen_cuda|0 active drivers",
    re.IGNORECASE,
)
_NO_MODULE = re.compile(r"No module named '(\w+)")


def original(
    task: Task, submission: Submission, device: Device, progress: Progress | None = None
) -> Original:
    """What a folder's eval script says of a submission on this device.

    Raises UsageError for a submission that no such folder takes, ProblemError for a file that cannot be read,
    DeviceError where this machine has no sandbox or the folder wants several GPUs.
    """
    _refuse(task, submission)
    started, start = datetime.datetime.now(datetime.UTC), time.monotonic()
    files = _contents(task) | {task.slot: submission.source.encode()}
    report = progress or silent
    public, gaps = _run(task, files, device, None, report)
    secret: tuple[Stage, ...] = ()
    seed = None
    if _all_passed(public):
        seed = secrets.randbelow(SEEDS)
        secret, gaps = _run(task, files, device, seed, report)
    theirs = [content for name, content in files.items() if name != task.slot]
    status, reason = _outcome(public, secret, _missing((secret or public)[-1], theirs, device))
    score, score_reason = _score(task, status, public)
    return Original(
        status=status,
        reason=reason,
        problem=f"{task.file.parent.parent.name}/{task.file.parent.name}",
        files_sha256=_digest(task, files),
        submission=SubmissionInfo(
            submission.sha256, submission.file, submission.lang, None, submission.author
        ),
        device=device.info,
        trust=Trust.self_reported,
        trust_reason=TRUST_REASON,
        sandbox=Sandbox(sandbox.kind(), gaps),
        ranking_by=task.ranking_by,
        score_s=score,
        score_reason=score_reason,
        seed=seed,
        public=public,
        secret=secret,
        seconds=time.monotonic() - start,
        started_at=started.isoformat(timespec="seconds"),
        hotlap_version=__version__,
    )


def _refuse(task: Task, submission: Submission) -> None:
    """Raise for what cannot be run at all."""
    if submission.refused is not None:
        raise UsageError(submission.refused)
    if submission.lang not in ("python", "triton"):
        raise UsageError(f"{submission.file}: a KernelBot folder takes a Python file; give a .py")
    if task.is_multi_gpu or any(case.get("world_size", 1) != 1 for case in task.cases):
        raise DeviceError(f"{task.file}: unsupported here: needs several GPUs at once")
    found, reason = sandbox.find_bubblewrap()
    if found is None:
        raise DeviceError(f"--protocol original runs others' scripts, and there is no sandbox: {reason}")


def _contents(task: Task) -> dict[str, bytes]:
    """The folder's files by their flat names. Raises ProblemError."""
    found = {}
    for name, file in task.files.items():
        if not file.is_file() or file.stat().st_size > MAX_FILE_BYTES:
            raise ProblemError(
                f"{task.file}: files.{name}: {file}: is no file of at most {MAX_FILE_BYTES >> 20} MB; give "
                "the folder as its repository has it"
            )
        try:
            found[name] = file.read_bytes()
        except OSError as error:
            raise ProblemError(f"{task.file}: {file}: cannot be read ({error.strerror})") from None
    return found


def _digest(task: Task, files: Mapping[str, bytes]) -> str:
    """Of all but the submission: results with another digest come from another script or other cases."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        if name != task.slot:
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    for mode in MODES:
        digest.update(f"{mode}\0{case_file(_cases(task, mode))}\0".encode())
    return digest.hexdigest()


def _cases(task: Task, mode: str) -> tuple[Mapping[str, Any], ...]:
    """What a mode gets: tests, or benchmarks, of which `ranking_by: last` sends only the last."""
    if mode == "test":
        return task.tests
    return task.benchmarks[-1:] if task.ranking_by == "last" else task.benchmarks


# --- one run -------------------------------------------------------------------------------------


def _run(
    task: Task, files: Mapping[str, bytes], device: Device, seed: int | None, report: Progress
) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    """The stages of one run, up to the first that fails, and what the sandbox could not enforce."""
    home = Path(tempfile.mkdtemp(prefix=own_prefix("original"), dir=runtime_folder()))
    stages: list[Stage] = []
    try:
        cases = home / "cases"
        for folder in (cases, home / "tmp"):
            folder.mkdir()
        for mode in (BUILD, *MODES):
            report(mode if seed is None else f"{mode}, secret seed", None)
            laid = home / f"{mode}-files"
            laid.mkdir()
            for name, content in files.items():
                (laid / name).write_bytes(content)
            arguments, timeout_s = [task.slot], BUILD_S
            variables: dict[str, str] = {}
            if mode != BUILD:
                (cases / mode).write_text(case_file(_cases(task, mode)))
                variables = {} if seed is None else {"POPCORN_SEED": str(seed)}
                arguments = [str(task.main), mode, f"{process.INSIDE_CASES}/{mode}"]
                timeout_s = task.timeouts_s[MODES[mode]]
            ended = process.run(arguments, Folders(laid, cases, home / "tmp"), variables, device, timeout_s)
            process.remove(laid)
            stages.append(_stage(mode, ended, timeout_s))
            if mode != BUILD and not stages[-1].passed:
                break
        return tuple(stages), ended.gaps
    finally:
        process.remove(home)


def _stage(mode: str, ended: Ended, timeout_s: int) -> Stage:
    lines = result_lines(ended.results, is_whole=ended.stopped is None and not ended.is_cut)
    reason = _why_not(mode, ended, lines)
    return Stage(
        mode, reason is None, reason, ended.code, ended.seconds, float(timeout_s), lines, ended.printed
    )


def _why_not(mode: str, ended: Ended, lines: Mapping[str, str]) -> str | None:
    """Why a stage did not pass; None where it did."""
    if ended.stopped is not None:
        return ended.stopped
    if mode == BUILD:
        return None if ended.code == 0 else _exited(ended.code)
    if ended.code not in SUCCESS:
        return _exited(ended.code)
    check = lines.get("check")
    if check == "pass":
        return None
    cut = f"; only the first {process.MOST_RESULT_BYTES >> 20} MB of results are read" if ended.is_cut else ""
    return f"wrote no check{cut}" if check is None else f"check: {check[:200]}{cut}"


def _exited(code: int | None) -> str:
    if code is not None and code > 128:
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(code - 128).name}"
    return f"exited with code {code}"


# --- what came of it -----------------------------------------------------------------------------


def _all_passed(stages: tuple[Stage, ...]) -> bool:
    """Whether every mode passed; how the build ended is not asked."""
    return [stage.mode for stage in stages if stage.passed and stage.mode != BUILD] == list(MODES)


def _outcome(
    public: tuple[Stage, ...], secret: tuple[Stage, ...], missing: str | None
) -> tuple[Outcome, str | None]:
    """missing: what the machine lacks by which the last stage failed, if it is that."""
    if _all_passed(public) and _all_passed(secret):
        return Outcome.passed, None
    last = (secret or public)[-1]
    where = f"{last.mode}, secret seed" if secret else last.mode
    if missing is not None:
        return Outcome.void, f"{where}: unsupported here: needs {missing}"
    return Outcome.failed, f"{where}: {last.reason}"


def _missing(stage: Stage, theirs: Iterable[bytes], device: Device) -> str | None:
    """What a machine lacks on which this stage ended so: a GPU, or a module that the folder's own files, and
    not just the submission, import. None where it lacks nothing that we know of."""
    said = "\n".join([stage.output, *stage.lines.values()])
    if stage.passed:
        return None
    if isinstance(device, CpuDevice) and (found := _NEEDS_GPU.search(said)):
        return f"a GPU ({found[0]})"
    for name in _NO_MODULE.findall(said):
        imports = re.compile(rf"^\s*(import|from)\s+{name}\b".encode(), re.MULTILINE)
        if any(imports.search(content) for content in theirs):
            return f"the Python module {name}"
    return None


def _score(task: Task, status: Outcome, public: tuple[Stage, ...]) -> tuple[float | None, str | None]:
    if status is not Outcome.passed:
        return None, "only a submission that passed has a score"
    try:
        return score_s(public[-1].lines, task.ranking_by), None
    except NoScore as error:
        return None, str(error)
