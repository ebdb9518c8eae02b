"""What the referee does on a GPU by itself: compare, draw, poison, share memory, look at it, keep time."""

import contextlib
import ctypes
import math
import os
import statistics
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pytest

from hotlap.model import Errors, Problem
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.problems.find import find
from hotlap.referee import check, check_cuda
from hotlap.referee.clock_cuda import CudaAssignment, empty_round
from hotlap.referee.cuda import GRANULE, called
from hotlap.referee.loading import load
from hotlap.referee.rng import CudaRng
from hotlap.verdict import read_submission
from tests.gpu.cases import RIGHT

N = 1_000_003  # no multiple of anything that a kernel works in
FLOATS = ("float64", "float32", "float16", "bfloat16")
NAN, INF = float("nan"), float("inf")
KEY = 0x0123456789ABCDEF_FEDCBA9876543210
WORD = 0xF1E2D3C4B5A69788


def dtype_of(name: str) -> Any:
    import torch

    return getattr(torch, name)


# --- comparing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """How an answer differs from its truth: both are changed in place, in float64."""

    name: str
    is_right: bool
    change: Callable[[Any, Any], None]
    rtol: float = 0.0
    atol: float = 0.0


def put(at: int, truth_value: float | None, value: float | None) -> Callable[[Any, Any], None]:
    """Sets one element of the truth and of the answer; None leaves it."""

    def change(truth: Any, answer: Any) -> None:
        for tensor, new in ((truth, truth_value), (answer, value)):
            if new is not None:
                tensor[at] = new

    return change


def thirds(truth_value: float, value: float) -> Callable[[Any, Any], None]:
    """Sets every third element."""

    def change(truth: Any, answer: Any) -> None:
        truth[::3], answer[::3] = truth_value, value

    return change


def specials(truth: Any, answer: Any) -> None:
    for tensor in (truth, answer):
        tensor[0], tensor[1], tensor[2], tensor[-1] = NAN, INF, -INF, NAN


def stretch(truth: Any, answer: Any) -> None:
    answer.mul_(1 + 2**-7)


