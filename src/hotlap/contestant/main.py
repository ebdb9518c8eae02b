"""The contestant's loop: load, prepare, attach buffers, run rounds. Nothing it says is believed.

A round: answer "ready", spin until GO holds the round's number, make the calls, leave the addresses of
returned tensors in the control block, write the number to DONE, then describe what was returned.
Everything the referee needs before its end stamp is in shared memory, so it can freeze us at once.
"""

import base64
import ctypes
import gc
import importlib
import importlib.util
import inspect
import json
import os
import signal
import socket
import sys
import tarfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hotlap.contestant import limits, results, wire
from hotlap.contestant.cuda import CudaFailed
from hotlap.contestant.foreign import ForeignKernel, NoEntry
from hotlap.contestant.gpu import GpuRounds
from hotlap.contestant.modelnew import NoModel
from hotlap.contestant.unshared import Unshared

MESSAGE_CHARS, TRACEBACK_CHARS = 4096, 16384
PROT_READ, PROT_WRITE = 1, 2
MAP_SHARED, MAP_POPULATE = 0x01, 0x8000

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class ContractError(Exception):
    """The submission does not keep the contract; the text is for its author."""


FOR_THE_AUTHOR = (ContractError, NoEntry, NoModel, CudaFailed)  # their text says all that there is to say


class Mapping:
    """One shared buffer: `slots` copies of an array at `stride` bytes from each other."""

    def __init__(self, fd: int, spec: dict[str, Any]):
        self.spec, self.bytes = spec, spec["bytes"]
        protection = PROT_READ | PROT_WRITE if spec["writable"] else PROT_READ
        # Populate: a page fault inside a timed call would be charged to the author.
        address = libc.mmap(None, self.bytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0)
        os.close(fd)
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), f"cannot map {spec['name']} ({self.bytes} bytes)")
        self.address: int = address

    def slot(self, index: int) -> int:
        return self.address + index * int(self.spec["stride"])

    def tensor(self, torch: Any, index: int) -> Any:
        size = max(1, self.spec["elements"]) * self.spec["itemsize"]
        raw = (ctypes.c_char * size).from_address(self.slot(index))
        flat = torch.frombuffer(
            raw, dtype=getattr(torch, self.spec["dtype"]), count=max(1, self.spec["elements"])
        )
        return flat[: self.spec["elements"]].view(self.spec["shape"])

    def close(self) -> None:
        libc.munmap(self.address, self.bytes)


class PythonKernel:
    """A module that defines `kernel(*inputs)` or `kernel(*inputs, out)`."""

    def __init__(self, path: Path, torch: Any):
        self.torch = torch
        module = import_file(path)
        kernel = getattr(module, "kernel", None)
        if not callable(kernel):
            raise ContractError(f"{path.name} defines no function `kernel`; see `hotlap show PROBLEM`")
        self.kernel: Callable[..., Any] = kernel
        self.author_prepare: Callable[[dict[str, int]], object] | None = getattr(module, "prepare", None)
        self.style = "out" if "out" in parameters(self.kernel) else "returns"
        self.results: list[Any] = []
        self.calls: list[tuple[Any, ...]] = []
        self.outs: list[Any] = []

    def prepare(self, axes: dict[str, int], call: bytes = b"") -> None:
        if self.author_prepare is not None:
            self.author_prepare(axes)

    def attach(self, inputs: Sequence[Mapping | None], outputs: Sequence[Mapping], slots: int) -> None:
        self.inputs = inputs
        self.tensors = [[m and m.tensor(self.torch, i) for m in inputs] for i in range(slots)]
        per_slot = [tuple(m.tensor(self.torch, i) for m in outputs) for i in range(slots)]
        self.outs = [outs[0] if len(outs) == 1 else outs for outs in per_slot]

    def ready(self, scalars: Sequence[Sequence[float]]) -> None:
        """Free the last round's results and put this round's scalars among the arguments."""
        self.results = []
        calls = []
        for slot, tensors in enumerate(self.tensors):
            values = iter(scalars[slot] if slot < len(scalars) else ())
            calls.append(tuple(next(values, 0) if t is None else t for t in tensors))
        self.calls = calls

    def run(self, calls: int) -> None:
        kernel = self.kernel
        if self.style == "out":
            for arguments, out in zip(self.calls[:calls], self.outs, strict=False):
                kernel(*arguments, out=out)
        else:
            keep = self.results.append
            for arguments in self.calls[:calls]:
                keep(kernel(*arguments))

    def pointers(self) -> list[int]:
        """Where the returned arrays are, call by call and output by output."""
        return [] if self.style == "out" else results.pointers(self.results)

    def returned(self) -> list[list[dict[str, Any]]]:
        """The distinct layouts of what the calls returned, each a list with one entry an output."""
        return results.layouts(self.results)


