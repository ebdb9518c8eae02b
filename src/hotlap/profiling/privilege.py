"""The sandbox of a profiler that runs beside the kernel: what it needs beyond a contestant's, and no more.

Tools that read a GPU's counters or check its memory talk to the kernel's process over the loopback, so the
filter of system calls is without its rule on sockets; the network is still the sandbox's own, with nothing in
it. Where the driver keeps counters for administrators and the caller is root, the process runs as nobody with
one capability, CAP_PERFMON, and no other: it is what the driver asks for. What else that capability would
open (perf events, tracing, bpf) the filter denies.
"""

import os
import platform
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

from hotlap.referee import sandbox, seccomp

DRIVER_SETTINGS = Path("/proc/driver/nvidia/params")
CAPABILITY = "CAP_PERFMON"
NOBODY = "65534"
DENIED = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "bpf", "perf_event_open"),
    *("userfaultfd", "keyctl", "add_key", "request_key", "mount", "umount2", "pivot_root", "setns"),
    *("unshare", "kexec_load", "init_module", "finit_module", "reboot"),
)
ERASED = {"--unshare-user": 0, "--uid": 1, "--gid": 1, "--disable-userns": 0}  # and how many values follow
NAMESPACES = ("ipc", "pid", "net", "uts", "cgroup-try")


def counters_need_administrator() -> bool:
    """Whether the NVIDIA driver keeps a GPU's counters for administrators."""
    try:
        return "RmProfilingAdminOnly: 1" in DRIVER_SETTINGS.read_text()
    except OSError:
        return False


def can_grant() -> bool:
    """Whether we may hand a process CAP_PERFMON, and nothing else, in a sandbox."""
    return os.geteuid() == 0 and sandbox.kind() == "bwrap" and shutil.which("setpriv") is not None


def filter_file() -> int | None:
    """A descriptor holding the filter, or None where there is none for this architecture."""
    known = seccomp.ARCHITECTURES.get(platform.machine())
    if known is None:
        return None
    column, audit = known
    code = [
        _op(seccomp.LOAD, seccomp.ARCHITECTURE),
        _op(seccomp.JUMP_EQUAL, audit, 1, 0),
        _op(seccomp.RETURN, seccomp.KILL),
        _op(seccomp.LOAD, seccomp.NUMBER),
    ]
    if column == 0:
        code += [
            _op(seccomp.JUMP_GREATER_EQUAL, seccomp.X32_BIT, 0, 1),
            _op(seccomp.RETURN, seccomp.DENY),
        ]
    for name in DENIED:
        code += [
            _op(seccomp.JUMP_EQUAL, seccomp.DENIED[name][column], 0, 1),
            _op(seccomp.RETURN, seccomp.DENY),
        ]
    code.append(_op(seccomp.RETURN, seccomp.ALLOW))
    fd = os.memfd_create("seccomp", 0)
    os.write(fd, b"".join(code))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def with_counters(command: Sequence[str]) -> list[str]:
    """A command of `sandbox.wrap` whose program runs as nobody, with CAP_PERFMON as its only capability.

    No user namespace: a capability in one means nothing to a driver. Until the program starts, bubblewrap and
    setpriv hold what they need to become nobody.
    """
    changed: list[str] = []
    left = iter(command[: command.index("--")])
    for word in left:
        if word in ERASED:
            for _ in range(ERASED[word]):
                next(left)
        elif word == "--unshare-all":
            changed += [f"--unshare-{name}" for name in NAMESPACES]
        elif word == "--cap-drop":
            changed += [word, next(left)]
            for capability in (CAPABILITY, "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
                changed += ["--cap-add", capability]
        elif word == "--clearenv":
            changed += [word, *_folders(command)]
        elif word == "--tmpfs":
            changed += ["--perms", "1777", word]  # root makes it, nobody writes there
        else:
            changed.append(word)
    only = f"-all,+{CAPABILITY.removeprefix('CAP_').lower()}"
    drop = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    drop += ["--inh-caps", only, "--ambient-caps", only, "--bounding-set", only]
    return [*changed, "--", *drop, *command[command.index("--") + 1 :]]


def _folders(command: Sequence[str]) -> list[str]:
    """Options that make the folders above all binds; bubblewrap's own are for root alone to enter."""
    places = [
        Path(command[i + 2])
        for i, word in enumerate(command)
        if word in ("--ro-bind", "--bind", "--dev-bind")
    ]
    above = {parent for place in places for parent in place.parents if parent != Path("/")}
    made = [str(folder) for folder in sorted(above) if folder.parts[1] not in ("dev", "tmp")]
    return [option for folder in made for option in ("--perms", "0755", "--dir", folder)]
