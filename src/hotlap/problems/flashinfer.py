"""A flashinfer-bench definition (JSON) and its workloads (JSON lines) -> Problem; its `run` is the reference.

A solution is a Python file that defines `run`, or a Solution JSON whose entry point is Python. It gets the
definition's inputs in their order, then its outputs to write into where it takes that many. The axis of a
case is its place in the file of workloads (docs/formats-flashinfer.md).
"""

import contextlib
import hashlib
import json
import re
import secrets
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hotlap.errors import DeviceError, ProblemError
from hotlap.model import (
    Cost,
    Kind,
    Problem,
    Status,
    TensorSpec,
    Tolerance,
    Verdict,
    Workload,
    WorkloadVerdict,
)
from hotlap.problems import tree
from hotlap.problems.dtypes import DTYPES, is_float
from hotlap.problems.native import PROFILES
from hotlap.problems.reference import BASELINE_FILE, Pinned, Reference
from hotlap.problems.table import Table, listing, show

if TYPE_CHECKING:
    import torch

CONTRACT = "run"
BOUND = "1e-2"  # rtol and atol of that project's own checks
SOURCES = ("random", "scalar", "safetensors")
KEYS = ("axes", "inputs", "outputs", "reference")  # by which a definition is told from other JSON
MAX_BYTES = 64 << 20
RANDOM_INTEGERS = (-128, 128)
_MODULE = "hotlap_definition"
_FILE = re.compile(r"[A-Za-z0-9_.-]{1,100}")


@dataclass(frozen=True)
class Tensor:
    """One input or output of a definition; shape: names of axes or numbers, None of a scalar."""

    name: str
    dtype: str
    shape: tuple[str | int, ...] | None

    def spec(self, axes: Mapping[str, int], mutable: bool = False) -> TensorSpec:
        if self.shape is None:
            return TensorSpec(self.name, self.dtype, None)
        sizes = tuple(size if isinstance(size, int) else axes[size] for size in self.shape)
        return TensorSpec(self.name, self.dtype, sizes, mutable)


@dataclass(frozen=True)
class Case:
    """One workload: the size of every axis, and where each input comes from."""

    uuid: str
    axes: Mapping[str, int]
    inputs: Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Definition:
    """A definition as it stands in its file."""

    path: Path
    name: str
    op_type: str
    tags: tuple[str, ...]
    description: str
    axes: Mapping[str, int | None]  # None: from each workload
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    reference: str


def recognises(path: Path) -> bool:
    """Whether a file is a definition, by its keys; it may have faults all the same."""
    try:
        is_small = path.is_file() and path.stat().st_size <= MAX_BYTES
        found = json.loads(path.read_bytes()) if is_small else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and all(key in found for key in KEYS)


def load(path: Path) -> Problem:
    """Read and check a definition and its workloads; nothing of it runs. Raises ProblemError."""
    path = path.resolve()
    definition = read_definition(path)
    file = workloads_file(definition)
    cases = read_cases(definition, file)
    digest = hashlib.sha256(path.read_bytes() + file.read_bytes()).hexdigest()[:12]
    return Problem(
        suite="flashinfer",
        name=re.sub(r"[^A-Za-z0-9_.-]+", "-", definition.name),
        version=digest,
        title=definition.name,
        folder=path,
        statement=f"{definition.description}\n\n```python\n{definition.reference.strip()}\n```\n",
        tags=("flashinfer", definition.op_type, *definition.tags),
        axes={"case": None},
        inputs=(),
        outputs=(),
        tolerance=Tolerance(BOUND, BOUND),
        cost=Cost(),
        workloads=tuple(Workload(Kind.bench, p, {"case": i}) for p in PROFILES for i in range(len(cases))),
        reference_dtype="native",
        contract=CONTRACT,
    )


def load_reference(problem: Problem) -> Reference:
    """Execute a definition's reference. Raises ProblemError, or DeviceError where a library is missing."""
    definition = read_definition(problem.folder)
    cases = read_cases(definition, workloads_file(definition))
    module = _execute(definition)
    run = getattr(module, CONTRACT, None)
    if not callable(run):
        raise ProblemError(f"{problem.folder}: reference: defines no function `run`; define it")
    bench = _Bench(definition, cases, run)
    files = {
        f"{_MODULE}.py": definition.reference.encode(),
        BASELINE_FILE: f"from {_MODULE} import {CONTRACT}\n".encode(),
    }
    return Reference(
        make_inputs=bench.make_inputs,
        reference=bench.reference,
        baselines={"reference": bench.reference},
        pin=bench.pin,
        baseline_files={"reference": files},
    )


# --- solutions and traces ------------------------------------------------------------------------


