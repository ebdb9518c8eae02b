"""A KernelBench file (`Model`, `get_inputs`, `get_init_inputs`) -> Problem, and its Model as the reference.

The file is used as it is: a module of its own, never in one namespace with a submission. Every seed is
secret; the contestant gets the weights, not what Model makes of an input. Only floating tensors are cast. The
truth is Model in float64 where that gives what Model gives, else Model itself (docs/formats-kernelbench.md).
"""

import ast
import contextlib
import hashlib
import inspect
import io
import pickle
import random
import re
import secrets
import sys
import threading
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from hotlap.errors import DeviceError, HotlapError, OutOfDeviceMemory, ProblemError
from hotlap.model import Cost, Kind, Problem, TensorSpec, Tolerance, Workload
from hotlap.problems import tree
from hotlap.problems.devices import cuda_means
from hotlap.problems.dtypes import DTYPES
from hotlap.problems.native import PROFILES
from hotlap.problems.reference import BASELINE_FILE, Pinned, Reference
from hotlap.problems.source import bound_names
from hotlap.problems.table import listing, nearest

if TYPE_CHECKING:
    import torch

CONTRACT = "ModelNew"
BASELINE = "Model"
WEIGHTS = "hotlap_weights.pt"  # beside a submission; the same name as in hotlap.contestant.modelnew
_BASELINE_MODULE = "hotlap_model"
# |out - ref| <= bound + bound*|ref|, as in the original; `strict` has a bound for 0 of its own (`_atol`).
BOUNDS: Mapping[str, Mapping[str, str]] = {
    "kb-main": {"float32": "1e-4", "float16": "1e-2", "bfloat16": "1e-2"},
    "kb-v0": {"float32": "1e-2", "float16": "1e-2", "bfloat16": "1e-2"},
    "strict": {"float32": "1e-4", "float16": "1e-2", "bfloat16": "1e-2"},
}
SHRUNK = "# shrunk by hotlap: "  # the first line of a file that `shrink` wrote, and then what it changed

_torch_state = threading.RLock()  # random numbers come from global generators: one call at a time
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NUMBERED = re.compile(r"(\d+)_(.+)")
_DRAWS = 2  # calls that are made of a new case, to see how large its answers and its errors are
_ERROR_FACTOR = 4.0  # strict: an answer may err this much more than Model itself does
_NO_OBJECTS = "found objects that no other process can have; allowed: tensors, numbers, strings, lists, dicts"


class Identity(NamedTuple):
    """What the name of a file says: KernelBench/level2/12_Some_Name.py is level 2, id 12, "Some Name"."""

    level: int | None
    id: int | None
    title: str


