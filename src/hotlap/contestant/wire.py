"""Length-prefixed JSON, with file descriptors beside it, over one inherited socket.

Defends against: unpickling untrusted bytes (JSON only), endless messages (a cap), silence (a time-out
on every receive). Does not defend against: a peer that lies; the referee believes none of the content.
"""

import array
import contextlib
import json
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

MAX_MESSAGE_BYTES = 1 << 20
MAX_FDS = 250  # in one message; Linux passes 253 at most
SEND_S = 5.0
SO_PASSRIGHTS = 83  # Linux 6.16

# Offsets in the control block that referee and contestant share; far apart, never in one cache line.
GO, DONE, POINTERS = 0, 4096, 8192
MAX_CALLS = 512
MAX_OUTPUTS = 16
CONTROL_BYTES = POINTERS + 8 * MAX_CALLS * MAX_OUTPUTS
CACHES = "caches.tar"  # beside the kernel: what its last process compiled
RAISED = 1 << 63  # set in DONE when a call raised: the message that follows says what


class PeerGone(Exception):
    """The other process closed the channel, or broke the protocol."""


class ProtocolBroken(PeerGone):
    """The other process sent what is no message; nothing that follows can be read."""


class PeerSilent(Exception):
    """The other process did not answer in time."""


class Channel:
    """One end of the socket pair. `receive` returns the message; its descriptors wait in `take_fds`.

    Descriptors that the other end sends are closed on arrival unless `accept_fds`: the referee takes
    none, so nobody can exhaust its table.
    """

    def __init__(self, sock: socket.socket, accept_fds: bool = False):
        self.sock = sock
        self.accept_fds = accept_fds
        self.fds: list[int] = []
        self.peer_pid: int | None = None
        self._buffer = bytearray()

    def know_peer(self) -> None:
        """Ask the kernel to attach the sender's pid, in our namespace, to all that we receive."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        # Closing a file that a contestant sent can block, and it would be ours to close: take none at all.
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)

    def send(self, fds: Sequence[int] = (), **message: Any) -> None:
        """Raises PeerGone where the other end is closed; for the referee also where it does not read."""
        body = json.dumps(message).encode()
        frame, left = memoryview(struct.pack("<I", len(body)) + body), list(fds)
        # A contestant may peek at its messages and take none: the referee must not wait for it for ever.
        patience_s = None if self.accept_fds else SEND_S
        try:
            while frame:
                if not select.select([], [self.sock], [], patience_s)[1]:
                    raise PeerGone("the other process does not read its messages")
                with contextlib.suppress(BlockingIOError):
                    if left:
                        sent = socket.send_fds(self.sock, [frame], left, socket.MSG_DONTWAIT)
                    else:
                        sent = self.sock.send(frame, socket.MSG_DONTWAIT)
                    frame, left = frame[sent:], []
        except OSError as error:
            raise PeerGone(f"the channel is closed ({error.strerror})") from None

    def has_more(self) -> bool:
        """Whether part of a message has arrived already."""
        return bool(self._buffer)

    def receive(
        self, timeout_s: float | None = None, idle: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Next message. `idle` runs while waiting, at least every 50 ms.

        Raises PeerGone, ProtocolBroken, PeerSilent after timeout_s seconds.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._await(4, deadline, idle)
        size = struct.unpack_from("<I", self._buffer)[0]
        if size > MAX_MESSAGE_BYTES:
            raise ProtocolBroken(f"a message of {size} bytes was refused; at most {MAX_MESSAGE_BYTES}")
        self._await(4 + size, deadline, idle)
        body = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]  # only now: after a silence in mid-message the rest may still come
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise ProtocolBroken("a message was not JSON") from None
        if not isinstance(message, dict):
            raise ProtocolBroken("a message was not a JSON object")
        return message

    def _await(self, size: int, deadline: float | None, idle: Callable[[], None] | None) -> None:
        """Read until the buffer holds `size` bytes."""
        while len(self._buffer) < size:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise PeerSilent
            wait = left if idle is None else min(0.05, 0.05 if left is None else left)
            if select.select([self.sock], [], [], wait)[0]:
                self._buffer += self._chunk()
            if idle is not None:
                idle()

    def _chunk(self) -> bytes:
        room = socket.CMSG_SPACE(MAX_FDS * 4) + socket.CMSG_SPACE(12)
        try:
            data, ancillary, _, _ = self.sock.recvmsg(1 << 16, room)
        except OSError as error:
            raise PeerGone(f"the channel is closed ({error.strerror})") from None
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
                self.fds.extend(fds)
                if not self.accept_fds:
                    self._close_fds()
            elif level == socket.SOL_SOCKET and kind == getattr(socket, "SCM_CREDENTIALS", 2):
                self.peer_pid = struct.unpack("3i", payload)[0]
        if not data:
            raise PeerGone("the channel is closed")
        return data

    def take_fds(self) -> list[int]:
        fds, self.fds = self.fds, []
        return fds

    def _close_fds(self) -> None:
        for fd in self.take_fds():
            os.close(fd)

    def close(self) -> None:
        self._close_fds()
        self.sock.close()
