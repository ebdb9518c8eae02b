"""One round on a GPU: the referee's stream surrounds the contestant's calls; no host latency is in the time.

The referee queues, before the contestant may start: poison the outputs, copy the vault into the slots, clean
the L2, stamp t1, write GO, wait for DONE, stamp t2, read secret words of every output. Without MPS only one
process's kernels run at a time, so inputs cannot be seen before t1 and nothing is written between DONE and
the sample.

Defends against: outputs that were not there at t2 (poison and samples), work that goes on (a second sample),
skipped calls (samples in every call), inputs that were changed (compared with the vault), kernels of others
while inputs are copied (a stamp every 512 MB), a flag block shared with a rival, contestants that hang (every
wait is bounded, GO is written before they are killed). Does not defend against: calls of one round that are
merged or overlap; single-call rounds show those (`hotlap.judge`).
"""

import contextlib
import ctypes
import itertools
import select
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hotlap.contestant import wire
from hotlap.errors import HarnessError, OutOfDeviceMemory
from hotlap.model import Problem
from hotlap.problems.reference import Reference, make_inputs
from hotlap.referee import check, sandbox
from hotlap.referee.buffers import Layout, poison_word
from hotlap.referee.cuda import GRANULE, HANDLE_BYTES, CudaError, Gpu
from hotlap.referee.limits import Limits
from hotlap.referee.rng import CudaRng
from hotlap.referee.rounds import (
    Returned,
    RoundResult,
    Vault,
    accept_returned,
    call_failed,
    doubtful,
    layout_of,
    refuse_aliases,
    returned,
    verdict_on_samples,
)
from hotlap.referee.seat import Seat, SeatFailed, SeatSilent

MODES = ("graph", "stream", "after-go")  # in the order in which they are tried
SLOT_ALIGNMENT = 256
COVER_NS = 300_000  # a spin that hides the host's time for queueing what follows
PIECE_BYTES = 512 << 20  # of inputs between two stamps
STALL_S = 3.0  # to queue a round's calls: who takes longer waits for the device, and so for GO
DECOYS = 16  # pairs of words of an input in each call
VAULT, SLOTS = 0, 1
LATE_NS = 100_000  # a first sample that was queued before DONE is over sooner; a switch takes longer
MAX_BLOCKS = 1024  # allocations in which returned tensors may lie
POLL_S = 2e-5
FINISH_S = 2.0  # from the end of the calls until the contestant says so
FAR_AHEAD = 1 << 30  # rounds; flags compare cyclically


class Stalled(Exception):
    """The contestant did not get its calls queued ahead of GO."""


@dataclass(frozen=True)
class Pace:
    """How long the referee's own copies take on this GPU, measured before any author's code was there."""

    copy_ns: float  # of no bytes
    copy_ns_per_byte: float
    sweep_ns: float


INTRUSION_NS = 150_000  # half of what two switches between processes cost
INTRUSION_SHARE = 0.25  # a hot GPU stretches every copy a little


@dataclass
class Shelf:
    """Device memory that outlives the contestants who use it, one after another: (bytes, address, handle).

    Which physical memory a kernel's arrays lie in changes its time by up to 0.3 %. So the sides of a duel
    change places, and the places must stay what they are.
    """

    blocks: list[tuple[int, int, str]] = field(default_factory=list)

    def take(self, size: int) -> tuple[int, int, str] | None:
        """The smallest block of at least so many bytes, of these the first; None where there is none."""
        fitting = [block for block in self.blocks if block[0] >= size]
        if not fitting:
            return None
        found = min(fitting, key=lambda block: block[0])
        self.blocks.remove(found)
        return found

    def empty(self, gpu: Gpu) -> None:
        """Give the memory back. Whoever used it must be dead."""
        for _, address, _ in self.blocks:
            with contextlib.suppress(CudaError):
                gpu.free(address)
        self.blocks = []