def recognises(path: Path) -> bool:
    """Whether a file is a KernelBench problem, by what it defines; it may have faults all the same."""
    try:
        names = _defined(ast.parse(path.read_bytes(), filename=str(path))) if path.is_file() else {}
    except (OSError, SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return "get_inputs" in names or "Model" in names


def identity(path: Path) -> Identity:
    """Level, id and title by the names of folder and file; None for what they do not say."""
    level = re.fullmatch(r"level_?(\d+)", path.parent.name)
    number = _NUMBERED.fullmatch(path.stem)
    words = number[2] if number else path.stem
    return Identity(
        int(level[1]) if level else None,
        int(number[1]) if number else None,
        re.sub(r"[_\s]+", " ", words).strip() or path.stem,
    )


def load_level(folder: Path) -> list[Path]:
    """The numbered files of a level's folder in order of their ids. Raises ProblemError if there are none."""
    files = [file for file in folder.glob("*.py") if _NUMBERED.fullmatch(file.stem)]
    if not files:
        raise ProblemError(
            f"{folder}: found no file named like 1_Name.py; give the folder of a level, such as "
            "KernelBench/level1"
        )
    return sorted(files, key=lambda file: (identity(file).id or 0, file.name))


def load(path: Path, *, tolerance: str = "kb-main", dtype: str = "float32", training: bool = True) -> Problem:
    """Read and check one file; nothing of it runs.

    tolerance: kb-main, kb-v0 or strict. dtype: of all floating tensors, weights too. training: whether Model
    is in train mode, as the original harness has it. Raises ProblemError with file and line.
    """
    path = path.resolve()
    for name, given, allowed in (("tolerance", tolerance, BOUNDS), ("dtype", dtype, BOUNDS["kb-main"])):
        if given not in allowed:
            remedy = nearest(given, allowed, "choose one of these")
            raise ProblemError(f"{name}: found {given!r}; allowed: {listing(allowed)}; {remedy}")
    if not _FILE_NAME.fullmatch(path.stem):
        raise ProblemError(
            f"{path}: found file name {path.stem!r}; allowed: letters, digits, _ . -; rename the file"
        )
    text, module = parsed(path)
    entry = problem_class(path, module)
    said = identity(path)
    is_shrunk = text.startswith(SHRUNK)
    bound = BOUNDS[tolerance][dtype]
    settings = (tolerance, dtype, "train" if training else "eval")
    return Problem(
        suite="kernelbench" if said.level is None else f"kernelbench-level{said.level}",
        name=path.stem,
        version="".join(f"{word}-" for word in (*["shrunk"] * is_shrunk, *_named(settings)))
        + _version(text, settings),
        title=said.title + (" (shrunk)" if is_shrunk else ""),
        folder=path,
        statement=_statement(module, entry, text),
        tags=("kernelbench", *settings, *(["shrunk"] if is_shrunk else [])),
        axes={"case": None},
        inputs=(),
        outputs=(),
        tolerance=Tolerance(bound, "0" if tolerance == "strict" else bound),
        cost=Cost(),
        workloads=tuple(Workload(Kind.bench, profile, {"case": 0}) for profile in PROFILES),
        reference_dtype="native",  # what is cast to float64, and whether, is decided here
        contract=CONTRACT,
    )


def load_reference(problem: Problem) -> Reference:
    """Execute the file and take its functions. Raises ProblemError with file and line, or DeviceError where a
    library that it imports is missing."""
    path = problem.folder
    entry = problem_class(path, parsed(path)[1])
    module = _execute(path)
    for name in (entry, "get_inputs"):
        if not callable(getattr(module, name, None)):
            raise ProblemError(f"{path}:1: {name}: is gone once the file has run; define it at the top level")
    bench = Bench(problem, module, getattr(module, entry))
    beside = {WEIGHTS: bench.weights}
    baseline = f"from {_BASELINE_MODULE} import {entry} as {CONTRACT}\n".encode()
    files = {f"{_BASELINE_MODULE}.py": path.read_bytes(), BASELINE_FILE: baseline}
    return Reference(
        make_inputs=bench.make_inputs,
        reference=bench.reference,
        baselines={BASELINE: bench.reference},
        tolerance=bench.tolerance if "strict" in problem.tags else None,
        pin=bench.pin,
        beside=beside,
        baseline_files={BASELINE: beside | files},
    )


# --- source --------------------------------------------------------------------------------------


def parsed(path: Path) -> tuple[str, ast.Module]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path}: is not UTF-8 text ({error}); save it as UTF-8") from None
    except OSError as error:
        raise ProblemError(f"{path}: cannot be read ({error.strerror}); correct the path") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again when the file runs
            return text, ast.parse(text, filename=str(path))
    except SyntaxError as error:
        raise ProblemError(f"{path}:{error.lineno or 1}: {error.msg}; correct the syntax") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise ProblemError(f"{path}: is not Python source ({error}); correct it") from None


def _defined(module: ast.Module) -> dict[str, int]:
    """Names bound at the top level, each with its line."""
    return {name: node.lineno for node in module.body for name in bound_names(node)}