class SolutionError(Exception):
    """A Solution JSON that is not judged here; the text is for its author."""


def solution_source(text: str) -> tuple[str, str]:
    """File name and source of a Solution JSON's one Python file, its entry point named `run`.

    Raises SolutionError.
    """
    try:
        found = json.loads(text)
        entry, sources = found["spec"]["entry_point"], found["sources"]
        files = {str(source["path"]): str(source["content"]) for source in sources}
        file, _, function = str(entry).rpartition("::")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise SolutionError(
            "is no Solution: it needs spec.entry_point (file::function) and sources (path, content)"
        ) from None
    if (
        not _FILE.fullmatch(Path(file).name)
        or "\0" in files.get(file, "")
        or not _encodes(files.get(file, ""))
    ):
        raise SolutionError("has a file whose name or text no Python file can have")
    if len(files) != 1 or file not in files or not file.endswith(".py") or not function.isidentifier():
        raise SolutionError(
            f"has entry point {show(entry)} and files {listing(files)}; "
            "allowed: one Python file that holds its entry point"
        )
    named = "" if function == CONTRACT else f"\n\n{CONTRACT} = {function}\n"
    return Path(file).name, files[file] + named


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def solution_name(path: Path) -> str:
    """How traces call a solution: by its `name` in a Solution JSON, else by its file."""
    if path.suffix == ".json":
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            return str(json.loads(path.read_bytes())["name"])
    return path.stem


def traces(problem: Problem, verdict: Verdict, solution: str) -> list[dict[str, Any]]:
    """A Trace for each workload of a verdict on a definition, as flashinfer-bench writes them.

    Latency is the referee's time of a call, the reference's that of the definition's `run`. Where no workload
    was reached, each has the verdict's status.
    """
    definition = read_definition(problem.folder)
    cases = read_cases(definition, workloads_file(definition))
    judged = {w.axes["case"]: w for w in verdict.workloads if w.axes is not None}
    return [_trace(definition, case, judged.get(i), verdict, solution) for i, case in enumerate(cases)]


def _trace(
    definition: Definition, case: Case, judged: WorkloadVerdict | None, verdict: Verdict, solution: str
) -> dict[str, Any]:
    status = _trace_status(verdict, judged)
    correctness = performance = None
    if judged is not None and status in ("PASSED", "INCORRECT_NUMERICAL"):
        correctness = {
            "max_relative_error": judged.max_rel_error,
            "max_absolute_error": judged.max_abs_error,
        }
    if judged is not None and status == "PASSED" and judged.time_ns and judged.baseline_time_ns:
        performance = {
            "latency_ms": judged.time_ns.estimate / 1e6,
            "reference_latency_ms": judged.baseline_time_ns.estimate / 1e6,
            "speedup_factor": judged.speedup,
        }
    device = verdict.device
    libraries = {"torch": device.torch, "cuda": device.cuda, "hotlap": verdict.hotlap_version}
    given = {name: axis for name, axis in case.axes.items() if definition.axes[name] is None}
    return {
        "definition": definition.name,
        "solution": solution,
        "workload": {"uuid": case.uuid, "axes": given, "inputs": dict(case.inputs)},
        "evaluation": {
            "status": status,
            "log": verdict.reason or "",
            "correctness": correctness,
            "performance": performance,
            "environment": {
                "hardware": device.name,
                "libs": {name: version for name, version in libraries.items() if version},
            },
            "timestamp": verdict.started_at,
        },
    }


def _trace_status(verdict: Verdict, judged: WorkloadVerdict | None) -> str:
    """The nearest word of that format; what is void or suspect is no result, so RUNTIME_ERROR."""
    status = judged.status if judged is not None else str(verdict.status)
    if status in ("correct", "accepted"):
        return "PASSED" if verdict.status is Status.accepted else "RUNTIME_ERROR"
    said = (judged.error if judged is not None else None) or verdict.reason or ""
    if status == "wrong":
        kinds = {"dtype": "INCORRECT_DTYPE", "shape": "INCORRECT_SHAPE"}
        return next((word for what, word in kinds.items() if what in said), "INCORRECT_NUMERICAL")
    if "did not answer within" in said:
        return "TIMEOUT"
    return "COMPILE_ERROR" if "compile" in said or "SyntaxError" in said else "RUNTIME_ERROR"


# --- files ---------------------------------------------------------------------------------------


