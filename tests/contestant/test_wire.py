"""The channel between referee and contestant: all that comes is a message or one clear end."""

import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.contestant import wire
from hotlap.contestant.wire import MAX_FDS, MAX_MESSAGE_BYTES, Channel, PeerGone, PeerSilent

Pair = tuple[Channel, Channel]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The referee's end, and the contestant's, which takes descriptors."""
    ours, theirs = socket.socketpair()
    referee, contestant = Channel(ours), Channel(theirs, accept_fds=True)
    yield referee, contestant
    referee.close()
    contestant.close()


def received(raw: bytes) -> dict[str, Any]:
    """What comes of raw bytes from a peer that then goes away."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(raw)
    channel = Channel(ours)
    try:
        return channel.receive(5)
    finally:
        channel.close()


def frame(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


# --- frames ----------------------------------------------------------------------------------------


@given(st.dictionaries(st.text().filter(lambda name: name not in ("self", "fds")), JSON, max_size=5))
def test_a_message_arrives_as_it_was_sent(message: dict[str, Any]) -> None:
    ours, theirs = socket.socketpair()
    sender, receiver = Channel(ours), Channel(theirs)
    try:
        sender.send(**message)
        assert receiver.receive(5) == message
    finally:
        sender.close()
        receiver.close()


@given(st.binary(max_size=200))
def test_garbage_is_an_object_or_the_end(raw: bytes) -> None:
    with contextlib.suppress(PeerGone):  # the one clear end
        assert isinstance(received(raw), dict)


@given(JSON)
def test_json_that_is_no_object_is_refused(value: Any) -> None:
    body = json.dumps(value).encode()
    if isinstance(value, dict):
        assert received(frame(body)) == value
    else:
        with pytest.raises(PeerGone, match="not a JSON object"):
            received(frame(body))


@given(st.dictionaries(st.text(), JSON, max_size=3), st.data())
def test_a_frame_that_was_cut_is_the_end(message: dict[str, Any], data: st.DataObject) -> None:
    whole = frame(json.dumps(message).encode())
    with pytest.raises(PeerGone, match="closed"):
        received(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), min_size=1, max_size=4), st.data())
def test_messages_arrive_in_order_however_they_are_split(
    messages: list[dict[str, Any]], data: st.DataObject
) -> None:
    stream = b"".join(frame(json.dumps(message).encode()) for message in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    with theirs:
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            theirs.sendall(stream[start:end])
        assert [channel.receive(5) for _ in messages] == messages
    channel.close()


@given(st.integers(MAX_MESSAGE_BYTES + 1, 2**32 - 1))
def test_an_oversized_message_is_refused_before_it_is_read(size: int) -> None:
    with pytest.raises(PeerGone, match=f"{size} bytes was refused"):
        received(struct.pack("<I", size))


def test_a_message_of_the_largest_size_arrives(pair: Pair) -> None:
    referee, contestant = pair
    text = "x" * (MAX_MESSAGE_BYTES - len(json.dumps({"text": ""})))
    sender = threading.Thread(target=contestant.send, kwargs={"text": text})
    sender.start()  # it does not fit the socket, so somebody has to read meanwhile
    assert referee.receive(20) == {"text": text}
    sender.join()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe{}",
        b'{"a": 1}{}',
        b"[" * 100_000,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"n": ' + b"9" * 10_000 + b"}",
    ],
    ids=["empty", "open", "not UTF-8", "two", "deep list", "deep object", "long number"],
)
def test_a_body_that_does_not_parse_is_the_end(body: bytes) -> None:
    with pytest.raises(PeerGone, match="not JSON"):
        received(frame(body))


def test_unknown_fields_and_lone_surrogates_are_only_data() -> None:
    assert received(frame(b'{"op": "\\ud800", "\\u0000": NaN}'))["op"] == "\ud800"


# --- silence and ends ------------------------------------------------------------------------------


def test_a_silent_peer_is_told_from_one_that_is_gone(pair: Pair) -> None:
    referee, contestant = pair
    with pytest.raises(PeerSilent):
        referee.receive(0.02)
    contestant.close()
    with pytest.raises(PeerGone):
        referee.receive(5)


