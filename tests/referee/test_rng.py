"""Inputs: the same for the same key, unlike for any other, of the type, shape and range asked for."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hotlap.referee.rng import Rng, derive, new_master_key

KEYS = st.integers(0, 2**128 - 1)
FLOATS = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8"]
SHAPES: list[tuple[int, ...]] = [(), (1,), (7,), (3, 5), (2, 3, 4)]


def draws(key: int) -> list[float]:
    return Rng(key).normal((16,)).tolist()


@given(KEYS)
def test_the_same_key_gives_the_same_draws(key: int) -> None:
    a, b = Rng(key), Rng(key)
    assert torch.equal(a.normal((9,)), b.normal((9,)))
    assert torch.equal(a.uniform(-1, 1, (9,)), b.uniform(-1, 1, (9,)))
    assert torch.equal(a.integers(0, 99, (9,)), b.integers(0, 99, (9,)))
    assert torch.equal(a.permutation(9), b.permutation(9))
    assert torch.equal(a.choice(99, (9,)), b.choice(99, (9,)))
    assert a.seed() == b.seed()


@given(KEYS, KEYS)
def test_other_keys_give_other_draws(a: int, b: int) -> None:
    assert (draws(a) == draws(b)) == (a == b)


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 63, 64, 95, 96, 126, 127])
def test_every_bit_of_a_key_counts(bit: int) -> None:
    assert draws(0x1234 << 60) != draws((0x1234 << 60) ^ (1 << bit))


def test_one_rng_does_not_repeat_itself() -> None:
    rng = Rng(1)
    assert not torch.equal(rng.normal((64,)), rng.normal((64,)))


PATHS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(tuple)


@given(st.binary(min_size=16, max_size=16), PATHS, PATHS)
def test_every_path_has_a_key_of_its_own(master: bytes, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    assert (derive(master, *a) == derive(master, *b)) == (a == b)


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16))
def test_every_master_has_keys_of_its_own(a: bytes, b: bytes) -> None:
    assert (derive(a, 1, 2, 3) == derive(b, 1, 2, 3)) == (a == b)


@given(st.binary(min_size=16, max_size=16), PATHS)
def test_a_derived_key_has_128_bits(master: bytes, path: tuple[int, ...]) -> None:
    assert 0 <= derive(master, *path) < 2**128


def test_master_keys_are_16_bytes_and_never_the_same() -> None:
    keys = {new_master_key() for _ in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {16}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_have_the_type_and_shape_that_was_asked_for(dtype: str, shape: tuple[int, ...]) -> None:
    for made in (Rng(5).normal(shape, dtype), Rng(5).uniform(-1.0, 1.0, shape, dtype)):
        assert (made.dtype, tuple(made.shape)) == (getattr(torch, dtype), shape)
        assert made.is_contiguous()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "bfloat16"])
def test_integers_have_the_type_and_shape_that_was_asked_for(dtype: str, shape: tuple[int, ...]) -> None:
    for made in (Rng(5).integers(0, 100, shape, dtype), Rng(5).choice(100, shape, dtype)):
        assert (made.dtype, tuple(made.shape)) == (getattr(torch, dtype), shape)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int8", -128, 128),
        ("uint8", 0, 256),
        ("int16", -(2**15), 2**15),
        ("int32", -(2**31), 2**31),
        ("int64", -(2**63), 2**63),
        ("bool", 0, 2),
        ("int64", 3, 5),
    ],
)
def test_integers_lie_in_their_range_and_reach_both_ends_of_a_small_one(
    dtype: str, low: int, high: int
) -> None:
    made = Rng(7).integers(low, high, (4096,), dtype).to(torch.int64)
    assert low <= int(made.min())
    assert int(made.max()) < high
    if high - low <= 256:
        assert set(made.tolist()) == set(range(low, high))


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_stays_between_its_bounds(dtype: str) -> None:
    # Rounding to a narrow type may reach the upper bound, never pass it.
    made = Rng(9).uniform(-2.0, 3.0, (1 << 16,), dtype).to(torch.float64)
    assert -2 <= float(made.min()) < -1.9
    assert 2.9 < float(made.max()) <= 3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_normal_has_the_mean_and_deviation_that_was_asked_for(dtype: str) -> None:
    n = 1 << 16
    made = Rng(11).normal((n,), dtype, mean=3.0, std=0.5).to(torch.float64)
    standard_error = 0.5 / math.sqrt(n)
    assert abs(float(made.mean()) - 3.0) < 6 * standard_error
    assert abs(float(made.std()) - 0.5) < 6 * standard_error


def test_normal_in_float64_has_more_than_32_bits() -> None:
    made = Rng(13).normal((64,), "float64")
    assert not torch.equal(made, made.to(torch.float32).to(torch.float64))


def test_permutation_holds_every_index_once() -> None:
    made = Rng(15).permutation(1000, "int32")
    assert made.dtype == torch.int32
    assert sorted(made.tolist()) == list(range(1000))
    assert made.tolist() != list(range(1000))


def test_choice_never_repeats() -> None:
    made = Rng(17).choice(64, (8, 8))
    assert sorted(made.reshape(-1).tolist()) == list(range(64))


def test_a_seed_for_foreign_formats_has_63_bits() -> None:
    seeds = [Rng(key).seed() for key in range(64)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62
    assert len(set(seeds)) == 64
