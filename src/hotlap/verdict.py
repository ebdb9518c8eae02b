"""The one door to a verdict: guard, build, referee, judge. CLI, server, fleet and campaigns all come here."""

import contextlib
import hashlib
import re
from pathlib import Path

from hotlap import judge, runs
from hotlap.calibrate import calibrate, footprints_below
from hotlap.errors import UsageError
from hotlap.guard.guard import findings
from hotlap.model import Calibration, Problem, Status, Submission, Verdict
from hotlap.problems import flashinfer
from hotlap.problems.find import find_again
from hotlap.referee import referee as referees
from hotlap.referee import replay as replays
from hotlap.referee.case import Progress, silent
from hotlap.referee.device import Device
from hotlap.referee.limits import Limits

LANGUAGES = {".py": "python", ".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp", ".cu": "cu"}
SOLUTION = ".json"  # of flashinfer-bench: a Python file in JSON
IMPORTS_TRITON = re.compile(r"^\s*(import\s+triton|from\s+triton)\b", re.MULTILINE)


def read_submission(path: Path, author: str | None = None) -> Submission:
    """The submission in a file. A file that is too large or not text is a submission that will fail.

    Raises UsageError for a file that is not there, or whose ending is not known.
    """
    lang = "python" if path.suffix == SOLUTION else LANGUAGES.get(path.suffix)
    if not path.is_file():
        found = "not a file" if path.exists() else "no such file"
        raise UsageError(f"{path}: {found}; give the path of a kernel ({', '.join(LANGUAGES)})")
    if lang is None:
        raise UsageError(
            f"{path}: ending {path.suffix or '(none)'} is not known; allowed: {', '.join(LANGUAGES)}"
        )
    try:
        with path.open("rb") as file:
            data = file.read(64 << 20)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    digest, size = hashlib.sha256(data).hexdigest(), path.stat().st_size
    limit = Limits().source_bytes
    if size > limit:
        refused = f"{path.name} is {size / 1e6:.1f} MB; at most {limit >> 20} MB"
        return Submission(path.name, "", lang, digest, author, refused)
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError as error:
        refused = f"{path.name} is not UTF-8 text (byte {error.start}); a submission is source code"
        return Submission(path.name, "", lang, digest, author, refused)
    if "\0" in source:
        return Submission(
            path.name, "", lang, digest, author, f"{path.name} is not UTF-8 text (it holds a NUL byte)"
        )
    name = path.name
    if path.suffix == SOLUTION:
        try:
            name, source = flashinfer.solution_source(source)
        except flashinfer.SolutionError as error:
            return Submission(path.name, "", lang, digest, author, f"{path.name} {error}")
    if lang == "python" and IMPORTS_TRITON.search(source):
        lang = "triton"
    return Submission(name, source, lang, digest, author)


def verdict(
    problem: Problem,
    submission: Submission,
    device: Device,
    calibration: Calibration | None = None,
    *,
    timed: bool = True,
    interpret: bool = False,
    baseline: str | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Judge one submission on one device; the run is stored for replay.

    timed=False checks correctness only. Raises UsageError or ProblemError before judging begins; what goes
    wrong while judging is in the verdict.
    """
    run = referees.referee(
        problem,
        submission,
        device,
        run_id=runs.new_id(),
        timed=timed,
        interpret=interpret,
        baseline=baseline,
        progress=progress or silent,
    )
    with contextlib.suppress(OSError):  # a full or read-only disk costs the replay, not the verdict
        runs.save(run)
    facts = findings(submission)
    given = judge.judge(run, facts, calibration)
    if given.status is Status.suspect:
        # Before a human is troubled: is it the floor that is wrong? The machine may have been slow when it
        # was calibrated, so its bandwidth is measured again, in the minute of the run.
        footprints = [w.footprint_bytes for w in run.workloads if w.footprint_bytes is not None]
        again = calibrate(device, progress or silent, footprints_below(footprints, device.info.kind))
        given = judge.judge(run, facts, again)
    return given


def replay(run_id: str, workload: int | None, device: Device, out: Path) -> replays.ReplayResult:
    """Make one call of a stored run again, on the same inputs, and write inputs and outputs to `out`.

    workload: its index in the run, by default the first that failed. A replayed result never ranks.
    Raises UsageError, ProblemError, DeviceError.
    """
    run = runs.load(run_id)
    problem = find_again(Path(run.problem_folder), run.problem)
    if problem.id != run.problem:
        raise UsageError(f"run {run_id} was of {run.problem}; {run.problem_folder} holds {problem.id} now")
    if run.device.kind != device.info.kind:
        raise UsageError(
            f"run {run_id} was on {run.device.name} and its inputs were drawn there; this device is a "
            f"{device.info.kind}: use --device {'cuda:0' if run.device.kind == 'cuda' else 'cpu'}"
        )
    return replays.replay(problem, run, workload, device, out)