class CudaSeat(Seat):
    """A contestant with a context on a GPU.

    The flags are its own: in a shared block one contestant could end another's round. So are its blocks of
    memory, which are freed only once it is dead: memory that is freed while it still maps it would come back
    as somebody's secret.
    """

    def __init__(
        self,
        gpu: Callable[[], Gpu],
        access: sandbox.GpuAccess,
        cpus: tuple[int, ...],
        limits: Limits,
        imports: str = "torch",
        freezer: str = "best",
    ):
        self._gpu = gpu  # asked for only once it is needed: contestants start while the referee's GPU does
        self._free: list[tuple[int, int]] = []  # (size, address)
        self._blocks: dict[int, tuple[int, str]] = {}  # address -> size, handle
        self._opened: dict[str, tuple[int, int]] = {}
        self.shelf: Shelf | None = None
        self.flags = 0
        super().__init__(cpus, limits, imports, freezer, access=access)

    @property
    def gpu(self) -> Gpu:
        return self._gpu()

    def memory_kind(self) -> str:
        return "cuda"

    def await_start(self) -> None:
        if not self.is_ready:
            super().await_start()
            self.flags = self.gpu.allocate(GRANULE)
            self.ask("load", self.limits.start_s, op="flags", handle=self.gpu.export(self.flags))

    def take_block(self, size: int) -> int:
        """Address of at least so much device memory that this contestant may map, with nothing else in it."""
        fitting = [block for block in self._free if block[0] >= size]
        if fitting:
            block = min(fitting, key=lambda block: block[0])
            self._free.remove(block)
            return block[1]
        kept = self.shelf.take(size) if self.shelf is not None else None
        if kept is not None:
            whole, address, handle = kept
            self._blocks[address] = (whole, handle)
            return address
        address = self.gpu.allocate(size)
        self._blocks[address] = (size, self.gpu.export(address))
        return address

    def give_block(self, address: int) -> None:
        """Keep a block for this contestant's next workload; once it is closed there is none."""
        if address in self._blocks:
            self._free.append((self._blocks[address][0], address))

    @property
    def idle_bytes(self) -> int:
        """Device memory that is this contestant's and in no workload's use."""
        return sum(size for size, _ in self._free)

    def handle(self, address: int) -> str:
        return self._blocks[address][1]

    def map(self, handle: str) -> tuple[int, int]:
        """Address and size of memory that the contestant shares. Raises SeatFailed."""
        if handle not in self._opened:
            if len(self._opened) >= MAX_BLOCKS:
                raise SeatFailed(call_failed(f"returned tensors in more than {MAX_BLOCKS} allocations"))
            try:
                self._opened[handle] = self.gpu.open(handle)
            except (CudaError, OutOfDeviceMemory, ValueError) as error:
                raise SeatFailed(call_failed(f"returned memory that cannot be mapped: {error}")) from None
        return self._opened[handle]

    # --- rounds

    def queue(self, calls: int, scalars: Sequence[Sequence[float]], mode: str) -> dict[str, Any]:
        """Have a round's calls queued behind GO; what the contestant says of them.

        Raises Stalled, SeatFailed.
        """
        self.thaw()
        self.round_number += 1
        try:
            self.channel.send(
                op="round",
                number=self.round_number,
                calls=calls,
                scalars=list(scalars),
                mode=mode,
                handicap_ns=self.handicap_ns,
            )
            reply = self._reply("call", self.limits.call_s if mode == "after-go" else STALL_S)
        except SeatSilent:
            self.release()
            if mode == "after-go":
                raise
            raise Stalled from None
        except wire.PeerGone:
            raise self._gone("call") from None
        except SeatFailed:
            self.release()
            raise
        if reply.get("op") != "queued":
            self.release()
            raise SeatFailed(self._failure("call", "broke the protocol: it did not queue its calls"))
        return reply

    def await_done(self, timeout_s: float, placed: Callable[[dict[str, Any]], None]) -> None:
        """Wait until our stream has passed DONE and the contestant says so too, then hold it still.

        placed: told where returned tensors are, in mode after-go; the contestant waits for our answer.
        Raises SeatFailed; our stream is free then.
        """
        deadline = time.monotonic() + timeout_s
        finished = was_done = False
        try:
            while not ((is_done := self.gpu.is_done()) and finished):
                if is_done and not was_done:  # the calls are over: to say so takes no time
                    was_done, timeout_s = True, FINISH_S
                    deadline = time.monotonic() + timeout_s
                if self.channel.has_more() or select.select([self.channel.sock], [], [], POLL_S)[0]:
                    reply = self._reply("call", 1.0)
                    if reply.get("op") == "placed":
                        placed(reply)
                        self.channel.send(op="seen")
                    elif reply.get("op") == "finished":
                        finished = True
                    else:
                        raise SeatFailed(
                            self._failure("call", "broke the protocol: it did not end its round")
                        )
                elif self.process.poll() is not None:
                    raise self._gone("call")
                elif time.monotonic() > deadline:
                    raise self._silent("call", timeout_s)
        except wire.PeerGone:
            self.release()
            raise self._gone("call") from None
        except BaseException:
            self.release()
            raise
        self.drain()
        try:
            self.freeze()
        except HarnessError:
            message = "could not be held still after its round: a thread of it stays inside the driver"
            raise SeatFailed(self._failure("call", message)) from None

    def release(self) -> None:
        """Write both flags: nobody waits for this round any more, neither the contestant's queue nor ours."""
        for flag in (wire.GO, wire.DONE):
            self.gpu.rescue_flag(self.flags + flag, self.round_number)

    def close(self) -> None:
        # A queue that waits for GO, of this round or of any to come, must drain, or the dying process hangs
        # in the driver.
        if self.flags:
            with contextlib.suppress(CudaError):
                self.gpu.rescue_flag(self.flags + wire.GO, self.round_number + FAR_AHEAD)
        super().close()
        if self.flags:
            # Nobody is left who could overwrite DONE, and our stream may wait for it.
            with contextlib.suppress(CudaError):
                self.gpu.rescue_flag(self.flags + wire.DONE, self.round_number)
        self.unmap()
        if self.shelf is not None and self.process.poll() is not None:
            self.shelf.blocks += [(size, address, handle) for address, (size, handle) in self._blocks.items()]
            self._blocks = {}
        for address in (*self._blocks, *([self.flags] if self.flags else [])):
            with contextlib.suppress(CudaError):
                self.gpu.free(address)
        self._blocks, self._free, self.flags = {}, [], 0

    def unmap(self) -> None:
        """Give back what the contestant shared with us."""
        for address, _ in self._opened.values():
            with contextlib.suppress(CudaError):
                self.gpu.close(address)
        self._opened = {}


