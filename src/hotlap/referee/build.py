"""C++ and CUDA source to a shared library, by a compiler in a sandbox of its own.

Defends against sources that read files through the compiler (only the toolchain is visible), bombs
(time, memory and output are bounded) and poisoned caches (the key covers source, toolchain and flags; only
our own compiler's output is kept). The referee never loads the result: it goes to the contestant.
CUDA is compiled for one architecture, with or without a GPU in the machine.
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
CUDA_FLAGS = (
    "-std=c++17",
    "-O3",
    "-lineinfo",
    "-shared",
    "-Xcompiler=-fPIC,-Wall",
    "-Xlinker=-z,defs",
    "-Wno-deprecated-gpu-targets",
)
COMPILED = ("cpp", "cu")  # languages whose submissions reach the contestant as a library
COMPILERS = ("g++", "clang++")
CUDA_HOMES = ("CUDA_HOME", "CUDA_PATH")
CUDA_DEFAULT = "/usr/local/cuda"
TOOLKIT_PARTS = ("bin", "nvvm", "include", "lib", "lib64", "targets")
ERROR_CHARS = 16 << 10


@dataclass(frozen=True)
class Built:
    """The library's bytes, or why there is none."""

    library: bytes | None
    failure: Failure | None
    seconds: float


@dataclass(frozen=True)
class Recipe:
    """How a problem's kernels are compiled. With the source, it decides the library."""

    command: tuple[str, ...]  # the compiler and its flags
    header: str  # what stands before the author's first line
    caller: str  # the loop over a round's calls, a file of its own
    toolchain: tuple[str, ...]  # versions of the compilers, and the processor
    shown: tuple[str, ...] = ()  # files and folders of the toolchain that the sandbox does not show anyway


@dataclass(frozen=True)
class Output:
    """What one run of a compiler gave. `code` is None when it did not end in time."""

    code: int | None
    text: str  # what it printed, without the sandbox's paths
    library: bytes | None


# --- compilers -------------------------------------------------------------------------------------


@functools.cache
def compiler() -> tuple[str, str]:
    """Path and version line of the C++ compiler: $CXX, else g++, else clang++. Raises DeviceError."""
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else COMPILERS:
        path = shutil.which(name)
        lines = _version_lines(path) if path else []
        if path and lines:
            return path, lines[0]
    found = f"CXX={wanted} does not run" if wanted else "neither g++ nor clang++ was found"
    raise DeviceError(f"no C++ compiler: {found}; install one (apt-get install g++) or set CXX to its path")


@functools.cache
def cuda_compiler() -> tuple[str, str]:
    """Path and version line of nvcc: $NVCC, else PATH, else the bin folder of $CUDA_HOME, $CUDA_PATH or
    /usr/local/cuda. Raises DeviceError."""
    wanted = os.environ.get("NVCC")
    homes = [*filter(None, map(os.environ.get, CUDA_HOMES)), CUDA_DEFAULT]
    for name in (wanted,) if wanted else ("nvcc", *(f"{home}/bin/nvcc" for home in homes)):
        path = shutil.which(name)
        lines = _version_lines(path) if path else []
        if path and lines:
            return path, next((line for line in lines if "release" in line), lines[-1])
    where = f"nor in the bin folder of $CUDA_HOME or {CUDA_DEFAULT}"
    found = f"NVCC={wanted} does not run" if wanted else f"nvcc is not on PATH, {where}"
    raise DeviceError(
        f"no CUDA compiler: {found}; install the CUDA toolkit (its nvcc and cudart are enough) "
        "or set NVCC to the path of nvcc"
    )


@functools.cache
def host_compiler() -> tuple[str, str]:
    """Path and version line of the C++ compiler under nvcc: $NVCC_CCBIN, else that of C++ kernels.
    Raises DeviceError."""
    wanted = os.environ.get("NVCC_CCBIN")
    if not wanted:
        return compiler()
    path = shutil.which(wanted)
    lines = _version_lines(path) if path else []
    if not path or not lines:
        raise DeviceError(f"NVCC_CCBIN={wanted} does not run; set it to the path of a C++ compiler")
    return path, lines[0]


def _version_lines(path: str) -> list[str]:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
        if done.returncode == 0:
            return done.stdout.splitlines()
    return []


