"""`hotlap suite`: many problems and samples, judged one by one, and the fast_p table of them."""

import importlib.util
import json as jsons
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hotlap.cli import console, options
from hotlap.cli.judging import DEFAULT_DEVICE
from hotlap.cli.progress import Reporter, reporting
from hotlap.cli.render import STATUS_STYLES
from hotlap.errors import UsageError
from hotlap.text import clean

if TYPE_CHECKING:
    from hotlap.fleet.generate import Endpoint, Generation, Price, Task, Wish
    from hotlap.fleet.results import SuiteHeader, SuiteReport, SuiteRow
    from hotlap.fleet.suite import Found, Sample
    from hotlap.fleet.suite_run import Listener, State
    from hotlap.model import Problem

EPILOG = options.examples(
    "hotlap suite run basics --solutions solutions/",
    "hotlap suite run basics --solutions solutions/ --device cuda --baseline baseline_compiled",
    "hotlap suite run KernelBench/level1 --solutions runs/mine --device cuda --samples 4",
    "hotlap suite report suite-basics",
    "hotlap suite report runs/mine/eval_results.json --times baseline_time_torch.json --level 1",
)
RUN_EPILOG = options.examples(
    "hotlap suite run basics --solutions solutions/",
    "hotlap suite run basics --solutions solutions/    the same again goes on where it was stopped",
    "hotlap suite run KernelBench/level1 --solutions runs/mine --device cuda --samples 4 --out level1",
    "hotlap suite run basics --model NAME --endpoint http://localhost:8000/v1 --samples 4 --device cuda",
)
REPORT_EPILOG = options.examples(
    "hotlap suite report suite-basics",
    "hotlap suite report suite-basics --p 1,1.2,2 --json",
    "hotlap suite report suite-basics --kernelbench export/",
    "hotlap suite report runs/mine/eval_results.json --times baseline_time_torch.json --level 1",
)
P_DEFAULT = "0,0.5,1,1.5,2"

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

PValues = Annotated[str, typer.Option("--p", metavar="P,P,…", help="The p of fast_p.")]