def empty_round(seat: CudaSeat, stamps: int, spin_ns: int = 0) -> int:
    """Nanoseconds of a round of one kernel that ends after spin_ns, at once by default.

    Ask only a seat of ours: a contestant could make its own slow.
    """
    gpu = seat.gpu
    seat.queue(0, [[spin_ns]], "stream")
    gpu.launch("spin", 1, 1, COVER_NS)
    gpu.sweep()
    gpu.launch("stamp", 1, 1, stamps)
    gpu.write_flag(seat.flags + wire.GO, seat.round_number)
    gpu.await_flag(seat.flags + wire.DONE, seat.round_number)
    gpu.launch("stamp", 1, 1, stamps + 8)
    seat.await_done(seat.limits.call_s, _no_places)
    first, last = read_stamps(gpu, stamps, 2)
    return last - first


def _no_places(reply: dict[str, Any]) -> None:
    raise SeatFailed(call_failed("broke the protocol: it told where tensors are when it was not asked"))


def read_stamps(gpu: Gpu, stamps: int, count: int) -> list[int]:
    import torch

    return [int(t) for t in gpu.tensor(stamps, 8 * count).view(torch.int64).cpu()]


def measure_pace(gpu: Gpu, stamps: int) -> Pace:
    """Time the referee's own copies and sweeps, the best of a few."""
    small, large = 16 << 20, PIECE_BYTES
    best = {small: float("inf"), large: float("inf"), 0: float("inf")}
    block = gpu.allocate(2 * large)
    to, source = block, block + large
    try:
        for _ in range(6):
            gpu.launch("spin", 1, 1, COVER_NS)
            for place, size in enumerate((small, large)):
                gpu.launch("stamp", 1, 1, stamps + 8 * place)
                gpu.copy(to, source, size)
            gpu.launch("stamp", 1, 1, stamps + 16)
            gpu.sweep()
            gpu.launch("stamp", 1, 1, stamps + 24)
            times = read_stamps(gpu, stamps, 4)
            for size, start, end in zip((small, large, 0), times, times[1:], strict=False):
                best[size] = min(best[size], end - start)
    finally:
        gpu.free(block)
    per_byte = (best[large] - best[small]) / (large - small)
    return Pace(max(0.0, best[small] - per_byte * small), per_byte, best[0])