@functools.cache
def _toolkit() -> tuple[str, tuple[str, ...]]:
    """nvcc itself, and what of its toolkit the sandbox must be shown. Raises DeviceError."""
    path, _ = cuda_compiler()
    # nvcc looks for its toolkit beside the name that it was called by, and that name may be a link or a
    # script: ask what it would do.
    plan = [os.path.realpath(path), "-ccbin", host_compiler()[0], "--dryrun", "-x", "cu", "-c", os.devnull]
    try:
        done = subprocess.run(plan, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeviceError(f"{path} does not run ({error}); set NVCC to the path of nvcc") from error
    here = re.search(r"^#\$ _HERE_=(.+)$", done.stderr, re.MULTILINE)
    if done.returncode != 0 or here is None:
        raise DeviceError(f"{path} does not work: {_other_error(done.stderr, done.returncode)}; {_CUDA_FIX}")
    folder = Path(here[1]).resolve()
    profile = str((folder / "nvcc.profile").resolve())  # some distributions keep it under /etc
    parts = [str(folder.parent / part) for part in TOOLKIT_PARTS]
    return str(folder / "nvcc"), tuple(p for p in (*parts, profile) if os.path.exists(p) and not _is_shown(p))


COMPILER_PARTS = ("bin", "include", "lib", "lib32", "lib64", "libexec", "share")


def _beside(compiler_path: str) -> tuple[str, ...]:
    """What the sandbox must be shown of a C++ compiler that is installed outside the system's folders."""
    if _is_shown(os.path.abspath(compiler_path)):
        return ()
    prefix = Path(os.path.abspath(compiler_path)).parent.parent
    return tuple(str(prefix / part) for part in COMPILER_PARTS if (prefix / part).is_dir())


def _is_shown(path: str) -> bool:
    shown = [*map(Path, sandbox.SYSTEM_FOLDERS), *sandbox.prefixes()]
    return any(folder in Path(path).parents for folder in shown)


_CUDA_FIX = "set NVCC to the nvcc of a toolkit that fits, or NVCC_CCBIN to a C++ compiler that it supports"


@functools.cache
def try_cuda(limits: Limits, arch: str | None = None) -> None:
    """Compile a kernel that does nothing, for `arch` or for nvcc's default.

    Raises DeviceError: then toolkit, C++ compiler and device do not fit, whatever the author wrote.
    """
    recipe = _cuda_recipe(arch, "", "")
    output = _run(recipe, "nothing.cu", "__global__ void nothing() {}\n", limits)
    if output.library is None:
        _, version = cuda_compiler()
        why = _other_error(output.text, output.code)
        raise DeviceError(
            f"the CUDA compiler ({version}) with {host_compiler()[1]} cannot compile a kernel"
            f"{f' for {arch}' if arch else ''}: {why}; {_CUDA_FIX}"
        )


# --- what is compiled with the author's file ---------------------------------------------------------


def header(problem: Problem, lang: str = "cpp") -> str:
    """Declares the contract, so that a kernel with other types is a compile error in the author's file."""
    if lang != "cu":
        return f"#include <stdint.h>\n{prototype.c_prototype(problem)}\n"
    includes = ["stdint.h", "cuda_runtime.h", *prototype.cuda_headers(problem)]
    lines = [*(f"#include <{name}>" for name in includes), prototype.c_prototype(problem, "cu")]
    # Not -D: CUDA's own headers have parameters called n, width and size.
    lines += [f"#define {name} {value}" for name, value in constants(problem)]
    return "\n".join([*lines, ""])


def caller(problem: Problem, lang: str = "cpp") -> str:
    """The loop over a round's calls: a call from Python for each would cost more than some kernels.

    In CUDA also what its user cannot ask of a runtime that is linked into the library: the name of an error.
    """
    on_stream = lang == "cu"
    arguments = [
        *(_argument(spec, i, lang, const=not spec.mutable) for i, spec in enumerate(problem.inputs)),
        *(
            _argument(spec, i, lang, const=False)
            for i, spec in enumerate(problem.outputs, len(problem.inputs))
        ),
        *(f"axes[{i}]" for i, _ in enumerate(var_axes(problem))),
        *(["stream"] if on_stream else []),
    ]
    columns = len(problem.inputs) + len(problem.outputs)
    return (
        'extern "C" int hotlap_calls(void* const* table, const int64_t* axes, int64_t calls'
        f"{', cudaStream_t stream' if on_stream else ''}) {{\n"
        "  (void)axes;\n"
        "  for (int64_t call = 0; call < calls; ++call) {\n"
        f"    void* const* slot = table + call * {columns};\n"
        f"    const int code = kernel({', '.join(arguments)});\n"
        "    if (code != 0) return code;\n"
        "  }\n"
        "  return 0;\n"
        "}\n"
        f"{_CUDA_HELPERS if on_stream else ''}"
    )


_CUDA_HELPERS = """\
extern "C" const char* hotlap_error_name(int code) {
  return cudaGetErrorName(static_cast<cudaError_t>(code));
}
"""


def _argument(spec: TensorSpec, column: int, lang: str, const: bool) -> str:
    if spec.shape is None:
        return f"*static_cast<const {prototype.c_scalar(spec.dtype)}*>(slot[{column}])"
    types = prototype.c_types(spec.dtype)
    pointer = types.cu if lang == "cu" else types.cpp
    return f"static_cast<{'const ' if const else ''}{pointer}*>(slot[{column}])"


def var_axes(problem: Problem) -> list[str]:
    return [name for name, value in problem.axes.items() if value is None]


def constants(problem: Problem) -> list[tuple[str, int]]:
    return [(name, value) for name, value in problem.axes.items() if value is not None]


def _cpp_recipe(problem: Problem) -> Recipe:
    path, version = compiler()
    macros = [f"-D{name}={value}" for name, value in constants(problem)]
    toolchain = (version, _cpu_flags())
    return Recipe((path, *FLAGS, *macros), header(problem), caller(problem), toolchain, _beside(path))


def _cuda_recipe(arch: str | None, header_text: str, caller_text: str) -> Recipe:
    nvcc, shown = _toolkit()
    host, host_version = host_compiler()
    command = [nvcc, "-ccbin", host, *CUDA_FLAGS]
    if arch is not None:
        command.append(f"-gencode=arch={arch.replace('sm_', 'compute_')},code={arch}")
    toolchain = (cuda_compiler()[1], host_version)
    return Recipe(tuple(command), header_text, caller_text, toolchain, (*shown, *_beside(host)))


# --- the architecture that a .cu file asks for -------------------------------------------------------

_ARCH_DIRECTIVE = re.compile(r"^//!\s*hotlap\s+arch\s+(.+?)\s*$")


def _architecture(submission: Submission, device_arch: str) -> str | Failure:
    """What to compile for: the device's architecture (sm_90), or a variant (sm_90a) that a leading comment
    asks for. A failure where it asks for another one, whose kernels the device could not load."""
    for number, line in enumerate(submission.source.splitlines(), 1):
        if line.strip() and not line.startswith("//"):
            break
        if (found := _ARCH_DIRECTIVE.match(line)) is None:
            continue
        asked, where = found[1], f"{Path(submission.file).name}({number})"
        known = re.fullmatch(r"(sm_\d+)[a-z]?", asked)
        if known is None:
            return _failure(f"{where}: no architecture: {asked}; allowed: {device_arch}, {device_arch}a", "")
        if known[1] != device_arch:
            wrong = f"wrong architecture: compiled for {asked}, the device is {device_arch}"
            return _failure(f"{where}: {wrong}; remove the line, or ask for {device_arch}a", "")
        return asked
    return device_arch


# --- building ----------------------------------------------------------------------------------------


def build(problem: Problem, submission: Submission, limits: Limits, arch: str | None = None) -> Built:
    """Compile a C++ or CUDA submission; `arch` is the device's, such as sm_90, and CUDA needs it.

    Raises DeviceError where there is no compiler, or nvcc cannot compile anything for the device.
    """
    start = time.monotonic()
    if submission.lang == "cu":
        if arch is None:
            raise ValueError(f"{submission.file} is CUDA: build needs the device's arch, such as 'sm_90'")
        target = _architecture(submission, arch)
        if isinstance(target, Failure):
            return Built(None, target, time.monotonic() - start)
        recipe = _cuda_recipe(target, header(problem, "cu"), caller(problem, "cu"))
    else:
        recipe = _cpp_recipe(problem)
    texts = (submission.source, recipe.header, recipe.caller, *recipe.toolchain, *recipe.command)
    key = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    kept = cache_folder() / f"{key}.so"
    with contextlib.suppress(OSError):
        return Built(kept.read_bytes(), None, time.monotonic() - start)
    name = Path(submission.file).name
    output = _run(recipe, name, submission.source, limits)
    failure = None
    if output.library is not None:
        _keep(kept, output.library)
    elif output.code is None:
        failure = _failure(f"the compiler did not finish within {limits.build_s:g} s", output.text)
    else:
        message = _authors_error(output.text, name, submission.lang)
        if message is None and submission.lang == "cu":
            try_cuda(limits, arch)  # what names no line of the author's may be the toolkit's own fault
        message = message or f"does not compile: {_other_error(output.text, output.code)}"
        failure = _failure(message, output.text)
    return Built(output.library, failure, time.monotonic() - start)


def _run(recipe: Recipe, name: str, text: str, limits: Limits) -> Output:
    """Compile one source in a sandbox of its own."""
    with tempfile.TemporaryDirectory(prefix=own_prefix("build"), dir=runtime_folder()) as folder:
        source, ours, out = (Path(folder) / part for part in ("source", "ours", "out"))
        for part in (source, ours, out):
            part.mkdir()
        plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)  # nvcc hands names to a shell
        (source / plain).write_text(text)
        (ours / "hotlap_prototype.h").write_text(recipe.header)
        (ours / "hotlap_calls.cpp").write_text(recipe.caller)
        inside = sandbox.kind() == "bwrap"
        src, own, dst = ("/source", "/ours", "/out") if inside else map(str, (source, ours, out))
        program = [*recipe.command, "-include", f"{own}/hotlap_prototype.h", f"{src}/{plain}"]
        program += [f"{own}/hotlap_calls.cpp", "-o", f"{dst}/kernel.so"]
        binds = [
            ("--ro-bind", str(source), "/source"),
            ("--ro-bind", str(ours), "/ours"),
            ("--bind", str(out), "/out"),
            *(("--ro-bind", path, path) for path in recipe.shown),
            *sandbox.package_binds(),
        ]
        code, printed = _sandboxed(program, binds, limits)
        library = _read_library(out / "kernel.so", limits.build_output_bytes) if code == 0 else None
        return Output(code, rewritten(printed.replace(f"{src}/{plain}", name), src), library)


