"""One round on one seat: fill the slots, time the calls, read what was written, look again later.

Defends against: outputs written after the clock stopped (poison and samples read while the tree is frozen,
a second look after it ran on), skipped calls (samples in every call), returned tensors that move, alias or
lie (the referee reads the memory itself), and writes behind an output's end. A call's inputs are copied
from the vault while the contestant is frozen: it cannot see them before the clock runs.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from hotlap.model import Failure, Fault, Problem, Status, TensorSpec
from hotlap.problems import shapes
from hotlap.problems.reference import Reference, make_inputs
from hotlap.referee import check
from hotlap.referee.buffers import Buffer, Layout, poison_word
from hotlap.referee.rng import Rng
from hotlap.referee.seat import MESSAGE_CHARS, Seat, SeatFailed, attach, printable

EARLY_WORDS = 64  # of an output, each round
SPAN_BYTES = 1 << 28  # the most memory a returned, non-contiguous array may be spread over


@dataclass(frozen=True)
class Vault:
    """Inputs of a round's calls, in memory that no contestant can map: tensors, their bytes, scalars."""

    inputs: list[tuple[Any, ...]]
    arrays: list[list[np.ndarray | None]]
    scalars: list[list[float]]


@dataclass(frozen=True)
class RoundResult:
    """time_ns: GO to DONE, the cost of an empty round still inside. outputs: of the calls asked for, as they
    were at the end stamp. wrong: the first word that was unwritten, late or out of place, in words."""

    time_ns: int
    outputs: dict[int, tuple[Any, ...]]
    sampled_words: int
    wrong: str | None
    wrong_call: int | None
    intrusion_ns: int = 0  # how long something else had the GPU while inputs were copied


def draw_vault(
    problem: Problem,
    reference: Reference,
    axes: Mapping[str, int],
    keys: Sequence[int],
    pool: ThreadPoolExecutor,
) -> Vault:
    """Fresh inputs, one key a call, drawn side by side. Raises ProblemError."""

    def one(key: int) -> tuple[Any, ...]:
        return make_inputs(reference, problem, axes, Rng(key), "cpu")

    inputs = list(pool.map(one, keys)) if len(keys) > 1 else [one(key) for key in keys]
    arrays = [
        [None if s.shape is None else raw_bytes(v) for s, v in zip(problem.inputs, call, strict=True)]
        for call in inputs
    ]
    scalars = [[v for s, v in zip(problem.inputs, call, strict=True) if s.shape is None] for call in inputs]
    return Vault(inputs, arrays, scalars)


def raw_bytes(tensor: Any) -> np.ndarray:
    """A contiguous tensor's memory, shape (bytes,) uint8, not copied."""
    import torch

    return tensor.reshape(-1).view(torch.uint8).numpy() if tensor.numel() else np.empty(0, np.uint8)


def as_tensor(raw: np.ndarray, layout: Layout) -> Any:
    """A tensor over raw bytes, shape (bytes,) uint8."""
    import torch

    return torch.from_numpy(raw).view(getattr(torch, layout.dtype)).view(layout.shape)


def layout_of(spec: TensorSpec, axes: Mapping[str, int]) -> Layout:
    return Layout(spec.name, spec.dtype, shapes.shape_of(spec, axes), shapes.itemsize(spec.dtype))


def call_bytes(problem: Problem, axes: Mapping[str, int]) -> int:
    """Bytes of one call's slots, inputs and outputs."""
    tensors = [s for s in (*problem.inputs, *problem.outputs) if s.shape is not None]
    return sum(layout_of(s, axes).stride for s in tensors)


@dataclass
class Early:
    """Words of one output to be read in the instant of DONE: shapes (k,). `flat`: places in our own
    buffer, where the output is ours. `seen`: what was there."""

    calls: np.ndarray
    words: np.ndarray
    flat: np.ndarray
    seen: np.ndarray | None = None


