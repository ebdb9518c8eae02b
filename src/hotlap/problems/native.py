"""A native problem: a folder with problem.toml, reference.py and statement.md -> Problem.

Everything that can be known without running reference.py is checked here, so that a bad file is told
apart from a bad submission before anything is judged.
"""

import hashlib
import json
import keyword
import math
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from hotlap.errors import ProblemError
from hotlap.model import Cost, Kind, Problem, TensorSpec, Tolerance, Workload
from hotlap.problems import expr, shapes
from hotlap.problems.dtypes import DTYPES, is_float
from hotlap.problems.source import Source, read_source
from hotlap.problems.table import Table, listing, nearest, show

D = TypeVar("D", str, None)

PROFILES = ("cpu", "gpu")
REFERENCE_DTYPES = ("float64", "native")
PRECISIONS = ("tf32",)

_TOP_KEYS = (
    *("title", "tags", "reference_dtype", "precision"),
    *("axes", "inputs", "outputs", "tolerance", "cost", "workloads"),
)
_VERSIONED_TABLES = ("axes", "inputs", "outputs", "tolerance", "cost", "workloads")
_INPUT_KEYS = ("name", "dtype", "shape", "mutable", "constant")
_OUTPUT_KEYS = ("name", "dtype", "shape")
_WORKLOAD_KEYS = ("kind", "profile")
_MAX_AXIS = 2**63 - 1  # kernels receive axes as int64_t

# Names become parameters and macros of generated C, C++ and Python, beside these.
_CPP_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool case catch char compl concept const consteval
constexpr constinit co_await co_return co_yield decltype default delete do double dynamic_cast enum
explicit export extern float friend goto inline int long mutable namespace new noexcept not_eq
nullptr operator or_eq private protected public register reinterpret_cast requires restrict short
signed sizeof static static_assert static_cast struct switch template this thread_local throw
typedef typeid typename typeof union unsigned using virtual void volatile wchar_t xor xor_eq int8_t
int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t half std main NULL errno
""".split()  # noqa: SIM905
_RESERVED = frozenset(
    (
        *_CPP_WORDS,
        *keyword.kwlist,
        *expr.FUNCTIONS,
        *_WORKLOAD_KEYS,
        *("eps", "eps_in", "kernel", "prepare", "stream", "torch"),
    )
)


def load(folder: Path) -> Problem:
    """Read and check a problem folder. Suite and name are those of the parent folder and the folder.

    Raises ProblemError that names file, key, what was found, what is allowed, and what to do next.
    """
    folder = folder.resolve()
    if not folder.is_dir():
        raise ProblemError(f"{folder}: no such folder; give the folder that holds problem.toml")
    top = _read_toml(folder / "problem.toml")
    top.only(_TOP_KEYS)
    statement = _read_text(folder / "statement.md", "write what to compute there")
    source = read_source(folder)
    axes = _axes(top.table("axes"))
    inputs = tuple(_input(table, axes) for table in top.tables("inputs"))
    outputs = tuple(_output(table, axes) for table in top.tables("outputs"))
    problem = Problem(
        suite=re.sub(r"[^A-Za-z0-9_.-]+", "-", folder.parent.name) or "local",
        name=_folder_name(folder),
        version=_version(top.values, source),
        title=_title(top),
        folder=folder,
        statement=statement,
        tags=_tags(top),
        axes=axes,
        inputs=inputs,
        outputs=outputs,
        tolerance=_tolerance(top, source, axes, inputs, outputs),
        cost=_cost(top, axes),
        workloads=tuple(_workload(table, axes) for table in top.tables("workloads")),
        reference_dtype=_choice_or(top, "reference_dtype", REFERENCE_DTYPES, "float64"),
        precision=_choice_or(top, "precision", PRECISIONS, None),
    )
    _check_names(problem, top)
    _check_workloads(problem, top)
    _check_values(problem, top)
    return problem


# --- files ---------------------------------------------------------------------------------------


def _read_text(file: Path, next_step: str) -> str:
    if file.exists() and not file.is_file():  # a pipe or a device could be read for ever
        raise ProblemError(f"{file}: is not a file; {next_step}")
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ProblemError(f"{file}: no such file; {next_step}") from None
    except UnicodeDecodeError as error:
        raise ProblemError(f"{file}: is not UTF-8 text ({error}); save it as UTF-8") from None
    except OSError as error:
        raise ProblemError(f"{file}: cannot be read ({error.strerror}); correct its permissions") from None


def _read_toml(file: Path) -> Table:
    text = _read_text(file, "write it, or give the folder that holds one")
    try:
        return Table(file, "", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise ProblemError(
            f"{file}: is not TOML ({error or 'nested too deeply'}); correct the syntax"
        ) from None


def _folder_name(folder: Path) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", folder.name):
        raise ProblemError(
            f"{folder}: found folder name {show(folder.name)}; allowed: letters, digits, _ . -; rename it"
        )
    return folder.name


def _version(values: Mapping[str, object], source: Source) -> str:
    """First 12 hex digits of a hash of all that decides what is computed and how it is judged."""
    decisive = {key: values.get(key) for key in _VERSIONED_TABLES}
    decisive |= {
        "reference_dtype": values.get("reference_dtype", "float64"),
        "precision": values.get("precision"),
    }
    digest = hashlib.sha256()
    for name, content in sorted(source.files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    # default=str: a date is refused later, with its key; here it only must not crash.
    digest.update(json.dumps(decisive, sort_keys=True, separators=(",", ":"), default=str).encode())
    return digest.hexdigest()[:12]


# --- tables --------------------------------------------------------------------------------------


def _choice_or(top: Table, key: str, allowed: tuple[str, ...], default: D) -> str | D:
    return top.choice(key, allowed) if key in top.values else default


def _title(top: Table) -> str:
    title = top.need("title", str)
    if not title.strip():
        raise top.error(
            "title", show(title), "a text that is not empty", "say what is computed in a few words"
        )
    return title


def _tags(top: Table) -> tuple[str, ...]:
    tags = top.optional("tags", list, [])
    for index, tag in enumerate(tags):
        if not isinstance(tag, str):
            raise top.error(f"tags[{index}]", show(tag), "a string", "write a string")
    return tuple(tags)


def _axes(table: Table) -> dict[str, int | None]:
    axes: dict[str, int | None] = {}
    for name, value in table.values.items():
        _check_name(table, name, name)
        if value == "var":
            axes[name] = None
        elif isinstance(value, str):
            raise table.error(
                name, show(value), '"var" or a positive integer', nearest(value, ["var"], 'write "var"')
            )
        else:
            axes[name] = _positive(table, name, '"var" or a positive integer')
    return axes


def _input(table: Table, axes: Mapping[str, int | None]) -> TensorSpec:
    table.only(_INPUT_KEYS)
    spec = TensorSpec(
        name=_spec_name(table),
        dtype=table.choice("dtype", DTYPES),
        shape=_shape(table, axes, may_be_scalar=True),
        mutable=table.optional("mutable", bool, False),
        constant=table.optional("constant", bool, False),
    )
    if spec.mutable and spec.constant:
        raise table.error(
            "constant", "an input that is mutable and constant", "at most one of both", "remove one"
        )
    if spec.shape is None and (spec.mutable or spec.constant):
        key = "mutable" if spec.mutable else "constant"
        raise table.error(key, "a scalar", "tensors only", f"remove {key}: a scalar is passed by value")
    if spec.name == "out":
        raise table.error(
            "name", "'out'", "any other name", "rename it: a kernel's parameter out is for outputs"
        )
    return spec


def _output(table: Table, axes: Mapping[str, int | None]) -> TensorSpec:
    table.only(_OUTPUT_KEYS)
    return TensorSpec(
        name=_spec_name(table),
        dtype=table.choice("dtype", DTYPES),
        shape=_shape(table, axes, may_be_scalar=False),
    )


def _spec_name(table: Table) -> str:
    name = table.need("name", str)
    _check_name(table, "name", name)
    return name


def _shape(table: Table, axes: Mapping[str, int | None], may_be_scalar: bool) -> tuple[str | int, ...] | None:
    allowed = "an array of axes, expressions over axes and positive integers"
    if may_be_scalar:
        allowed += ', or "scalar" for a Python number'
        if table.values.get("shape") == "scalar":
            return None
    if not isinstance(table.values.get("shape"), list):
        found = show(table.values["shape"]) if "shape" in table.values else "nothing"
        raise table.error(
            "shape", found, allowed, 'write for example shape = ["rows", "cols"], or [] for no dimensions'
        )
    return tuple(
        _dimension(table, f"shape[{i}]", size, axes) for i, size in enumerate(table.need("shape", list))
    )


def _dimension(table: Table, key: str, size: object, axes: Mapping[str, int | None]) -> str | int:
    if isinstance(size, str):
        _check_expression(table, key, size, axes)
        return size
    if type(size) is not int or size < 1:
        raise table.error(
            key, show(size), "an axis, an expression over axes, or a positive integer", "correct it"
        )
    return size


def _tolerance(
    top: Table,
    source: Source,
    axes: Mapping[str, int | None],
    inputs: tuple[TensorSpec, ...],
    outputs: tuple[TensorSpec, ...],
) -> Tolerance:
    if "tolerance" not in top.values:
        floats = [spec.name for spec in outputs if is_float(spec.dtype)]
        if floats and not source.defined & {"check", "tolerance"}:
            raise top.error(
                "tolerance",
                "nothing",
                "a table with rtol and atol",
                f"add [tolerance] for the floating output {', '.join(floats)}, "
                "or define check or tolerance in reference.py",
            )
        return Tolerance("0", "0")
    table = top.table("tolerance")
    table.only(("rtol", "atol"))
    has_float_input = any(spec.shape is not None and is_float(spec.dtype) for spec in inputs)
    names = [*axes, "eps", *(["eps_in"] if has_float_input else [])]
    return Tolerance(_expression(table, "rtol", names), _expression(table, "atol", names))


def _cost(top: Table, axes: Mapping[str, int | None]) -> Cost:
    if "cost" not in top.values:
        return Cost()
    table = top.table("cost")
    table.only(("bytes", "flops", "flops_are_minimal"))
    cost = Cost(
        bytes=_expression(table, "bytes", axes) if "bytes" in table.values else None,
        flops=_expression(table, "flops", axes) if "flops" in table.values else None,
        flops_are_minimal=table.optional("flops_are_minimal", bool, False),
    )
    if cost.flops_are_minimal and cost.flops is None:
        raise table.error(
            "flops_are_minimal", "true without flops", "true beside flops", "add flops or remove it"
        )
    return cost


def _workload(table: Table, axes: Mapping[str, int | None]) -> Workload:
    var = [name for name, constant in axes.items() if constant is None]
    for name in table.values:
        if axes.get(name) is not None:
            raise table.error(
                name, "a value for a constant axis", listing(var), f'remove it, or make axes.{name} "var"'
            )
    table.only((*_WORKLOAD_KEYS, *var))
    return Workload(
        kind=Kind(table.choice("kind", (Kind.test.value, Kind.bench.value))),
        profile=table.choice("profile", PROFILES),
        axes={name: _positive(table, name, "a positive integer") for name in var},
    )


def _positive(table: Table, key: str, allowed: str) -> int:
    value = table.need(key, int) if type(table.values.get(key)) is int or key not in table.values else None
    if value is None or not 1 <= value <= _MAX_AXIS:
        raise table.error(key, show(table.values[key]), allowed, "write an integer from 1 to 2**63 - 1")
    return value


def _expression(table: Table, key: str, names: Collection[str]) -> str:
    """An expression over `names` as text; a plain number is one too."""
    value = table.values.get(key)
    if type(value) is int or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if value is not None and not isinstance(value, str):
        raise table.error(
            key, show(value), "an expression over axes, or a number", 'write for example "8*rows*cols"'
        )
    text = table.need(key, str)
    _check_expression(table, key, text, names)
    return text


# --- checks across tables ------------------------------------------------------------------------


def _check_name(table: Table, key: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", name):
        allowed = "a letter, then at most 39 letters, digits or _"
        raise table.error(key, show(name), allowed, "rename it: it becomes a C parameter")
    if name in _RESERVED:
        allowed = "names that mean nothing in C++, Python, expressions or workloads"
        raise table.error(key, show(name), allowed, f"rename it, to {name}_ for example")


def _check_expression(table: Table, key: str, text: str, names: Collection[str]) -> None:
    try:
        unknown = sorted(expr.names_in(text) - set(names))
    except ProblemError as error:
        raise ProblemError(f"{table.file}: {table.place(key)}: {error}") from None
    if unknown:
        next_step = nearest(unknown[0], names, f"add {unknown[0]} to [axes]")
        raise table.error(key, f"unknown name {unknown[0]!r} in {show(text)}", listing(names), next_step)


def _check_names(problem: Problem, top: Table) -> None:
    """Axes, inputs and outputs share one name space: they are parameters and macros of one C function."""
    places = {name: f"axes.{name}" for name in problem.axes}
    for kind, specs in (("inputs", problem.inputs), ("outputs", problem.outputs)):
        for index, spec in enumerate(specs):
            place = f"{kind}[{index}].name"
            if spec.name in places:
                found = f"{spec.name!r}, which {places[spec.name]} has too"
                raise top.error(
                    place, found, "each name once among axes, inputs and outputs", "rename one of them"
                )
            places[spec.name] = place


def _check_workloads(problem: Problem, top: Table) -> None:
    seen: dict[tuple[object, ...], int] = {}
    for index, workload in enumerate(problem.workloads):
        identity = (workload.kind, workload.profile, *workload.axes.values())
        if identity in seen:
            raise top.error(
                f"workloads[{index}]",
                f"the same as workloads[{seen[identity]}]",
                "each workload once",
                "remove one",
            )
        seen[identity] = index
    for profile in dict.fromkeys(workload.profile for workload in problem.workloads):
        kinds = [workload.kind for workload in problem.workloads if workload.profile == profile]
        if Kind.bench not in kinds:
            raise top.error(
                "workloads",
                f"profile {profile!r} without a workload of kind 'bench'",
                "at least one for every profile used",
                f'add one with kind = "bench" and profile = "{profile}"',
            )


def _check_values(problem: Problem, top: Table) -> None:
    """Evaluate every expression for every workload, so that none fails while judging."""
    for index, workload in enumerate(problem.workloads):
        axes = shapes.all_axes(problem, workload.axes)
        try:
            for spec in (*problem.inputs, *problem.outputs):
                shapes.elements_of(spec, axes)
            shapes.cost(problem, axes)
            for spec in problem.outputs:
                shapes.tolerance(problem, spec, axes)
        except ProblemError as error:
            raise ProblemError(f"{top.file}: workloads[{index}]: {error}") from None
