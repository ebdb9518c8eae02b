"""A KernelBot problem folder: task.yml and the files that it names -> Problem and Reference.

The folder's own eval script is not run: the referee draws the inputs with the folder's generate_input, calls
custom_kernel in a contestant, and has the folder's check_implementation look at what came back.
"""

import ast
import builtins
import contextlib
import hashlib
import inspect
import itertools
import json
import random
import re
import secrets
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from hotlap.errors import DeviceError, HotlapError, OutOfDeviceMemory, ProblemError
from hotlap.model import Cost, Kind, Problem, TensorSpec, Tolerance, Workload
from hotlap.problems import tree
from hotlap.problems.devices import cuda_means
from hotlap.problems.dtypes import DTYPES
from hotlap.problems.reference import BASELINE_FILE, Pinned, Reference
from hotlap.problems.source import bound_names
from hotlap.problems.table import Table, listing, nearest, show

CONTRACT = "custom_kernel"
TASK, REFERENCE = "task.yml", "reference.py"
SLOT = "@SUBMISSION@"
STRICT = "strict"  # how the version of a problem begins whose truth values were repaired
FUNCTIONS = ("generate_input", "ref_kernel", "check_implementation")
BASELINE = "ref_kernel"
RANKINGS = ("last", "mean", "geom")
TEMPLATES = ("CUDA", "Python", "Triton", "HIP", "CuteDSL")
TIMEOUTS = {"test_timeout": 180, "benchmark_timeout": 180, "ranked_timeout": 180}  # seconds, and the defaults
MAX_FILE_BYTES = 16 << 20
_KEYS = (
    *("files", "lang", "config", "description", "templates", "tests", "benchmarks", "ranking_by"),
    *TIMEOUTS,
    *("multi_gpu", "gpus", "seed", "libraries", "milestones"),
)
# A seed that is too large for a folder, because it refuses it or because it adds it to its values and so
# leaves them no digits, is taken modulo the next of these.
SEED_MODULI = (2**63, 2**31 - 1, 2**17 - 1)
SEEN_ELEMENTS = 1 << 16  # of a tensor, when its distinct values are counted
FEWEST_DISTINCT = 64

_NEEDS_GPU = re.compile(
    r"not compiled with CUDA|no NVIDIA driver|No CUDA GPUs|requires? (a )?(CUDA|GPU)|sm_\d+|compute capab",
    re.IGNORECASE,
)

# Drawing and checking change torch's global state (generators, determinism, what "cuda" means).
_torch_state = threading.RLock()
_numbers = itertools.count(1)

Value = int | float | str | bool | tuple[Any, ...]


@dataclass(frozen=True)
class Task:
    """What task.yml says. Cases hold values as the folder's author wrote them."""

    file: Path
    title: str
    description: str
    lang: str
    main: str | None
    files: Mapping[str, Path]  # flat name -> where it lies; without the submission
    slot: str  # the submission's flat name
    tests: tuple[Mapping[str, Any], ...]
    benchmarks: tuple[Mapping[str, Any], ...]
    ranking_by: str
    timeouts_s: Mapping[str, int]
    templates: Mapping[str, Path]
    gpus: tuple[str, ...]
    is_multi_gpu: bool

    @property
    def cases(self) -> tuple[Mapping[str, Any], ...]:
        """Tests, then benchmarks: `case` of a workload counts in this order, from 0."""
        return (*self.tests, *self.benchmarks)

    def ranked(self) -> list[int]:
        """Which cases decide the score: the last benchmark alone, or all of them."""
        first, last = len(self.tests), len(self.cases)
        return [last - 1] if self.ranking_by == "last" else list(range(first, last))


