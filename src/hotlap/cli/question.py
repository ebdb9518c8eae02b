"""`hotlap question`: what a good question to experts needs, in one markdown file, without secrets."""

import io
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hotlap import runs
from hotlap.cli import console, options, render
from hotlap.cli.judging import judge_target, print_verdict
from hotlap.cli.profile import profile_target
from hotlap.cli.show import PrototypeLanguage, prototypes, tolerance
from hotlap.cli.target import Target, resolve
from hotlap.errors import UsageError
from hotlap.model import Device, Problem, Status, Submission, Verdict
from hotlap.text import ABSENT, clean, percent, speedup, time

if TYPE_CHECKING:
    from hotlap.profiling.report import Profile

EPILOG = options.examples(
    "hotlap question basics/softmax kernel.cu",
    "hotlap question basics/softmax kernel.py --verdict verdict.json --out slow-softmax.md",
    "hotlap question kernel.py --out -    prints it",
)
SCHEMA = "hotlap.question/1"
STDOUT = Path("-")
STATEMENT_CHARS = 1200
TABLE_WIDTH = 108
TO_FILL_IN = "(One paragraph, to fill in: what you tried, what you expected and why, what you want to know.)"
PROTOTYPES = {
    "cpp": (PrototypeLanguage.cpp, "cpp"),
    "cu": (PrototypeLanguage.cuda, "cuda"),
    "python": (PrototypeLanguage.python, "python"),
    "triton": (PrototypeLanguage.python, "python"),
}