ANSWERS = (
    Answer("exact", True, lambda truth, answer: None),
    Answer("close", True, stretch, rtol=2**-5),
    Answer("close, by atol", True, stretch, atol=2**-4),
    Answer("not close enough", False, stretch, rtol=2**-9),
    Answer("zeros met exactly", True, thirds(0.0, 0.0), rtol=0.5),
    Answer("zeros met but for the sign", True, thirds(0.0, -0.0), rtol=0.5),
    Answer("zeros missed within atol", True, thirds(0.0, 1e-3), atol=2e-3),
    Answer("zeros missed, no atol", False, thirds(0.0, 1e-3), rtol=0.5),
    Answer("NaN and infinities in their places", True, specials, rtol=2**-5, atol=2**-5),
    Answer("an error beyond any number times the truth", True, put(5, 1e-310, 1.0), atol=2.0),
    Answer("NaN where the truth is finite", False, put(-1, None, NAN), rtol=1.0, atol=1e9),
    Answer("NaN in the first place", False, put(0, None, NAN), rtol=1.0, atol=1e9),
    Answer("all NaN", False, lambda truth, answer: answer.fill_(NAN), rtol=1.0, atol=1e9),
    Answer("finite where the truth is NaN", False, put(-1, NAN, None), rtol=1.0, atol=1e9),
    Answer("infinite where the truth is finite", False, put(-1, None, INF), rtol=1.0, atol=1e9),
    Answer("finite where the truth is infinite", False, put(-1, INF, None), rtol=1.0, atol=1e9),
    Answer("the other infinity", False, put(-1, INF, -INF), rtol=1.0, atol=1e9),
    Answer("NaN for an infinity", False, put(-1, INF, NAN), rtol=1.0, atol=1e9),
    Answer("one bad element, the last", False, put(-1, None, 5.0), rtol=2**-5, atol=2**-5),
    Answer("one bad element, in the middle", False, put(N // 2, None, 5.0), rtol=2**-5),
)


def truth_for(device: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """Float64 numbers between 0.5 and 2 in size that `dtype` holds exactly."""
    import torch

    drawn = torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    signs = torch.where(drawn * 1024 % 2 < 1, -1.0, 1.0)
    return (signs * (0.5 + 1.5 * drawn)).to(dtype_of(dtype)).to(torch.float64).to(device.gpu.torch_device)


def assert_compared_alike(device: Any, out: Any, truth: Any, rtol: float, atol: Any, is_right: bool) -> None:
    """The fused comparison says what the plain one says, and that is what must be said."""
    wrong, errors = check_cuda.compare_tensor(device.gpu, "y", out, truth, rtol, atol)
    plain, plain_errors = check.compare_tensor("y", out, truth, rtol, atol)
    assert (plain is None) == is_right, plain
    assert wrong == plain
    assert sizes(errors) == pytest.approx(sizes(plain_errors), rel=1e-12, nan_ok=True)


def sizes(errors: Errors) -> list[float]:
    """The errors as numbers, NaN for what is not known."""
    return [NAN if size is None else size for size in astuple(errors)]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_fused_comparison_agrees_with_the_plain_one(device: Any, dtype: str, answer: Answer) -> None:
    truth = truth_for(device, dtype, (N,))
    given = truth.clone()
    answer.change(truth, given)
    out = given.to(dtype_of(dtype))
    assert_compared_alike(device, out, truth, answer.rtol, answer.atol, answer.is_right)


@pytest.mark.parametrize("spoilt", [False, True], ids=["right", "last element wrong"])
@pytest.mark.parametrize("bounds", [(), (1,), (1009,), (1000, 1), (1000, 1009)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_bounds_are_broadcast_over_the_output(
    device: Any, dtype: str, bounds: tuple[int, ...], spoilt: bool
) -> None:
    import torch

    truth = truth_for(device, dtype, (1000, 1009))
    out = truth + 2**-6
    if spoilt:
        out[-1, -1] += 1
    atol = torch.full(bounds, 2**-4, dtype=torch.float64, device=truth.device)
    assert_compared_alike(device, out.to(dtype_of(dtype)), truth, 2**-8, atol, not spoilt)


@pytest.mark.parametrize("shape", [(), (1,), (31,), (0,), (0, 5), (3, 0)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_small_and_empty_outputs_are_compared(device: Any, dtype: str, shape: tuple[int, ...]) -> None:
    truth = truth_for(device, dtype, shape)
    assert_compared_alike(device, truth.to(dtype_of(dtype)), truth, 2**-8, 0.0, True)


@pytest.mark.parametrize("spoilt", [False, True], ids=["right", "one element wrong"])
def test_an_output_with_strides_is_compared_element_by_element(device: Any, spoilt: bool) -> None:
    truth = truth_for(device, "float32", (1000, 1009))
    out = truth.t().contiguous().float().t()
    if spoilt:
        out[3, 5] += 1
    assert not out.is_contiguous()
    assert_compared_alike(device, out, truth, 2**-8, 0.0, not spoilt)


def test_a_truth_of_the_output_s_own_type_is_compared(device: Any) -> None:
    truth = truth_for(device, "float32", (N,)).float()
    assert_compared_alike(device, truth.clone(), truth, 2**-8, 0.0, True)


@pytest.mark.parametrize("spoilt", [False, True], ids=["right", "last element wrong"])
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "bool"])
def test_integers_must_be_equal(device: Any, dtype: str, spoilt: bool) -> None:
    truth = (truth_for(device, "float64", (N,)) > 0).to(dtype_of(dtype))
    out = truth.clone()
    if spoilt:
        out[-1] = 1 - int(out[-1])
    assert_compared_alike(device, out, truth, 0.0, 0.0, not spoilt)


# --- drawing ---------------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[CudaRng, int], Any]] = {
    "uniform float32": lambda rng, n: rng.uniform(-1.0, 1.0, (n,)),
    "uniform float64": lambda rng, n: rng.uniform(-1.0, 1.0, (n,), "float64"),
    "normal float32": lambda rng, n: rng.normal((n,)),
    "normal float64": lambda rng, n: rng.normal((n,), "float64"),
    "integers": lambda rng, n: rng.integers(-(2**63), 2**63, (n,)),
}
every_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


def rng_of(device: Any, key: int = KEY) -> CudaRng:
    return CudaRng(key, device.gpu)


@every_draw
def test_the_same_key_gives_the_same_draws(device: Any, draw: Callable[[CudaRng, int], Any]) -> None:
    a, b = rng_of(device), rng_of(device)
    for n in (N, 5, 1):
        assert draw(a, n).equal(draw(b, n))
    assert a.seed() == b.seed()
    assert a.permutation(99).equal(b.permutation(99))


@every_draw
@pytest.mark.parametrize("bit", [0, 1, 31, 32, 63, 64, 95, 96, 126, 127])
def test_every_bit_of_a_key_counts(device: Any, draw: Callable[[CudaRng, int], Any], bit: int) -> None:
    a, b = (draw(rng_of(device, key), 64) for key in (KEY, KEY ^ (1 << bit)))
    assert int((a == b).sum()) == 0


@every_draw
def test_one_rng_does_not_repeat_itself(device: Any, draw: Callable[[CudaRng, int], Any]) -> None:
    rng = rng_of(device)
    first, second = draw(rng, 64), draw(rng, 64)
    assert int((first[:, None] == second[None, :]).sum()) == 0


@every_draw
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_short_draw_is_the_beginning_of_a_long_one(
    device: Any, draw: Callable[[CudaRng, int], Any], n: int
) -> None:
    assert draw(rng_of(device), n).equal(draw(rng_of(device), N)[:n])


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("kernel", "dtype", "settings"),
    [
        ("uniform_float32", "float32", (0.0, 1.0)),
        ("uniform_float64", "float64", (0.0, 1.0)),
        ("normal_float32", "float32", (0.0, 1.0)),
        ("normal_float64", "float64", (0.0, 1.0)),
        ("integers", "int64", (0, 90)),
    ],
)
def test_a_draw_writes_all_its_elements_and_none_behind(
    device: Any, kernel: str, dtype: str, settings: tuple[float, float], n: int
) -> None:
    import torch

    room = torch.full((16,), 99, dtype=dtype_of(dtype), device=device.gpu.torch_device)
    device.gpu.launch_over(kernel, n, room.data_ptr(), n, 1, 2, 3, *settings)
    assert (room != 99).tolist() == [True] * n + [False] * (16 - n)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0,), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", [*FLOATS, "float8_e4m3fn", "float8_e5m2"])
def test_floats_have_the_type_and_shape_that_was_asked_for(
    device: Any, dtype: str, shape: tuple[int, ...]
) -> None:
    for made in (rng_of(device).normal(shape, dtype), rng_of(device).uniform(-1.0, 1.0, shape, dtype)):
        assert (made.dtype, tuple(made.shape)) == (dtype_of(dtype), shape)
        assert made.device == device.gpu.torch_device


def moments(values: Any) -> tuple[float, float, float]:
    """Mean, variance and kurtosis."""
    wide = values.double()
    mean = wide.mean()
    off = wide - mean
    variance = (off**2).mean()
    return float(mean), float(variance), float((off**4).mean() / variance**2)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 3.0)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_draws_fill_their_range_evenly(device: Any, dtype: str, low: float, high: float) -> None:
    values = rng_of(device).uniform(low, high, (N,), dtype)
    span = high - low
    least, most = float(values.min()), float(values.max())
    assert low <= least < low + 0.001 * span
    assert high - 0.01 * span < most <= high  # rounding to a narrow type may reach the end
    if dtype in ("float64", "float32") and low == 0.0:
        assert most < high
    mean, variance, _ = moments(values)
    assert abs(mean - (low + high) / 2) < 5 * span / math.sqrt(12 * N)
    assert abs(variance - span**2 / 12) < 5 * span**2 * math.sqrt((1 / 80 - 1 / 144) / N)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (3.0, 0.5)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_draws_have_the_moments_of_a_normal(device: Any, dtype: str, mean: float, std: float) -> None:
    values = rng_of(device).normal((N,), dtype, mean, std)
    assert bool(values.isfinite().all())
    seen, variance, kurtosis = moments(values)
    assert abs(seen - mean) < 5 * std / math.sqrt(N)
    assert abs(variance - std**2) < 5 * std**2 * math.sqrt(2 / N)
    assert abs(kurtosis - 3) < 5 * math.sqrt(24 / N)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_neighbours_of_a_normal_draw_know_nothing_of_each_other(device: Any, dtype: str) -> None:
    # They come in pairs of one radius: neither they nor their squares may go together.
    values = rng_of(device).normal((N,), dtype).double()
    for seen in (values, (values**2 - 1) / math.sqrt(2)):
        assert abs(float((seen[:-1] * seen[1:]).mean())) < 5 / math.sqrt(N)


def test_float64_draws_have_more_bits_than_float32(device: Any) -> None:
    for made in (rng_of(device).normal((64,), "float64"), rng_of(device).uniform(0.0, 1.0, (64,), "float64")):
        assert not made.equal(made.float().double())


def assert_even(counts: Any) -> None:
    """Counts of equally likely outcomes pass a chi-square test, at one in a million on each side."""
    from scipy.stats import chi2

    expected = float(counts.sum()) / len(counts)
    statistic = float(((counts.double() - expected) ** 2).sum()) / expected
    low, high = chi2.interval(1 - 2e-6, len(counts) - 1)
    assert low < statistic < high


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int64", -3, 4),
        ("int64", 2**62, 2**62 + 10),
        ("int32", 10, 17),
        ("int32", -500, 500),
        ("int16", 0, 1000),
        ("int8", -128, 128),
        ("uint8", 0, 256),
        ("bool", 0, 2),
        ("float64", 0, 3),
        ("float32", 0, 100),
        ("float16", 0, 100),
        ("bfloat16", 0, 100),
    ],
)
def test_every_integer_of_a_range_is_drawn_as_often(device: Any, dtype: str, low: int, high: int) -> None:
    import torch

    values = rng_of(device).integers(low, high, (N,), dtype)
    assert values.dtype == dtype_of(dtype)
    places = values.to(torch.int64) - low
    assert int(places.min()) >= 0
    assert int(places.max()) < high - low
    assert_even(torch.bincount(places, minlength=high - low))