def read_definition(path: Path) -> Definition:
    """A definition. Raises ProblemError that names file and key."""
    top = Table(path, "", _object(path, _text(path)))
    axes = {name: _axis(top.table("axes"), name) for name in top.table("axes").values}
    return Definition(
        path,
        top.need("name", str),
        top.optional("op_type", str, ""),
        tuple(str(tag) for tag in top.optional("tags", list, [])),
        str(top.values.get("description") or ""),
        axes,
        _tensors(top, "inputs", axes),
        _tensors(top, "outputs", axes),
        top.need("reference", str),
    )


def workloads_file(definition: Definition) -> Path:
    """Where a definition's workloads are: beside it, or where a data set has them."""
    path = definition.path
    places = [path.with_suffix(".jsonl")]
    if len(path.parents) > 2:
        root = path.parents[2]
        places.append(root / "workloads" / path.parent.name / f"{path.stem}.jsonl")
    for place in places:
        if place.is_file():
            return place
    raise ProblemError(
        f"{path}: its workloads are at none of {listing(map(str, places))}; "
        "put them there, a JSON object a line"
    )


def read_cases(definition: Definition, file: Path) -> tuple[Case, ...]:
    """The workloads of a definition, in the order of their file. Raises ProblemError that names the line."""
    cases = []
    for number, line in enumerate(_text(file).splitlines(), 1):
        if line.strip():
            found = _object(file, line, number)
            if found.get("definition") not in (None, definition.name):
                continue
            inner = found.get("workload", found)
            table = Table(file, f"line {number}", inner if isinstance(inner, dict) else {})
            cases.append(_case(definition, table))
    if not cases:
        raise ProblemError(f"{file}: found no workload of {definition.name}; add one, a JSON object a line")
    return tuple(cases)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ProblemError(f"{path}: found more than {MAX_BYTES >> 20} MB; allowed: less")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"{path}: cannot be read as text ({error})") from None


def _object(path: Path, text: str, line: int = 0) -> dict[str, Any]:
    where = f"{path}:{line}" if line else str(path)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"{where}: found text that is not JSON ({error}); correct it") from None
    if not isinstance(found, dict):
        raise ProblemError(f"{where}: found {type(found).__name__}; allowed: a JSON object")
    return found


def _axis(axes: Table, name: str) -> int | None:
    axis = axes.table(name)
    if axis.choice("type", ("const", "var")) == "var":
        return None
    value = axis.need("value", int)
    if value < 1:
        raise axis.error("value", show(value), "a positive integer", "correct it")
    return value


def _tensors(top: Table, key: str, axes: Mapping[str, int | None]) -> tuple[Tensor, ...]:
    tables = top.table(key)
    if key == "outputs" and not tables.values:
        raise top.error(key, "none", "one or more", "state what `run` returns")
    return tuple(_tensor(tables.table(name), name, key, axes) for name in tables.values)


def _tensor(table: Table, name: str, role: str, axes: Mapping[str, int | None]) -> Tensor:
    dtype = table.choice("dtype", DTYPES)
    shape = table.values.get("shape")
    if shape is None:
        if role == "outputs":
            raise table.error("shape", "null", "an array", "hotlap judges tensors; give it a shape")
        return Tensor(name, dtype, None)
    if not isinstance(shape, list):
        raise table.error("shape", show(shape), "an array of axis names, or null", "correct it")
    for size in shape:
        if not (size in axes if isinstance(size, str) else type(size) is int and size > 0):
            raise table.error("shape", show(size), listing(axes), "name an axis of the definition")
    return Tensor(name, dtype, tuple(shape))


def _case(definition: Definition, table: Table) -> Case:
    given = table.table("axes")
    axes = {}
    for name, constant in definition.axes.items():
        axes[name] = given.need(name, int) if constant is None else constant
        if axes[name] < 1:
            raise given.error(name, show(axes[name]), "a positive integer", "correct it")
    inputs = table.table("inputs")
    sources = {}
    for tensor in definition.inputs:
        source = inputs.table(tensor.name)
        kind = source.choice("type", SOURCES)
        if (kind == "scalar") != (tensor.shape is None):
            wanted = "scalar" if tensor.shape is None else "random or safetensors"
            raise source.error("type", show(kind), wanted, "correct it")
        sources[tensor.name] = source.values
    return Case(table.need("uuid", str), axes, sources)


