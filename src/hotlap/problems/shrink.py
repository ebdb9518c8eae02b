"""KernelBench files that fit a small machine: their integer constants halved, the rest of the text as it was.

Which constants may be halved is found by trial: Model is built and called on fake tensors, which have shapes
and no memory, and what does not run any more is taken back. So heads still divide widths.
"""

import ast
import secrets
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from hotlap.errors import DeviceError
from hotlap.problems.kernelbench import SHRUNK, forward_arguments, init_arguments, parsed, problem_class

# Two cores of a server at float32; rough, as the time that a budget states is.
FLOPS_PER_S, BYTES_PER_S, OP_S = 20e9, 4e9, 10e-6
# The referee has a call in float32 and in float64, and compares them; the contestant has it once more.
MEMORY_FACTOR = 10

_LEAST_SAVING = 0.03  # of time or memory; a constant that saves less is no size
_SMALLEST_SEEN = 16  # smaller constants are kernels, strides, heads; but for batches
_SMALLEST, _SMALLEST_BATCH = 8, 2
_BATCH_WEIGHT = 16  # a batch of 10 is as large as an image of 160
_REAL_BYTES = 64 << 20  # of inputs: what fake tensors cannot run is run for real up to here


@dataclass(frozen=True)
class Load:
    """What one forward takes in float32: bytes at once, arithmetic, bytes moved, operators."""

    peak_bytes: int
    flops: int
    moved_bytes: int
    operators: int

    @property
    def seconds(self) -> float:
        """About how long it takes on two cores."""
        return self.flops / FLOPS_PER_S + self.moved_bytes / BYTES_PER_S + self.operators * OP_S


@dataclass(frozen=True)
class Budget:
    """Memory of all that judges a call, and time of one forward in float32."""

    memory_bytes: int = 4 << 30
    seconds: float = 0.5

    def share(self, load: Load) -> float:
        """The part of the budget that a load takes, of memory or of time, whichever is more."""
        return max(load.peak_bytes * MEMORY_FACTOR / self.memory_bytes, load.seconds / self.seconds)


@dataclass(frozen=True)
class Site:
    """An integer in the source: its place in bytes, its value, and the name that it is given."""

    name: str
    start: int
    end: int
    value: int

    @property
    def is_batch(self) -> bool:
        return "batch" in self.name.lower()

    @property
    def weight(self) -> int:
        return self.value * (_BATCH_WEIGHT if self.is_batch else 1)


@dataclass(frozen=True)
class Shrunk:
    """A file that was made smaller. changes: `N 4096 -> 512`; none where it fits as it is. reason: why it
    does not fit all the same, or could not be tried; None where it fits."""

    text: str
    changes: tuple[str, ...]
    before: Load | None
    after: Load | None
    reason: str | None


def shrink(path: Path, budget: Budget | None = None) -> Shrunk:
    """Halve a file's constants until it fits the budget.

    Raises ProblemError for a file with faults, DeviceError where a library that it imports is missing.
    """
    budget = budget or Budget()
    text, tree = parsed(path)
    entry = problem_class(path, tree)
    sites = find_sites(text)

    def tried(values: Sequence[int]) -> Load:
        return probe(with_values(text, sites, values), entry)

    original = [site.value for site in sites]
    try:
        before = tried(original)
    except ModuleNotFoundError as error:
        raise DeviceError(
            f"{path}: needs {error.name}, which is not installed; run: pip install {error.name}"
        ) from None
    except (
        Exception,
        SystemExit,
    ) as error:  # the boundary: anything may come out of their code on fake tensors
        why = f"it does not run on fake tensors: {type(error).__name__}: {str(error)[:200]}"
        return Shrunk(text, (), None, None, why)
    values, after = _halved(sites, original, before, budget, tried)
    changes = tuple(
        f"{site.name} {site.value} -> {value}"
        for site, value in zip(sites, values, strict=True)
        if value != site.value
    )
    reason = None
    if budget.share(after) > 1:
        reason = (
            f"no constant is left that can be halved; it still needs {after.peak_bytes / 1e9:.1f} GB at once "
            f"and {after.seconds:.1f} s"
        )
    if not changes:
        return Shrunk(text, (), before, after, reason)
    rewritten = f"{SHRUNK}{', '.join(changes)}\n{with_values(text, sites, values)}"
    return Shrunk(rewritten, changes, before, after, reason)


