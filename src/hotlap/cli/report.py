"""Where the pictures and the page of a verdict go: checked before judging, written after it."""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hotlap.cli import console
from hotlap.errors import UsageError
from hotlap.model import Duel, Run, Verdict
from hotlap.text import clean

if TYPE_CHECKING:
    from hotlap.plots.chart import Chart, Provenance

PICTURES = (".png", ".svg")
PAGES = (".html", ".htm")

Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="PATH",
        help="Draw roofline, intervals and rounds. PATH.png or PATH.svg: all in one picture; a folder or any "
        "other PATH: a PNG, an SVG and a CSV each.",
        show_default=False,
    ),
]
Page = Annotated[
    Path | None,
    typer.Option("--report", metavar="PATH.html", help="Write the verdict as one page.", show_default=False),
]


@dataclass(frozen=True)
class Papers:
    """What to write: one picture of all charts, or files that begin with a prefix; and a page."""

    picture: Path | None = None
    prefix: str | None = None
    page: Path | None = None


def plan(plot: str | None, page: Path | None) -> Papers:
    """What `--plot` and `--report` ask for.

    Raises UsageError where a file could not be written, or matplotlib is missing.
    """
    if plot is None and page is None:
        return Papers()
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(
            "--plot and --report draw with matplotlib, which is not installed. "
            "Install it: pip install 'hotlap[plots]'"
        )
    if page is not None:
        if page.suffix.lower() not in PAGES:
            raise UsageError(f"--report {page}: a page ends in .html; say --report {page}.html")
        _check_file("--report", page)
    if plot is None:
        return Papers(page=page)
    path = Path(plot)
    if path.suffix.lower() in PICTURES:
        _check_file("--plot", path)
        return Papers(picture=path, page=page)
    if plot.endswith("/") or path.is_dir():
        _check_folder("--plot", path)
        return Papers(prefix=f"{path}/", page=page)
    if path.suffix[1:].isalpha():
        raise UsageError(
            f"--plot {plot}: ending {path.suffix} is not known. Allowed: .png, .svg, or a folder or a prefix "
            "without ending, which give both"
        )
    _check_folder("--plot", path.parent)
    return Papers(prefix=f"{path}-", page=page)


def _check_file(option: str, path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; name a file in it")
    _check_folder(option, path.parent)
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"{option} {path}: exists and cannot be written; name another file")


def _check_folder(option: str, folder: Path) -> None:
    if not folder.is_dir():
        found = "is not a folder" if folder.exists() else "there is no such folder"
        raise UsageError(f"{option}: {folder}: {found}; make it first, or name another")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{option}: {folder}: cannot be written to; name another folder")


def write(papers: Papers, verdict: Verdict) -> None:
    """Draw and write what was planned; say on stderr what was written, and which chart is missing and why.

    Raises UsageError where a file cannot be written after all.
    """
    if papers == Papers():
        return
    from hotlap.calibrate import load_calibration
    from hotlap.plots.chart import Absent, Chart, provenance
    from hotlap.plots.charts import charts
    from hotlap.plots.report import report

    run, calibration = stored_run(verdict), load_calibration(verdict.device)
    origin = provenance(verdict)
    found = charts(verdict, run, calibration)
    drawn = [chart for chart in found if isinstance(chart, Chart)]
    try:
        written = _pictures(papers, drawn, origin)
        if papers.page is not None:
            source = run.submission.source if run else None
            papers.page.write_text(report(verdict, run, calibration, source), encoding="utf-8")
            written.append(papers.page)
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be written ({error.strerror})") from None
    absent = [chart for chart in found if isinstance(chart, Absent)]
    for reason in dict.fromkeys(chart.reason for chart in absent):
        names = ", ".join(chart.name for chart in absent if chart.reason == reason)
        _say(f"no chart of {names}: {reason}")
    for path in written:
        _say(f"wrote {path}")


def write_duel(papers: Papers, duel: Duel) -> None:
    """Draw and write the chart of a duel; say on stderr what was written. Raises UsageError."""
    if papers == Papers():
        return
    from hotlap.plots import duel as of_duel
    from hotlap.plots.chart import duel_provenance

    if not duel.workloads:
        _say(f"no chart of duel: {duel.reason or 'nothing was timed'}")
        return
    try:
        written = _pictures(papers, [of_duel.chart(of_duel.info(duel))], duel_provenance(duel))
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be written ({error.strerror})") from None
    for path in written:
        _say(f"wrote {path}")


def _pictures(papers: Papers, drawn: "list[Chart]", origin: "Provenance") -> list[Path]:
    from hotlap.plots.files import write_each, write_one

    written: list[Path] = []
    if drawn and papers.picture is not None:
        written += write_one(drawn, origin, papers.picture)
    if papers.prefix is not None:
        written += write_each(drawn, origin, papers.prefix)
    return written


def stored_run(verdict: Verdict) -> Run | None:
    """The run of a verdict, for its rounds; None where it was not stored, as on a full disk."""
    from hotlap import runs

    try:
        return runs.load(verdict.run)
    except (OSError, UsageError):
        return None


def _say(message: str) -> None:
    console.stderr().print(clean(message, one_line=True), soft_wrap=True)
