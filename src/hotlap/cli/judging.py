"""From a target to a verdict: the part that `check`, `run` and `demo` share."""

from hotlap.cli import console, render
from hotlap.cli.progress import reporting
from hotlap.cli.target import Target
from hotlap.model import Submission, Verdict

DEFAULT_DEVICE = "cpu"
FIRST_GPU = "cuda:0"


def judge_target(
    target: Target,
    *,
    timed: bool,
    device: str | None = None,
    author: str | None = None,
    baseline: str | None = None,
    verbose: bool = False,
) -> Verdict:
    """The verdict on one file, with progress on stderr.

    Raises UsageError (no such problem, file, device), ProblemError, DeviceError, HarnessError.
    """
    from hotlap.problems.find import find
    from hotlap.referee.device import open_device
    from hotlap.verdict import read_submission, verdict

    problem = find(target.problem)
    submission = read_submission(target.file, author)
    name = device or target.device or default_device(submission)
    warm = warm_contestants(name, submission, timed=timed)
    with (
        reporting(verbose=verbose) as report,
        open_device(name, on_wait=report.waiting, warm=warm) as opened,
    ):
        from hotlap.calibrate import load_calibration

        return verdict(
            problem,
            submission,
            opened,
            load_calibration(opened.info),
            timed=timed,
            interpret=not timed and submission.lang == "triton" and opened.info.kind == "cpu",
            progress=report,
            baseline=baseline,
        )


def default_device(submission: Submission) -> str:
    """Where a submission is judged unless the command line or the file says: CUDA on a GPU; Triton there too,
    or on the CPU of a machine without one, where `check` interprets it; all else on the CPU."""
    from hotlap.referee.doctor_cuda import has_gpu

    on_gpu = submission.lang == "cu" or (submission.lang == "triton" and has_gpu())
    return FIRST_GPU if on_gpu else DEFAULT_DEVICE


def warm_contestants(device: str, submission: Submission, *, timed: bool) -> int:
    """How many contestants to start at once: the baseline's where it is timed, and the author's. On a CPU a
    C++ kernel gets one without torch, and an interpreted Triton kernel one of its own: neither can wait."""
    return timed + (device != DEFAULT_DEVICE or submission.lang == "python")


def print_verdict(given: Verdict, *, as_json: bool) -> None:
    """A verdict on stdout, as one JSON object or as a table, a line and detail."""
    if as_json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(given))
        return
    out = console.stdout()
    out.print(render.verdict(given, out.width), crop=False)
