"""Shared memory: inputs that their holder cannot write, poison that no honest kernel leaves, whole pages."""

import contextlib
import fcntl
import mmap
import os
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from hotlap.referee.buffers import NAN_BITS, PAGE, POISON_WORD_BYTES, Buffer, Layout, poison_word

LAYOUT = Layout("x", "float32", (300, 5), 4)


@contextlib.contextmanager
def another_holder(buffer: Buffer) -> Iterator[int]:
    """The descriptor as a contestant gets it: opened anew, so that its own flags cannot help."""
    fd = os.open(f"/proc/self/fd/{buffer.fd}", os.O_RDWR)
    try:
        yield fd
    finally:
        os.close(fd)


@pytest.fixture
def sealed() -> Iterator[Buffer]:
    buffer = Buffer(LAYOUT, 3, writable=False)
    yield buffer
    buffer.close()


@pytest.fixture
def writable() -> Iterator[Buffer]:
    buffer = Buffer(LAYOUT, 3, writable=True)
    yield buffer
    buffer.close()


def test_a_sealed_input_cannot_be_mapped_writable(sealed: Buffer) -> None:
    with another_holder(sealed) as fd, pytest.raises(PermissionError):
        mmap.mmap(fd, PAGE, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def test_a_read_only_mapping_of_a_sealed_input_cannot_be_made_writable(sealed: Buffer) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    with another_holder(sealed) as fd, mmap.mmap(fd, PAGE, prot=mmap.PROT_READ) as memory:
        address = np.frombuffer(memory, np.uint8).ctypes.data
        assert libc.mprotect(ctypes.c_void_p(address), PAGE, 3) == -1


def test_a_sealed_input_cannot_be_written_through_its_descriptor(sealed: Buffer) -> None:
    with another_holder(sealed) as fd, pytest.raises(PermissionError):
        os.pwrite(fd, b"1", 0)


@pytest.mark.parametrize("size", [0, 1 << 20])
@pytest.mark.parametrize("kind", ["sealed", "writable"])
def test_no_buffer_can_be_shrunk_or_grown(kind: str, size: int, request: pytest.FixtureRequest) -> None:
    with another_holder(request.getfixturevalue(kind)) as fd, pytest.raises(PermissionError):
        os.ftruncate(fd, size)


@pytest.mark.parametrize("kind", ["sealed", "writable"])
def test_no_seal_can_be_added_later(kind: str, request: pytest.FixtureRequest) -> None:
    with another_holder(request.getfixturevalue(kind)) as fd, pytest.raises(PermissionError):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def test_the_referee_still_writes_a_sealed_input_and_its_holder_sees_it(sealed: Buffer) -> None:
    data = np.arange(LAYOUT.bytes, dtype=np.uint8)
    sealed.write(2, data)
    with another_holder(sealed) as fd, mmap.mmap(fd, 3 * LAYOUT.stride, prot=mmap.PROT_READ) as memory:
        start = 2 * LAYOUT.stride
        assert memory[start : start + LAYOUT.bytes] == data.tobytes()


def test_a_writable_buffer_can_be_written_by_its_holder(writable: Buffer) -> None:
    with another_holder(writable) as fd:
        os.pwrite(fd, b"\7", LAYOUT.stride)
    assert writable.read(1)[0] == 7


def test_what_was_read_is_a_copy(writable: Buffer) -> None:
    before = writable.read(0)
    writable.write(0, np.ones(LAYOUT.bytes, np.uint8))
    assert not before.any()


def test_poison_fills_the_first_calls_with_the_bytes_behind_them(writable: Buffer) -> None:
    writable.poison(0x1122334455667788, 2)
    assert (writable.words[:2] == 0x1122334455667788).all()
    assert not writable.words[2].any()


def test_a_closed_buffer_gives_its_descriptor_and_memory_back() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        Buffer(LAYOUT, 3, writable=True).close()
    assert len(os.listdir("/proc/self/fd")) == before
    with open("/proc/self/maps") as maps:
        assert "hotlap-x" not in maps.read()


def test_a_buffer_closes_while_a_view_is_alive() -> None:
    buffer = Buffer(LAYOUT, 1, writable=True)
    view = buffer.bytes[0, :4]
    buffer.close()
    assert not view.any()


# --- layouts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "itemsize", "elements", "stride"),
    [
        ((), 4, 1, PAGE),  # no dimensions: one element
        ((0,), 4, 0, PAGE),
        ((3, 0, 2), 8, 0, PAGE),
        ((1,), 1, 1, PAGE),
        ((PAGE // 4 - 2,), 4, PAGE // 4 - 2, PAGE),  # exactly room for the spare word
        ((PAGE // 4 - 1,), 4, PAGE // 4 - 1, 2 * PAGE),
        ((PAGE // 4,), 4, PAGE // 4, 2 * PAGE),  # a full page, and one for the spare word
        ((100, 100), 8, 10_000, 80_000 // PAGE * PAGE + PAGE),
    ],
)
def test_a_slot_is_whole_pages_with_a_spare_word(
    shape: tuple[int, ...], itemsize: int, elements: int, stride: int
) -> None:
    layout = Layout("x", "float32", shape, itemsize)
    assert (layout.elements, layout.bytes, layout.stride) == (elements, elements * itemsize, stride)
    assert layout.stride - layout.bytes >= POISON_WORD_BYTES


@pytest.mark.parametrize("shape", [(), (0,), (7,)])
def test_a_buffer_of_any_shape_can_be_made_and_described(shape: tuple[int, ...]) -> None:
    layout = Layout("x", "int16", shape, 2)
    buffer = Buffer(layout, 4, writable=False)
    assert buffer.describe() == {
        "name": "x",
        "dtype": "int16",
        "shape": list(shape),
        "elements": layout.elements,
        "itemsize": 2,
        "stride": PAGE,
        "bytes": 4 * PAGE,
        "writable": False,
    }
    assert buffer.read(3).shape == (layout.bytes,)
    buffer.close()


# --- poison ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NAN_BITS)
def test_every_lane_of_a_float_s_poison_is_a_quiet_nan(dtype: str) -> None:
    for _ in range(200):
        word = np.array([poison_word(dtype)], np.uint64)
        assert torch.from_numpy(word.view(np.uint8)).view(getattr(torch, dtype)).isnan().all()


@pytest.mark.parametrize("dtype", [*NAN_BITS, "int8", "int64", "bool", "float8_e5m2"])
def test_poison_is_never_the_same(dtype: str) -> None:
    assert len({poison_word(dtype) for _ in range(200)}) == 200


@pytest.mark.parametrize("dtype", [*NAN_BITS, "int32"])
def test_poison_fits_a_word(dtype: str) -> None:
    assert all(0 <= poison_word(dtype) < 2**64 for _ in range(200))
