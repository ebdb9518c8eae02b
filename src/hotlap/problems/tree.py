"""Python trees of tensors, taken apart for the way to a contestant and put together again.

Arguments are pickled with a persistent id in the place of every tensor, and travel from trusted to untrusted
only. Results come back the other way as tensors alone, in the places of a tree that JSON can hold: nothing
from a contestant is ever unpickled.
"""

import importlib
import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from hotlap.errors import ProblemError

if TYPE_CHECKING:
    import torch


def dump(
    tree: Any, device: str | None = None, homes: Mapping[str, str | None] | None = None
) -> "tuple[bytes, list[torch.Tensor]]":
    """A tree without its tensors, and these: contiguous, in memory order, each one once.

    A tensor that fills its memory in another order of dimensions is rebuilt with its strides; one with gaps
    or overlaps becomes contiguous. device: the type of device whose tensors are taken out, by default any;
    those elsewhere, and empty ones, stay in the bytes with their values. homes: modules by the names that
    they have here, and what they are called where the tree is loaded, None where they are not there. Raises
    ProblemError for what cannot travel.
    """
    stream, taken = io.BytesIO(), _Taken(device)
    pickler = pickle.Pickler(stream, protocol=4)
    pickler.persistent_id = _persistent_id(taken, homes or {})  # type: ignore[method-assign]
    try:
        pickler.dump(tree)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise ProblemError(
            f"the arguments hold what no other process can have ({str(error)[:200] or 'nested too deeply'}); "
            "allowed: tensors, numbers, strings, tuples, lists, dicts, and objects of importable classes"
        ) from None
    return stream.getvalue(), taken.leaves


def load(
    data: bytes, tensors: "Sequence[torch.Tensor]", modules: Mapping[str, ModuleType] | None = None
) -> Any:
    """The tree that `dump` took apart, on these tensors instead: views of them, nothing is copied.

    modules: where classes are looked up first, by the name of their module.
    """
    unpickler = pickle.Unpickler(io.BytesIO(data))
    unpickler.persistent_load = _persistent_load(tensors, modules or {})  # type: ignore[method-assign]
    return unpickler.load()


def flatten(tree: Any) -> "tuple[Any, list[torch.Tensor]]":
    """A result's shape, as JSON can hold it, and its tensors from left to right; the same one twice counts
    twice. Raises ProblemError for anything but tensors, numbers, strings, None, tuples, lists and dicts."""
    tensors: list[Any] = []
    return _flatten(tree, tensors), tensors


def unflatten(shape: Any, tensors: "Sequence[torch.Tensor]") -> Any:
    """The result of this shape with these tensors in it."""
    kind, value = shape
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {key: unflatten(one, tensors) for key, one in value}
    if kind in ("tuple", "list"):
        found = [unflatten(one, tensors) for one in value]
        return tuple(found) if kind == "tuple" else found
    return value


# --- arguments -----------------------------------------------------------------------------------


class _Taken:
    """The tensors that were taken out of a tree so far."""

    def __init__(self, device: str | None) -> None:
        self.device = device
        self.leaves: list[Any] = []
        self._seen: dict[int, tuple[Any, Any]] = {}  # the tensor is kept, so that its id stays its own

    def name(self, tensor: Any) -> Any:
        """The persistent id of a tensor."""
        if id(tensor) not in self._seen:
            self._seen[id(tensor)] = tensor, self._take(tensor)
        return self._seen[id(tensor)][1]

    def _take(self, tensor: Any) -> Any:
        import torch

        if tensor.layout != torch.strided or tensor.device.type == "meta" or tensor.is_quantized:
            raise ProblemError(
                f"the arguments hold a {tensor.layout} tensor on {tensor.device}; allowed: dense ones"
            )
        kind = (isinstance(tensor, torch.nn.Parameter), tensor.requires_grad)
        plain = tensor.detach()
        is_elsewhere = self.device is not None and plain.device.type != self.device
        if is_elsewhere or not plain.numel():
            raw = plain.contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()
            dtype = str(plain.dtype).removeprefix("torch.")
            return "value", dtype, tuple(plain.shape), raw, is_elsewhere, kind
        order = sorted(range(plain.dim()), key=lambda d: (-plain.stride(d), -plain.size(d)))
        leaf = plain.permute(order)
        if not leaf.is_contiguous():
            leaf = plain = plain.contiguous()
        self.leaves.append(leaf)
        return "tensor", len(self.leaves) - 1, tuple(plain.shape), tuple(plain.stride()), kind


def _persistent_id(taken: _Taken, homes: Mapping[str, str | None]) -> Callable[[Any], Any]:
    import torch

    def persistent_id(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return taken.name(value)
        if isinstance(value, type | FunctionType) and value.__module__ in homes:
            home = homes[value.__module__]
            if home is None:
                raise ProblemError(
                    f"the arguments hold {value.__qualname__} of a file that no submission gets"
                )
            return "name", home, value.__qualname__
        return None

    return persistent_id


def _persistent_load(tensors: Sequence[Any], modules: Mapping[str, ModuleType]) -> Callable[[Any], Any]:
    import torch

    made: dict[int, Any] = {}

    def persistent_load(name: Any) -> Any:
        what, *rest = name
        if what == "name":
            found: Any = modules.get(rest[0]) or importlib.import_module(rest[0])
            for part in rest[1].split("."):
                found = getattr(found, part)
            return found
        if what == "value":
            dtype, shape, raw, is_elsewhere, kind = rest
            flat = torch.empty(0, dtype=getattr(torch, dtype))
            if raw:
                flat = torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype))
            value = flat.view(shape)
            return _of_kind(value.to(tensors[0].device) if tensors and not is_elsewhere else value, kind)
        index, shape, strides, kind = rest
        if index not in made:
            made[index] = _of_kind(tensors[index].as_strided(shape, strides), kind)
        return made[index]

    return persistent_load


def _of_kind(tensor: Any, kind: tuple[bool, bool]) -> Any:
    import torch

    is_parameter, requires_grad = kind
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


# --- results -------------------------------------------------------------------------------------


def _flatten(tree: Any, tensors: list[Any]) -> Any:
    import torch

    if isinstance(tree, torch.Tensor):
        tensors.append(tree.detach())
        return ["tensor", len(tensors) - 1]
    if isinstance(tree, dict):
        return ["dict", [[key, _flatten(value, tensors)] for key, value in tree.items()]]
    if isinstance(tree, tuple | list):
        return ["tuple" if isinstance(tree, tuple) else "list", [_flatten(one, tensors) for one in tree]]
    if tree is None or isinstance(tree, bool | int | float | str):
        return ["value", tree]
    raise ProblemError(
        f"the result holds {type(tree).__name__}; "
        "allowed: tensors, numbers, strings, None, tuples, lists and dicts"
    )