@app.command(epilog=RUN_EPILOG)
def run(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE", help="A bundled suite, or the path of a folder of problems.", show_default=False
        ),
    ],
    solutions: Annotated[
        Path | None,
        typer.Option(
            "--solutions",
            metavar="DIR",
            help="Holds PROBLEM/SAMPLE.py, PROBLEM_SAMPLE.py, or KernelBench's "
            "level_L_problem_P_sample_S_kernel.py; .cpp and .cu too.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Instead of --solutions: have this model write the samples, into OUT/samples.",
            show_default=False,
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint",
            metavar="URL",
            help="Where the model answers chat completions; a key, if it wants one, in OPENAI_API_KEY. "
            "Default: OPENAI_BASE_URL.",
            show_default=False,
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature",
            metavar="T",
            min=0.0,
            help="For the model. Default: the endpoint's.",
            show_default=False,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            metavar="N",
            min=1,
            help="The most that an answer may have. Default: the endpoint's.",
            show_default=False,
        ),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(
            "--price-in",
            metavar="X",
            min=0.0,
            help="Of a million tokens of prompts, to tell the cost.",
            show_default=False,
        ),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option("--price-out", metavar="Y", min=0.0, help="The same of answers.", show_default=False),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", metavar="cpu|cuda|cuda:N", help="Where to judge; cuda is cuda:0.")
    ] = DEFAULT_DEVICE,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            metavar="K",
            min=1,
            help="The first K samples of each problem; missing ones are not correct. Default: all; of a "
            "model, 1.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Journal and report. Default: ./suite-SUITE", show_default=False
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="A baseline to compare with; may be given several times, each costs a verdict. "
            "Default: the first of each problem.",
            show_default=False,
        ),
    ] = None,
    p: PValues = P_DEFAULT,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Judge every sample of a suite; the same command again goes on where it was stopped.

    Exit code: 0 when every sample was judged, whatever the verdicts; 2 usage or problem; 3 the device failed.
    """
    from hotlap.fleet import generate, suite_run
    from hotlap.fleet import suite as suites

    p_values = parsed_p(p)
    baselines = list(dict.fromkeys(baseline or ()))
    if model is not None:
        samples = samples or 1
        wish = generate.Wish(model, samples, temperature, max_tokens)
        where, price = _place(solutions, endpoint), _price(price_in, price_out)
    else:
        given = _given(
            solutions,
            {
                "--endpoint": endpoint,
                "--temperature": temperature,
                "--max-tokens": max_tokens,
                "--price-in": price_in,
                "--price-out": price_out,
            },
        )
    problems = suites.problems_of(suite)
    name = suites.suite_name(suite)
    folder = out or Path(f"suite-{name}")
    try:
        with reporting(verbose=verbose) as reporter:
            if model is not None:
                given = _written(problems, wish, where, folder, device, price, reporter)
            else:
                generate.refuse_generated(folder, given)
            found = suites.samples_of(problems, given, samples)
            _tell_strays(found)
            header, rows = suite_run.run(
                name,
                problems,
                found.samples,
                folder,
                device=device,
                baselines=baselines,
                wanted=samples,
                listener=_watcher(reporter),
            )
    except KeyboardInterrupt:
        console.error(
            f"interrupted; what was judged is in {folder}, answers are stored: "
            "the same command goes on from there"
            if model is not None
            else f"interrupted; what was judged is in {folder}, the same command goes on from there"
        )
        raise typer.Exit(console.INTERRUPTED) from None
    _publish(header, rows, p_values, folder, folder, as_json=json)


@app.command(epilog=REPORT_EPILOG)
def report(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="OUT|FILE",
            help="What `suite run --out` wrote, or an eval_results.json of KernelBench's.",
            show_default=False,
        ),
    ],
    p: PValues = P_DEFAULT,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where to write the report. Default: OUT, or beside FILE.",
            show_default=False,
        ),
    ] = None,
    kernelbench: Annotated[
        Path | None,
        typer.Option(
            "--kernelbench",
            metavar="DIR",
            help="Also write KernelBench's eval_results.json and baseline times.",
            show_default=False,
        ),
    ] = None,
    times: Annotated[
        list[Path] | None,
        typer.Option(
            "--times",
            metavar="FILE",
            help="Of an eval_results.json: KernelBench's baseline times; may be given several times.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option("--level", help="Of an eval_results.json: its level in --times.", show_default=False),
    ] = None,
    json: options.JsonFlag = False,
) -> None:
    """Make the table again from what was judged, or from KernelBench's files."""
    from hotlap.fleet import exchange, journal

    p_values = parsed_p(p)
    if path.is_file():
        named = {exchange.times_name(file): file for file in times or ()}
        header, rows = exchange.read(path, named, level)
        folder = out or path.parent
    else:
        if times or level is not None:
            raise UsageError(
                "--times and --level belong to an eval_results.json; a journal has its own times"
            )
        header, rows = journal.read(path)
        folder = out or path
    if kernelbench is not None:
        try:
            for file in exchange.write(header, rows, kernelbench):
                _say(f"wrote {file}")
        except OSError as error:
            raise UsageError(f"{error.filename}: cannot be written ({error.strerror})") from None
    _publish(header, rows, p_values, path, folder, as_json=json)


def parsed_p(given: str) -> list[float]:
    """`0,0.5,1` -> the numbers, ascending. Raises UsageError."""
    try:
        found = sorted({float(part) for part in given.split(",")})
    except ValueError:
        found = []
    if not found or not all(0 <= value < float("inf") for value in found):
        raise UsageError(
            f"--p {given}: expected numbers of 0 or more with commas between, such as {P_DEFAULT}"
        )
    return found


# --- samples: given, or written by a model ---------------------------------------------------------