# --- vault ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CudaVault(Vault):
    """Inputs of a round's calls in memory that is never exported.

    arenas: bytes of all calls of one input, with the stride of its slots; None for a scalar.
    """

    arenas: list[Any]


def draw_cuda_vault(
    gpu: Gpu, problem: Problem, reference: Reference, axes: Mapping[str, int], keys: Sequence[int]
) -> CudaVault:
    """Fresh inputs on the GPU, one key a call. Raises ProblemError, OutOfDeviceMemory."""
    import torch

    layouts = [None if s.shape is None else layout_of(s, axes) for s in problem.inputs]
    arenas = [
        None
        if layout is None
        else torch.empty(slot_stride(layout) * len(keys), dtype=torch.uint8, device=gpu.torch_device)
        for layout in layouts
    ]
    for arena, layout in zip(arenas, layouts, strict=True):
        if (
            arena is not None and layout is not None
        ):  # whole slots are copied, and what lies behind is not new
            arena.view(len(keys), -1)[:, layout.bytes :].zero_()
    places = [
        None if arena is None or layout is None else _places(arena, layout, len(keys))
        for arena, layout in zip(arenas, layouts, strict=True)
    ]
    inputs = []
    for call, key in enumerate(keys):
        made = make_inputs(reference, problem, axes, CudaRng(key, gpu), gpu.torch_device)
        inputs.append(
            tuple(
                value if place is None else place[call].copy_(value)
                for place, value in zip(places, made, strict=True)
            )
        )
    scalars = [[v for s, v in zip(problem.inputs, call, strict=True) if s.shape is None] for call in inputs]
    return CudaVault(inputs, [], scalars, arenas)


def _places(arena: Any, layout: Layout, calls: int) -> Sequence[Any]:
    """The tensor of each call in an arena; made together, since a round has up to a thousand."""
    import torch

    rows = arena.view(calls, -1)[:, : layout.bytes].view(getattr(torch, layout.dtype))
    places: Sequence[Any] = rows.view(calls, *layout.shape).unbind()
    return places


def view_of(raw: Any, layout: Layout) -> Any:
    """A tensor over device bytes, shape (bytes,) uint8."""
    import torch

    return raw.view(getattr(torch, layout.dtype)).view(layout.shape)