def shrink_file(path: Path, folder: Path, budget: Budget | None = None) -> Shrunk:
    """Shrink a file into `folder`, below the name of its level's folder, so that it loads as the same problem
    in another version."""
    shrunk = shrink(path, budget)
    target = folder / path.resolve().parent.name / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(shrunk.text, encoding="utf-8")
    return shrunk


# --- constants -----------------------------------------------------------------------------------


def find_sites(text: str) -> list[Site]:
    """The integers that are assigned at the top level, and those in get_inputs and get_init_inputs; what is
    too small to be a size is left out."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def site(name: str, node: ast.expr, value: int) -> Site:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Site(name, starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column, value)

    found = [site(name, node, value) for name, node, value in _integers(ast.parse(text))]
    return [one for one in found if one.value >= _SMALLEST_SEEN or (one.is_batch and one.value > 1)]


def _integers(module: ast.Module) -> Iterator[tuple[str, ast.expr, int]]:
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                yield from _in_literal(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=elements)) if len(
                names
            ) == len(elements):
                for target, element in zip(names, elements, strict=True):
                    yield from _in_literal(ast.unparse(target), element)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield from _in_literal(name, value)
            case ast.FunctionDef(name="get_inputs" | "get_init_inputs" as name):
                for statement in node.body:
                    yield from _in_code(name, statement)


def _in_literal(name: str, node: ast.expr) -> Iterator[tuple[str, ast.expr, int]]:
    """An integer, or those in a tuple, list or dict of them."""
    value = _integer(node)
    if value is not None:
        yield name, node, value
    elif isinstance(node, ast.Tuple | ast.List):
        for index, element in enumerate(node.elts):
            yield from _in_literal(f"{name}[{index}]", element)


def _in_code(name: str, node: ast.AST) -> Iterator[tuple[str, ast.expr, int]]:
    """The integers anywhere in a function, the largest expressions that are one."""
    value = _integer(node)
    if isinstance(node, ast.expr) and value is not None:
        yield name, node, value
        return
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = f"{name}.{node.targets[0].id}"
    for child in ast.iter_child_nodes(node):
        yield from _in_code(name, child)


def _integer(node: ast.AST) -> int | None:
    """The value of an integer, or of a product, sum, difference or power of integers; else None."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _integer(left), _integer(right)
            if a is None or b is None:
                return None
            match op:
                case ast.Mult():
                    return a * b
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.FloorDiv() if b:
                    return a // b
                case ast.Pow() if 0 <= b <= 40 and abs(a) <= 1024:
                    return int(a**b)
    return None


def with_values(text: str, sites: Sequence[Site], values: Sequence[int]) -> str:
    """The source with other integers at these places."""
    data = text.encode()
    for site, value in sorted(zip(sites, values, strict=True), key=lambda pair: -pair[0].start):
        if value != site.value:
            data = data[: site.start] + str(value).encode() + data[site.end :]
    return data.decode()


