"""A seccomp filter for the sandbox, as the bytes that bubblewrap's --seccomp takes.

Defends against system calls that no kernel needs and that widen the attack surface (tracing, io_uring,
bpf, keys, mounts, sockets beyond its own machine's), against every way to have SIGCONT sent to a stopped
process from inside, which the freezer of `contestant.init` rests on, and against timers that do work on the
shared core while their owner is frozen (a timerfd watched by thousands of epoll entries slowed the baseline
by half). It denies; it does not hide: a denied call fails with EPERM.
"""

import platform
import struct

# numbers of x86_64, aarch64
DENIED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_setup": (206, 0),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "unshare": (272, 97),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "reboot": (169, 142),
    "timer_create": (222, 107),
    "mq_notify": (244, 184),
    "timerfd_create": (283, 85),
}
FCNTL, PRCTL, SOCKET = (72, 25), (157, 167), (41, 198)
DENIED_ARGUMENTS = {
    FCNTL: (8, 10, 15),  # F_SETOWN F_SETSIG F_SETOWN_EX: a signal when a file is ready
    PRCTL: (1,),  # PR_SET_PDEATHSIG
    SOCKET: (2, 10, 16, 17, 40),  # AF_INET AF_INET6 AF_NETLINK AF_PACKET AF_VSOCK
}
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
LOAD, JUMP_EQUAL, JUMP_GREATER_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, DENY, KILL = 0x7FFF0000, 0x00050001, 0x80000000
NUMBER, ARCHITECTURE, SECOND_ARGUMENT, FIRST_ARGUMENT = 0, 4, 24, 16
X32_BIT = 0x40000000


def program() -> bytes | None:
    """Filter for this machine's architecture; None where the numbers are not known."""
    known = ARCHITECTURES.get(platform.machine())
    if known is None:
        return None
    column, audit = known
    code = [_op(LOAD, ARCHITECTURE), _op(JUMP_EQUAL, audit, 1, 0), _op(RETURN, KILL), _op(LOAD, NUMBER)]
    if column == 0:
        code += [_op(JUMP_GREATER_EQUAL, X32_BIT, 0, 1), _op(RETURN, DENY)]
    for numbers in DENIED.values():
        if numbers[column]:
            code += [_op(JUMP_EQUAL, numbers[column], 0, 1), _op(RETURN, DENY)]
    for call, values in DENIED_ARGUMENTS.items():
        argument = SECOND_ARGUMENT if call is FCNTL else FIRST_ARGUMENT
        checks = [step for v in values for step in (_op(JUMP_EQUAL, v, 0, 1), _op(RETURN, DENY))]
        code += [
            _op(JUMP_EQUAL, call[column], 0, len(checks) + 2),
            _op(LOAD, argument),
            *checks,
            _op(RETURN, ALLOW),
        ]
    code.append(_op(RETURN, ALLOW))
    return b"".join(code)


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