def slot_stride(layout: Layout) -> int:
    """Bytes from slot to slot: aligned, with at least one spare word behind the array."""
    return -(-(layout.bytes + 8) // SLOT_ALIGNMENT) * SLOT_ALIGNMENT


# --- buffers -------------------------------------------------------------------------------------------


class Slots:
    """`count` slots of one array in a block of a seat's own."""

    def __init__(self, seat: CudaSeat, layout: Layout, count: int):
        self.seat, self.layout, self.count = seat, layout, count
        self.stride = slot_stride(layout)
        self.bytes = self.stride * count
        self.base = seat.take_block(self.bytes)

    def describe(self) -> dict[str, Any]:
        """What the contestant needs to map it."""
        return self.layout.describe() | {
            "stride": self.stride,
            "bytes": self.bytes,
            "handle": self.seat.handle(self.base),
        }

    def close(self) -> None:
        self.seat.give_block(self.base)


class CudaAssignment:
    """One workload's buffers in the hands of one seat, and its rounds. Close it before the next one's.

    `mode` is how the next rounds' calls are launched; mode graph needs a `capture` of as many calls before.
    """

    def __init__(
        self,
        problem: Problem,
        axes: Mapping[str, int],
        seat: CudaSeat,
        style: str,
        slots: int,
        stamps: int,
        pace: Pace,
    ):
        self.problem, self.seat, self.gpu, self.style = problem, seat, seat.gpu, style
        self.mode = "after-go"
        self._stamps, self._pace = stamps, pace
        self.layouts = [layout_of(spec, axes) for spec in problem.outputs]
        self.inputs: list[Slots | None] = []
        self.outputs: list[Slots] = []
        self.returned: list[Returned] = []
        self._poisons: list[int] = []
        self._addresses = np.empty((0, 0), np.int64)
        self._is_input = np.empty((0, 0), bool)
        try:
            for spec in problem.inputs:
                layout = None if spec.shape is None else layout_of(spec, axes)
                self.inputs.append(None if layout is None else Slots(seat, layout, slots))
            if style != "returns":
                self.outputs = [Slots(seat, layout, slots) for layout in self.layouts]
            seat.thaw()
            seat.ask(
                "call",
                seat.limits.call_s + 30,
                op="attach",
                inputs=[s and s.describe() for s in self.inputs],
                outputs=[s.describe() for s in self.outputs],
                slots=slots,
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self.gpu.is_done():  # else a round is given up: what it may still read goes with the process
            self.seat.unmap()  # a block that was freed and allocated again can have the same handle
        for slots in (*self.inputs, *self.outputs):
            if slots is not None:
                slots.close()
        self.inputs, self.outputs = [], []

    def capture(self, calls: int) -> None:
        """Have the contestant record so many calls as a graph. Raises SeatFailed."""
        self.seat.thaw()
        self.seat.ask("call", self.seat.limits.call_s, op="capture", calls=calls)

    # --- a round

    def round(self, vault: CudaVault, wanted: Sequence[int], samples: int, timeout_s: float) -> RoundResult:
        """Time the calls of a round and read what they left.

        wanted: the calls whose outputs come back whole. samples: words, over all calls and each output.
        Raises SeatFailed, Stalled.
        """
        self._arenas, self._calls, self._samples = vault.arenas, len(vault.inputs), samples
        if self._knows_places or not self._poisons:
            self._poisons = [poison_word(layout.dtype) for layout in self.layouts]
        self._first: list[Any] | None = None
        try:
            queued = self.seat.queue(self._calls, vault.scalars, self.mode)
            try:
                self._queue_round(queued)
            except BaseException:
                self.seat.release()
                raise
            self.seat.await_done(timeout_s, self._placed)
            end = self._end
            stamps = read_stamps(self.gpu, self._stamps, end + 2)
            if self._first is not None and stamps[end + 1] - stamps[end] > LATE_NS:
                # DONE came before the sample was queued, or somebody had the GPU in between: that counts.
                stamps[end] = stamps[end + 1]
            return self._read(stamps[end] - stamps[end - 1], self._intrusion(stamps[:end]), wanted)
        finally:
            self._arenas = []  # gigabytes, which the next draw needs

    @property
    def _knows_places(self) -> bool:
        """Whether a round's outputs have their places before it starts."""
        return self.style != "returns" or self.mode != "after-go"

    def _queue_round(self, queued: dict[str, Any]) -> None:
        """Queue everything up to the first sample and the stamp behind it."""
        gpu, seat = self.gpu, self.seat
        if self.style != "returns":
            self._set_slots()
        elif self._knows_places:
            self._set_returned(queued)
        self._draw_samples()
        if self._knows_places:
            self._where = [self.gpu.upload(a) for a in self._sampled_addresses()]
        self._spans = self._spans_to_poison() if self._knows_places else []
        self._draw_decoys()
        gpu.launch("spin", 1, 1, COVER_NS)
        for spans, word in self._spans:
            gpu.poison(spans, word)
        self._end = self._copy_inputs() + 1  # the number of the stamp t2
        gpu.write_flag(seat.flags + wire.GO, seat.round_number)
        gpu.await_flag(seat.flags + wire.DONE, seat.round_number)
        gpu.launch("stamp", 1, 1, self._stamps + 8 * self._end)
        if self._knows_places:
            self._sample_first()
        self._exchange(VAULT)

    def _sample_first(self) -> None:
        """Queue the sample that belongs to t2, and a stamp that tells when it was over."""
        self._first = self._sample(self._where, self._seen)
        self.gpu.launch("stamp", 1, 1, self._stamps + 8 * (self._end + 1))

    def _copy_inputs(self) -> int:
        """Vault to slots in pieces, a stamp round each, then clean the L2; the number of the stamp t1.

        The decoys go before the cleaning: a word that was just written is in the L2, which of a small input
        would be most of it.
        """
        gpu, number = self.gpu, 0
        self._exchange(VAULT)
        gpu.launch("stamp", 1, 1, self._stamps)
        self._pieces: list[int] = []
        for slots, arena in zip(self.inputs, self._arenas, strict=True):
            if slots is None:
                continue
            size = slots.stride * self._calls
            piece = max(PIECE_BYTES, -(-size // 512) // SLOT_ALIGNMENT * SLOT_ALIGNMENT)
            for start in range(0, size, piece):
                part = min(piece, size - start)
                gpu.copy(slots.base + start, arena.data_ptr() + start, part)
                number += 1
                gpu.launch("stamp", 1, 1, self._stamps + 8 * number)
                self._pieces.append(part)
        self._exchange(SLOTS)
        gpu.sweep()
        gpu.launch("stamp", 1, 1, self._stamps + 8 * (number + 1))
        return number + 1

    def _intrusion(self, stamps: Sequence[int]) -> int:
        """By how many nanoseconds a gap of the prologue was longer than any copy explains; 0 if none."""
        pace = self._pace
        usual = [pace.copy_ns + pace.copy_ns_per_byte * size for size in self._pieces] + [pace.sweep_ns]
        gaps = [b - a for a, b in itertools.pairwise(stamps)]
        allowed = [INTRUSION_NS + (1 + INTRUSION_SHARE) * ns for ns in usual]
        return int(max(0.0, *(gap - limit for gap, limit in zip(gaps, allowed, strict=True))))

    # --- decoys

    def _draw_decoys(self) -> None:
        """Choose secret pairs of words of every input in every call that are exchanged until t1.

        Copy engines are not sliced in time with our kernels: one that copies a slot before GO must copy what
        is not the input yet.
        """
        self._decoys = []
        rows = np.arange(self._calls, dtype=np.int64)[:, None]
        for slots, arena in zip(self.inputs, self._arenas, strict=True):
            pairs = 0 if slots is None else min(DECOYS, slots.layout.bytes // 16)
            if slots is None or not pairs:
                continue
            width = slots.layout.bytes // 8 // (2 * pairs)
            inside = check.secret_generator().integers(0, width, (self._calls, 2 * pairs))
            words = np.arange(2 * pairs, dtype=np.int64) * width + inside
            words = check.secret_generator().permuted(words, axis=1)  # who changes with whom is secret too
            offsets = (rows * slots.stride + words * 8).reshape(-1)
            tables = tuple(self.gpu.upload(base + offsets) for base in (arena.data_ptr(), slots.base))
            self._decoys.append(tables)

    def _exchange(self, which: int) -> None:
        """Queue the exchange of the decoys, in the vault or in the slots."""
        for tables in self._decoys:
            count = tables[which].numel() // 2
            self.gpu.launch_over("exchange", count, tables[which].data_ptr(), count)

    # --- where outputs are

    def _set_slots(self) -> None:
        rows = np.arange(self._calls, dtype=np.int64)[:, None]
        self._addresses = np.concatenate([s.base + rows * s.stride for s in self.outputs], axis=1)
        self._is_input = np.zeros(self._addresses.shape, bool)
        self.returned = [_contiguous(layout) for layout in self.layouts]

    def _set_returned(self, said: dict[str, Any]) -> None:
        """Take what a contestant says of its returned tensors, each part looked at. Raises SeatFailed."""
        device = "cuda:0"  # a contestant sees one GPU
        found = accept_returned(self.problem.outputs, self.layouts, said.get("returned"), device)
        blocks, places = said.get("blocks"), said.get("places")
        shape = (self._calls, len(self.layouts))
        if not isinstance(blocks, list) or not isinstance(places, list) or len(places) != shape[0] * shape[1]:
            raise SeatFailed(call_failed("broke the protocol: it did not tell where each returned tensor is"))
        mapped = [self._map(block) for block in blocks[:MAX_BLOCKS]]
        addresses, is_input = np.zeros(shape, np.int64), np.zeros(shape, bool)
        for number, place in enumerate(places):
            call, output = divmod(number, shape[1])
            if not _is_place(place, len(mapped)):
                raise SeatFailed(call_failed("broke the protocol: a returned tensor is in no block"))
            base, size, own = mapped[place[0]]
            low = place[1] - found[output].below
            if low < 0 or low + found[output].span > size:
                raise SeatFailed(call_failed("broke the protocol: a returned tensor lies outside its block"))
            if (base + place[1]) % found[output].itemsize or not _is_whole(found[output]):
                name = self.problem.outputs[output].name
                raise SeatFailed(
                    call_failed(f"output {name} is misaligned or runs backwards; make it contiguous")
                )
            addresses[call, output], is_input[call, output] = base + place[1], own
        refuse_aliases(found, addresses)
        self.returned, self._addresses, self._is_input = found, addresses, is_input

    def _map(self, block: Any) -> tuple[int, int, bool]:
        """(address, bytes, whether it is an input's) of a block in our own address space."""
        if isinstance(block, dict):
            index, handle = block.get("input"), block.get("handle")
            if type(index) is int and 0 <= index < len(self.inputs) and self.inputs[index] is not None:
                slots = self.inputs[index]
                if slots is not None:
                    return slots.base, slots.bytes, True
            if isinstance(handle, str) and len(handle) == 2 * HANDLE_BYTES:
                return *self.seat.map(handle), False
            if block.get("unshared"):
                raise SeatFailed(
                    call_failed(
                        "returned a tensor in memory that cannot be shared between processes (expandable "
                        "segments, a memory pool or the host); write into a parameter `out`, or allocate "
                        "with cudaMalloc"
                    )
                )
        raise SeatFailed(call_failed("broke the protocol: it named a block that is none"))

    def _spans_to_poison(self) -> list[tuple[Any, int]]:
        """The memory of each output and its poison: whole slots, or where returned tensors lie.

        An input that is returned stays as it is.
        """
        found = []
        for i, (layout, word) in enumerate(zip(self.returned, self._poisons, strict=True)):
            if self.style != "returns":
                slots = self.outputs[i]
                found.append((self.gpu.spans([(slots.base, slots.stride * self._calls)]), word))
                continue
            ours = self._addresses[:, i][~self._is_input[:, i]]
            if layout.is_contiguous and layout.bytes and ours.size:
                found.append((self.gpu.spans([(int(a), layout.bytes) for a in ours]), word))
        return found

    # --- samples

    def _draw_samples(self) -> None:
        """Choose secret words of every output in every call, and make room for them on the device."""
        import torch

        self._places = [
            check.draw_places(layout, self._calls, self._samples, word)
            for layout, word in zip(self.layouts, self._poisons, strict=True)
        ]
        # Room is made before the stream waits for anything: afterwards it could wait for the stream.
        self._where, self._seen = (
            [
                torch.zeros(p.words.shape, dtype=torch.int64, device=self.gpu.torch_device)
                for p in self._places
            ]
            for _ in range(2)
        )

    def _sampled_addresses(self) -> list[np.ndarray]:
        """Where the chosen words are, each of shape (calls, words) int64."""
        return [
            self._addresses[:, i : i + 1] + self.returned[i].word_offsets(p.words)
            for i, p in enumerate(self._places)
        ]

    def _sample(self, where: Sequence[Any], seen: list[Any]) -> list[Any]:
        """Queue reading the words at these addresses; tensors of shape (calls, words) int64."""
        for layout, addresses, words in zip(self.returned, where, seen, strict=True):
            if layout.bytes:
                length = min(8, layout.bytes) if layout.is_contiguous else layout.itemsize
                count = addresses.numel()
                self.gpu.launch_over(
                    "sample", count, addresses.data_ptr(), count, ctypes.c_uint32(length), words.data_ptr()
                )
        return seen

    def _placed(self, reply: dict[str, Any]) -> None:
        """In mode after-go: DONE is not written yet, so a sample that is queued now still lies behind it."""
        if self._knows_places or self._first is not None:
            _no_places(reply)
        if self.gpu.is_done():
            raise SeatFailed(call_failed("was done before it told where its returned tensors are"))
        self._set_returned(reply)
        for addresses, room in zip(self._sampled_addresses(), self._where, strict=True):
            self.gpu.upload_past(addresses, room)
        self._sample_first()

    # --- after the round

    def _read(self, time_ns: int, intrusion_ns: int, wanted: Sequence[int]) -> RoundResult:
        import torch

        if self._first is None:
            raise SeatFailed(
                call_failed("broke the protocol: it did not tell where its returned tensors are")
            )
        first = [_words(seen) for seen in self._first]
        chosen = sorted({*wanted, *doubtful(self._places, first)})
        outputs = {call: self._copies(call) for call in chosen if call < self._calls}
        again = self._moved(outputs)
        second = self._sample(again, [torch.zeros_like(where) for where in again])
        changed = self._changes()
        wrong, wrong_call = verdict_on_samples(
            self.problem.outputs, self._places, first, [_words(seen) for seen in second]
        )
        if changed is not None:
            raise SeatFailed(call_failed(changed))
        if not self._knows_places:
            # An allocator hands the same memory out in the next round: an old answer must not show through.
            self._poisons = [poison_word(layout.dtype) for layout in self.layouts]
            self._spans = self._spans_to_poison()
            for spans, poison in self._spans:
                self.gpu.poison(spans, poison)
        words = sum(p.words.size for p in self._places)
        return RoundResult(time_ns, outputs, words, wrong, wrong_call, intrusion_ns)

    def _copies(self, call: int) -> tuple[Any, ...]:
        """Private copies of one call's outputs, contiguous."""
        return tuple(self._view(call, i).clone() for i in range(len(self.layouts)))

    def _view(self, call: int, output: int) -> Any:
        import torch

        layout, one = self.layouts[output], self.returned[output]
        address = int(self._addresses[call, output])
        raw = self.gpu.tensor(address - one.below, one.span)
        if one.is_contiguous:
            return view_of(raw, layout)
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[one.itemsize]
        strides = [s // one.itemsize for s in one.strides]
        strided = raw.view(bits).as_strided(layout.shape, strides, one.below // one.itemsize)
        return strided.contiguous().view(getattr(torch, layout.dtype))

    def _moved(self, outputs: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        """Addresses of the sampled words for the second look: in the copies, where a call was copied, so that
        what is compared in full is tied to what was there at t2."""
        moved = []
        for i, places in enumerate(self._places):
            one = self.returned[i]
            where = self._addresses[:, i : i + 1] + one.word_offsets(places.words)
            for call, copies in outputs.items():
                where[call] = copies[i].data_ptr() + _packed_offsets(one, places.words[call])
            moved.append(self.gpu.upload(where))
        return moved

    def _changes(self) -> str | None:
        """What was written that is not the contestant's to write: an input, or memory behind an output."""
        import torch

        counts = torch.zeros(
            len(self.inputs) + len(self.outputs), dtype=torch.int64, device=self.gpu.torch_device
        )
        for i, (spec, slots, arena) in enumerate(
            zip(self.problem.inputs, self.inputs, self._arenas, strict=True)
        ):
            if slots is not None and not spec.mutable:
                vectors = slots.stride * self._calls // 16
                self.gpu.launch_over(
                    "differ", vectors, slots.base, arena.data_ptr(), vectors, counts.data_ptr() + 8 * i
                )
        for i, (slots, word) in enumerate(zip(self.outputs, self._poisons, strict=False)):
            size = slots.layout.bytes
            self.gpu.launch_over(
                "behind",
                (slots.stride - size) * self._calls,
                slots.base,
                slots.stride,
                size,
                self._calls,
                word,
                counts.data_ptr() + 8 * (len(self.inputs) + i),
            )
        found = counts.tolist()
        for spec, count in zip(self.problem.inputs, found, strict=False):
            if count:
                return f"wrote to input {spec.name}; inputs are read-only"
        for spec, count in zip(self.problem.outputs, found[len(self.inputs) :], strict=False):
            if count:
                return f"wrote outside output {spec.name}: the memory behind its end changed"
        return None


def _is_place(place: Any, blocks: int) -> bool:
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(n) is int for n in place)
        and 0 <= place[0] < blocks
        and 0 <= place[1] < 1 << 48
    )


def _is_whole(one: Returned) -> bool:
    """Whether all strides are whole elements, and forwards: what a kernel of torch's can follow."""
    return not one.below and all(stride % one.itemsize == 0 for stride in one.strides)


def _contiguous(layout: Layout) -> Returned:
    strides: list[int] = []
    step = layout.itemsize
    for extent in reversed(layout.shape):
        strides.insert(0, step)
        step *= extent
    return returned(layout.shape, tuple(strides), layout.itemsize)


def _packed_offsets(one: Returned, words: np.ndarray) -> np.ndarray:
    """Where sampled words of an array lie in a contiguous copy of it."""
    if one.is_contiguous:
        return words * 8
    elements: np.ndarray = np.minimum(words * 8 // one.itemsize, one.bytes // one.itemsize - 1)
    return elements * one.itemsize


def _words(seen: Any) -> np.ndarray:
    return np.asarray(seen.cpu()).view(np.uint64)


def call_bytes_cuda(problem: Problem, axes: Mapping[str, int]) -> int:
    """Bytes of one call's slots, inputs and outputs."""
    tensors = [s for s in (*problem.inputs, *problem.outputs) if s.shape is not None]
    return sum(slot_stride(layout_of(s, axes)) for s in tensors)