def load(path: Path, strict: bool = False) -> Problem:
    """The problem of a folder that holds task.yml.

    strict: whether truth values of task.yml stay truth values; by default they become the words that
    KernelBot's case files carry, "True" and "False", which are both true. Raises ProblemError.
    """
    try:
        task = read_task(path.resolve())
        folder = task.file.parent
        contents = {name: _read(file, f"files.{name}", task.file) for name, file in task.files.items()}
        _check_functions(task.files[REFERENCE], contents[REFERENCE])
        version = _version(task, contents)
    except (TypeError, ValueError, AttributeError, RecursionError, OSError) as error:
        # YAML holds what no case can be: keys of any type, names with NUL, values that hold themselves.
        raise ProblemError(f"{path / TASK}: cannot be used ({error}); correct it") from error
    workloads = [
        Workload(kind, profile, {"case": index})
        for kind, cases in ((Kind.test, range(len(task.tests))), (Kind.bench, task.ranked()))
        for index in cases
        for profile in ("cpu", "gpu")
    ]
    return Problem(
        suite=_word(folder.parent.name) or "local",
        name=_word(folder.name) or "kernelbot",
        version=f"{STRICT}-{version}" if strict else version,
        title=task.title,
        folder=folder,
        statement="\n\n".join(filter(None, [task.description.strip(), _note(task, strict)])),
        tags=("kernelbot",),
        axes={"case": None},
        inputs=(),
        outputs=(),
        tolerance=Tolerance("0", "0"),
        cost=Cost(),
        workloads=tuple(workloads),
        reference_dtype="native",
        contract=CONTRACT,
    )


def is_strict(problem: Problem) -> bool:
    """Whether a problem was loaded with `strict`."""
    return problem.version.startswith(f"{STRICT}-")


# --- task.yml ------------------------------------------------------------------------------------


def read_task(folder: Path) -> Task:
    """task.yml of a folder, read whole. Raises ProblemError that names file and key."""
    file = folder / TASK
    text = _read(file, "the task", file).decode(errors="replace")
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise ProblemError(f"{file}: found an alias (*name); allowed: none; write the value out")
        values = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        said = getattr(error, "problem", None) or error or "nested too deeply"
        raise ProblemError(f"{file}{line}: is not YAML ({said}); correct the syntax") from None
    if not isinstance(values, dict):
        raise ProblemError(
            f"{file}: found {type(values).__name__}; allowed: a mapping with files, tests, ..."
        )
    top = Table(file, "", values)
    top.only(_KEYS)
    lang = top.choice("lang", ("py", "cu"))
    if lang != "py":
        raise top.error("lang", "'cu'", "'py'", "hotlap judges folders whose kernels are Python files")
    sources = _files(top)
    slots = [name for name, source in sources.items() if source == SLOT]
    if len(slots) != 1:
        raise top.error("files", f"{len(slots)} files of source {SLOT}", "exactly one", "correct the sources")
    files = {name: (folder / source).resolve() for name, source in sources.items() if source != SLOT}
    if REFERENCE not in files:
        raise top.error("files", listing(sources), f"one named {REFERENCE}", f"add {REFERENCE}")
    ranking_by = top.choice("ranking_by", RANKINGS) if "ranking_by" in values else "last"
    return Task(
        file=file,
        title=_title(text, folder),
        description=top.need("description", str),
        lang=lang,
        main=_main(top, sources),
        files=files,
        slot=slots[0],
        tests=_cases(top, "tests"),
        benchmarks=_cases(top, "benchmarks"),
        ranking_by=ranking_by,
        timeouts_s={key: _seconds(top, key, default) for key, default in TIMEOUTS.items()},
        templates=_templates(top),
        gpus=tuple(_strings(top, "gpus")),
        is_multi_gpu=top.optional("multi_gpu", bool, False),
    )


def _files(top: Table) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in _tables(top, "files"):
        one.only(("name", "source"))
        name, source = one.need("name", str), one.need("source", str)
        if name != Path(name).name or name in ("", ".", ".."):
            raise one.error("name", show(name), "a file name without folders", "files lie flat in one folder")
        if name in found:
            raise one.error("name", f"{name!r} twice", "each name once", "rename one of them")
        found[name] = source
    return found


def _tables(top: Table, key: str) -> list[Table]:
    items = top.need(key, list)
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise top.error(f"{key}[{index}]", show(item), "a mapping", 'write for example {"size": 128}')
    if not items:
        raise top.error(key, "an empty list", "one entry or more", f"add an entry to {key}")
    return [Table(top.file, f"{key}[{index}]", item) for index, item in enumerate(items)]


def _cases(top: Table, key: str) -> tuple[Mapping[str, Any], ...]:
    cases = _tables(top, key)
    for case in cases:
        for name in case.values:
            if not isinstance(name, str) or not name.isidentifier():
                raise case.error(str(name), show(name), "a name", "it becomes a parameter of generate_input")
    return tuple(dict(case.values) for case in cases)


