"""Process 1 of the sandbox: stops and continues every other process in it when the referee says so.

python -I init.py FD KEEP PROGRAM [ARGUMENT ...]
FD: our end of a socket pair with the referee. KEEP: descriptors, comma separated, that the program inherits.

Used where no cgroup can freeze the tree. Signals from inside a pid namespace cannot stop or kill its
process 1, and a process that is not dumpable cannot be traced or read by its own user. What would undo
a SIGSTOP from inside (POSIX timers, signal-driven I/O, parent-death signals) is closed by seccomp.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys

PR_SET_DUMPABLE = 4
STOPPED = b"TtZX"


def stopped(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in STOPPED
    except OSError:
        return True  # it ended while we looked


def others() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def freeze() -> None:
    # A process can fork between the signal and its own stop: signal again until all are stopped.
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGSTOP)
        if all(stopped(pid) for pid in others()):
            return


def main() -> int:
    control = socket.socket(fileno=int(sys.argv[1]))
    keep = [int(fd) for fd in sys.argv[2].split(",")]
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    program = os.fork()
    if program == 0:
        control.close()
        for fd in keep:
            os.set_inheritable(fd, True)
        os.execvp(sys.argv[3], sys.argv[3:])
    for fd in keep:
        os.close(fd)
    child_ended = os.pidfd_open(program)
    while True:
        if control.fileno() in select.select([control.fileno(), child_ended], [], [], 0.2)[0]:
            order = control.recv(1)
            if not order:
                return 0  # the referee is gone: our end ends the whole namespace
            if order == b"F":
                freeze()
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGCONT)
            control.send(order.lower())
        status = None
        with contextlib.suppress(ChildProcessError):
            while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
                if reaped[0] == program:
                    status = reaped[1]
        if status is not None:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main())
