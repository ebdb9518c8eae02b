"""One contestant process as the referee sees it: start it, ask it, freeze it, time a round, end it.

Defends against a contestant that dies, falls silent, floods its output, stops itself or lies: what went
wrong is read from exits, signals, time-outs and control groups, never from what it says.
"""

import contextlib
import ctypes
import fcntl
import gc
import json
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.contestant import wire
from hotlap.errors import HarnessError, UsageError
from hotlap.model import Failure, Fault, Status
from hotlap.referee import sandbox
from hotlap.referee.buffers import SIZE_SEALS, Buffer
from hotlap.referee.cgroup import Cgroup
from hotlap.referee.limits import Limits

BOOT = "import sys; sys.path[:0] = {paths!r}; from hotlap.contestant.main import main; main(sys.argv[1:])"
ANSWERS = {  # what a contestant answers to each message, unless with an error
    "load": "loaded",
    "control": "opened",
    "prepare": "prepared",
    "attach": "attached",
    "round": "ready",
    "flags": "opened",
    "capture": "captured",
    "claim": "claimed",
}
OUTPUT_KEPT = 16 << 10
MESSAGE_CHARS, DETAIL_CHARS = 4 << 10, 16 << 10  # of what a contestant says; it may send a megabyte
SPINS = 2000  # reads of DONE between two looks at the clock and at the process
PIPE_BYTES = 1 << 20


class SeatFailed(Exception):
    """The contestant did not do what it was asked; `failure` says how the referee saw it."""

    def __init__(self, failure: Failure):
        super().__init__(failure.message)
        self.failure = failure


class SeatSilent(SeatFailed):
    """The contestant did not answer in time."""