@pytest.mark.parametrize(("high", "quarters"), [(2**62, 3), (2**63, 4)])
def test_ranges_beyond_63_bits_are_drawn_evenly(device: Any, high: int, quarters: int) -> None:
    import torch

    values = rng_of(device).integers(-(2**63), high, (N,))
    counts = torch.bincount((values >> 62) + 2, minlength=quarters)
    assert len(counts) == quarters
    assert_even(counts)


def test_every_bit_of_the_full_range_is_set_half_the_time(device: Any) -> None:
    values = rng_of(device).integers(-(2**63), 2**63, (N,))
    shares = [float(((values >> bit) & 1).double().mean()) for bit in range(64)]
    assert max(abs(share - 0.5) for share in shares) < 5 * 0.5 / math.sqrt(N)


@pytest.mark.parametrize(("low", "high"), [(3, 3), (4, 3)])
def test_an_empty_range_is_refused(device: Any, low: int, high: int) -> None:
    with pytest.raises(ValueError, match="low must be below high, found"):
        rng_of(device).integers(low, high, (3,))


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, N])
def test_a_permutation_holds_every_index_once(device: Any, n: int, dtype: str) -> None:
    import torch

    made = rng_of(device).permutation(n, dtype)
    ordered = torch.arange(n, dtype=dtype_of(dtype), device=made.device)
    assert made.dtype == dtype_of(dtype)
    assert made.sort().values.equal(ordered)
    assert n < N or int((made == ordered).sum()) < 20  # one is expected to stay where it is