def problem_class(path: Path, module: ast.Module) -> str:
    """The name of the class that is the problem: Model; in rows of KernelBook, which calls it otherwise, the
    class that the file is named after, or its only one. Raises ProblemError."""
    names = _defined(module)
    if "get_inputs" not in names:
        raise ProblemError(
            f"{path}:1: get_inputs: not defined at the top level; found {listing(names)}; "
            "define get_inputs() that returns the list of forward's arguments"
        )
    classes = [node.name for node in module.body if isinstance(node, ast.ClassDef) and node.bases]
    number = _NUMBERED.fullmatch(path.stem)
    for name in ("Model", path.stem, number[2] if number else ""):
        if name in names:
            return name
    if len(classes) != 1:
        raise ProblemError(
            f"{path}:1: Model: not defined at the top level; found "
            f"{'classes ' + listing(classes) if classes else 'no class'}; name the class Model, or the file "
            "after it"
        )
    return classes[0]


def _named(settings: tuple[str, ...]) -> list[str]:
    """The settings that are not the default ones: a verdict is told apart by them."""
    return [
        word
        for word, default in zip(settings, ("kb-main", "float32", "train"), strict=True)
        if word != default
    ]


def _version(text: str, settings: tuple[str, ...]) -> str:
    """First 12 hex digits of a hash of the source, and of what is not as the original has it."""
    digest = hashlib.sha256(text.encode())
    if settings != ("kb-main", "float32", "train"):
        digest.update("\0".join(("", *settings)).encode())
    return digest.hexdigest()[:12]


def _statement(module: ast.Module, entry: str, text: str) -> str:
    told = next((n for n in module.body if isinstance(n, ast.ClassDef) and n.name == entry), None)
    docstring = (ast.get_docstring(told) if told else None) or ""
    return (
        f"{docstring}\n\nWrite `class ModelNew(nn.Module)` with the constructor and the forward of `{entry}`:"
        f"\n\n```python\n{text.strip()}\n```\n"
    ).lstrip()


# --- execution -----------------------------------------------------------------------------------


def _execute(path: Path) -> ModuleType:
    """The file as a module under a name of its own, where torch.compile, Triton and pickle find it."""
    name = f"hotlap_kernelbench_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{secrets.token_hex(4)}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, ModuleNotFoundError):
            raise DeviceError(
                f"{path}: needs {error.name}, which is not installed; run: pip install {error.name}"
            ) from None
        raise _fault(path, error, "loading it") from error
    return module


def _fault(path: Path, error: BaseException, doing: str) -> Exception:
    """What the file raised, as a ProblemError with the last line of its own on the way; a full GPU is no
    fault of the file's."""
    if isinstance(error, DeviceError):  # more memory than there is, said by `cuda_means`
        return DeviceError(f"{path}: {doing}: {error}; shrink it (docs/formats-kernelbench.md)")
    if isinstance(error, HotlapError):
        return error
    if type(error).__name__ == "OutOfMemoryError":
        return OutOfDeviceMemory(f"{path}: {doing} needs more memory than the GPU has left: {error}")
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    said = str(error).strip()[:1000] or "no message"
    return ProblemError(
        f"{path}:{lines[-1] if lines else 1}: {doing}: raised {type(error).__name__}: {said}; correct it"
    )


# --- arguments -----------------------------------------------------------------------------------


