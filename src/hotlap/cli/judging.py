"""From a target to a verdict: the part that `check`, `run` and `demo` share."""

from hotlap.cli import console, render
from hotlap.cli.progress import reporting
from hotlap.cli.target import Target
from hotlap.model import Verdict

DEFAULT_DEVICE = "cpu"


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
    warm = timed + (submission.lang == "python")  # the baseline's contestant and the author's
    with (
        reporting(verbose=verbose) as report,
        open_device(device or target.device or DEFAULT_DEVICE, on_wait=report.waiting, warm=warm) as opened,
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


def print_verdict(given: Verdict, *, as_json: bool) -> None:
    """A verdict on stdout, as one JSON object or as a table, a line and detail."""
    if as_json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(given))
        return
    out = console.stdout()
    out.print(render.verdict(given, out.width), crop=False)