class Assignment:
    """One workload's buffers in the hands of one seat. Close it before the seat takes another."""

    def __init__(
        self,
        problem: Problem,
        axes: Mapping[str, int],
        seat: Seat,
        style: str,
        slots: int,
        writable_inputs: bool = False,
    ):
        self.problem, self.axes, self.seat, self.style = problem, axes, seat, style
        self.inputs: list[Buffer | None] = []
        self.outputs: list[Buffer] = []
        self.layouts: list[Returned] | None = None
        self._calls = 0
        self._early: list[Early] = []
        self._addresses = np.empty((0, 0), np.int64)
        self._poisons = [poison_word(spec.dtype) for spec in problem.outputs]
        try:
            for spec in problem.inputs:
                writable = spec.mutable or writable_inputs
                self.inputs.append(
                    None if spec.shape is None else Buffer(layout_of(spec, axes), slots, writable)
                )
            for spec in problem.outputs:
                self.outputs.append(Buffer(layout_of(spec, axes), slots, writable=True))
            attach(seat, self.inputs, self.outputs, slots)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for buffer in [*self.inputs, *self.outputs]:
            if buffer is not None:
                buffer.close()
        self.inputs, self.outputs = [], []

    def written_inputs(self, vault: Vault) -> list[str]:
        """Names of the inputs whose slots no longer hold what the vault holds."""
        return [
            spec.name
            for spec, buffer, array in zip(self.problem.inputs, self.inputs, vault.arrays[0], strict=True)
            if buffer is not None and array is not None and not np.array_equal(buffer.read(0), array)
        ]

    def round(self, vault: Vault, wanted: Sequence[int], samples: int, timeout_s: float) -> RoundResult:
        """Fill, time and read in one go. Raises SeatFailed."""
        self.ready(vault)
        self.fill(vault)
        return self.read(self.time(timeout_s), wanted, samples)

    def ready(self, vault: Vault) -> None:
        """Announce the round and freeze the contestant."""
        self._calls = len(vault.inputs)
        self.seat.ready(self._calls, vault.scalars)

    def fill(self, vault: Vault) -> None:
        """Copy the vault's inputs into the slots of the frozen contestant, and poison the outputs."""
        calls = self._calls
        for call, arrays in enumerate(vault.arrays):
            for buffer, array in zip(self.inputs, arrays, strict=True):
                if buffer is not None and array is not None:
                    buffer.write(call, array)
        if self.style != "returns":
            self._poisons = [poison_word(b.layout.dtype) for b in self.outputs]
            for output, word in zip(self.outputs, self._poisons, strict=True):
                output.poison(word, calls)
        self._early = [self._draw_early(i) for i in range(len(self.outputs))]

    def time(self, timeout_s: float) -> int:
        """Nanoseconds from GO to DONE; a few secret words are read in the instant of DONE."""
        return self.seat.time_round(timeout_s, self._look)

    def _draw_early(self, index: int) -> "Early":
        buffer = self.outputs[index]
        generator, count = check.secret_generator(), max(1, buffer.layout.bytes // 8)
        size = min(EARLY_WORDS, self._calls * count)
        calls = generator.integers(0, self._calls, size)
        words = generator.integers(0, count, size)
        return Early(calls, words, calls * buffer.words.shape[1] + words)

    def _look(self) -> None:
        """Read the early words. Runs between DONE and the freeze: every microsecond here is one in which a
        contestant that lied can still write."""
        if self.style != "returns":
            for buffer, early in zip(self.outputs, self._early, strict=True):
                early.seen = buffer.flat.take(early.flat)
        elif self.layouts is not None:
            # Where the answers are is fixed now, too: later looks use these addresses and no others.
            self._addresses = self._named_addresses()
            for index, (layout, early) in enumerate(zip(self.layouts, self._early, strict=True)):
                early.seen = self._words(layout, self._addresses[early.calls, index], early.words)

    def _named_addresses(self) -> np.ndarray:
        """The addresses that the contestant left in the control block, shape (calls, outputs) int64."""
        count = len(self.outputs)
        named = np.frombuffer(self.seat.pointers, np.int64, self._calls * count)
        return named.reshape(self._calls, count).copy()

    def _early_verdict(self) -> tuple[str | None, int | None]:
        """Whether an early word was still poison at DONE, or is another one now."""
        for index, (spec, early) in enumerate(zip(self.problem.outputs, self._early, strict=True)):
            if early.seen is None:
                continue
            buffer, poison = self.outputs[index], np.uint64(self._poisons[index])
            mask = np.uint64(check.word_mask(buffer.layout))
            if self.style == "returns":
                now = self._words(
                    (self.layouts or [])[index], self._addresses[early.calls, index], early.words
                )
            else:
                now = buffer.flat.take(early.flat)
            bad = (early.seen & mask) == (poison & mask)
            if not check.poison_is_telling(buffer.layout):
                bad[:] = False
            if now is not None:
                bad |= early.seen != now
            if bad.any():
                text = f"output {spec.name}: {int(bad.sum())} of {bad.size} sampled words were never written"
                return f"{text} when the kernel said it was done", int(early.calls[bad.argmax()])
        return None, None

    def read(self, time_ns: int, wanted: Sequence[int], samples: int) -> RoundResult:
        """What the round left, read while the contestant is still frozen, and again after it ran on.

        wanted: the calls whose outputs come back whole. samples: words, over all calls of the round.
        """
        if self.style == "returns":
            return self._read_returned(time_ns, self._calls, wanted, samples)
        return self._read_slots(time_ns, self._calls, wanted, samples)

    # --- outputs in our own buffers

    def _read_slots(self, time_ns: int, calls: int, wanted: Sequence[int], samples: int) -> RoundResult:
        row = np.arange(calls)[:, None]
        places = [
            check.draw_places(b.layout, calls, samples, word)
            for b, word in zip(self.outputs, self._poisons, strict=True)
        ]
        first = [b.words[row, p.words] for b, p in zip(self.outputs, places, strict=True)]
        wanted = sorted({*wanted, *doubtful(places, first)})
        outputs = {
            call: tuple(as_tensor(b.read(call), b.layout) for b in self.outputs)
            for call in wanted
            if call < calls
        }
        outside = self._outside(calls)
        self.seat.finish()
        second = [b.words[row, p.words] for b, p in zip(self.outputs, places, strict=True)]
        wrong, wrong_call = self._early_verdict()
        if wrong is None:
            wrong, wrong_call = verdict_on_samples(self.problem.outputs, places, first, second)
        if outside is not None:
            raise SeatFailed(call_failed(outside))
        return RoundResult(time_ns, outputs, sum(p.words.size for p in places), wrong, wrong_call)

    def _outside(self, calls: int) -> str | None:
        """Whether the memory behind an output's end was changed."""
        for buffer, word in zip(self.outputs, self._poisons, strict=True):
            end, in_word = buffer.layout.bytes, buffer.layout.bytes % 8
            behind = buffer.words[:calls, -(-end // 8) :]
            changed = (behind != np.uint64(word)).any()
            if in_word:
                poison = np.array([word], np.uint64).view(np.uint8)[in_word:]
                changed |= (buffer.bytes[:calls, end : end + 8 - in_word] != poison).any()
            if changed:
                return f"wrote outside output {buffer.layout.name}: the memory behind its end changed"
        return None

    # --- outputs that the kernel allocated

    def _read_returned(self, time_ns: int, calls: int, wanted: Sequence[int], samples: int) -> RoundResult:
        seat = self.seat
        is_first = self.layouts is None
        if self.layouts is None:
            # Untimed: what the first call returns decides the layout that all timed calls must keep.
            self.layouts = self._accept(seat.finish())
            self._addresses = self._named_addresses()
        elif any(early.seen is None for early in self._early):
            raise SeatFailed(
                call_failed("said that it was done before the memory that it returned was there")
            )
        refuse_aliases(self.layouts, self._addresses)
        places = [
            check.draw_places(b.layout, calls, samples, word)
            for b, word in zip(self.outputs, self._poisons, strict=True)
        ]
        first = [self._sample(i, p) for i, p in enumerate(places)]
        wanted = sorted({*wanted, *doubtful(places, first)})
        outputs = {call: self._whole(call) for call in wanted if call < calls}
        if not is_first and self._accept(seat.finish()) != self.layouts:
            raise SeatFailed(call_failed("returned arrays of another layout than in its first call"))
        second = [self._sample(i, p) for i, p in enumerate(places)]
        wrong, wrong_call = self._early_verdict()
        if wrong is None:
            wrong, wrong_call = verdict_on_samples(self.problem.outputs, places, first, second)
        self._poison_returned()
        return RoundResult(time_ns, outputs, sum(p.words.size for p in places), wrong, wrong_call)

    def _poison_returned(self) -> None:
        """Poison what this round returned, while the contestant still holds it: the allocator hands the
        same memory out in the next round, and an answer that was not computed again must not show through.

        Memory that is not writable to the contestant (an input that was returned) stays as it is.
        """
        self._poisons = [poison_word(b.layout.dtype) for b in self.outputs]
        for index, (layout, word) in enumerate(zip(self.layouts or (), self._poisons, strict=False)):
            if layout.is_contiguous and layout.bytes:
                pattern = np.full(layout.bytes // 8 + 1, word, np.uint64).view(np.uint8)[: layout.bytes]
                for address in self._addresses[:, index]:
                    self.seat.write_memory(int(address), pattern)

    def _accept(self, returned: Any) -> list["Returned"]:
        return accept_returned(self.problem.outputs, [b.layout for b in self.outputs], returned, "cpu")

    def _sample(self, index: int, places: check.Places) -> np.ndarray:
        """Sampled words of one output in every call, shape (calls, k) uint64; elements of a strided array."""
        layout = (self.layouts or [])[index]
        found = self._words(layout, self._addresses[:, index : index + 1], places.words)
        if found is None:
            raise SeatFailed(call_failed("returned memory that cannot be read"))
        return found

    def _words(self, layout: "Returned", addresses: np.ndarray, words: np.ndarray) -> np.ndarray | None:
        """Words of returned arrays, uint64, of the shape that addresses and words broadcast to; None where
        memory cannot be read."""
        length = min(8, layout.bytes) if layout.is_contiguous else layout.itemsize
        places = addresses + layout.word_offsets(words)
        if not layout.bytes:
            return np.zeros(places.shape, np.uint64)
        data = self.seat.read_memory(places.reshape(-1), length)
        if data is None:
            return None
        padded = np.zeros((places.size, 8), np.uint8)
        padded[:, :length] = data.reshape(-1, length)
        return padded.view(np.uint64).reshape(places.shape)

    def _whole(self, call: int) -> tuple[Any, ...]:
        layouts = self.layouts or []
        return tuple(
            self._array(int(self._addresses[call, i]), one, b.layout)
            for i, (one, b) in enumerate(zip(layouts, self.outputs, strict=True))
        )

    def _array(self, address: int, one: "Returned", layout: Layout) -> Any:
        if not one.bytes:
            return as_tensor(np.empty(0, np.uint8), layout)
        raw = self.seat.read_memory(np.array([address - one.below]), one.span)
        if raw is None:
            raise SeatFailed(call_failed(f"returned memory for output {layout.name} that cannot be read"))
        if one.is_contiguous:
            return as_tensor(raw, layout)
        view = np.ndarray((*one.shape, one.itemsize), np.uint8, raw.data, one.below, (*one.strides, 1))
        return as_tensor(np.ascontiguousarray(view).reshape(-1), layout)


def accept_returned(
    specs: Sequence[TensorSpec], layouts: Sequence[Layout], returned: Any, device: str
) -> list["Returned"]:
    """The layouts that a contestant described, if they keep the contract. Raises SeatFailed."""
    if not isinstance(returned, list) or len(returned) != 1:
        raise SeatFailed(call_failed("returned arrays of different layouts within one round"))
    given = returned[0] if isinstance(returned[0], list) else []
    if len(given) == 1 and isinstance(given[0], dict) and given[0].get("type") == "NoneType":
        names = ", ".join(s.name for s in specs)
        raise SeatFailed(
            call_failed(f"returned None, expected {names}; return it, or name a parameter `out`")
        )
    if len(given) != len(specs):
        plural = "output" if len(given) == 1 else "outputs"
        raise SeatFailed(call_failed(f"returned {len(given)} {plural}, expected {len(specs)}"))
    return [
        parse_returned(spec, layout, one, device)
        for spec, layout, one in zip(specs, layouts, given, strict=True)
    ]


def refuse_aliases(layouts: Sequence["Returned"], addresses: np.ndarray) -> None:
    """Arrays of two calls must not overlap; those of one may interleave, as columns of a matrix do.

    addresses: shape (calls, outputs). Raises SeatFailed.
    """
    starts = np.concatenate([one.low(addresses[:, i]) for i, one in enumerate(layouts)])
    ends = starts + np.repeat([one.span for one in layouts], len(addresses))
    calls = np.tile(np.arange(len(addresses)), len(layouts))
    order = np.argsort(starts, kind="stable")
    starts, ends, calls = starts[order], ends[order], calls[order]
    reach = np.maximum.accumulate(ends)
    owner = calls[np.maximum.accumulate(np.where(ends == reach, np.arange(len(ends)), 0))]
    if ((reach[:-1] > starts[1:]) & (owner[:-1] != calls[1:])).any():
        raise SeatFailed(
            call_failed(
                "returned the same memory twice, so that a later call overwrites an earlier answer; "
                "return fresh arrays, or write into a parameter `out`"
            )
        )


def verdict_on_samples(
    specs: Sequence[TensorSpec],
    places: Sequence[check.Places],
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
) -> tuple[str | None, int | None]:
    """What is wrong, and in which call: a sampled word that was unwritten at the end, or changed later."""
    for spec, p, a, b in zip(specs, places, first, second, strict=True):
        missing = check.unwritten(p, a)
        if missing:
            call = int(check.poisoned(p, a).any(axis=1).argmax())
            text = f"output {spec.name}: {missing} of {a.size} sampled words were never written"
            return f"{text} when the kernel said it was done", call
        late = int((a != b).sum())
        if late:
            call = int((a != b).any(axis=1).argmax())
            text = f"output {spec.name}: {late} of {a.size} sampled words changed after the kernel said"
            return f"{text} it was done", call
    return None, None


def doubtful(places: Sequence[check.Places], first: Sequence[np.ndarray]) -> set[int]:
    """Calls that hold the poison where it may be the answer: they are compared in full instead."""
    return {
        int(call)
        for p, words in zip(places, first, strict=True)
        if not p.is_telling
        for call in np.flatnonzero(check.poisoned(p, words).any(axis=1))
    }


@dataclass(frozen=True)
class Returned:
    """How the arrays of one output lie in the contestant's memory: shape, strides in bytes, and how far the
    lowest element is from the address that names the array."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    bytes: int
    span: int  # from the lowest to behind the highest element
    below: int
    is_contiguous: bool

    def low(self, addresses: np.ndarray) -> np.ndarray:
        """Lowest address of each array, shape as given, int64."""
        return addresses - self.below

    def word_offsets(self, words: np.ndarray) -> np.ndarray:
        """Bytes from an array's address to each sampled word; in a strided array to the element there."""
        if self.is_contiguous:
            return words * 8
        elements = np.minimum(words * 8 // self.itemsize, self.bytes // self.itemsize - 1)
        where = np.unravel_index(elements, self.shape)
        return sum((i * s for i, s in zip(where, self.strides, strict=True)), np.zeros_like(words))


def returned(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Returned:
    """The layout of an array. strides: bytes, negative ones allowed."""
    size = int(np.prod(shape, dtype=np.int64)) * itemsize
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    span = sum(map(abs, reach)) + itemsize if size else 0
    expected, is_contiguous = itemsize, True
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        is_contiguous &= n == 1 or s == expected
        expected *= n
    return Returned(shape, strides, itemsize, size, span, -sum(r for r in reach if r < 0), is_contiguous)


def parse_returned(spec: TensorSpec, layout: Layout, one: Any, device: str) -> Returned:
    """One described array, checked against the problem. Raises SeatFailed in the contract's words."""
    kind = one.get("type") if isinstance(one, dict) else None
    if not isinstance(one, dict) or "shape" not in one:
        raise SeatFailed(
            call_failed(f"returned {kind or 'nothing'} for output {spec.name}, expected a tensor")
        )
    shape, strides = one.get("shape"), one.get("strides")
    if one.get("device") != device:
        raise SeatFailed(
            call_failed(f"output {spec.name} is on device {one.get('device')}, expected {device}")
        )
    if one.get("dtype") != spec.dtype:
        raise SeatFailed(
            call_failed(f"output {spec.name} has dtype {one.get('dtype')}, expected {spec.dtype}")
        )
    if shape != list(layout.shape):
        raise SeatFailed(call_failed(f"output {spec.name} has shape {shape}, expected {list(layout.shape)}"))
    if (
        not isinstance(strides, list)
        or len(strides) != len(layout.shape)
        or not all(type(s) is int and abs(s) < 1 << 100 for s in strides)
    ):
        raise SeatFailed(call_failed(f"output {spec.name} has no strides that memory could have"))
    # The stride of a dimension of one element moves nothing: any number stands there.
    used = tuple(s if n > 1 else layout.itemsize for n, s in zip(layout.shape, strides, strict=True))
    found = returned(layout.shape, used, layout.itemsize)
    if found.span > SPAN_BYTES and found.span > 4 * found.bytes:
        raise SeatFailed(
            call_failed(f"output {spec.name} is spread over {found.span} bytes; make it contiguous")
        )
    return found


def call_failed(message: str) -> Failure:
    return Failure(Status.failed, Fault.submission, "call", printable(message)[:MESSAGE_CHARS])


def secret_choice(total: int, count: int) -> list[int]:
    """`count` of 0, ..., total - 1, from the operating system's randomness."""
    generator = check.secret_generator()
    return sorted(int(i) for i in generator.choice(total, size=min(count, total), replace=False))