def _given(solutions: Path | None, settings: dict[str, object]) -> Path:
    """The folder of solutions. Raises UsageError where there is none, or a setting of a model without one."""
    if solutions is None:
        raise UsageError(
            "nothing to judge: give --solutions DIR, or --model NAME and --endpoint URL to have it written"
        )
    if odd := [name for name, value in settings.items() if value is not None]:
        raise UsageError(
            f"{odd[0]} is about a model that writes the samples; give --model NAME, or leave it out"
        )
    return solutions


def _place(solutions: Path | None, endpoint: str | None) -> "Endpoint":
    from hotlap.fleet.generate import endpoint_of

    if solutions is not None:
        raise UsageError(
            "--model and --solutions: samples are either written by a model or given; leave one out"
        )
    return endpoint_of(endpoint, os.environ)


def _price(tokens_in: float | None, tokens_out: float | None) -> "Price | None":
    from hotlap.fleet.generate import Price

    if tokens_in is None and tokens_out is None:
        return None
    if tokens_in is None or tokens_out is None:
        raise UsageError("--price-in and --price-out go together: a cost needs both; 0 is a price")
    return Price(tokens_in, tokens_out)


def _written(
    problems: "list[Problem]",
    wish: "Wish",
    endpoint: "Endpoint",
    folder: Path,
    device: str,
    price: "Price | None",
    reporter: Reporter,
) -> Path:
    """Have the samples written; the folder that they are in. Says on stderr what came and what it cost."""
    from hotlap.fleet import generate

    def told(done: int, total: int, task: "Task", said: str) -> None:
        name = f"{task.problem.name} {task.k}"
        if said != generate.STORED:
            reporter.hide()
            _say(f"{done}/{total}  {name}  {said}")
        reporter(f"{done}/{total} · {wish.model} writes", done / total)

    reporter(f"{wish.model} writes", 0.0)
    made = generate.generate(problems, wish, endpoint, folder, device, price=price, told=told)
    reporter.hide()
    for note in generate.notes(made):
        _say(note)
    return folder / generate.SAMPLES


# --- while it runs ---------------------------------------------------------------------------------


def _watcher(reporter: Reporter) -> "Listener":
    """Progress on stderr: a line that changes on a terminal, and a line a sample."""
    from hotlap.fleet.suite_run import Listener

    class Watcher(Listener):
        said = ""
        share = 0.0

        def started(self, sample: "Sample | None", state: "State") -> None:
            what = "building" if sample is None else f"{sample.problem.name} {sample.name}"
            self.said = f"{progress_words(state)} · {what}"
            self.share = state.done / state.total if state.total else 1.0
            reporter(self.said, self.share)

        def phase(self, phase: str, fraction: float | None = None) -> None:
            reporter(f"{self.said}: {phase}", self.share)

        def judged(self, row: "SuiteRow", state: "State") -> None:
            reporter.hide()
            console.stderr().print(judged_line(row, state), soft_wrap=True)

        def waiting(self, message: str) -> None:
            reporter.waiting(message)

    return Watcher()


def progress_words(state: "State") -> str:
    """`3/12 · 2 accepted · 1 min 40 s left`."""
    left = "" if state.seconds_left is None else f" · {duration(state.seconds_left)} left"
    return f"{state.done}/{state.total} · {state.accepted} accepted{left}"


