"""Run code that says "cuda" on whatever device is at hand, without a change to its text.

On a GPU "cuda" is made to mean that GPU. On a CPU every device argument of torch that says "cuda" means the
CPU, and what only waits for a GPU or seeds one does nothing. Not covered: what asks what a GPU can do.
"""

import contextlib
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hotlap.errors import DeviceError

if TYPE_CHECKING:
    import torch

_CUDA = re.compile(r"cuda(:\d+)?")
_IDLE = ("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device", "ipc_collect")
_FACTORIES = ("randn", "rand", "randint", "empty", "zeros", "ones", "full")
MEMORY_SHARE = 0.25  # of the free memory that one tensor may take on a CPU


@contextlib.contextmanager
def cuda_means(device: "str | torch.device") -> Iterator[None]:
    """While it lasts "cuda" means `device`. On a CPU it changes torch for every thread: hold a lock.

    Raises DeviceError, on a CPU, where one tensor would take more than a quarter of the free memory.
    """
    import torch

    if torch.device(device).type == "cuda":
        with torch.cuda.device(device):
            yield
        return
    with contextlib.ExitStack() as ends:
        for name in _IDLE:
            ends.enter_context(_replaced(torch.cuda, name, _idle()))
        ends.enter_context(_replaced(torch, "Generator", _generator_class()))
        ends.enter_context(_mode(_free_bytes() * MEMORY_SHARE))
        yield


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def _idle() -> Callable[..., None]:
    """A function that does nothing, each time another: what torch imports late looks all of its own up."""

    def nothing(*arguments: object, **settings: object) -> None:
        """Nothing is to be waited for, or seeded, on a GPU that is not there."""

    return nothing


def _generator_class() -> type:
    import torch

    class Generator(torch.Generator):
        """torch's generator, on the CPU wherever it is asked for."""

        def __new__(cls, device: Any = "cpu") -> Any:
            return super().__new__(cls, _here(device))  # type: ignore[call-arg]

    return Generator


def _mode(most_bytes: float) -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    class CudaIsTheCpu(TorchFunctionMode):
        def __torch_function__(
            self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if function is torch.Tensor.cuda:
                return args[0]
            settings = {name: _here(value) for name, value in (kwargs or {}).items()}
            if getattr(function, "__name__", "") in _FACTORIES:
                _refuse_large(args, settings, most_bytes)
            return function(*(_here(value) for value in args), **settings)

    return CudaIsTheCpu()


def _here(value: Any) -> Any:
    """ "cpu" for "cuda" and torch.device("cuda"), anything else as it is."""
    import torch

    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    return "cpu" if isinstance(value, str) and _CUDA.fullmatch(value) else value


def _refuse_large(args: Any, settings: dict[str, Any], most_bytes: float) -> None:
    import torch

    size = settings.get("size") or next((a for a in args if isinstance(a, tuple | list)), args)
    if not all(isinstance(n, int) for n in size):
        return
    needed = math.prod(size) * (settings.get("dtype") or torch.get_default_dtype()).itemsize
    if needed > most_bytes:
        raise DeviceError(
            f"unsupported here: needs {needed / 1e9:.1f} GB of memory for one tensor; allowed: a quarter "
            f"of what is free, {most_bytes / 1e9:.1f} GB"
        )


def _free_bytes() -> int:
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1 << 40