def _sandboxed(
    program: list[str], binds: list[tuple[str, str, str]], limits: Limits
) -> tuple[int | None, str]:
    """Exit code, None when it did not end in time, and what was printed."""
    rlimits = {
        "RLIMIT_AS": limits.build_memory_bytes,
        "RLIMIT_FSIZE": limits.build_output_bytes,
        "RLIMIT_CPU": int(limits.build_s) + 1,
        "RLIMIT_CORE": 0,
    }
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
    return (process.returncode if ended else None), text


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
    """Compiler output without the sandbox's paths and nvcc's temporary names: it names the author's file."""
    return printable(_NVCC_TEMPORARY.sub("", text.replace(f"{folder}/", "")))


_NVCC_TEMPORARY = re.compile(r"(?:/tmp/)?tmpxft_[0-9a-f]+_[0-9a-f]+-\d+_")


def _authors_error(text: str, name: str, lang: str) -> str | None:
    """The failure's message where the output shows that it is the author's, whatever the toolchain."""
    flag = " --lang cu" if lang == "cu" else ""
    if re.search(r"undefined (reference to|symbol:) [`']?kernel\b", text):
        return f"{name} defines no function `kernel`; see `hotlap show PROBLEM --prototype{flag}`"
    if "File too large" in text:
        return "the compiler's output is larger than the limit of 64 MB"
    line = r"(?::\d+:(?:\d+:)?|\(\d+\):)"  # g++ and clang write file:12:3:, nvcc file(12):
    own = re.search(rf"^{re.escape(name)}{line}\s*(?:fatal |catastrophic )?[Ee]rror.*$", text, re.MULTILINE)
    if own is None:
        return None
    differs = 'overloaded function "kernel" has "C" linkage' in own[0]
    hint = f"; its parameters are not those of `hotlap show PROBLEM --prototype{flag}`" if differs else ""
    return f"does not compile: {own[0].strip()[:500]}{hint}"


def _other_error(text: str, code: int | None) -> str:
    if code is None:
        return "the compiler did not finish in time"
    found = re.search(r"^(?!.*\bwarning\b).*(?:[Ee]rror|fatal|undefined reference).*$", text, re.MULTILINE)
    if found is None:
        return f"the compiler exited with code {code}; it may have met a limit of memory or output"
    return found[0].strip()[:500]


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