def smaller(value: int) -> int:
    """Half of it; of an odd one a whole third, fifth or seventh; about half where these are tiny."""
    for factor in (2, 3, 5, 7):
        if value % factor == 0 and (factor == 2 or value // factor >= _SMALLEST):
            return value // factor
    return value // 2


# --- search --------------------------------------------------------------------------------------


def _halved(
    sites: Sequence[Site],
    original: Sequence[int],
    before: Load,
    budget: Budget,
    tried: Callable[[Sequence[int]], Load],
) -> tuple[list[int], Load]:
    """Values that fit the budget, or as near to it as can be had: the largest is made smaller first, so that
    proportions stay."""
    values, load = list(original), before
    stuck: set[int] = set()
    while budget.share(load) > 1:
        open_sites = [i for i in range(len(sites)) if i not in stuck and _may_shrink(sites[i], values[i])]
        if not open_sites:
            break
        chosen = max(open_sites, key=lambda i: values[i] * (_BATCH_WEIGHT if sites[i].is_batch else 1))
        step = _step(sites, values, load, budget, tried, chosen)
        if step is None:
            stuck.add(chosen)
        else:
            values, load = step
    return values, load


def _step(
    sites: Sequence[Site],
    values: Sequence[int],
    load: Load,
    budget: Budget,
    tried: Callable[[Sequence[int]], Load],
    chosen: int,
) -> tuple[list[int], Load] | None:
    """One constant made smaller, or all of its value, if Model still runs and takes less; else None."""
    alike = [i for i, value in enumerate(values) if value == values[chosen]]
    for group in ([chosen], alike) if len(alike) > 1 else ([chosen],):
        changed = [smaller(value) if i in group else value for i, value in enumerate(values)]
        try:
            lighter = tried(changed)
        except (Exception, SystemExit):  # the boundary: it does not run with these sizes
            continue
        if budget.share(lighter) <= budget.share(load) * (1 - _LEAST_SAVING):
            return changed, lighter
    return None


def _may_shrink(site: Site, value: int) -> bool:
    return smaller(value) >= (_SMALLEST_BATCH if site.is_batch else _SMALLEST)


# --- probe ---------------------------------------------------------------------------------------


def probe(text: str, entry: str) -> Load:
    """What one forward of the file's Model takes, seen on fake tensors; on real ones where it looks at their
    values and the inputs are small. Raises whatever its code raises."""
    import torch
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

    module = ModuleType(f"hotlap_probe_{secrets.token_hex(4)}")
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, "<problem>", "exec", dont_inherit=True), module.__dict__)
        try:
            return _measured(module, entry, is_fake=True)
        except (DataDependentOutputException, DynamicOutputShapeException):
            if _input_bytes(module) > _REAL_BYTES:
                raise
        with torch.random.fork_rng(devices=[]):
            return _measured(module, entry, is_fake=False)
    finally:
        del sys.modules[module.__name__]


def _input_bytes(module: ModuleType) -> int:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        given = module.get_inputs()
    return sum(tensor.numel() * tensor.element_size() for tensor in _tensors(given))


def _measured(module: ModuleType, entry: str, is_fake: bool) -> Load:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode

    with ExitStack() as modes:
        modes.enter_context(torch.no_grad())
        if is_fake:
            modes.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        flops = modes.enter_context(FlopCounterMode(display=False))
        memory = _Counter()
        modes.enter_context(_counting(memory))
        model_class = getattr(module, entry)
        args, kwargs = init_arguments(model_class, getattr(module, "get_init_inputs", lambda: None)())
        model = model_class(*args, **kwargs)
        args, kwargs = forward_arguments(module.get_inputs())
        built = flops.get_total_flops(), memory.moved_bytes, memory.operators
        answer = model(*args, **kwargs)
        load = Load(
            memory.peak_bytes,
            flops.get_total_flops() - built[0],
            memory.moved_bytes - built[1],
            memory.operators - built[2],
        )
        del answer
    return load


class _Counter:
    """Operators seen so far, the bytes that they read and wrote, and those that were alive at once."""

    def __init__(self) -> None:
        self.live_bytes = self.peak_bytes = self.moved_bytes = self.operators = 0
        self._storages: dict[int, Any] = {}

    def saw(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What the operator answers."""
        answer = func(*args, **kwargs)
        self.operators += 1
        new = [self._is_new(tensor) for tensor in _tensors(answer)]
        if any(new) or func._schema.is_mutable:  # else it is a view
            moved = [*_tensors((args, kwargs)), *_tensors(answer)]
            self.moved_bytes += sum(tensor.numel() * tensor.element_size() for tensor in moved)
        return answer

    def _is_new(self, tensor: Any) -> bool:
        """Whether its memory was not seen before; it counts until it goes."""
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self._storages:
            return False

        def gone(_: Any) -> None:
            self.live_bytes -= size
            self._storages.pop(key, None)

        self._storages[key] = weakref.ref(storage, gone)
        self.live_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        return True


def _counting(counter: _Counter) -> Any:
    """A mode of torch in which the counter sees every operator."""
    from torch.utils._python_dispatch import TorchDispatchMode

    def dispatch(_: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return counter.saw(func, args, kwargs or {})

    return type("Counting", (TorchDispatchMode,), {"__torch_dispatch__": dispatch})()


def _tensors(value: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if hasattr(leaf, "untyped_storage")]
