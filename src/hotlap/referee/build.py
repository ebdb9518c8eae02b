"""C++ source to a shared library, by a compiler in a sandbox of its own.

Defends against sources that read files through the compiler (only the toolchain is visible), bombs
(time, memory and output are bounded) and poisoned caches (the key covers source, toolchain and flags; only
our own compiler's output is kept). The referee never loads the result: it goes to the contestant.
"""

import contextlib
import functools
import hashlib
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hotlap.errors import DeviceError
from hotlap.model import Failure, Fault, Problem, Status, Submission, TensorSpec
from hotlap.problems import prototype
from hotlap.referee import sandbox
from hotlap.referee.cgroup import Cgroup
from hotlap.referee.limits import Limits
from hotlap.referee.seat import own_prefix, printable, runtime_folder

FLAGS = (
    "-std=c++20",
    "-O3",
    "-march=native",
    "-fopenmp",
    "-shared",
    "-fPIC",
    "-Wall",
    "-fno-diagnostics-color",
    "-Wl,-z,defs",  # a missing `kernel` is an error of the build, not of the load
)
COMPILERS = ("g++", "clang++")
ERROR_CHARS = 16 << 10


@dataclass(frozen=True)
class Built:
    """The library's bytes, or why there is none."""

    library: bytes | None
    failure: Failure | None
    seconds: float


@functools.cache
def compiler() -> tuple[str, str]:
    """Path and version line of the C++ compiler: $CXX, else g++, else clang++. Raises DeviceError."""
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else COMPILERS:
        path = shutil.which(name)
        if path is None:
            continue
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=20, check=False
            )
            if done.returncode == 0:
                return path, done.stdout.splitlines()[0]
    found = f"CXX={wanted} does not run" if wanted else "neither g++ nor clang++ was found"
    raise DeviceError(f"no C++ compiler: {found}; install one (apt-get install g++) or set CXX to its path")


def header(problem: Problem) -> str:
    """Declares the contract, so that a kernel with other types is a compile error in the author's file."""
    return f"#include <stdint.h>\n{prototype.c_prototype(problem)}\n"


def caller(problem: Problem) -> str:
    """The loop over a round's calls: a call from Python for each would cost more than some kernels."""
    arguments = [
        *(_argument(spec, i, const=not spec.mutable) for i, spec in enumerate(problem.inputs)),
        *(_argument(spec, len(problem.inputs) + i, const=False) for i, spec in enumerate(problem.outputs)),
        *(f"axes[{i}]" for i, _ in enumerate(var_axes(problem))),
    ]
    columns = len(problem.inputs) + len(problem.outputs)
    return (
        'extern "C" int hotlap_calls(void* const* table, const int64_t* axes, int64_t calls) {\n'
        "  (void)axes;\n"
        "  for (int64_t call = 0; call < calls; ++call) {\n"
        f"    void* const* slot = table + call * {columns};\n"
        f"    const int code = kernel({', '.join(arguments)});\n"
        "    if (code != 0) return code;\n"
        "  }\n"
        "  return 0;\n"
        "}\n"
    )


def _argument(spec: TensorSpec, column: int, const: bool) -> str:
    if spec.shape is None:
        return f"*static_cast<const {prototype.c_scalar(spec.dtype)}*>(slot[{column}])"
    pointer = prototype.c_types(spec.dtype).cpp
    return f"static_cast<{'const ' if const else ''}{pointer}*>(slot[{column}])"


def var_axes(problem: Problem) -> list[str]:
    return [name for name, value in problem.axes.items() if value is None]


def build(problem: Problem, submission: Submission, limits: Limits) -> Built:
    """Compile a C++ submission. Raises DeviceError where there is no compiler."""
    start = time.monotonic()
    path, version = compiler()
    constants = [f"-D{name}={value}" for name, value in problem.axes.items() if value is not None]
    texts = (submission.source, header(problem), caller(problem), version, _cpu_flags(), *FLAGS, *constants)
    key = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    kept = cache_folder() / f"{key}.so"
    with contextlib.suppress(OSError):
        return Built(kept.read_bytes(), None, time.monotonic() - start)
    with tempfile.TemporaryDirectory(prefix=own_prefix("build"), dir=runtime_folder()) as folder:
        built = _compile(Path(folder), problem, submission, [path, *FLAGS, *constants], limits)
    if built.library is not None:
        _keep(kept, built.library)
    return Built(built.library, built.failure, time.monotonic() - start)


def _compile(
    folder: Path, problem: Problem, submission: Submission, command: list[str], limits: Limits
) -> Built:
    source, ours, out = folder / "source", folder / "ours", folder / "out"
    for part in (source, ours, out):
        part.mkdir()
    name = Path(submission.file).name
    (source / name).write_text(submission.source)
    (ours / "hotlap_prototype.h").write_text(header(problem))
    (ours / "hotlap_calls.cpp").write_text(f'#include "hotlap_prototype.h"\n{caller(problem)}')
    inside = sandbox.kind() == "bwrap"
    src, dst = ("/source", "/out") if inside else (str(source), str(out))
    own = "/ours" if inside else str(ours)
    program = [*command, "-include", f"{own}/hotlap_prototype.h", f"{src}/{name}", f"{own}/hotlap_calls.cpp"]
    program += ["-o", f"{dst}/kernel.so"]
    rlimits = {
        "RLIMIT_AS": limits.build_memory_bytes,
        "RLIMIT_FSIZE": limits.build_output_bytes,
        "RLIMIT_CPU": int(limits.build_s) + 1,
        "RLIMIT_CORE": 0,
    }
    binds = [
        ("--ro-bind", str(source), "/source"),
        ("--ro-bind", str(ours), "/ours"),
        ("--bind", str(out), "/out"),
        *sandbox.package_binds(),
    ]
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "HOME": "/tmp"}
    group = Cgroup(limits.build_memory_bytes + (512 << 20), limits.processes, None, freezer="none")
    seccomp_fd = sandbox.seccomp_file()
    try:
        wrapped = sandbox.wrap(sandbox.limited(rlimits, program), binds, variables, seccomp_fd=seccomp_fd)
        fds = [] if seccomp_fd is None else [seccomp_fd]
        process = sandbox.spawn(sandbox.join(group.joins, wrapped), fds, subprocess.PIPE)
        text, ended = _output_of(process, limits.build_s)
    finally:
        group.close()
        if seccomp_fd is not None:
            os.close(seccomp_fd)
    if not ended:
        return Built(None, _failure(f"the compiler did not finish within {limits.build_s:g} s", text), 0.0)
    if process.returncode != 0:
        return Built(
            None, _failure(_first_error(text, src, name, process.returncode), rewritten(text, src)), 0.0
        )
    return Built(_read_library(out / "kernel.so", limits.build_output_bytes), None, 0.0)


def _output_of(process: "subprocess.Popen[bytes]", timeout_s: float) -> tuple[str, bool]:
    """What the compiler printed (the first 16 KB) and whether it ended in time; kills it if not."""
    deadline, kept, ended = time.monotonic() + timeout_s, bytearray(), True
    with process:
        pipe = process.stdout
        while pipe is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                process.kill()
                ended = False
                break
            if not select.select([pipe], [], [], left)[0]:
                continue
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                break
            kept += chunk[: ERROR_CHARS - len(kept)]
    return bytes(kept).decode(errors="replace"), ended


def _read_library(path: Path, limit: int) -> bytes:
    """The output as bytes; refuses links and anything that is not a plain file."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        return file.read(limit)


def rewritten(text: str, folder: str) -> str:
    """Compiler output with the sandbox's paths taken off, so it names the author's file."""
    return printable(text.replace(f"{folder}/", ""))


def _first_error(text: str, folder: str, name: str, code: int) -> str:
    clean = rewritten(text, folder)
    if re.search(r"undefined (reference to|symbol:) [`']?kernel\b", clean):
        return f"{name} defines no function `kernel`; see `hotlap show PROBLEM --prototype`"
    if "File too large" in clean:
        return "the compiler's output is larger than the limit of 64 MB"
    own = re.search(rf"^{re.escape(name)}:\d+:.*(?:error|Error).*$", clean, re.MULTILINE)
    found = own or re.search(r"^.*(?:error|Error|undefined reference).*$", clean, re.MULTILINE)
    if found:
        return f"does not compile: {found.group(0).strip()[:500]}"
    return f"does not compile: the compiler exited with code {code}"


def _failure(message: str, detail: str) -> Failure:
    return Failure(Status.failed, Fault.submission, "build", message, printable(detail)[:ERROR_CHARS] or None)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hotlap" / "build"


def _keep(path: Path, library: bytes) -> None:
    """Store a library for the next run of the same source; a full disk costs only time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(library)
        partial.replace(path)


@functools.cache
def _cpu_flags() -> str:
    """-march=native means this processor: a library built on another must not be reused."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return ""
