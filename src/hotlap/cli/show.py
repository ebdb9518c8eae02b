"""`hotlap show`: one problem, as its author states it and as the referee holds it."""

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hotlap import text
from hotlap.cli import console, options
from hotlap.cli.options import short_name
from hotlap.model import Problem, TensorSpec
from hotlap.text import clean

EPILOG = options.examples(
    "hotlap show basics/softmax",
    "hotlap show basics/softmax --prototype",
    "hotlap show basics/softmax --prototype --lang cuda",
)


FOREIGN_PROTOTYPES = {
    "custom_kernel": "def custom_kernel(data):  # what generate_input makes -> what ref_kernel returns",
    "run": "def run(*inputs):  # or run(*inputs, *outputs): in the order of the definition",
    "ModelNew": "class ModelNew(torch.nn.Module):  # with the constructor and the forward of Model",
}


class PrototypeLanguage(StrEnum):
    """Languages whose prototypes differ."""

    cpp = "cpp"
    cuda = "cuda"
    python = "python"


def show(
    problem: options.ProblemName,
    prototype: Annotated[
        bool, typer.Option("--prototype", help="Only the prototype that a kernel implements.")
    ] = False,
    lang: Annotated[
        PrototypeLanguage, typer.Option("--lang", help="Language of the prototype.")
    ] = PrototypeLanguage.cpp,
    json: options.JsonFlag = False,
) -> None:
    """Show a problem: statement, signature, workloads, tolerance, cost."""
    from hotlap.problems.find import find

    found = find(problem)
    if json:
        console.print_json(description(found))
    elif prototype:
        texts = prototypes(found)
        print(clean(texts.get(lang, texts[PrototypeLanguage.python])))
    else:
        console.stdout().print(page(found))


def prototypes(problem: Problem) -> dict[PrototypeLanguage, str]:
    """What a kernel implements, in each language; a problem of another format has Python alone."""
    from hotlap.problems.prototype import c_prototype, python_prototype

    if problem.contract in FOREIGN_PROTOTYPES:
        return {PrototypeLanguage.python: FOREIGN_PROTOTYPES[problem.contract]}
    return {
        PrototypeLanguage.cpp: c_prototype(problem),
        PrototypeLanguage.cuda: c_prototype(problem, "cu"),
        PrototypeLanguage.python: python_prototype(problem),
    }


def description(problem: Problem) -> dict[str, Any]:
    """What `show --json` prints: the problem's fields, its id, its prototypes."""
    fields = asdict(problem) | {"folder": str(problem.folder)}
    texts = prototypes(problem)
    return {
        "id": problem.id,
        **fields,
        "c_prototype": texts.get(PrototypeLanguage.cpp),
        "cuda_prototype": texts.get(PrototypeLanguage.cuda),
        "python_prototype": texts[PrototypeLanguage.python],
        **({"task": task_fields(problem)} if problem.contract == "custom_kernel" else {}),
    }


def page(problem: Problem) -> Group:
    """The whole page of one problem."""
    if problem.contract != "kernel":
        return foreign_page(problem)
    texts = prototypes(problem)
    parts: list[RenderableType] = [
        Text.assemble((short_name(problem), "bold"), f"  {clean(problem.title)}"),
        Text(clean(f"{problem.id}  {' '.join(problem.tags)}"), style="dim"),
        Text(""),
        Markdown(clean(problem.statement)),
        _heading("tensors"),
        tensor_table(problem),
        _heading("python"),
        _code(texts[PrototypeLanguage.python]),
        _heading("c++"),
        _code(texts[PrototypeLanguage.cpp]),
        _heading("cuda"),
        _code(texts[PrototypeLanguage.cuda]),
        _heading("tolerance"),
        Text(clean(tolerance(problem))),
        _heading("cost of one call"),
        Text(clean(cost(problem))),
        _heading("workloads"),
        workload_table(problem),
        Text("\nhidden workloads are drawn in every run: checked, never timed", style="dim"),
        Text(f"next: hotlap init {clean(short_name(problem))}", style="dim"),
    ]
    return Group(*parts)


