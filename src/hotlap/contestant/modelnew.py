"""Build a KernelBench submission's `ModelNew` as the referee built `Model`: the same draws, the same weights.

The referee sends a recipe and leaves the weights beside the submission. They go in by name where ModelNew
names all of them as Model does; else both have drawn them from one seed, in the order of their constructors,
which is all that the original asks for.
"""

import io
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ENTRY = "ModelNew"
WEIGHTS = "hotlap_weights.pt"  # beside the submission: torch.save of Model's state_dict


class NoModel(Exception):
    """The submission has no ModelNew that can be built; the text is for its author."""


class BuiltModel:
    """A ModelNew on its device; calling it makes one forward pass.

    restores: whether what a call leaves in the buffers (running means and the like) changes what the next one
    answers; then they are put back before each. note: how it came by its weights, where not by name.
    """

    def __init__(self, model: Any, torch: Any, restores: bool, note: str | None):
        self._model, self._torch, self.note = model, torch, note
        self._buffers = {name: buffer.clone() for name, buffer in model.named_buffers()} if restores else {}

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], seed: int | None = None) -> Any:
        """One forward. seed: for Models that draw random numbers in it."""
        with self._torch.no_grad():
            if self._buffers:
                self._restore()
            if seed is not None:
                seed_all(self._torch, seed)
            return self._model(*args, **kwargs)

    def _restore(self) -> None:
        for name, buffer in self._model.named_buffers():
            if name in self._buffers:
                buffer.copy_(self._buffers[name])


def build(module: Any, recipe: bytes, torch: Any, device: str) -> BuiltModel:
    """The ModelNew of a submission's module, on `device`, in the mode that the recipe says. Raises NoModel.

    recipe: torch.save of a dict: args and kwargs of the constructor, seed, dtype, training, keeps_state.
    """
    entry = getattr(module, ENTRY, None)
    if not callable(entry):
        raise NoModel(
            f"defines no class `{ENTRY}`; write `class {ENTRY}(nn.Module)` with Model's constructor"
        )
    # The referee made both: towards the contestant any object may travel.
    said = torch.load(io.BytesIO(recipe), weights_only=False, map_location="cpu")
    state = torch.load(Path(module.__file__).parent / WEIGHTS, weights_only=False, map_location="cpu")
    args, kwargs = (_moved(said[name], torch, device) for name in ("args", "kwargs"))
    seed_all(torch, said["seed"])
    with torch.no_grad():
        model = entry(*args, **kwargs)
    if not isinstance(model, torch.nn.Module):
        raise NoModel(f"`{ENTRY}` makes a {type(model).__name__}; it must be a torch.nn.Module")
    model = model.to(device=device, dtype=getattr(torch, said["dtype"]))
    note = take_weights(model, state)
    if note is not None:
        print(note, file=sys.stderr, flush=True)
    model.train(said["training"])
    return BuiltModel(model, torch, said["keeps_state"], note)


def seed_all(torch: Any, seed: int) -> None:
    """Seed torch's and Python's generators, and NumPy's where it is there."""
    torch.manual_seed(seed)
    random.seed(seed)
    try:
        import numpy as np
    except ImportError:
        return
    np.random.seed(seed % 2**32)


def take_weights(model: Any, state: Mapping[str, Any]) -> str | None:
    """Load `state` into a model of its names and shapes; else leave what its constructor drew and say why."""
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    wanted = {name: tuple(value.shape) for name, value in state.items()}
    if own == wanted:
        model.load_state_dict(state, strict=True)
        return None
    both = own.keys() & wanted.keys()
    parts = [
        _few("Model alone has", wanted.keys() - both),
        _few(f"{ENTRY} alone has", own.keys() - both),
        _few("of other shapes are", {name for name in both if own[name] != wanted[name]}),
    ]
    return (
        f"{ENTRY} does not name its weights as Model does ({'; '.join(filter(None, parts))}): they are what "
        "its constructor drew, from the seed that Model had"
    )


def _few(text: str, names: set[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{text} {', '.join(shown[:3])}{more}" if shown else ""


def _moved(tree: Any, torch: Any, device: str) -> Any:
    """A tree of constructor arguments with its tensors on the device."""
    if isinstance(tree, torch.Tensor):
        return tree.to(device)
    if type(tree) is dict:
        return {key: _moved(value, torch, device) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_moved(value, torch, device) for value in tree)
    return tree