def forward_arguments(given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What get_inputs returned, as arguments of forward: a list or tuple are the arguments, a dict has them
    by name, None is none, and anything else is the only one."""
    if given is None:
        return (), {}
    if isinstance(given, dict):
        return (), given
    return (tuple(given), {}) if isinstance(given, list | tuple) else ((given,), {})


def init_arguments(entry: Any, given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What get_init_inputs returned, as arguments of the constructor: as those of forward, and KernelBook's
    [args, kwargs], where the constructor takes these."""
    if isinstance(given, list | tuple) and len(given) == 2:
        args, kwargs = given
        is_book = isinstance(args, list | tuple) and isinstance(kwargs, dict)
        if is_book and all(isinstance(key, str) for key in kwargs) and _takes(entry, args, kwargs):
            return tuple(args), dict(kwargs)
    return forward_arguments(given)


def _takes(entry: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(entry).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return False
    return True


def _mapped(value: Any, change: Any) -> Any:
    """A tree with `change` made to its tensors; containers of other types than these stay as they are."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) is dict:
        return {key: _mapped(one, change) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_mapped(one, change) for one in value)
    return value


# --- the reference -------------------------------------------------------------------------------

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class _Built:
    """Model on one device, ready to be called, and what is known of a call."""

    model: Any
    dtype: Any  # that it computes in: float64 where that works
    buffers: Mapping[str, Any]
    arguments: bytes  # the tree of a call's arguments, without its tensors
    n_tensors: int
    is_random: bool  # whether a forward draws random numbers
    pinned: Pinned
    atol: tuple[float, ...]  # strict: of each output
    notes: tuple[str, ...]


class Bench:
    """The functions of one file, and its Model on each device that was asked for."""

    def __init__(self, problem: Problem, module: ModuleType, entry: Any) -> None:
        self._problem, self._module, self._entry = problem, module, entry
        self._name = getattr(entry, "__name__", BASELINE)  # a partial has none
        self._path, self._dtype = problem.folder, _dtype(problem)
        self._weights_seed = secrets.randbits(63)
        self._built: dict[str, _Built] = {}
        self.weights = self._weights()

    def pin(self, axes: Mapping[str, int], device: "str | torch.device") -> Pinned:
        """The tensors of a call on this device, and how a contestant builds ModelNew and calls it."""
        return self._on(device).pinned

    def notes(self, device: "str | torch.device") -> tuple[str, ...]:
        """What a reader should know of how the truth is computed."""
        return self._on(device).notes

    def make_inputs(self, axes: Mapping[str, int], rng: Any, device: "str | torch.device") -> tuple[Any, ...]:
        """The tensors of one call, from a secret seed; last the seed of its forward, where that draws."""
        built = self._on(device)
        with _torch_state:
            arguments, tensors = tree.dump(self._draw(rng.seed(), device), _kind(device))
        if arguments != built.arguments:
            raise ProblemError(
                f"{self._path}: get_inputs: found other numbers, containers, dtypes or shapes than in an "
                "earlier call; allowed: only values of tensors may differ; take the rest from constants"
            )
        return (*tensors, *([rng.seed()] if built.is_random else []))

    def reference(self, *inputs: Any) -> "tuple[torch.Tensor, ...]":
        """What Model answers, its buffers as they were when it was built."""
        built = self._on(_device_of(inputs))
        arguments = tree.load(built.arguments, inputs[: built.n_tensors])
        seed = inputs[-1] if built.is_random else 0
        with _torch_state:
            return tuple(_forward(built.model, built.buffers, arguments, built.dtype, seed))

    def tolerance(self, *inputs: Any) -> tuple[float, ...]:
        """strict: what each output may err where the truth is 0."""
        return self._on(_device_of(inputs)).atol

    def _on(self, device: "str | torch.device") -> _Built:
        with _torch_state:
            key = _device_name(device)
            if key not in self._built:
                self._built[key] = self._build(device)
            return self._built[key]

    def _draw(self, seed: int, device: "str | torch.device") -> Arguments:
        """Arguments of one forward, floating tensors in the problem's dtype, on the device."""
        try:
            given = self._given(seed, device)
        except (Exception, SystemExit) as error:
            raise _fault(self._path, error, "get_inputs") from error
        args, kwargs = _mapped(forward_arguments(given), lambda t: _cast(t.detach().to(device), self._dtype))
        return args, kwargs

    def _given(self, seed: int, device: "str | torch.device") -> Any:
        """What get_inputs returns. On a GPU it draws there, where it can: gigabytes take seconds on a CPU."""
        import torch

        if _kind(device) == "cuda":
            seed_all(seed)
            with contextlib.suppress(RuntimeError, TypeError), torch.device(device):
                return self._module.get_inputs()
        seed_all(seed)
        with cuda_means(device):
            return self._module.get_inputs()

    def _construct(self) -> tuple[Any, Arguments]:
        """Model on the CPU and the arguments of its constructor, from the secret seed of the weights."""
        import torch

        name = self._name
        seed_all(self._weights_seed)
        try:
            given = getattr(self._module, "get_init_inputs", lambda: None)()
        except (Exception, SystemExit) as error:
            raise _fault(self._path, error, "get_init_inputs") from error
        args, kwargs = _mapped(init_arguments(self._entry, given), lambda t: _cast(t, self._dtype))
        seed_all(self._weights_seed)
        try:
            with torch.no_grad(), cuda_means("cpu"):
                model = self._entry(*args, **kwargs)
        except (Exception, SystemExit) as error:
            raise _fault(self._path, error, f"the constructor of {name}") from error
        if not isinstance(model, torch.nn.Module):
            raise ProblemError(
                f"{self._path}:1: {name}: makes a {type(model).__name__}; allowed: a torch.nn.Module"
            )
        return model.train("train" in self._problem.tags), (args, kwargs)

    def _weights(self) -> bytes:
        """The weights that Model draws from the secret seed, in the problem's dtype."""
        import torch

        model, _ = self._construct()
        state = model.to(self._dtype).state_dict()
        return _saved({name: value for name, value in state.items() if isinstance(value, torch.Tensor)})

    def _build(self, device: "str | torch.device") -> _Built:
        model, init = self._construct()
        _place(model, device, self._dtype)
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        is_strict = "strict" in self._problem.tags
        draws = [self._draw(secrets.randbits(63), device) for _ in range(_DRAWS if is_strict else 1)]
        bound, seed = float(self._problem.tolerance.rtol), secrets.randbits(63)
        try:
            natives = [_forward(model, buffers, draw, self._dtype, seed) for draw in draws]
            is_random = _used_generators(seed, device)
            keeps_state = bool(buffers) and not _agree(
                _forward(model, {}, draws[-1], self._dtype, seed), natives[-1], bound / 10
            )
        except (Exception, SystemExit) as error:
            raise _fault(self._path, error, f"forward of {self._name}") from error
        recipe = {
            "args": init[0],
            "kwargs": init[1],
            "seed": self._weights_seed,
            "dtype": str(self._dtype).removeprefix("torch."),
            "training": model.training,
            "keeps_state": keeps_state,
        }
        arguments, tensors = tree.dump(draws[0], _kind(device))
        shape, _ = _answer(model, buffers, draws[0], self._dtype, seed)
        names = [key for key, _ in shape[1]] if shape[0] == "dict" else []
        plan = {"arguments": draws[0], "recipe": self._portable(recipe), "names": names}
        call, _ = tree.dump(plan, _kind(device))
        inputs = _input_specs(self._path, model, draws[0], tensors)
        if is_random:
            inputs += (TensorSpec("forward_seed", "int64", None),)
        truths, note = _exact(model, buffers, draws, natives, self._dtype, seed, bound / 2)
        return _Built(
            model=model,
            dtype=self._dtype if note else _double(),
            buffers=buffers,
            arguments=arguments,
            n_tensors=len(tensors),
            is_random=is_random,
            pinned=Pinned(inputs, _output_specs(self._path, natives[0]), call),
            atol=_atol(bound, natives, truths) if is_strict else (),
            notes=(note,) if note else (),
        )

    def _portable(self, recipe: Mapping[str, Any]) -> bytes:
        """The recipe as another process can read it. Raises ProblemError where it cannot."""
        where = f"{self._path}:1: get_init_inputs"
        try:
            saved = _saved(recipe)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ProblemError(f"{where}: {_NO_OBJECTS} ({error})") from None
        if self._module.__name__.encode() in saved:
            raise ProblemError(f"{where}: {_NO_OBJECTS} (of a class of this file)")
        return saved


def _saved(value: Any) -> bytes:
    import torch

    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


def seed_all(seed: int) -> None:
    """Seed the generators that a file may draw from: torch's, Python's, NumPy's."""
    import numpy as np
    import torch

    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def _forward(
    model: Any, buffers: Mapping[str, Any], arguments: Arguments, dtype: Any, seed: int
) -> "list[torch.Tensor]":
    """The tensors of one answer. Raises ProblemError where there is something else beside them."""
    shape, tensors = _answer(model, buffers, arguments, dtype, seed)
    if _holds_numbers(shape):
        raise ProblemError("its result holds numbers or strings beside tensors; allowed: tensors and None")
    return tensors


def _answer(
    model: Any, buffers: Mapping[str, Any], arguments: Arguments, dtype: Any, seed: int
) -> "tuple[Any, list[torch.Tensor]]":
    """Shape and tensors of an answer, on copies of the arguments, cast to dtype: a model may write to them.

    Generators are seeded immediately before. buffers: what to put back first.
    """
    import torch

    args, kwargs = _mapped(arguments, lambda t: _cast(t, dtype, copy=True))
    _restore(model, buffers)
    seed_all(seed)
    with torch.no_grad():
        return tree.flatten(model(*args, **kwargs))


def _holds_numbers(shape: Any) -> bool:
    """Whether the shape of a result, as `tree.flatten` gives it, has values that no kernel is held to."""
    kind, value = shape
    if kind == "dict":
        return any(_holds_numbers(one) for _, one in value)
    if kind in ("tuple", "list"):
        return any(_holds_numbers(one) for one in value)
    return bool(kind == "value" and value is not None)


def _restore(model: Any, buffers: Mapping[str, Any]) -> None:
    for name, buffer in model.named_buffers():
        if name in buffers:
            buffer.copy_(buffers[name])


def _used_generators(seed: int, device: "str | torch.device") -> bool:
    """Whether what ran since `seed_all(seed)` drew random numbers, by what the generators are now."""
    import numpy as np
    import torch

    def states() -> list[bytes]:
        on_gpu = [torch.cuda.get_rng_state(device)] if _kind(device) == "cuda" else []
        torchs = [bytes(state.numpy()) for state in (torch.get_rng_state(), *on_gpu)]
        return [*torchs, pickle.dumps(random.getstate()), pickle.dumps(np.random.get_state())]

    after = states()
    seed_all(seed)
    return after != states()


def _exact(
    model: Any,
    buffers: Mapping[str, Any],
    draws: Sequence[Arguments],
    natives: "Sequence[Sequence[torch.Tensor]]",
    dtype: Any,
    seed: int,
    bound: float,
) -> "tuple[Sequence[Sequence[torch.Tensor]], str | None]":
    """The answers in float64, the model left in it; the native ones and why, the model left as it was, where
    it does not compute in float64 or answers something else there (masks of dropout may differ by type)."""
    if any(not t.is_floating_point() for native in natives for t in native):
        # An index or a comparison near a tie is another one in float64: then a right kernel would be wrong.
        return natives, "its answers hold integers, so they are compared with Model's own"
    device = next((t.device for t in (*model.parameters(), *model.buffers())), None)
    try:
        _place(model, device, _double())
        truths = [_forward(model, buffers, draw, _double(), seed) for draw in draws]
        if all(_agree(native, truth, bound) for native, truth in zip(natives, truths, strict=True)):
            return truths, None
        why = "in float64 its answer differs by more than half of the tolerance"
    except (
        Exception
    ) as error:  # the boundary: whatever their code raises in float64 is a reason not to use it
        why = f"in float64 it raises {type(error).__name__}: {str(error)[:200]}"
    _place(model, device, dtype)
    return natives, f"the truth is Model in {dtype}: {why}"


def _agree(found: "Sequence[torch.Tensor]", truth: "Sequence[torch.Tensor]", bound: float) -> bool:
    """Whether two answers are the same: floats within bound + bound*|truth|, NaN where the other has it."""
    import torch

    def same(a: Any, b: Any) -> bool:
        if a.shape != b.shape:
            return False
        if not (a.is_floating_point() and b.is_floating_point()):
            return torch.equal(a, b)
        wide, true = a.to(torch.float64), b.to(torch.float64)
        return torch.allclose(wide, true, rtol=bound, atol=bound, equal_nan=True)

    return len(found) == len(truth) and all(map(same, found, truth))


def _atol(
    bound: float, natives: "Sequence[Sequence[torch.Tensor]]", truths: "Sequence[Sequence[torch.Tensor]]"
) -> tuple[float, ...]:
    """strict: what an output may err where the truth is 0: `bound` of its root mean square, or four times
    what Model's own arithmetic errs, whichever is more."""
    import torch

    def one(native: Any, truth: Any) -> float:
        true = truth.to(torch.float64)
        true = torch.where(torch.isfinite(true), true, 0.0)
        error = torch.where(torch.isfinite(native), native.to(torch.float64), 0.0) - true
        return max(bound * float(true.square().mean().sqrt()), _ERROR_FACTOR * float(error.abs().max()))

    per_call = [list(map(one, *pair)) for pair in zip(natives, truths, strict=True)]
    return tuple(map(max, zip(*per_call, strict=True)))


def _place(model: Any, device: Any, dtype: Any) -> None:
    """Move a model, and the tensors that its modules hold beside parameters and buffers; cast what floats."""
    import torch

    model.to(device=device, dtype=dtype)
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                setattr(module, name, _cast(value if device is None else value.to(device), dtype))


def _cast(tensor: Any, dtype: Any, copy: bool = False) -> Any:
    if tensor.is_floating_point():
        return tensor.to(dtype, copy=copy)
    return tensor.clone() if copy else tensor


def _dtype(problem: Problem) -> Any:
    import torch

    return getattr(torch, next(tag for tag in problem.tags if tag in BOUNDS["kb-main"]))


def _double() -> Any:
    import torch

    return torch.float64


def _kind(device: "str | torch.device") -> str:
    import torch

    return torch.device(device).type


def _device_name(device: "str | torch.device") -> str:
    import torch

    found = torch.device(device)
    return f"{found.type}:{found.index or 0}"


def _device_of(inputs: Iterable[Any]) -> "str | torch.device":
    return next((value.device for value in inputs if hasattr(value, "device")), "cpu")


# --- specs ---------------------------------------------------------------------------------------


def _input_specs(
    path: Path, model: Any, arguments: Arguments, tensors: "Sequence[torch.Tensor]"
) -> tuple[TensorSpec, ...]:
    """One for each tensor that is handed over, by the name of forward's parameter where it is one."""
    places = {value.data_ptr(): name for name, value in _parameters(model, arguments).items()}
    taken: set[str] = set()
    specs = []
    for index, tensor in enumerate(tensors):
        name = places.get(tensor.data_ptr(), f"input{index}")
        name = name if name not in taken else f"input{index}"
        taken.add(name)
        specs.append(_spec(path, name, tensor, mutable=True))
    return tuple(specs)


def _parameters(model: Any, arguments: Arguments) -> dict[str, Any]:
    """forward's parameters that are tensors, by name."""
    try:
        bound = inspect.signature(model.forward).bind(*arguments[0], **arguments[1]).arguments
    except (TypeError, ValueError):
        return {}
    return {name: value for name, value in bound.items() if hasattr(value, "data_ptr")}


def _output_specs(path: Path, outputs: "Sequence[torch.Tensor]") -> tuple[TensorSpec, ...]:
    if not outputs:
        raise ProblemError(f"{path}: forward: found no tensor in what it returns; allowed: at least one")
    return tuple(
        _spec(path, "y" if len(outputs) == 1 else f"y{index}", output) for index, output in enumerate(outputs)
    )


def _spec(path: Path, name: str, tensor: Any, mutable: bool = False) -> TensorSpec:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES or not tensor.numel():
        raise ProblemError(
            f"{path}: {name}: found {dtype} of shape {tuple(tensor.shape)}; allowed: at least one element of "
            f"{listing(DTYPES)}"
        )
    return TensorSpec(name, dtype, tuple(tensor.shape), mutable=mutable)