class CompiledKernel:
    """A shared library built from C++; its loop over the calls is part of the build."""

    style = "c"
    results: Sequence[Any] = ()

    def __init__(self, path: Path, axes_names: Sequence[str]):
        library = ctypes.CDLL(str(path))
        self.calls = library.hotlap_calls
        self.author_prepare = getattr(library, "prepare", None)
        self.axes_names = axes_names
        self.axes: Any = None

    def prepare(self, axes: dict[str, int], call: bytes = b"") -> None:
        values = [axes[name] for name in self.axes_names]
        self.axes = (ctypes.c_int64 * max(1, len(values)))(*values)
        if self.author_prepare is not None:
            code = self.author_prepare(*[ctypes.c_int64(v) for v in values])
            if code:
                raise ContractError(f"prepare returned {code}; it must return 0")

    def attach(self, inputs: Sequence[Mapping | None], outputs: Sequence[Mapping], slots: int) -> None:
        self.columns = [*inputs, *outputs]
        self.slots = slots
        self.table = (ctypes.c_void_p * (slots * len(self.columns)))()

    def ready(self, scalars: Sequence[Sequence[float]]) -> None:
        self.cells: list[Any] = []  # keeps the scalars' storage alive for the round
        for slot in range(self.slots):
            values = iter(scalars[slot] if slot < len(scalars) else ())
            for column, mapping in enumerate(self.columns):
                self.table[slot * len(self.columns) + column] = (
                    mapping.slot(slot) if mapping is not None else self._cell(next(values, 0))
                )

    def _cell(self, value: float) -> int:
        cell = ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)
        self.cells.append(cell)
        return ctypes.addressof(cell)

    def run(self, calls: int) -> None:
        code = self.calls(self.table, self.axes, ctypes.c_int64(calls))
        if code:
            raise ContractError(f"kernel returned {code}; it must return 0")

    def pointers(self) -> list[int]:
        return []

    def returned(self) -> list[list[dict[str, Any]]]:
        return []


class CudaKernel(CompiledKernel):
    """A shared library built from CUDA C++; it launches on torch's current stream."""

    def __init__(self, path: Path, axes_names: Sequence[str], torch: Any):
        super().__init__(path, axes_names)
        self.torch = torch
        self.error_name = ctypes.CDLL(str(path)).hotlap_error_name
        self.error_name.restype = ctypes.c_char_p

    def run(self, calls: int) -> None:
        stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        code = self.calls(self.table, self.axes, ctypes.c_int64(calls), stream)
        if code:
            name = (self.error_name(code) or b"no CUDA error").decode(errors="replace")
            raise ContractError(f"kernel returned {code} ({name}); it must return 0")


class NoKernel:
    """The null seat: rounds of no calls, to measure what an empty round costs."""

    style = "null"
    results: Sequence[Any] = ()

    def attach(self, inputs: Sequence[Mapping | None], outputs: Sequence[Mapping], slots: int) -> None:
        pass

    def ready(self, scalars: Sequence[Sequence[float]]) -> None:
        pass

    def run(self, calls: int) -> None:
        pass

    def prepare(self, axes: dict[str, int], call: bytes = b"") -> None:
        pass

    def pointers(self) -> list[int]:
        return []

    def returned(self) -> list[list[dict[str, Any]]]:
        return []