def duration(seconds: float) -> str:
    """`45 s`, `1 min 40 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def judged_line(row: "SuiteRow", state: "State") -> Text:
    """`3/12  accepted  basics/softmax torch_out  0.99x [0.98, 1.00]`, then what is known so far."""
    from hotlap.fleet.report import speedup_cell

    found = next(iter(row.speedups.values()), None)
    what = speedup_cell(found) if found else (row.reason or row.no_speedup or "").partition("\n")[0]
    name = f"{row.problem.partition('@')[0]} {row.sample}"
    left = "" if state.seconds_left is None else f" · {duration(state.seconds_left)} left"
    return Text.assemble(
        f"{state.done}/{state.total}  ",
        (row.status.value, STATUS_STYLES[row.status]),
        f"  {clean(name, one_line=True)}  {clean(what, one_line=True)}",
        (f"  {state.accepted} accepted{left}", "dim"),
    )


def _tell_strays(found: "Found") -> None:
    if found.strays:
        names = ", ".join(path.name for path in found.strays[:4])
        more = f" and {len(found.strays) - 4} more" if len(found.strays) > 4 else ""
        _say(f"warning: files that belong to no problem of this suite are not judged: {names}{more}")


# --- the report ------------------------------------------------------------------------------------


def _publish(
    header: "SuiteHeader",
    rows: "list[SuiteRow]",
    p_values: list[float],
    source: Path,
    folder: Path,
    *,
    as_json: bool,
) -> None:
    """The table on stdout, and the report's files in the folder. Raises UsageError."""
    from hotlap.fleet import generate
    from hotlap.fleet.results import report as table_of

    made = table_of(header, rows, p_values)
    writer = generate.read(source)
    if writer is not None:
        made = replace(made, notes=(*generate.notes(writer), *made.notes))
    document = _document(made, writer)
    try:
        written = _write(made, document, header, rows, folder)
    except OSError as error:
        raise UsageError(
            f"{error.filename}: cannot be written ({error.strerror}); give another --out"
        ) from None
    if as_json:
        console.print_json(document)
    else:
        _print(made)
    for path in written:
        _say(f"wrote {path}")


def _document(made: "SuiteReport", writer: "Generation | None") -> dict[str, Any]:
    """The report as JSON, with what wrote its samples: null where they were given."""
    from hotlap.schema import to_dict

    return to_dict(made) | {"generation": None if writer is None else to_dict(writer)}


def _write(
    made: "SuiteReport",
    document: dict[str, Any],
    header: "SuiteHeader",
    rows: "list[SuiteRow]",
    folder: Path,
) -> list[Path]:
    from hotlap.fleet import report as reports

    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "report.md", folder / "report.json"]
    written[0].write_text(reports.markdown(made, header, rows), encoding="utf-8")
    written[1].write_text(jsons.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if importlib.util.find_spec("pyarrow") is None:
        _say(reports.NO_PYARROW)
    else:
        reports.write_parquet(rows, header.baselines, folder / "rows.parquet")
        written.append(folder / "rows.parquet")
    if importlib.util.find_spec("matplotlib") is None:
        _say("no report.html: matplotlib is not installed; install it: pip install 'hotlap[plots]'")
        return written
    from hotlap.plots import fast_p
    from hotlap.plots.files import write_each

    (folder / "report.html").write_text(reports.page(made, header, rows), encoding="utf-8")
    written.append(folder / "report.html")
    if drawn := reports.curves(header, rows, made):
        written += write_each([fast_p.chart(drawn)], reports.provenance(made), f"{folder}/")
    return written


def _print(made: "SuiteReport") -> None:
    """What was judged, fast_p, several samples where there are some, and what to know."""
    from hotlap.fleet import report as reports

    out = console.stdout()
    out.print(_table(reports.count_heads(), [reports.count_cells(group) for group in made.groups]))
    out.print()
    out.print(_table(reports.fast_heads(reports.p_values(made)), reports.fast_rows(made), left=2))
    if at_k := reports.pass_rows(made):
        out.print()
        out.print(_table(reports.pass_heads(made.groups[0].pass_at_k[0]), at_k))
    out.print()
    for note in made.notes:
        out.print(Text(f"— {clean(note)}", style="dim"), soft_wrap=True)
    out.print(Text(clean(reports.lead(made)), style="bold"), soft_wrap=True)
    out.print(Text(clean(reports.where(made)), style="dim"))


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]], left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < left else "right")
    for row in rows:
        table.add_row(*(Text(clean(cell, one_line=True)) for cell in row))
    return table


def _say(message: str) -> None:
    console.stderr().print(clean(message, one_line=True), soft_wrap=True)