def _main(top: Table, sources: Mapping[str, str]) -> str | None:
    config = top.table("config")
    main = config.need("main", str)
    if main not in sources:
        raise config.error("main", show(main), listing(sources), nearest(main, sources, "add it to files"))
    return main


def _seconds(top: Table, key: str, default: int) -> int:
    seconds = top.optional(key, int, default)
    if seconds < 1:
        raise top.error(key, show(seconds), "seconds, 1 or more", "correct it")
    return seconds


def _templates(top: Table) -> dict[str, Path]:
    if not top.values.get("templates"):
        return {}
    table = top.table("templates")
    table.only(TEMPLATES)
    return {lang: (top.file.parent / table.need(lang, str)).resolve() for lang in table.values}


def _strings(top: Table, key: str) -> list[str]:
    found = top.optional(key, list, [])
    for index, one in enumerate(found):
        if not isinstance(one, str):
            raise top.error(f"{key}[{index}]", show(one), "a string", "write a string")
    return found


def _title(text: str, folder: Path) -> str:
    """The informal name in the leading comment, else the folder's."""
    named = re.match(r"\s*#\s*name:\s*(.+)", text)
    return named[1].strip().strip("\"'") if named else folder.name


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-")


def _read(file: Path, what: str, task: Path) -> bytes:
    if not file.is_file():
        found = "is not a file" if file.exists() else "no such file"
        raise ProblemError(f"{task}: {what}: {file}: {found}; give the folder as its repository has it")
    if file.stat().st_size > MAX_FILE_BYTES:
        raise ProblemError(f"{task}: {what}: {file}: is larger than {MAX_FILE_BYTES >> 20} MB")
    try:
        return file.read_bytes()
    except OSError as error:
        raise ProblemError(f"{task}: {what}: {file}: cannot be read ({error.strerror})") from None


def _check_functions(file: Path, content: bytes) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(content, filename=str(file)).body
    except SyntaxError as error:
        raise ProblemError(f"{file}:{error.lineno or 1}: {error.msg}; correct the syntax") from None
    except ValueError as error:
        raise ProblemError(f"{file}: is not Python source ({error}); correct it") from None
    found = {name for node in body for name in bound_names(node)}
    for name in FUNCTIONS:
        if name not in found:
            raise ProblemError(
                f"{file}: {name}: not defined at the top level; found {listing(sorted(found))}; hotlap "
                f"judges folders that define {', '.join(FUNCTIONS)}"
            )