Kernel = PythonKernel | ForeignKernel | CompiledKernel | NoKernel | Unshared


def unpack_caches(archive: Path) -> None:
    """Put what an earlier process of the same submission compiled where its compilers look for it."""
    if archive.is_file():
        with tarfile.open(archive) as tar:
            tar.extractall("/tmp", filter="data")


def parameters(function: Callable[..., object]) -> Sequence[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []  # a built-in without a signature: then it returns its outputs


def import_file(path: Path) -> ModuleType:
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("submission", path)
    if spec is None or spec.loader is None:
        raise ContractError(f"{path.name} cannot be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    return module


def words(error: BaseException) -> str:
    """What an exception says; an author's class may raise even in that."""
    try:
        return str(error)
    except BaseException:
        return "(it does not say why: its __str__ raises)"


def describe(error: BaseException, phase: str) -> dict[str, Any]:
    """What an exception looks like on the wire: the author's own frames, size-capped."""
    if isinstance(error, SyntaxError):
        where = f"{os.path.basename(error.filename or '?')}, line {error.lineno}"
        text = f"SyntaxError: {error.msg} ({where})"
    elif isinstance(error, FOR_THE_AUTHOR):
        text = str(error)
    else:
        said = words(error)
        text = f"raised {type(error).__name__}" + (f": {said}" if said else "")
    own = Path(__file__).parent
    frames = [f for f in traceback.extract_tb(error.__traceback__) if own not in Path(f.filename).parents]
    frames = [f for f in frames if not f.filename.startswith("<frozen")]
    trace = "".join(traceback.format_list(frames) + traceback.format_exception_only(error))
    return {
        "op": "error",
        "phase": phase,
        "type": type(error).__name__,
        "message": text[:MESSAGE_CHARS],
        "traceback": "" if isinstance(error, FOR_THE_AUTHOR) else trace[-TRACEBACK_CHARS:],
    }


class Contestant:
    """State of one contestant process between messages."""

    def __init__(self, channel: wire.Channel, torch: Any, gpu: GpuRounds | None, is_unshared: bool):
        self.channel, self.torch, self.gpu, self.is_unshared = channel, torch, gpu, is_unshared
        self.kernel: Kernel = NoKernel()
        self.mappings: list[Mapping] = []
        self.control = 0

    def load(self, path: str, lang: str, axes_names: list[str], contract: str = "kernel") -> dict[str, Any]:
        unpack_caches(Path(path).parent / wire.CACHES)
        if lang == "cpp":
            self.kernel = CompiledKernel(Path(path), axes_names)
        elif lang == "cu":
            self.kernel = CudaKernel(Path(path), axes_names, self.torch)
        else:
            if self.torch is None:
                self.torch = importlib.import_module("torch")
            self.kernel = self._python_kernel(Path(path), contract)
        if self.is_unshared:
            self.kernel = Unshared(self.kernel, self.torch)
        return {"op": "loaded", "style": self.kernel.style}

    def _python_kernel(self, path: Path, contract: str) -> PythonKernel | ForeignKernel:
        if contract == "kernel":
            return PythonKernel(path, self.torch)
        device = "cuda" if self.gpu is not None or self.is_unshared else "cpu"
        return ForeignKernel(import_file(path), path.name, contract, self.torch, device)

    def open_control(self) -> dict[str, Any]:
        (fd,) = self.channel.take_fds()
        spec = {"name": "control", "bytes": wire.CONTROL_BYTES, "writable": True}
        self.control = Mapping(fd, spec).address
        self.go = ctypes.c_uint64.from_address(self.control + wire.GO)
        self.done = ctypes.c_uint64.from_address(self.control + wire.DONE)
        self.places = (ctypes.c_uint64 * (wire.MAX_CALLS * wire.MAX_OUTPUTS)).from_address(
            self.control + wire.POINTERS
        )
        return {"op": "opened"}

    def prepare(self, axes: dict[str, int], call: str = "") -> dict[str, Any]:
        """call: a foreign problem's arguments without their tensors, in base 64."""
        self.kernel.prepare(axes, base64.b64decode(call))
        if self.gpu is not None:
            self.gpu.cuda.synchronize()  # what prepare broke on the device shows here, not in a call
        return {"op": "prepared"}

    def attach(
        self, inputs: list[dict[str, Any] | None], outputs: list[dict[str, Any]], slots: int
    ) -> dict[str, Any]:
        """Map a workload's buffers. A None among the inputs is a scalar, whose value comes each round."""
        for mapping in self.mappings:
            mapping.close()
        fds = iter(self.channel.take_fds())
        ins = [None if spec is None else Mapping(next(fds), spec) for spec in inputs]
        outs = [Mapping(next(fds), spec) for spec in outputs]
        self.mappings = [m for m in ins if m is not None] + outs
        self.kernel.attach(ins, outs, slots)
        return {"op": "attached"}

    def round(
        self, number: int, calls: int, scalars: list[list[float]], handicap_ns: int = 0
    ) -> dict[str, Any]:
        """Make a round's calls. handicap_ns: a wait behind them, so they take longer by a known part."""
        kernel, go, done = self.kernel, self.go, self.done
        kernel.ready(scalars)
        gc.collect(0)
        gc.disable()  # a collection inside the clock would be noise, for everybody
        self.channel.send(op="ready", number=number)
        try:
            while go.value != number:
                pass
            kernel.run(calls)
            pointers = kernel.pointers()
            if handicap_ns:
                end = time.perf_counter_ns() + handicap_ns
                while time.perf_counter_ns() < end:
                    pass
            for place, pointer in enumerate(pointers):
                self.places[place] = pointer
            done.value = number
        except BaseException:
            done.value = number | wire.RAISED
            raise
        finally:
            gc.enable()
        return {"op": "finished", "number": number, "returned": kernel.returned()}

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        op, gpu = message.pop("op"), self.gpu
        if gpu is not None and op == "flags":
            return gpu.open_flags(**message)
        if gpu is not None and op in ("attach", "capture", "round"):
            do: Callable[..., dict[str, Any]] = getattr(gpu, op)
            return do(self.kernel, **message)
        if op == "load":
            return self.load(**message)
        if op == "control":
            return self.open_control()
        if op == "prepare":
            return self.prepare(**message)
        if op == "claim" and isinstance(self.kernel, Unshared):
            return self.kernel.claim()
        if op == "attach":
            return self.attach(**message)
        return self.round(**message)


PHASES = {"load": "load", "prepare": "prepare"}


def main(argv: list[str]) -> None:
    """argv: descriptor of our socket, "torch" or "bare", JSON of resource limits, and how device memory
    is had: "cpu" not at all, "cuda" shared with the referee, "unshared" through the host's."""
    limits.lower(json.loads(argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    channel = wire.Channel(socket.socket(fileno=int(argv[0])), accept_fds=True)
    torch = None
    if argv[1] == "torch":
        torch = importlib.import_module("torch")
    gpu = GpuRounds(channel, torch) if argv[3] == "cuda" else None
    contestant = Contestant(channel, torch, gpu, argv[3] == "unshared")
    channel.send(op="hello")
    while True:
        try:
            message = channel.receive()
        except wire.PeerGone:
            os._exit(0)
        if message["op"] == "quit":
            os._exit(0)  # the interpreter's own shutdown would run the author's exit hooks, for nothing
        phase = PHASES.get(message["op"], "call")
        try:
            reply = contestant.answer(message)
        except BaseException as error:  # the boundary: whatever the author's code raises is data
            reply = describe(error, phase)
        channel.send(**reply)