def question(
    first: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM|FILE",
            help="The problem and the kernel; the kernel alone when its first line names the problem.",
            show_default=False,
            autocompletion=options.complete_problem,
        ),
    ],
    second: Annotated[Path | None, options.SECOND] = None,
    device: options.DeviceName = None,
    verdict: Annotated[
        Path | None,
        typer.Option(
            "--verdict",
            metavar="JSON",
            help="What `hotlap run --json` printed of this file. Default: it is judged now.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="MD", help="Where to write; - prints. Never overwrites.")
    ] = Path("question.md"),
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Bundle kernel, verdict, profile and machine into one markdown file to ask experts with.

    Exit code: 0 written; 2 usage or problem; 3 void (not the kernel's fault).
    """
    from hotlap.problems.find import find
    from hotlap.verdict import read_submission

    target = resolve(first, second)
    problem, submission = find(target.problem), read_submission(target.file)
    if out != STDOUT and out.exists():
        raise UsageError(f"{out} exists and is not overwritten; name another file by --out, or - to print")
    given = (
        judge_target(target, timed=True, device=device, verbose=verbose)
        if verdict is None
        else read_verdict(verdict, problem, submission)
    )
    if given.status is Status.void:
        print_verdict(given, as_json=json)
        raise typer.Exit(console.VOID)
    _, profile = profile_target(target, device=device, checked=given, verbose=verbose)
    text = markdown(problem, submission, given, profile, commands(target, problem, given))
    if out != STDOUT:
        _write(out, text)
    if json:
        console.print_json({"schema": SCHEMA, "file": None if out == STDOUT else str(out), "markdown": text})
    elif out == STDOUT:
        sys.stdout.write(text)
    else:
        print(f"wrote {clean(str(out))}: fill in its first paragraph, then ask")


def read_verdict(path: Path, problem: Problem, submission: Submission) -> Verdict:
    """A stored verdict on this very file. Raises UsageError where it is none, or of something else."""
    from hotlap.schema import from_json

    try:
        given = from_json(Verdict, path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); name what `hotlap run --json` printed"
        ) from None
    if given.problem != problem.id or given.submission.sha256 != submission.sha256:
        raise UsageError(
            f"{path} is a verdict on {given.submission.file} for {given.problem}, not on {submission.file} "
            f"as it is now for {problem.id}; leave --verdict out to judge it anew"
        )
    return given


def _write(out: Path, text: str) -> None:
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written ({error.strerror}); name another by --out") from None


def commands(target: Target, problem: Problem, given: Verdict) -> list[str]:
    """What gives verdict and profile again; the file by its name alone."""
    device = "cpu" if given.device.kind == "cpu" else "cuda"
    name = target.file.name
    file = shlex.quote(f"./{name}" if name.startswith("-") else name)
    what = f"{options.short_name(problem)} {file} --device {device}"
    return [
        f"# hotlap {given.hotlap_version}",
        f"hotlap calibrate --device {device}",
        f"hotlap run {what}",
        f"hotlap profile {what}",
    ]


# --- the document ----------------------------------------------------------------------------------


def markdown(
    problem: Problem,
    submission: Submission,
    given: Verdict,
    profile: "Profile | None",
    commands: Sequence[str],
) -> str:
    """The whole question. Hidden workloads are redacted, paths of this machine are taken off."""
    from hotlap.judge import redact

    given = redact(given)
    language, tag = PROTOTYPES[submission.lang]
    parts = [
        f"# {options.short_name(problem)}: a question about {submission.file}",
        "## What I tried and what I expect",
        TO_FILL_IN,
        "## Problem",
        f"`{problem.id}`: {problem.title}. Tolerance: `{tolerance(problem)}`.",
        fenced(prototypes(problem)[language], tag),
        quoted(brief(problem.statement)),
        f"## Kernel: {submission.file}",
        fenced(submission.source, tag),
        "## Verdict",
        "\n".join(f"- {fact}" for fact in facts(given)),
        fenced(_table(given)),
        "## Profile",
        _profile(profile),
        "## Machine",
        "\n".join(f"- {fact}" for fact in machine(given.device, given.hotlap_version)),
        "## Reproduce",
        fenced("\n".join(commands), "sh"),
    ]
    return without_paths(clean("\n\n".join(parts)) + "\n")


def fenced(text: str, tag: str = "") -> str:
    """A code block that nothing in the text can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{tag}\n{text.rstrip()}\n{fence}"


def brief(statement: str) -> str:
    """The first paragraphs of a statement, cut between two of them, without its title."""
    paragraphs = statement.strip().split("\n\n")
    if paragraphs[0].startswith("# "):
        del paragraphs[0]
    kept: list[str] = []
    for paragraph in paragraphs:
        if kept and sum(map(len, kept)) + len(paragraph) > STATEMENT_CHARS:
            while kept and kept[-1].startswith("#"):
                del kept[-1]  # a heading whose text is cut off
            kept.append("…")
            break
        kept.append(paragraph)
    return "\n\n".join(kept)


def quoted(text: str) -> str:
    """A markdown quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def facts(given: Verdict) -> list[str]:
    """What a reader wants to know first of a verdict."""
    said = f": {(given.reason or '').splitlines()[0]}" if given.reason else ""
    found = [f"status: {given.status.value}{said}", f"how the time was taken: {given.trust.value}"]
    if given.score is None:
        return [*found, f"no score: {given.score_reason or 'it is not accepted'}"]
    score = given.score
    times = f"time: {time(score.time_ns)} ({score.aggregate} of the bench workloads)"
    ratio = f"speedup over the baseline: {ABSENT if score.speedup is None else speedup(score.speedup)}"
    return [*found, times, ratio, f"of the floor: {percent(score.floor_fraction)}"]


def machine(device: Device, hotlap_version: str) -> list[str]:
    """Device and versions."""
    cores = "multiprocessors" if device.kind == "cuda" else "cores"
    found = [
        f"{device.name}, {device.cores} {cores}, {device.memory_bytes / 1e9:.0f} GB",
        f"{device.os}, driver or kernel {device.driver}",
        f"Python {device.python}, torch {device.torch or ABSENT}, hotlap {hotlap_version}",
    ]
    if device.kind == "cuda":
        found.insert(1, f"compute capability {device.capability or ABSENT}, CUDA {device.cuda or ABSENT}")
    return found


def _table(given: Verdict) -> str:
    page = io.StringIO()
    plain = Console(file=page, width=TABLE_WIDTH, color_system=None, markup=False, emoji=False)
    plain.print(render.verdict(given, TABLE_WIDTH), crop=False)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _profile(profile: "Profile | None") -> str:
    if profile is None:
        return "Not profiled: the kernel fails."
    from hotlap.profiling.summary import summary

    return fenced("\n".join(summary(profile)))


def without_paths(text: str) -> str:
    """Text without the places of this machine that say whose it is: data, packages, home, working folder."""
    places = {
        str(runs.home()): "$HOTLAP_HOME",
        sys.prefix: "$PYTHON",
        sys.base_prefix: "$PYTHON",
        str(Path.cwd()): ".",
        str(Path.home()): "~",
    }
    for place, word in sorted(places.items(), key=lambda item: -len(item[0])):
        if len(Path(place).parts) > 1:
            text = re.sub(rf"{re.escape(place)}(?![\w.-])", word.replace("\\", r"\\"), text)
    return text