@pytest.mark.parametrize(("n", "shape"), [(1, (1,)), (5, (5,)), (64, (8, 8)), (N, (1000,)), (N, (0,))])
def test_a_choice_never_repeats(device: Any, n: int, shape: tuple[int, ...]) -> None:
    made = rng_of(device).choice(n, shape)
    assert tuple(made.shape) == shape
    values = made.flatten().tolist()
    assert len(set(values)) == len(values)
    assert set(values) <= set(range(n))


def test_more_than_there_are_cannot_be_chosen(device: Any) -> None:
    with pytest.raises(ValueError, match="at most 3 distinct integers of 3, found 4"):
        rng_of(device).choice(3, (2, 2))


def test_seeds_for_foreign_formats_have_63_bits(device: Any) -> None:
    seeds = [rng_of(device, key).seed() for key in range(64)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62
    assert len(set(seeds)) == 64


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_the_generator_is_philox_4x32_10(device: Any, counter: str, key: str, expected: str) -> None:
    # The known answers that its authors publish (Random123, kat_vectors).
    import torch

    def joined(words: str) -> list[int]:
        """Pairs of 32-bit words, the low one first, as 64-bit numbers."""
        each = [int(word, 16) for word in words.split()]
        return [low | high << 32 for low, high in zip(each[::2], each[1::2], strict=True)]

    first, upper = joined(counter)
    room = torch.zeros(2, dtype=torch.int64, device=device.gpu.torch_device)
    device.gpu.launch_over("integers", 1, room.data_ptr(), 2, *joined(key), upper, first, 0, 0)
    assert [word % 2**64 for word in room.tolist()] == joined(expected)


# --- poison ----------------------------------------------------------------------------------------

ROOM = 4 << 20


@pytest.mark.parametrize(
    "spans",
    [
        [(0, 64)],
        [(0, ROOM)],
        [(0, 1), (8, 7), (16, 9), (32, 15)],
        [(1, 8), (11, 1), (13, 30), (47, 17)],
        [(8, 0), (16, 3)],
        [(5, 3_000_001), (3_000_016, 1_000_000)],
        [(24 * i + i % 8, 1 + i % 16) for i in range(40_000)],
    ],
    ids=["aligned", "everything", "odd", "unaligned", "empty", "large", "many"],
)
def test_poison_fills_exactly_its_spans(device: Any, spans: Sequence[tuple[int, int]]) -> None:
    import torch

    gpu = device.gpu
    room = torch.full((ROOM,), 0xA5, dtype=torch.uint8, device=gpu.torch_device)
    table = gpu.spans([(room.data_ptr() + start, size) for start, size in spans])
    gpu.poison(table, WORD)
    expected = np.full(ROOM, 0xA5, np.uint8)
    pattern = np.frombuffer(struct.pack("<Q", WORD), np.uint8)
    for start, size in spans:
        expected[start : start + size] = np.resize(pattern, size)
    assert np.flatnonzero(room.cpu().numpy() != expected).tolist() == []


# --- memory that is shared -------------------------------------------------------------------------


@contextlib.contextmanager
def blocks(device: Any, sizes: Sequence[int]) -> Iterator[list[int]]:
    """Addresses of blocks as a seat would share them."""
    taken: list[int] = []
    try:
        for size in sizes:
            taken.append(device.gpu.allocate(size))
        yield taken
    finally:
        device.gpu.synchronize()
        for address in taken:
            device.gpu.free(address)


SIZES = (1, 3 << 20, GRANULE, GRANULE + 1, 4096, 5, 1)


def granules(address: int, size: int) -> set[int]:
    return set(range(address // GRANULE, -(-(address + size) // GRANULE)))


def test_what_is_exported_holds_nothing_else(device: Any) -> None:
    import torch

    small = [called("cuMemAlloc", 4096) for _ in range(8)]
    try:
        with blocks(device, SIZES) as taken:
            small += [called("cuMemAlloc", 4096) for _ in range(8)]
            tensors = [
                torch.empty(size, dtype=torch.uint8, device=device.gpu.torch_device)
                for size in (1, 512, 1 << 20, 3 << 20, 30 << 20)
            ]
            ours = [granules(address, size) for address, size in zip(taken, SIZES, strict=True)]
            others = [granules(int(pointer), 4096) for pointer in small]
            others += [granules(tensor.data_ptr(), tensor.numel()) for tensor in tensors]
            assert len(set().union(*ours)) == sum(map(len, ours))
            assert not set().union(*ours) & set().union(*others)
    finally:
        for pointer in small:
            called("cuMemFree", pointer)


def test_a_fresh_block_holds_nothing_of_its_last_owner(device: Any) -> None:
    def whole(address: int, size: int) -> Any:
        return device.gpu.tensor(address, -(-size // GRANULE) * GRANULE)

    with blocks(device, SIZES) as taken:
        for address, size in zip(taken, SIZES, strict=True):
            whole(address, size).fill_(0xFF)
    with blocks(device, SIZES) as taken:
        assert [bool(whole(*block).any()) for block in zip(taken, SIZES, strict=True)] == [False] * len(SIZES)


# --- looking at it afterwards ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "stride"), [(1001, 1280), (1272, 1280), (1, 256), (0, 256), (1_000_003, 1_000_192)]
)
def test_bytes_that_changed_behind_an_array_are_counted_and_no_others(
    device: Any, size: int, stride: int
) -> None:
    import torch

    gpu, calls = device.gpu, 3
    room = torch.zeros((calls, stride), dtype=torch.uint8, device=gpu.torch_device)
    table = gpu.spans([(room.data_ptr(), calls * stride)])
    gpu.poison(table, WORD)

    def counted() -> int:
        count = torch.zeros(1, dtype=torch.int64, device=gpu.torch_device)
        spare = (stride - size) * calls
        gpu.launch_over("behind", spare, room.data_ptr(), stride, size, calls, WORD, count.data_ptr())
        return int(count)

    assert counted() == 0
    room[:, :size] ^= 0xFF  # the array itself is the contestant's
    assert counted() == 0
    for number, (call, place) in enumerate(((0, size), (calls - 1, stride - 1), (1, size + 3)), start=1):
        room[call, place] ^= 0xFF
        assert counted() == number


def test_words_are_exchanged_in_pairs_and_come_back_the_second_time(device: Any) -> None:
    import torch

    gpu = device.gpu
    words = torch.arange(1000, dtype=torch.int64, device="cuda")
    places = np.random.default_rng(1).permutation(1000)[:600]
    pairs = gpu.upload(words.data_ptr() + 8 * places.astype(np.int64))
    expected = np.arange(1000)
    expected[places[0::2]], expected[places[1::2]] = places[1::2], places[0::2]
    gpu.launch_over("exchange", 300, pairs.data_ptr(), 300)
    assert words.cpu().numpy().tolist() == expected.tolist()
    gpu.launch_over("exchange", 300, pairs.data_ptr(), 300)
    assert words.cpu().numpy().tolist() == list(range(1000))


@pytest.mark.parametrize("vectors", [1, 255, 256, 257, N])
def test_vectors_that_differ_are_counted_once_each(device: Any, vectors: int) -> None:
    import torch

    gpu = device.gpu
    drawn = rng_of(device).integers(0, 256, (vectors, 16), "uint8")
    copy = drawn.clone()

    def counted() -> int:
        count = torch.zeros(1, dtype=torch.int64, device=gpu.torch_device)
        gpu.launch_over("differ", vectors, copy.data_ptr(), drawn.data_ptr(), vectors, count.data_ptr())
        return int(count)

    assert counted() == 0
    places = sorted({0, vectors // 2, vectors - 1})
    for number, place in enumerate(places, start=1):
        copy[place, number] ^= 0x10
        copy[place, 15] ^= 0x01
        assert counted() == number
    for byte in range(16):
        copy.copy_(drawn)
        copy[-1, byte] ^= 0x80
        assert counted() == 1


@pytest.mark.parametrize("length", range(1, 9))
def test_a_sample_is_the_bytes_at_its_address(device: Any, length: int) -> None:
    import torch

    gpu = device.gpu
    drawn = rng_of(device).integers(0, 256, (4096,), "uint8")
    places = list(range(0, 4088, 3))
    where = gpu.upload(np.array([drawn.data_ptr() + place for place in places], np.int64))
    seen = torch.zeros_like(where)
    count = len(places)
    gpu.launch_over("sample", count, where.data_ptr(), count, ctypes.c_uint32(length), seen.data_ptr())
    data = bytes(drawn.tolist())
    expected = [int.from_bytes(data[place : place + length], "little") for place in places]
    assert [word % 2**64 for word in seen.tolist()] == expected


# --- time ------------------------------------------------------------------------------------------

EMPTY_ROUNDS = 60
EMPTY_SPREAD_NS = 2000


def test_empty_rounds_cost_the_same_within_two_microseconds(device: Any) -> None:
    null = device.null_seat()
    times_ns = [empty_round(null, device.stamps) for _ in range(EMPTY_ROUNDS)]
    low, _, high = statistics.quantiles(times_ns, n=4)
    assert high - low < EMPTY_SPREAD_NS, sorted(times_ns)


@contextlib.contextmanager
def assigned(device: Any, problem: Problem, axes: dict[str, int]) -> Iterator[CudaAssignment]:
    """Buffers of one call in the hands of a contestant whose kernel is right."""
    seat = device.take_seat()
    try:
        seat.await_start()
        style = load(seat, problem, read_submission(RIGHT))
        seat.thaw()
        seat.ask("prepare", seat.limits.prepare_s, op="prepare", axes=axes)
        assignment = device.assignment(problem, axes, seat, style, 1)
        try:
            yield assignment
        finally:
            assignment.close()
    finally:
        seat.close()


@pytest.mark.parametrize("mib", [64, 512])
def test_the_referee_s_own_copies_are_no_intrusion(device: Any, mib: int) -> None:
    problem = find("basics/vectoradd")
    axes = shapes.all_axes(problem, {"n": (mib << 20) // 4})  # two inputs of so much
    needed = 2 * device.call_bytes(problem, axes) + (2 << 30)
    if device.free_bytes() < needed:
        pytest.skip(f"needs {needed / 1e9:.0f} GB of device memory")
    key = int.from_bytes(os.urandom(16), "little")
    vault = device.draw_vault(problem, references.load_reference(problem), axes, [key])
    with assigned(device, problem, axes) as assignment:
        seen = [assignment.round(vault, [], 64, 30.0) for _ in range(5)]
    assert [(one.wrong, one.intrusion_ns) for one in seen] == [(None, 0)] * 5
