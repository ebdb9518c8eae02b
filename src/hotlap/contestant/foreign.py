"""A kernel that is called as another benchmark calls it, with any Python tree of tensors.

The referee sends the tree of a workload without its tensors; for every round it is put together again, on the
round's buffers and off the clock, since a kernel may change what it is given.
"""

import importlib
import inspect
import io
import pickle
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from hotlap.contestant import modelnew, results

RUN = "run"


class NoEntry(Exception):
    """The submission does not define what its problem calls; the text is for its author."""


class ForeignKernel:
    """A module that defines `custom_kernel(data)` (KernelBot), `ModelNew` (KernelBench), or `run(*inputs)` or
    `run(*inputs, *outputs)` (flashinfer)."""

    style = "returns"

    def __init__(self, module: ModuleType, name: str, contract: str, torch: Any, device: str):
        self._module, self._contract, self._torch, self._device = module, contract, torch, device
        self.results: list[Any] = []
        self._calls: list[tuple[Any, ...]] = []
        self._call = b""
        self._is_scalar: list[bool] = []  # of each input of `run`
        self._outputs: list[tuple[str, tuple[int, ...], str]] = []  # name, shape and dtype
        self._names: list[str] = []  # of the outputs, where an answer is a dict
        self._writes = False  # whether `run` takes its outputs
        entry = getattr(module, contract, None)
        if not callable(entry):
            what = "class" if contract == modelnew.ENTRY else "function"
            raise NoEntry(f"{name} defines no {what} `{contract}`; see `hotlap show PROBLEM`")
        self._kernel: Callable[..., Any] = entry

    def prepare(self, axes: dict[str, int], call: bytes) -> None:
        """Take the arguments of a workload, without their tensors; build what they are given to."""
        self._call = call
        if self._contract == modelnew.ENTRY:
            plan = load_tree(call, [], self._torch)
            self._names = plan["names"]
            self._kernel = modelnew.build(self._module, plan["recipe"], self._torch, self._device)
        elif self._contract == RUN:
            plan = load_tree(call, [], self._torch)
            self._is_scalar, self._outputs = plan["is_scalar"], plan["outputs"]
            self._names = [name for name, _, _ in self._outputs]
            self._kernel = self._run_of(getattr(self._module, RUN))

    def _run_of(self, entry: Callable[..., Any]) -> Callable[..., Any]:
        """The entry as a function of the inputs, and of outputs where it takes these too."""
        inputs = len(self._is_scalar)
        self._writes = _parameters(entry) == inputs + len(self._outputs)
        if not self._writes:
            return entry

        def run(*arguments: Any) -> Any:
            entry(*arguments)
            return arguments[inputs:]

        return run

    def _arguments(self, tensors: Sequence[Any], scalars: Sequence[float]) -> tuple[Any, ...]:
        """Of one call of `run`: inputs in their order, then outputs to write into."""
        arrays, values = iter(tensors), iter(scalars)
        given = [next(values, 0) if is_scalar else next(arrays) for is_scalar in self._is_scalar]
        if self._writes:
            torch = self._torch
            for _, shape, dtype in self._outputs:
                given.append(torch.empty(shape, dtype=getattr(torch, dtype), device=self._device))
        return tuple(given)

    def attach(self, inputs: Sequence[Any], outputs: Sequence[Any], slots: int) -> None:
        self._tensors = [
            [mapping.tensor(self._torch, slot) for mapping in inputs if mapping is not None]
            for slot in range(slots)
        ]

    def ready(self, scalars: Sequence[Sequence[float]]) -> None:
        """Free the last round's results and put the arguments of every call together."""
        self.results = []
        self._calls = []
        for slot, tensors in enumerate(self._tensors):
            values = scalars[slot] if slot < len(scalars) else ()
            if self._contract == RUN:
                self._calls.append(self._arguments(tensors, values))
                continue
            data = load_tree(self._call, tensors, self._torch)
            if self._contract == modelnew.ENTRY:
                self._calls.append((*data["arguments"], *values))
            else:
                self._calls.append((data,))

    def run(self, calls: int) -> None:
        kernel, keep = self._kernel, self.results.append
        for arguments in self._calls[:calls]:
            keep(kernel(*arguments))

    def pointers(self) -> list[int]:
        return results.pointers(self._flat())

    def returned(self) -> list[list[dict[str, Any]]]:
        return results.layouts(self._flat())

    def _flat(self) -> Sequence[Any]:
        tensor = self._torch.Tensor
        if all(isinstance(result, tensor) for result in self.results):
            return self.results  # nothing to take apart inside the clock
        return [tuple(results.arrays(self._ordered(result))) for result in self.results]

    def _ordered(self, result: Any) -> Any:
        """A dict of outputs by name in the order that the problem states; None for one of other names."""
        if not (self._names and isinstance(result, dict)):
            return result
        return [result[name] for name in self._names] if set(result) == set(self._names) else None


def _parameters(function: Callable[..., Any]) -> int:
    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return 0  # a built-in without a signature: then it returns its outputs


def load_tree(data: bytes, tensors: Sequence[Any], torch: Any) -> Any:
    """The tree that the referee took apart, on these tensors; without any, None in their places."""
    unpickler = pickle.Unpickler(io.BytesIO(data))
    made: dict[int, Any] = {}

    def persistent_load(name: Any) -> Any:
        what, *rest = name
        if what == "name":
            found: Any = importlib.import_module(rest[0])
            for part in rest[1].split("."):
                found = getattr(found, part)
            return found
        if what == "value":
            dtype, shape, raw, is_elsewhere, kind = rest
            flat = torch.empty(0, dtype=getattr(torch, dtype))
            if raw:
                flat = torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype))
            value = flat.view(shape)
            return _of_kind(
                value.to(tensors[0].device) if tensors and not is_elsewhere else value, kind, torch
            )
        index, shape, strides, kind = rest
        if tensors and index not in made:
            made[index] = _of_kind(tensors[index].as_strided(shape, strides), kind, torch)
        return made.get(index)

    unpickler.persistent_load = persistent_load  # type: ignore[method-assign]
    return unpickler.load()


def _of_kind(tensor: Any, kind: tuple[bool, bool], torch: Any) -> Any:
    is_parameter, requires_grad = kind
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor
