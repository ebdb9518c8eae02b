"""What a profiler's process may do beyond a contestant's: sockets of its own network, and one capability."""

import os
import subprocess
from collections.abc import Sequence

import pytest

from hotlap.profiling import privilege
from hotlap.referee import sandbox

needs_sandbox = pytest.mark.skipif(sandbox.kind() != "bwrap", reason="needs bubblewrap")
needs_root = pytest.mark.skipif(not privilege.can_grant(), reason="needs root, bubblewrap and setpriv")
CAP_PERFMON = 1 << 38


def inside(program: Sequence[str], *, with_counters: bool = False) -> "subprocess.CompletedProcess[str]":
    fd = privilege.filter_file()
    command = sandbox.wrap(program, sandbox.package_binds(), sandbox.environment(1), seccomp_fd=fd)
    command = privilege.with_counters(command) if with_counters else command
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=30,
            pass_fds=[] if fd is None else [fd],
            check=False,
        )
    finally:
        if fd is not None:
            os.close(fd)


def python(code: str) -> list[str]:
    return ["python3", "-I", "-c", code]


@needs_sandbox
def test_the_filter_lets_a_tool_talk_over_the_loopback_alone() -> None:
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "socket.create_connection(s.getsockname()); print('talked')"
    )
    assert inside(python(code)).stdout == "talked\n"
    code = "import socket; socket.create_connection(('1.1.1.1', 53), 3)"
    assert "unreachable" in inside(python(code)).stderr


@needs_sandbox
@pytest.mark.parametrize("with_counters", [False, pytest.param(True, marks=needs_root)])
@pytest.mark.parametrize("call", ["ptrace", "perf_event_open", "bpf", "process_vm_readv", "unshare"])
def test_the_filter_denies_what_a_capability_would_open(call: str, with_counters: bool) -> None:
    from hotlap.referee.seccomp import DENIED

    number = DENIED[call][0 if os.uname().machine == "x86_64" else 1]
    code = (
        "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); "
        f"print(libc.syscall({number}, 0, 0, 0, 0, 0), os.strerror(ctypes.get_errno()))"
    )
    assert inside(python(code), with_counters=with_counters).stdout == "-1 Operation not permitted\n"


@needs_root
def test_with_counters_a_process_is_nobody_with_one_capability() -> None:
    done = inside(["cat", "/proc/self/status"], with_counters=True)
    status = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    assert status["Uid"].split() == ["65534"] * 4
    assert status["Groups"].split() == []
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Eff", "Prm", "Bnd", "Amb")} == {CAP_PERFMON}
    assert status["NoNewPrivs"].strip() == "1"


@needs_root
def test_with_counters_nothing_of_the_system_can_be_written() -> None:
    code = (
        "import os; print([p for p in ('/proc/sys/kernel/core_pattern', '/usr', '/etc', '/') "
        "if os.access(p, os.W_OK)], os.access('/tmp', os.W_OK))"
    )
    assert inside(python(code), with_counters=True).stdout == "[] True\n"


@needs_root
def test_with_counters_a_process_sees_only_its_own_processes_and_network() -> None:
    code = (
        "import os, socket; processes = [p for p in os.listdir('/proc') if p.isdigit()]; "
        "print(len(processes), socket.if_nameindex())"
    )
    assert inside(python(code), with_counters=True).stdout == "2 [(1, 'lo')]\n"


def test_only_root_can_grant_a_capability() -> None:
    assert privilege.can_grant() <= (os.geteuid() == 0)


def test_a_machine_without_an_nvidia_driver_keeps_no_counters_back() -> None:
    if not privilege.DRIVER_SETTINGS.exists():
        assert not privilege.counters_need_administrator()