def _version(task: Task, contents: Mapping[str, bytes]) -> str:
    """First 12 hex digits of a hash of what decides inputs and answers; the eval script is not run."""
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        if name != task.main:
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    decisive = [task.tests, task.benchmarks, task.ranking_by]
    digest.update(json.dumps(decisive, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:12]


def _note(task: Task, strict: bool) -> str:
    """What is said of truth values, where the cases have any."""
    names = sorted({name for case in task.cases for name, value in case.items() if type(value) is bool})
    if not names:
        return ""
    if strict:
        return f"Note: {listing(names)} are truth values here (strict). KernelBot passes them as words."
    return (
        f"Note: {listing(names)} reach generate_input as the words 'True' and 'False', as in KernelBot's "
        "case files; both are true. Add @strict to the folder's path to have truth values."
    )


# --- cases ---------------------------------------------------------------------------------------


def arguments(case: Mapping[str, Any], strict: bool) -> dict[str, Value]:
    """A case as generate_input receives it: through str() and back, as KernelBot's case files carry it."""
    return {
        name: value if strict and type(value) is bool else as_read(str(value)) for name, value in case.items()
    }


def as_read(text: str) -> Value:
    """A value of a case file: an integer, a float, true or false, a tuple, else the text itself."""
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    if text in ("true", "false"):
        return text == "true"
    if text.startswith(("(", "[")):
        with contextlib.suppress(ValueError, SyntaxError):
            found: Value = _tuples(ast.literal_eval(text))
            return found
    return text


def _tuples(value: Any) -> Any:
    """Lists made tuples, at any depth."""
    return tuple(_tuples(one) for one in value) if isinstance(value, list | tuple) else value


# --- the folder's code ---------------------------------------------------------------------------


def load_reference(problem: Problem) -> Reference:
    """The folder's functions under hotlap's names. Its code runs when the first case is pinned."""
    task = read_task(problem.folder)
    contents = {name: _read(file, f"files.{name}", task.file) for name, file in task.files.items()}
    folder = _Folder(task, contents, is_strict(problem))
    beside = {name: content for name, content in contents.items() if name not in (REFERENCE, task.main)}
    baseline = f"from reference import {BASELINE} as custom_kernel\n".encode()
    return Reference(
        make_inputs=folder.make_inputs,
        reference=folder.reference,
        baselines={BASELINE: folder.reference},
        pin=folder.pin,
        beside=beside,
        baseline_files={BASELINE: beside | {REFERENCE: contents[REFERENCE], BASELINE_FILE: baseline}},
    )


class _Modules:
    """The Python files of a folder as modules that import each other by their flat names.

    Nothing else sees them: two folders may each have a `utils`.
    """

    def __init__(self, task: Task, contents: Mapping[str, bytes]):
        self._paths, self._contents = task.files, contents
        self._prefix = f"hotlap_kernelbot_{next(_numbers)}_"
        self._loaded: dict[str, ModuleType] = {}
        # Only for what a folder's code imports; the interpreter's own stays as it is.
        self._builtins = vars(builtins) | {"__import__": self._import}

    def get(self, name: str) -> ModuleType:
        """The module of one file, executed the first time."""
        if name not in self._loaded:
            path = str(self._paths[f"{name}.py"])
            self._loaded[name] = module = ModuleType(self._prefix + name)
            module.__file__ = path
            module.__dict__["__builtins__"] = self._builtins
            # It stays there: torch.compile, Triton and dataclasses look a function's module up.
            sys.modules[module.__name__] = module
            try:
                exec(compile(self._contents[f"{name}.py"], path, "exec", dont_inherit=True), module.__dict__)
            except BaseException:
                del self._loaded[name], sys.modules[module.__name__]
                raise
        return self._loaded[name]

    def _import(self, name: str, *rest: Any) -> Any:
        level = rest[3] if len(rest) > 3 else 0
        if level == 0 and f"{name}.py" in self._contents:
            return self.get(name)
        return builtins.__import__(name, *rest)

    def homes(self) -> dict[str, str | None]:
        """What each module is called in a contestant; None for what it does not get."""
        return {
            module.__name__: None if name == REFERENCE.removesuffix(".py") else name
            for name, module in self._loaded.items()
        }

    def by_name(self) -> dict[str, ModuleType]:
        return dict(self._loaded)


@dataclass(frozen=True)
class _Case:
    """What one draw of a case showed: its arguments without the tensors, the shape of its result."""

    call: bytes
    result: Any
    modulus: int


class _Folder:
    """The functions of a folder, run where "cuda" means the device under judgement."""

    def __init__(self, task: Task, contents: Mapping[str, bytes], strict: bool):
        self.task, self.strict = task, strict
        self._modules = _Modules(task, contents)
        self._pinned: dict[tuple[int, str], tuple[_Case, Pinned]] = {}
        self._found_modulus: int | None = None

    def pin(self, axes: Mapping[str, int], device: Any) -> Pinned:
        """The tensors of one case, from a draw of its own. Raises ProblemError, DeviceError."""
        return self._known(axes, device)[1]

    def make_inputs(self, axes: Mapping[str, int], rng: Any, device: Any) -> tuple[Any, ...]:
        """The tensors of fresh arguments. Raises ProblemError where the rest of them is not as it was."""
        case, _ = self._known(axes, device)
        with self._at(device):
            data = self._generate(axes["case"], rng.seed() % case.modulus)
            call, tensors = self._dump(data, device)
        if call != case.call:
            raise ProblemError(
                f"{self._file}: generate_input: case {axes['case']}: found other numbers, sizes or types "
                "than in its first draw; allowed: only the values of tensors change with the seed"
            )
        return tuple(tensors)

    def reference(self, *tensors: Any) -> Any:
        raise ProblemError(f"{self._file}: {BASELINE} answers a case; pin one first")

    def _known(self, axes: Mapping[str, int], device: Any) -> tuple[_Case, Pinned]:
        key = axes["case"], str(device)
        with _torch_state:
            if key not in self._pinned:
                self._pinned[key] = self._pin(axes["case"], device)
            return self._pinned[key]

    def _pin(self, index: int, device: Any) -> tuple[_Case, Pinned]:
        self._refuse_several_gpus(index)
        with self._at(device):
            modulus = self._modulus(index)
            data = self._generate(index, secrets.randbelow(modulus))
            call, tensors = self._dump(data, device)
            inputs = _specs("input", tensors, is_input=True)
            expected = self._run(BASELINE, data)
            result, outputs = tree.flatten(expected)
        if not outputs or _holds_values(result):
            found = "other things beside tensors" if outputs else "no tensor"
            raise ProblemError(
                f"{self._file}: {BASELINE}: returned {found}; "
                "allowed: tensors, in tuples, lists and dicts; hotlap checks nothing else"
            )
        case = _Case(call, result, modulus)
        return case, Pinned(
            inputs,
            _specs("output", outputs),
            call,
            check=lambda i, o: self._check(case, i, o),
            reference=lambda *i: self._answer(case, i),
        )

    def _answer(self, case: _Case, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """What ref_kernel gives for copies of these tensors: it may write to its arguments."""
        with self._at(inputs[0].device):
            data = tree.load(case.call, [tensor.clone() for tensor in inputs], self._modules.by_name())
            return tuple(tree.flatten(self._run(BASELINE, data))[1])

    def _check(self, case: _Case, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> list[str]:
        """What check_implementation says is wrong. It gets copies: some folders write to their arguments."""
        with self._at(outputs[0].device):
            data = tree.load(case.call, [tensor.clone() for tensor in inputs], self._modules.by_name())
            try:
                said = self._run("check_implementation", data, tree.unflatten(case.result, outputs))
            except ProblemError as error:
                if self._takes_its_own(case, inputs):
                    return [f"check_implementation cannot take it ({error})"]
                raise
        return self._violations(said)

    def _takes_its_own(self, case: _Case, inputs: tuple[Any, ...]) -> bool:
        """Whether it accepts what ref_kernel answers: then the fault is the other answer's."""
        own = self._answer(case, inputs)
        data = tree.load(case.call, [tensor.clone() for tensor in inputs], self._modules.by_name())
        try:
            said = self._run("check_implementation", data, tree.unflatten(case.result, own))
        except ProblemError:
            return False
        return not self._violations(said)

    def _violations(self, said: Any) -> list[str]:
        if isinstance(said, tuple) and len(said) == 2:
            is_right, message = said
            return [] if bool(is_right) else [str(message) or "check_implementation says no"]
        if said is None or isinstance(said, str):
            return [said] if said else []
        if isinstance(said, bool):
            return [] if said else ["check_implementation says no"]
        if isinstance(said, list):
            return [" ".join(map(str, said))] if said else []
        raise ProblemError(
            f"{self._file}: check_implementation returned {type(said).__name__}; allowed: (bool, text), a "
            "text, or None"
        )

    # --- draws

    def _generate(self, index: int, seed: int) -> Any:
        """Fresh arguments. Generators of torch, NumPy and Python begin at the seed, and memory that is not
        initialised is filled, so that a seed always gives the same and nothing old shows through."""
        import numpy as np
        import torch

        values: dict[str, Any] = dict(arguments(self.task.cases[index], self.strict))
        if "seed" in values or self._takes_seed():
            values["seed"] = seed
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)
        random.seed(seed)
        before = torch.get_deterministic_debug_mode()
        torch.set_deterministic_debug_mode("warn")
        try:
            return self._run("generate_input", **values)
        finally:
            torch.set_deterministic_debug_mode(before)

    def _takes_seed(self) -> bool:
        with self._blamed("generate_input"):
            return "seed" in inspect.signature(self._function("generate_input")).parameters

    def _modulus(self, index: int) -> int:
        """The first of SEED_MODULI whose seeds a case can use; the same for all cases of the folder."""
        if self._found_modulus is None:
            self._found_modulus = self._find_modulus(index)
        return self._found_modulus

    def _find_modulus(self, index: int) -> int:
        own = self.task.cases[index].get("seed")
        wanted = self._distinct(index, own) if type(own) is int else None
        failed: HotlapError | None = None
        for modulus in SEED_MODULI:
            try:
                found = self._distinct(index, modulus - 1 - secrets.randbelow(modulus // 8))
            except ProblemError as error:
                failed = error
                continue
            if wanted is None or not _is_poorer(found, wanted):
                return modulus
        if failed is not None:
            raise failed
        return SEED_MODULI[-1]

    def _distinct(self, index: int, seed: int) -> list[int]:
        """How many distinct values the tensors of a draw have, in their first elements."""
        import torch

        _, tensors = self._dump(self._generate(index, seed))
        return [
            int(torch.unique(t.reshape(-1)[:SEEN_ELEMENTS].to(torch.float32).nan_to_num()).numel())
            for t in tensors
            if str(t.dtype).removeprefix("torch.") in DTYPES
        ]

    def _dump(self, data: Any, device: Any = None) -> tuple[bytes, list[Any]]:
        import torch

        kind = None if device is None else torch.device(device).type
        try:
            return tree.dump(data, kind, self._modules.homes())
        except ProblemError as error:
            raise DeviceError(f"{self._file}: generate_input: unsupported here: {error}") from None

    def _refuse_several_gpus(self, index: int) -> None:
        count = arguments(self.task.cases[index], self.strict).get("world_size", 1)
        if self.task.is_multi_gpu or count != 1:
            raise DeviceError(f"{self.task.file}: unsupported here: needs {count} GPUs at once")

    # --- running their code

    @property
    def _file(self) -> Path:
        return self.task.files[REFERENCE]

    @contextlib.contextmanager
    def _at(self, device: Any) -> Iterator[None]:
        with _torch_state, warnings.catch_warnings(), cuda_means(device):
            warnings.simplefilter("ignore")  # the folder's own, for its author
            yield

    def _run(self, name: str, /, *positional: Any, **named: Any) -> Any:
        """What a function of reference.py returns. Raises ProblemError, DeviceError."""
        with self._blamed(name):
            return self._function(name)(*positional, **named)

    @contextlib.contextmanager
    def _blamed(self, name: str) -> Iterator[None]:
        """What the folder's code raises is a ProblemError; what this device does not have, a DeviceError."""
        try:
            yield
        except HotlapError:
            raise
        except (Exception, SystemExit) as error:
            where = self._where(error)
            if missing := _missing(error):
                kind = OutOfDeviceMemory if missing == "more memory" else DeviceError
                raise kind(f"{where}: {name}: unsupported here: needs {missing}") from error
            said = str(error).strip()[:1000] or "no message"
            raise ProblemError(f"{where}: {name}: raised {type(error).__name__}: {said}") from error

    def _function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._modules.get(REFERENCE.removesuffix(".py")), name)
        return function

    def _where(self, error: BaseException) -> str:
        mine = {str(path) for path in self.task.files.values()}
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in mine]
        return f"{own[-1].filename}:{own[-1].lineno}" if own else str(self._file)


def _specs(role: str, tensors: list[Any], is_input: bool = False) -> tuple[TensorSpec, ...]:
    """Names, types and shapes of tensors. Raises DeviceError for a type that hotlap cannot carry."""
    found = []
    for index, tensor in enumerate(tensors):
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise DeviceError(f"unsupported here: needs tensors of type {dtype}; allowed: {listing(DTYPES)}")
        name = role if len(tensors) == 1 else f"{role}{index}"
        found.append(TensorSpec(name, dtype, tuple(tensor.shape), mutable=is_input))
    return tuple(found)


def _holds_values(shape: Any) -> bool:
    """Whether a result holds numbers or strings; None is no answer that could be wrong."""
    kind, value = shape
    if kind == "value":
        return value is not None
    parts = [one for _, one in value] if kind == "dict" else value if kind in ("tuple", "list") else []
    return any(map(_holds_values, parts))


def _is_poorer(found: list[int], wanted: list[int]) -> bool:
    """Whether some tensor has lost half of its distinct values."""
    return len(found) == len(wanted) and any(
        w >= FEWEST_DISTINCT and f < w / 2 for f, w in zip(found, wanted, strict=True)
    )


def _missing(error: BaseException) -> str | None:
    """What a machine lacks on which this was raised; None where it is the code's own fault."""
    said = str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the Python module {error.name.partition('.')[0]}"
    if (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "allocate memory" in said
    ):
        return "more memory"
    if isinstance(error, AttributeError) and "module 'torch'" in said:
        return f"another torch ({said})"
    if "not implemented for" in said or isinstance(error, NotImplementedError):
        return f"a device that can do this ({said[:200]})"
    if _NEEDS_GPU.search(said):
        return f"a GPU that can do this ({said[:200]})"
    return None