def test_half_a_frame_and_then_silence_is_silence(pair: Pair) -> None:
    referee, contestant = pair
    contestant.sock.sendall(frame(b'{"op": 1}')[:6])
    with pytest.raises(PeerSilent):
        referee.receive(0.02)
    contestant.sock.sendall(frame(b'{"op": 1}')[6:])
    assert referee.receive(5) == {"op": 1}


def test_a_peer_that_drips_bytes_does_not_move_the_deadline(pair: Pair) -> None:
    referee, contestant = pair
    stop = threading.Event()

    def drip() -> None:
        for byte in frame(b" " * 10_000):
            if stop.wait(0.005):
                return
            contestant.sock.sendall(bytes([byte]))

    dripping = threading.Thread(target=drip)
    dripping.start()
    with pytest.raises(PeerSilent):
        referee.receive(0.1)
    stop.set()
    dripping.join()


def test_idle_runs_while_the_peer_is_silent(pair: Pair) -> None:
    referee, _ = pair
    ran = []
    with pytest.raises(PeerSilent):
        referee.receive(0.2, lambda: ran.append(1))
    assert len(ran) > 1


def test_the_referee_gives_up_on_a_peer_that_never_reads(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SEND_S", 0.2)
    referee, _ = pair

    def flood() -> None:
        while True:
            referee.send(op="round", scalars=[[0.0] * 100])

    with pytest.raises(PeerGone, match="does not read"):
        flood()


def test_sending_to_a_peer_that_is_gone_says_so(pair: Pair) -> None:
    referee, contestant = pair
    contestant.close()
    with pytest.raises(PeerGone, match="closed"):
        referee.send(op="round")


# --- descriptors -----------------------------------------------------------------------------------


def test_descriptors_travel_towards_the_contestant_in_order(pair: Pair) -> None:
    referee, contestant = pair
    files = [os.memfd_create(name) for name in ("a", "b", "c")]
    referee.send(fds=files, op="attach")
    assert contestant.receive(5) == {"op": "attach"}
    taken = contestant.take_fds()
    assert [os.readlink(f"/proc/self/fd/{fd}").split()[0] for fd in taken] == [
        "/memfd:a",
        "/memfd:b",
        "/memfd:c",
    ]
    assert contestant.take_fds() == []
    for fd in [*files, *taken]:
        os.close(fd)


@pytest.mark.parametrize("count", [1, MAX_FDS, 253])
def test_descriptors_sent_to_the_referee_are_closed_on_arrival(pair: Pair, count: int) -> None:
    referee, contestant = pair
    before = open_descriptors()
    with open(os.devnull) as null:
        for _ in range(10):
            contestant.send(fds=[null.fileno()] * count, op="take these")
            assert referee.receive(5) == {"op": "take these"}
    assert referee.take_fds() == []
    assert open_descriptors() == before


def test_descriptors_that_nobody_took_are_closed_with_the_channel() -> None:
    before = open_descriptors()
    ours, theirs = socket.socketpair()
    referee, contestant = Channel(ours), Channel(theirs, accept_fds=True)
    referee.send(fds=[0, 1, 2], op="attach")
    contestant.receive(5)
    referee.close()
    contestant.close()
    assert open_descriptors() == before


def test_the_kernel_names_the_sender(pair: Pair) -> None:
    referee, contestant = pair
    referee.know_peer()
    contestant.send(op="hello", pid=1)
    referee.receive(5)
    assert referee.peer_pid == os.getpid()


def test_go_done_and_pointers_share_no_cache_line_and_fit_the_block() -> None:
    places = sorted((wire.GO, wire.DONE, wire.POINTERS))
    assert min(b - a for a, b in pairwise(places)) >= 128
    assert wire.POINTERS + 8 * wire.MAX_CALLS * wire.MAX_OUTPUTS <= wire.CONTROL_BYTES
    assert wire.RAISED > wire.MAX_CALLS
