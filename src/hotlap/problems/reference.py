"""Run a problem's reference.py: its inputs, its answers, and draws of hidden workloads.

reference.py belongs to the problem's author and is trusted like hotlap itself. What goes wrong in it is a
ProblemError with its file and line, never the submission's fault.
"""

import itertools
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from hotlap.errors import DeviceError, HotlapError, OutOfDeviceMemory, ProblemError
from hotlap.model import Kind, Problem, TensorSpec
from hotlap.problems import shapes
from hotlap.problems.dtypes import is_float
from hotlap.problems.source import REFERENCE, read_source
from hotlap.problems.table import listing, show

if TYPE_CHECKING:
    import torch

Function = Callable[..., Any]

BASELINE_FILE = "hotlap_baseline.py"  # of a foreign problem: imports its own code and defines what is called

# Loading changes sys.modules and sys.meta_path: two loads at once could take each other's helper modules.
_loading = threading.Lock()
_load_numbers = itertools.count(1)


class Pinned(NamedTuple):
    """The tensors of one case of a foreign problem, in the order of its flattened trees.

    call: the arguments without their tensors, as a contestant needs them (`hotlap.problems.tree`). check,
    reference: those of this case, in the place of the reference's own.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    call: bytes
    check: Function | None = None
    reference: Function | None = None


@dataclass(frozen=True)
class Reference:
    """The functions of a reference.py (DESIGN: make_inputs and reference always, the rest where defined).

    Of a foreign problem also: `pin`, which tells the tensors of a case on a device; `beside`, the files that
    a submission may import; `baseline_files`, those of each baseline, which begins in BASELINE_FILE.
    """

    make_inputs: Function
    reference: Function
    baselines: Mapping[str, Function]  # `baseline` and `baseline_*`, in order of definition
    check: Function | None = None
    tolerance: Function | None = None
    hidden: Function | None = None
    pin: Callable[[Mapping[str, int], Any], Pinned] | None = None
    beside: Mapping[str, bytes] = field(default_factory=dict)
    baseline_files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)


class Bound(NamedTuple):
    """A problem and its reference for one workload; call: see Pinned, None of a native problem."""

    problem: Problem
    reference: Reference
    call: bytes | None


def pinned(problem: Problem, reference: Reference, axes: Mapping[str, int], device: Any) -> Bound:
    """The problem with the tensors that it has for these axes; a native one as it is.

    Raises ProblemError, and DeviceError for what this device cannot do.
    """
    if reference.pin is None:
        return Bound(problem, reference, None)
    found = reference.pin(axes, device)
    return Bound(
        replace(problem, inputs=found.inputs, outputs=found.outputs),
        replace(
            reference,
            check=found.check or reference.check,
            reference=found.reference or reference.reference,
        ),
        found.call,
    )


def load_reference(problem: Problem) -> Reference:
    """Execute reference.py as a module of its own, its folder importable only meanwhile. A foreign
    problem has what its own format says.

    Raises ProblemError with file and line if it raises, DeviceError if torch is not installed.
    """
    if problem.contract == "custom_kernel":
        from hotlap.problems import kernelbot  # it needs this module

        return kernelbot.load_reference(problem)
    if problem.contract == "ModelNew":
        from hotlap.problems import kernelbench

        return kernelbench.load_reference(problem)
    if problem.contract == "run":
        from hotlap.problems import flashinfer

        return flashinfer.load_reference(problem)
    path = problem.folder / REFERENCE
    source = read_source(problem.folder)
    name = re.sub(r"\W", "_", f"hotlap_reference_{problem.suite}_{problem.name}_{next(_load_numbers)}")
    module = ModuleType(name)
    module.__file__ = str(path)
    with _loading, _importable(problem.folder, source.local_modules):
        # It stays in sys.modules: torch.compile, Triton and dataclasses look a function's module up there.
        sys.modules[name] = module
        try:
            exec(compile(source.files[REFERENCE], str(path), "exec", dont_inherit=True), module.__dict__)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            if isinstance(error, ModuleNotFoundError) and error.name == "torch":
                raise DeviceError(
                    f"{path}: needs torch, which is not installed; run: pip install torch"
                ) from None
            _blame(problem, error, "loading it")
    return _functions(module, path)


def make_inputs(
    reference: Reference, problem: Problem, axes: Mapping[str, int], rng: Any, device: "str | torch.device"
) -> tuple[Any, ...]:
    """Fresh inputs in [[inputs]] order: contiguous tensors on `device`, scalars as Python numbers.

    make_inputs of reference.py sees every axis, constants too. Only metadata is validated, values never.
    Raises ProblemError if it raises, or gives another count, type, dtype, shape, layout or device.
    """
    import torch

    full_axes = shapes.all_axes(problem, axes)
    try:
        made = reference.make_inputs(dict(full_axes), rng, device)
    except (Exception, SystemExit) as error:
        _blame(problem, error, f"make_inputs for {_text(axes)}")
    where = f"{problem.folder / REFERENCE}: make_inputs for {_text(axes)}"
    if not isinstance(made, tuple | list):
        raise ProblemError(
            f"{where}: found {type(made).__name__}; allowed: a tuple; return the inputs as a tuple"
        )
    if len(made) != len(problem.inputs):
        names = listing(spec.name for spec in problem.inputs)
        raise ProblemError(
            f"{where}: found {len(made)} inputs; allowed: {len(problem.inputs)} ({names}); "
            "return one for each [[inputs]]"
        )
    device_type = torch.device(device).type
    for spec, value in zip(problem.inputs, made, strict=True):
        wrong = (
            _scalar_fault(spec, value)
            if spec.shape is None
            else _tensor_fault(spec, value, full_axes, device_type)
        )
        if wrong:
            raise ProblemError(f"{where}: input {spec.name}: {wrong}")
    return tuple(made)


def compute_reference(
    reference: Reference, problem: Problem, inputs: tuple[Any, ...], axes: Mapping[str, int] | None = None
) -> "tuple[torch.Tensor, ...]":
    """The right outputs in [[outputs]] order, in float64 where the answer is floating.

    Floating tensors reach `reference` cast to float64 (unless reference_dtype is "native"), the rest as
    they are. Without `axes` they are read off the inputs' shapes, and what these do not tell is not checked.
    Raises ProblemError if it raises, writes to its inputs, or gives another count, type or shape.
    """
    import torch

    exact = problem.reference_dtype == "float64"
    arguments = [
        value.to(torch.float64)
        if exact and isinstance(value, torch.Tensor) and value.is_floating_point()
        else value
        for value in inputs
    ]
    versions = [_writes(value) for value in inputs]
    try:
        result = reference.reference(*arguments)
    except (Exception, SystemExit) as error:
        _blame(problem, error, "reference")
    where = f"{problem.folder / REFERENCE}: reference"
    for spec, value, before in zip(problem.inputs, inputs, versions, strict=True):
        if _writes(value) != before:
            raise ProblemError(
                f"{where}: found a write to input {spec.name}; inputs are shared; clone it first"
            )
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    if len(outputs) != len(problem.outputs):
        names = listing(spec.name for spec in problem.outputs)
        raise ProblemError(
            f"{where}: found {len(outputs)} outputs; allowed: {len(problem.outputs)} ({names}); "
            "return one for each [[outputs]]"
        )
    known = _axes_of(problem, inputs) if axes is None else shapes.all_axes(problem, axes)
    for spec, value in zip(problem.outputs, outputs, strict=True):
        if wrong := _output_fault(spec, value, known):
            raise ProblemError(f"{where}: output {spec.name}: {wrong}")
    return tuple(output.detach() for output in outputs)


def hidden_axes(
    reference: Reference, problem: Problem, rng: Any, profile: str, n: int = 3
) -> list[dict[str, int]]:
    """Axes of n hidden workloads, drawn around the bench ones of a profile in turn; [] without `hidden`.

    Raises ProblemError if a draw is not valid axes, or has more input and output elements than the
    largest bench workload of the profile.
    """
    if reference.hidden is None:
        return []
    bench = [w.axes for w in problem.workloads if w.kind is Kind.bench and w.profile == profile]
    if not bench:
        raise ProblemError(
            f"{problem.folder / 'problem.toml'}: workloads: found no bench workload of profile {profile!r}; "
            "add one to judge on this device"
        )
    largest = max(_elements(problem, axes) for axes in bench)
    return [_hidden_draw(reference.hidden, problem, bench[i % len(bench)], rng, largest) for i in range(n)]


# --- loading -------------------------------------------------------------------------------------


class _UncachedLoader(SourceFileLoader):
    """Always compiles the source: stale bytecode would compute what the version does not say."""

    def path_stats(self, path: Any) -> NoReturn:
        raise OSError("no bytecode")


class _FolderFinder(MetaPathFinder):
    """Finds exactly the modules of the folder that reference.py was seen to import."""

    def __init__(self, folder: Path, modules: frozenset[str]) -> None:
        self._folder = folder
        self._modules = modules

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        parts = fullname.split(".")
        if parts[0] not in self._modules:
            return None
        stem = self._folder.joinpath(*parts)
        package, file = stem / "__init__.py", stem.with_name(stem.name + ".py")
        if package.is_file():
            loader = _UncachedLoader(fullname, str(package))
            return spec_from_file_location(
                fullname, package, loader=loader, submodule_search_locations=[str(stem)]
            )
        if file.is_file():
            return spec_from_file_location(fullname, file, loader=_UncachedLoader(fullname, str(file)))
        return None


@contextmanager
def _importable(folder: Path, modules: frozenset[str]) -> Iterator[None]:
    """Let `modules` be imported from the folder, then forget them: other problems may use their names."""
    finder = _FolderFinder(folder, modules)
    shadowed = _take_modules(modules)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _take_modules(modules)
        sys.modules.update(shadowed)


def _take_modules(names: frozenset[str]) -> dict[str, ModuleType]:
    loaded = [name for name in sys.modules if name.partition(".")[0] in names]
    return {name: sys.modules.pop(name) for name in loaded}


def _functions(module: ModuleType, path: Path) -> Reference:
    names = [name for name in vars(module) if name == "baseline" or name.startswith("baseline_")]
    names += ["make_inputs", "reference", "check", "tolerance", "hidden"]
    found = {name: getattr(module, name) for name in names if hasattr(module, name)}
    for name, value in found.items():
        if not callable(value):
            raise ProblemError(
                f"{path}: {name}: found {show(value)}; allowed: a function; define it with def, or rename it"
            )
    for name in ("make_inputs", "reference"):
        if name not in found:
            raise ProblemError(f"{path}: {name}: is gone once the file has run; define it at the top level")
    rest = {
        name: found.pop(name, None) for name in ("make_inputs", "reference", "check", "tolerance", "hidden")
    }
    return Reference(baselines=found, **rest)


# --- faults --------------------------------------------------------------------------------------


def _blame(problem: Problem, error: BaseException, doing: str) -> NoReturn:
    """Raise ProblemError for what reference.py raised, with the last line of its own on the way.

    Raises OutOfDeviceMemory instead where a GPU's memory did not suffice: that is no fault of the problem's.
    """
    if isinstance(error, HotlapError):
        raise error  # of our own code, in the midst of theirs
    if type(error).__name__ == "OutOfMemoryError":
        raise OutOfDeviceMemory(
            f"{problem.id}: {doing} needs more memory than the GPU has left: {error}"
        ) from error
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(problem.folder)]
    file, line = (own[-1].filename, own[-1].lineno) if own else (problem.folder / REFERENCE, 1)
    message = str(error).strip() or "no message"
    raise ProblemError(
        f"{file}:{line}: {doing}: raised {type(error).__name__}: {message[:1000]}; correct it"
    ) from error


def _scalar_fault(spec: TensorSpec, value: object) -> str | None:
    wanted = bool if spec.dtype == "bool" else float if is_float(spec.dtype) else int
    if type(value) is not wanted:
        return (
            f"found {type(value).__name__} {show(value)}; allowed: a Python {wanted.__name__} "
            f"for a scalar of dtype {spec.dtype}; convert it with {wanted.__name__}(...)"
        )
    if wanted is int and isinstance(value, int) and not -(2**63) <= value < 2**63:
        return f"found {show(value)}; allowed: what int64_t holds; draw a smaller number"
    return None


def _tensor_fault(spec: TensorSpec, value: object, axes: Mapping[str, int], device_type: str) -> str | None:
    import torch

    if not isinstance(value, torch.Tensor):
        return f"found {type(value).__name__}; allowed: a torch tensor; return what rng gives"
    if value.dtype != getattr(torch, spec.dtype):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"found dtype {dtype}; allowed: {spec.dtype}; pass dtype={spec.dtype!r} to rng, or convert it"
    shape = shapes.shape_of(spec, axes)
    if tuple(value.shape) != shape:
        return f"found shape {tuple(value.shape)}; allowed: {shape}; make it of this shape"
    if value.layout != torch.strided or not value.is_contiguous():
        return (
            f"found strides that are not contiguous for shape {shape}; allowed: C order; call .contiguous()"
        )
    if value.device.type != device_type:
        return f"found a tensor on {value.device.type}; allowed: {device_type}; make it on the given device"
    return None


def _output_fault(spec: TensorSpec, value: object, axes: Mapping[str, int]) -> str | None:
    import torch

    if not isinstance(value, torch.Tensor):
        return f"found {type(value).__name__}; allowed: a torch tensor; return a tensor"
    if not is_float(spec.dtype) and (value.is_floating_point() or value.is_complex()):
        return (
            f"found {value.dtype} for an output of dtype {spec.dtype}; allowed: integers or bool; convert it"
        )
    try:
        shape: tuple[int, ...] | None = shapes.shape_of(spec, axes)
    except ProblemError:
        shape = None  # the inputs do not tell every axis
    if shape is not None and tuple(value.shape) != shape:
        return f"found shape {tuple(value.shape)}; allowed: {shape}; correct reference or [[outputs]]"
    return None


def _writes(value: object) -> int | None:
    """How often a tensor was written in place; None where torch does not count."""
    import torch

    return int(value._version) if isinstance(value, torch.Tensor) and not value.is_inference() else None


def _axes_of(problem: Problem, inputs: tuple[Any, ...]) -> dict[str, int]:
    """Constants, and the axes that are a size of some input as they stand."""
    known = {name: constant for name, constant in problem.axes.items() if constant is not None}
    for spec, value in zip(problem.inputs, inputs, strict=True):
        for name, size in zip(spec.shape or (), getattr(value, "shape", ()), strict=False):
            if isinstance(name, str) and name in problem.axes:
                known.setdefault(name, int(size))
    return known


# --- hidden workloads ----------------------------------------------------------------------------


def _hidden_draw(
    hidden: Function, problem: Problem, around: Mapping[str, int], rng: Any, largest: int
) -> dict[str, int]:
    try:
        drawn = hidden(dict(around), rng)
    except (Exception, SystemExit) as error:
        _blame(problem, error, f"hidden for {_text(around)}")
    where = f"{problem.folder / REFERENCE}: hidden for {_text(around)}"
    var = [name for name, constant in problem.axes.items() if constant is None]
    if not isinstance(drawn, Mapping) or set(drawn) != set(var):
        raise ProblemError(
            f"{where}: found {show(drawn)}; allowed: a dict of exactly {listing(var)}; return this"
        )
    for name in var:
        if type(drawn[name]) is not int or drawn[name] < 1:
            raise ProblemError(
                f"{where}: {name}: found {show(drawn[name])}; allowed: a positive int; "
                "convert it with int(...)"
            )
    axes = {name: drawn[name] for name in var}
    try:
        elements = _elements(problem, axes)
    except ProblemError as error:
        raise ProblemError(f"{where}: {error}") from None
    if elements > largest:
        raise ProblemError(
            f"{where}: found {_text(axes)}, {elements} input and output elements; allowed: at most "
            f"{largest}, as the largest bench workload; draw smaller axes"
        )
    return axes


def _elements(problem: Problem, axes: Mapping[str, int]) -> int:
    full_axes = shapes.all_axes(problem, axes)
    return sum(shapes.elements_of(spec, full_axes) for spec in (*problem.inputs, *problem.outputs))


def _text(axes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in axes.items()) or "no axes"