class Seat:
    """A sandboxed contestant process. Close it on every path: `close` ends the whole process tree.

    access: to a GPU, for kernels that run on one.
    """

    def __init__(
        self,
        cpus: tuple[int, ...],
        limits: Limits,
        imports: str = "torch",
        freezer: str = "best",
        interpret_triton: bool = False,
        access: sandbox.GpuAccess | None = None,
    ):
        self.limits, self.imports, self.access = limits, imports, access
        self.fault = Fault.submission  # whose fault it is when this seat fails
        self.output = bytearray()
        self.round_number = 0
        self.handicap_ns = 0  # for kernels of ours alone: a wait behind the calls of each round
        self.frozen = False
        self.cgroup = Cgroup(
            limits.memory_bytes, limits.processes, tuple(sorted(os.sched_getaffinity(0))), freezer
        )
        self.folder = Path(tempfile.mkdtemp(prefix=own_prefix("seat"), dir=runtime_folder()))
        self._open_control_block()
        ours, theirs = socket.socketpair()
        self.channel = wire.Channel(ours)
        self.channel.know_peer()
        init_ours, init_theirs = socket.socketpair()
        self.init = init_ours if self._needs_own_init(freezer) else None
        self._output_fd, output_write = os.pipe()
        os.set_blocking(self._output_fd, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._output_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        filter_fd = sandbox.seccomp_file()
        program = self._program(theirs.fileno(), init_theirs.fileno(), interpret_triton)
        binds = [("--ro-bind", str(self.folder), sandbox.INSIDE_SUBMISSION), *sandbox.package_binds()]
        variables = sandbox.environment(len(cpus), interpret_triton)
        if access is not None:
            binds += access.binds()
            variables |= access.environment()
            variables["PATH"] = f"{variables.get('CUDA_HOME', '/usr/local/cuda')}/bin:{variables['PATH']}"
        command = sandbox.wrap(program, binds, variables, self.init is not None, filter_fd)
        fds = [
            fd
            for fd in (theirs.fileno(), init_theirs.fileno() if self.init else None, filter_fd)
            if fd is not None
        ]
        cwd = str(self.folder) if sandbox.kind() == "none" else None
        self.cpus = cpus
        # All cores until it has imported what it needs: nothing of the author's is there yet.
        self.process = sandbox.spawn(sandbox.join(self.cgroup.joins, command), fds, output_write, cwd)
        theirs.close()
        init_theirs.close()
        if self.init is None:
            init_ours.close()
        os.close(output_write)
        if filter_fd is not None:
            os.close(filter_fd)
        self.is_ready = False

    def memory_kind(self) -> str:
        """How a contestant of this kind has device memory, in the words of `contestant.main`."""
        return "cpu" if self.access is None else "unshared"

    def _needs_own_init(self, freezer: str) -> bool:
        return self.cgroup.freezer is None and freezer in ("best", "init") and sandbox.kind() == "bwrap"

    def _program(self, fd: int, init_fd: int, interpret_triton: bool) -> list[str]:
        inside = sandbox.kind() == "bwrap"
        paths = [
            sandbox.INSIDE_PACKAGES if inside else str(sandbox.PACKAGE.parent),
            *sandbox.package_folders(),
        ]
        rlimits = {"RLIMIT_CORE": 0}
        if "no pids cgroup" in self.cgroup.gaps:
            rlimits["RLIMIT_NPROC"] = self.limits.processes
        if (
            "no memory cgroup" in self.cgroup.gaps and self.access is None
        ):  # CUDA reserves terabytes of addresses
            rlimits["RLIMIT_AS"] = self.limits.memory_bytes + (8 << 30)  # shared buffers and torch's reserves
        main = [
            sys.executable,
            "-I",
            "-c",
            BOOT.format(paths=paths),
            str(fd),
            self.imports,
            json.dumps(rlimits),
            self.memory_kind(),
        ]
        if self.init is None:
            return main
        init = f"{sandbox.INSIDE_PACKAGES}/hotlap/contestant/init.py"
        return [sys.executable, "-I", "-S", init, str(init_fd), str(fd), *main]

    def _open_control_block(self) -> None:
        fd = os.memfd_create("hotlap-control", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, wire.CONTROL_BYTES)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SIZE_SEALS | fcntl.F_SEAL_SEAL)
        self._control_fd = fd
        self._control = mmap.mmap(fd, wire.CONTROL_BYTES, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        words = memoryview(self._control).cast("Q")
        self._go = words[wire.GO // 8 : wire.GO // 8 + 1]
        self._done = words[wire.DONE // 8 : wire.DONE // 8 + 1]
        self.pointers = words[wire.POINTERS // 8 :]

    @property
    def freezer(self) -> str | None:
        return "init" if self.init is not None else self.cgroup.freezer

    @property
    def gaps(self) -> list[str]:
        """What this machine could not enforce for this contestant."""
        missing = [*sandbox.gaps(), *self.cgroup.gaps]
        if self.freezer is None:
            missing.append("the process tree cannot be frozen: late work is not excluded")
        return missing

    # --- talk

    def await_start(self) -> None:
        """Wait until the interpreter is up; shares the control block. Raises SeatFailed, HarnessError."""
        if self.is_ready:
            return
        try:
            self.channel.receive(self.limits.start_s, self.drain)
        except (wire.PeerGone, wire.PeerSilent):
            self.drain()
            tail = bytes(self.output).decode(errors="replace").strip()[-500:]
            raise HarnessError(f"a contestant process did not start: {tail or 'no output'}") from None
        self.pid = self.channel.peer_pid or self.process.pid
        self._confine()
        self.channel.send(fds=[self._control_fd], op="control")
        self._reply("load", self.limits.start_s)
        self.is_ready = True

    def _confine(self) -> None:
        """Keep every thread on the contestant's cores from now on."""
        self.cgroup.confine(self.cpus)
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), self.cpus)

    def place(self, name: str, data: bytes) -> str:
        """Put a file into the contestant's private folder; returns its path as the contestant sees it."""
        path = self.folder / name
        path.write_bytes(data)
        path.chmod(0o555)
        return f"{sandbox.INSIDE_SUBMISSION}/{name}" if sandbox.kind() == "bwrap" else str(path)

    def ask(self, phase: str, timeout_s: float, fds: Sequence[int] = (), **message: Any) -> dict[str, Any]:
        """Send one message and return its answer. Raises SeatFailed."""
        try:
            self.channel.send(fds=fds, **message)
        except wire.PeerGone:
            raise self._gone(phase) from None
        reply = self._reply(phase, timeout_s)
        if reply.get("op") != (expected := ANSWERS[message["op"]]):
            raise SeatFailed(self._failure(phase, f"broke the protocol: it did not answer `{expected}`"))
        return reply

    def _reply(self, phase: str, timeout_s: float) -> dict[str, Any]:
        try:
            reply = self.channel.receive(timeout_s, self.drain)
        except wire.PeerSilent:
            raise self._silent(phase, timeout_s) from None
        except wire.ProtocolBroken as error:
            raise SeatFailed(self._failure(phase, f"broke the protocol: {error}")) from None
        except wire.PeerGone:
            raise self._gone(phase) from None
        if reply.get("op") == "error":
            self.drain()
            raise SeatFailed(
                self._failure(phase, str(reply.get("message")), str(reply.get("traceback") or ""))
            )
        return reply

    def drain(self) -> None:
        """Take what the contestant printed off its pipe; the last 16 KB are kept."""
        for _ in range(64):  # bounded: it may print as fast as we read
            try:
                chunk = os.read(self._output_fd, 1 << 16)
            except OSError:
                return
            if not chunk:
                return
            self.output += chunk
            del self.output[:-OUTPUT_KEPT]

    # --- rounds

    def ready(self, calls: int, scalars: Sequence[Sequence[float]]) -> None:
        """Announce a round and freeze the tree while it spins on GO."""
        self.announce(calls, scalars)
        self.freeze()

    def announce(self, calls: int, scalars: Sequence[Sequence[float]]) -> None:
        """Announce a round; the contestant is left spinning on GO, which keeps its core awake."""
        self.thaw()
        self.round_number += 1
        number = self.round_number
        self.ask(
            "call",
            self.limits.call_s,
            op="round",
            number=number,
            calls=calls,
            scalars=list(scalars),
            handicap_ns=self.handicap_ns,
        )

    def time_round(self, timeout_s: float, look: Callable[[], None] | None = None) -> int:
        """Nanoseconds from GO to DONE; the tree is frozen before and after. Raises SeatFailed.

        `look` runs at DONE, before the freeze, which takes some 50 µs: long enough for a contestant that
        says DONE early to end its work unseen, unless somebody looks at once.
        """
        go, done, number, clock = self._go, self._done, self.round_number, time.perf_counter_ns
        before = done[0]
        thaw = self._thaw_tree
        gc.disable()
        try:
            start = clock()
            go[0] = number
            thaw()
            self.frozen = False
            limit = start + int(timeout_s * 1e9)
            while True:
                for _ in range(SPINS):
                    if done[0] != before:
                        end = clock()
                        if look is not None:
                            look()
                        self.freeze()
                        break
                else:
                    self.drain()
                    if clock() > limit:
                        raise self._silent("call", timeout_s)
                    if self.process.poll() is not None or self._channel_closed():
                        raise self._gone("call")
                    continue
                break
        finally:
            gc.enable()
        if done[0] == number | wire.RAISED:
            self.thaw()
            self._reply("call", self.limits.call_s)
            raise SeatFailed(self._failure("call", "broke the protocol: it signalled an error and sent none"))
        return end - start

    def empty_round(self) -> int:
        """Nanoseconds of a round without calls. Ask only a seat of ours: a contestant could make its own
        empty rounds slow, and they are taken off its time."""
        self.ready(0, [])
        time_ns = self.time_round(self.limits.call_s)
        self.finish()
        return time_ns

    def finish(self) -> list[list[dict[str, Any]]]:
        """What the calls of the round returned, as the contestant tells it; frozen again after."""
        self.thaw()
        reply = self._reply("call", self.limits.call_s)
        self.freeze()
        returned = reply.get("returned")
        if reply.get("op") != "finished" or not isinstance(returned, list):
            raise SeatFailed(self._failure("call", "broke the protocol: it did not describe its round"))
        return returned

    def _channel_closed(self) -> bool:
        try:
            return self.channel.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    # --- freeze and thaw

    def freeze(self) -> None:
        if self.frozen:
            return
        if self.init is not None:
            self._order(b"F")
        else:
            self.cgroup.freeze()
        self.frozen = True

    def thaw(self) -> None:
        if self.frozen:
            self._thaw_tree()
            self.frozen = False

    def _thaw_tree(self) -> None:
        if self.init is not None:
            self._order(b"T")
        else:
            self.cgroup.thaw()

    def _order(self, order: bytes) -> None:
        """Have process 1 of the sandbox stop the rest and wait until it stands, or continue it.

        Nobody waits for the answer to the second: meanwhile a contestant could say DONE unseen.
        """
        init = self.init
        if init is None:
            return
        init.settimeout(5)
        try:
            init.send(order)
            while order == b"F" and (answer := init.recv(1)) != b"f":
                if not answer:
                    raise self._gone("call")
        except TimeoutError:
            raise HarnessError("the sandbox's process 1 did not answer within 5 s") from None
        except OSError:
            raise self._gone("call") from None

    # --- memory of the contestant, read while it is frozen

    def read_memory(self, addresses: np.ndarray, length: int) -> np.ndarray | None:
        """`length` bytes at each address, one after the other, shape (n * length,) uint8; None when any of
        it is not mapped. addresses: shape (n,) int64."""
        here = np.empty(len(addresses) * length, np.uint8)
        spans = np.stack([addresses.astype(np.int64), np.full(len(addresses), length, np.int64)], axis=1)
        for first in range(0, len(addresses), IOV_MAX):
            batch = np.ascontiguousarray(spans[first : first + IOV_MAX])
            if not _moved(libc.process_vm_readv, self.pid, here[first * length :], batch):
                return None
        return here

    def write_memory(self, address: int, data: np.ndarray) -> bool:
        """Whether all of `data`, shape (n,) uint8, could be written at an address."""
        return _moved(libc.process_vm_writev, self.pid, data, np.array([[address, len(data)]], np.int64))

    # --- what went wrong

    def _failure(self, phase: str, message: str, detail: str = "") -> Failure:
        return Failure(
            status=Status.failed if self.fault is Fault.submission else Status.void,
            fault=self.fault,
            phase=phase,
            message=printable(self._authors(message))[:MESSAGE_CHARS],
            detail=printable(self._authors(detail))[-DETAIL_CHARS:] or None,
            output=printable(bytes(self.output).decode(errors="replace")) or None,
        )

    def _authors(self, text: str) -> str:
        """Text with the places inside the sandbox taken off, so that it names the author's file."""
        return text.replace(f"{sandbox.INSIDE_SUBMISSION}/", "").replace(f"{self.folder}/", "")

    def _silent(self, phase: str, timeout_s: float) -> "SeatSilent":
        message = f"did not answer within {timeout_s:g} s"
        if _state(self.pid) in ("T", "t"):
            message += " (its process had stopped itself)"
        return SeatSilent(self._failure(phase, message))

    def _gone(self, phase: str) -> SeatFailed:
        """Say how the process ended."""
        with contextlib.suppress(OSError, HarnessError):
            self.cgroup.thaw()
        deadline = time.monotonic() + 3
        while self.process.poll() is None and time.monotonic() < deadline:
            self.drain()
            time.sleep(0.005)
        self.drain()
        code = self.process.poll()
        if self.cgroup.oom_kills():
            message = f"ran out of memory: at most {self.limits.memory_bytes / 1e9:.1f} GB"
        elif code is None:
            message = "closed its channel to the referee, or does not read it"
        elif code > 128 or code < 0:
            message = f"was killed by {_signal_name(-code if code < 0 else code - 128)}"
        else:
            message = f"exited with code {code} before it answered"
        return SeatFailed(self._failure(phase, message))

    # --- end

    def close(self) -> None:
        """End the process tree and give everything back. Safe to call twice."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
        self.cgroup.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.channel.close()
        if self.init is not None:
            self.init.close()
        for fd in (self._output_fd, self._control_fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._output_fd = self._control_fd = -1
        shutil.rmtree(self.folder, ignore_errors=True)


def attach(seat: Seat, inputs: Sequence[Buffer | None], outputs: Sequence[Buffer], slots: int) -> None:
    """Hand a workload's buffers to a contestant."""
    fds = [b.fd for b in (*inputs, *outputs) if b is not None]
    seat.thaw()
    seat.ask(
        "call",
        seat.limits.call_s + 30,
        fds=fds,
        op="attach",
        inputs=[b and b.describe() for b in inputs],
        outputs=[b.describe() for b in outputs],
        slots=slots,
    )


def runtime_folder() -> Path:
    """A private folder for seats and builds: $XDG_RUNTIME_DIR/hotlap, else one under /tmp.

    Raises UsageError where it cannot be made, HarnessError where it is somebody else's.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base) / "hotlap" if base else Path(tempfile.gettempdir()) / f"hotlap-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be made ({error.strerror}); set XDG_RUNTIME_DIR to a folder of yours"
        ) from None
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise HarnessError(f"{folder} belongs to somebody else: remove it or set XDG_RUNTIME_DIR")
    return folder


def own_prefix(kind: str) -> str:
    """How the names of this process's folders begin, so that a later one can tell whose they were."""
    return f"{kind}-{os.getpid()}-"


def sweep_folders() -> None:
    """Remove the folders of hotlap processes that were killed: they hold what authors submitted."""
    for folder in runtime_folder().iterdir():
        owner = folder.name.split("-")[1:2]
        if owner and owner[0].isdigit() and not Path(f"/proc/{owner[0]}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def printable(text: str) -> str:
    """Text with control characters, ANSI escapes among them, made visible; line feeds and tabs stay."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "?"


libc = ctypes.CDLL(None, use_errno=True)
for call in (libc.process_vm_readv, libc.process_vm_writev):
    call.restype = ctypes.c_ssize_t
    call.argtypes = [
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_ulong,
    ]
IOV_MAX = 1024


def _moved(call: Any, pid: int, here: np.ndarray, spans: np.ndarray) -> bool:
    """Move bytes between our array and (address, length) spans of a process, shape (n, 2) int64."""
    size = int(spans[:, 1].sum())
    local = np.array([[here.ctypes.data, size]], np.int64)
    return bool(call(pid, local.ctypes.data, 1, spans.ctypes.data, len(spans), 0) == size)