def foreign_page(problem: Problem) -> Group:
    """The page of a problem of another format: its tensors are known once a case is drawn."""
    parts: list[RenderableType] = [
        Text.assemble((short_name(problem), "bold"), f"  {clean(problem.title)}"),
        Text(clean(f"{problem.id}  {' '.join(problem.tags)}"), style="dim"),
        Text(""),
        Markdown(clean(problem.statement)),
        _heading("python"),
        _code(prototypes(problem)[PrototypeLanguage.python]),
    ]
    if problem.contract == "custom_kernel":
        parts += [_heading("cases"), case_table(problem), _heading("task.yml"), task_table(problem)]
        parts.append(Text("\nchecked by the folder's own check_implementation", style="dim"))
    else:
        parts += [_heading("tolerance"), Text(clean(tolerance(problem)))]
    parts.append(Text(f"next: hotlap check {clean(str(problem.folder))} kernel.py", style="dim"))
    return Group(*parts)


def case_table(problem: Problem) -> Table:
    """A row a case of a KernelBot folder: its number, what it is for, what generate_input receives."""
    from hotlap.problems.kernelbot import arguments, is_strict, read_task

    task = read_task(problem.folder)
    ranked = task.ranked()
    table = _plain_table("case", "kind", "arguments")
    for index, case in enumerate(task.cases):
        kind = "test" if index < len(task.tests) else "bench" if index in ranked else "bench, not ranked"
        said = " ".join(f"{name}={value!r}" for name, value in arguments(case, is_strict(problem)).items())
        table.add_row(*(Text(clean(cell)) for cell in (str(index), kind, said)))
    return table


def task_table(problem: Problem) -> Table:
    """What else task.yml says, a row a key."""
    table = _plain_table()
    for key, value in task_fields(problem).items():
        said = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        said = ", ".join(said) if isinstance(said, list) else str(said)
        table.add_row(Text(clean(key), style="dim"), Text(clean(said or text.ABSENT)))
    return table


def task_fields(problem: Problem) -> dict[str, Any]:
    """The rest of task.yml: what hotlap shows and does not use."""
    from hotlap.problems.kernelbot import read_task

    task = read_task(problem.folder)
    return {
        "ranking_by": task.ranking_by,
        "gpus": list(task.gpus),
        "files": list(task.files),
        "templates": {lang: str(path) for lang, path in task.templates.items()},
        "timeouts_s": dict(task.timeouts_s),
    }


def _heading(title: str) -> Text:
    return Text(f"\n{title}", style="bold")


def _code(source: str) -> Padding:
    return Padding(Text(clean(source).rstrip("\n")), (0, 0, 0, 2))


def tensor_table(problem: Problem) -> Table:
    """Inputs and outputs: role, name, dtype, shape."""
    table = _plain_table()
    for role, specs in (("in", problem.inputs), ("out", problem.outputs)):
        for spec in specs:
            cells = (role, spec.name, spec.dtype, shape(spec), _marks(spec))
            table.add_row(*(Text(clean(cell)) for cell in cells))
    return table


def shape(spec: TensorSpec) -> str:
    """`(rows, cols)`, or `scalar`."""
    if spec.shape is None:
        return "scalar"
    return f"({', '.join(map(str, spec.shape))}{',' if len(spec.shape) == 1 else ''})"


def _marks(spec: TensorSpec) -> str:
    marks = {"mutable": spec.mutable, "constant": spec.constant}
    return " ".join(mark for mark, holds in marks.items() if holds)


def tolerance(problem: Problem) -> str:
    """The bound that every element of an output must keep."""
    given = problem.tolerance
    line = f"|out - ref| <= atol + rtol*|ref|   rtol = {given.rtol}   atol = {given.atol}"
    return f"{line}   precision = {problem.precision}" if problem.precision else line


def cost(problem: Problem) -> str:
    """The formulas of compulsory bytes and arithmetic."""
    given = problem.cost
    flops = given.flops or text.ABSENT
    minimal = "  (minimal)" if given.flops and given.flops_are_minimal else ""
    return f"bytes = {given.bytes or text.ABSENT}   flops = {flops}{minimal}"


def workload_table(problem: Problem) -> Table:
    """A row a workload: device, kind, axes, bytes and flops of one call."""
    from hotlap.problems.shapes import cost as cost_of

    table = _plain_table("device", "kind", "axes", "bytes", "flops")
    for workload in problem.workloads:
        bytes_moved, flops = cost_of(problem, workload.axes)
        who = (workload.profile, workload.kind.value, text.axes(workload.axes))
        cells = (*who, text.si(bytes_moved, "B"), text.si(flops, "").strip())
        table.add_row(*(Text(clean(cell)) for cell in cells))
    return table


def _plain_table(*headers: str) -> Table:
    table = Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=bool(headers)
    )
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