def _execute(definition: Definition) -> ModuleType:
    """The reference as a module under a name of its own."""
    name = f"hotlap_flashinfer_{secrets.token_hex(6)}"
    module = ModuleType(name)
    sys.modules[name] = module
    try:
        code = compile(definition.reference, f"{definition.path}:reference", "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, ModuleNotFoundError):
            raise DeviceError(
                f"{definition.path}: needs {error.name}, which is not installed; "
                f"run: pip install {error.name}"
            ) from None
        raise _fault(definition, error, "loading it") from error
    return module


def _fault(definition: Definition, error: BaseException, doing: str) -> ProblemError:
    file = f"{definition.path}:reference"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    said = str(error).strip()[:1000] or "no message"
    return ProblemError(
        f"{file}:{lines[-1] if lines else 1}: {doing}: raised {type(error).__name__}: {said}; correct it"
    )


# --- calls ---------------------------------------------------------------------------------------


class _Bench:
    """A definition's cases and its `run`."""

    def __init__(self, definition: Definition, cases: Sequence[Case], run: Any) -> None:
        self._definition, self._cases, self._run = definition, cases, run
        self._kept: dict[tuple[str, str], Any] = {}

    def pin(self, axes: Mapping[str, int], device: "str | torch.device") -> Pinned:
        case = self._cases[axes["case"]]
        outputs = tuple(tensor.spec(case.axes) for tensor in self._definition.outputs)
        plan = {
            "is_scalar": [tensor.shape is None for tensor in self._definition.inputs],
            "outputs": [(spec.name, spec.shape, spec.dtype) for spec in outputs],
        }
        inputs = tuple(tensor.spec(case.axes, mutable=True) for tensor in self._definition.inputs)
        return Pinned(inputs, outputs, tree.dump(plan)[0])

    def make_inputs(self, axes: Mapping[str, int], rng: Any, device: "str | torch.device") -> tuple[Any, ...]:
        case = self._cases[axes["case"]]
        return tuple(self._value(tensor, case, rng, device) for tensor in self._definition.inputs)

    def reference(self, *inputs: Any) -> Any:
        """What `run` answers, a dict in the order of the definition's outputs."""
        import torch

        try:
            with torch.no_grad():
                found = self._run(*inputs)
        except (Exception, SystemExit) as error:
            raise _fault(self._definition, error, "run") from error
        if isinstance(found, dict):
            missing = [tensor.name for tensor in self._definition.outputs if tensor.name not in found]
            if missing:
                raise ProblemError(
                    f"{self._definition.path}: reference: run gives no output {missing[0]!r}; "
                    f"allowed: {listing(tensor.name for tensor in self._definition.outputs)}"
                )
            return tuple(found[tensor.name] for tensor in self._definition.outputs)
        return found

    def _value(self, tensor: Tensor, case: Case, rng: Any, device: Any) -> Any:
        source = case.inputs[tensor.name]
        if tensor.shape is None:
            return _scalar(tensor, source["value"], self._definition.path)
        sizes = tensor.spec(case.axes).shape
        if source["type"] == "safetensors":
            return self._stored(tensor, case, device)
        if is_float(tensor.dtype):
            return rng.normal(sizes, dtype=tensor.dtype)
        low, high = (0, 2) if tensor.dtype == "bool" else RANDOM_INTEGERS
        if tensor.dtype == "uint8":
            low = 0
        return rng.integers(low, high, sizes, dtype=tensor.dtype)

    def _stored(self, tensor: Tensor, case: Case, device: Any) -> Any:
        """A tensor from a file: the same one in every call, so that an answer that was kept is not seen."""
        key = (case.uuid, tensor.name)
        if key not in self._kept:
            self._kept[key] = _read(self._definition, tensor, case.inputs[tensor.name])
        return self._kept[key].to(device)


def _scalar(tensor: Tensor, value: object, path: Path) -> object:
    kind = bool if tensor.dtype == "bool" else float if is_float(tensor.dtype) else int
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, bool | int | float):
        raise ProblemError(f"{path}: input {tensor.name}: found {show(value)}; allowed: a {kind.__name__}")
    return kind(value)


def _read(definition: Definition, tensor: Tensor, source: Mapping[str, object]) -> Any:
    try:
        from safetensors import safe_open
    except ModuleNotFoundError:
        raise DeviceError(
            f"{definition.path}: input {tensor.name} is in a file that needs safetensors; run: pip install "
            "safetensors"
        ) from None
    import torch

    place = Path(str(source.get("path", "")))
    roots = (definition.path.parent, *definition.path.parents[1:3])
    files = ((root, (root / place).resolve()) for root in roots)
    found = next((file for root, file in files if file.is_file() and file.is_relative_to(root)), None)
    if found is None:
        raise ProblemError(f"{definition.path}: input {tensor.name}: {place} is below none of its folders")
    try:
        with safe_open(str(found), framework="pt") as file:
            value = file.get_tensor(str(source.get("tensor_key", tensor.name)))
    except Exception as error:
        raise ProblemError(f"{found}: {tensor.name} cannot be read: {error}") from None
    return value.to(getattr(torch, tensor.dtype)).contiguous()
