"""Bad input and the verdict that each must get: one row a case, read by one table-driven test.

`reason` is a regular expression that must be found in the verdict's reason (`re.search`); None where the
verdict is accepted. A row that probes for something forbidden answers zeros when it can reach it, so
`accepted` says that it could not.
"""

from dataclasses import dataclass
from pathlib import Path

from hotlap.model import Fault, Status

HERE = Path(__file__).parent
KERNELS = HERE / "kernels"
PROBLEMS = HERE / "problems"


@dataclass(frozen=True)
class Case:
    """One bad submission. `source` replaces the file where no such file should lie in a repository."""

    name: str
    file: str
    status: Status
    fault: Fault | None = None
    phase: str | None = None  # of the failure: build, load, prepare, call; None where it does not matter
    reason: str | None = None
    source: bytes | None = None
    problem: str = "basics/vectoradd"
    waits_for_limit: bool = False  # ends only by a time limit: give it a short one
    needs: frozenset[str] = frozenset()  # what the host must offer: sandbox, memory-limit, pids-limit

    @property
    def lang(self) -> str:
        return "cpp" if self.file.endswith(".cpp") else "python"

    def content(self) -> bytes:
        """The bytes that are submitted as `file`."""
        return (KERNELS / self.file).read_bytes() if self.source is None else self.source


@dataclass(frozen=True)
class ProblemCase:
    """One bad problem folder, judged with kernels/right.py. Status None: hotlap stops before a verdict."""

    name: str
    folder: str
    exit_code: int
    status: Status | None
    fault: Fault | None
    reason: str

    @property
    def path(self) -> Path:
        return PROBLEMS / self.folder


SANDBOX = frozenset(("sandbox",))
MEMORY = frozenset(("sandbox", "memory-limit"))
PIDS = frozenset(("sandbox", "pids-limit"))


def accepted(name: str, file: str, needs: frozenset[str] = frozenset()) -> Case:
    return Case(name, file, Status.accepted, needs=needs)


def wrong(name: str, file: str, reason: str) -> Case:
    return Case(name, file, Status.wrong, Fault.submission, None, reason)


def failed(
    name: str,
    file: str,
    phase: str | None,
    reason: str,
    *,
    source: bytes | None = None,
    waits_for_limit: bool = False,
    needs: frozenset[str] = frozenset(),
) -> Case:
    return Case(
        name,
        file,
        Status.failed,
        Fault.submission,
        phase,
        reason,
        source,
        "basics/vectoradd",
        waits_for_limit,
        needs,
    )


SYNTAX_ERROR = b"def kernel(a, b)\n    return a + b\n"
TEN_MEGABYTES = b"# padding\n" * 1_000_000
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256))
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\xff\xfe" * 64
NO_ANSWER = r"did not answer within \d+(\.\d+)? s"
COMPILER_STOPPED = r"did not (answer|finish) within \d+(\.\d+)? s|ran out of memory|was killed|limit"

CASES: tuple[Case, ...] = (
    # The file itself.
    failed("an empty file", "empty.py", "load", r"empty\.py defines no function `kernel`", source=b""),
    failed("a file of 10 MB", "large.py", None, r"is 10\.0 MB; at most 1 MB", source=TEN_MEGABYTES),
    failed("a picture", "picture.py", None, r"is not UTF-8 text", source=PNG),
    failed("a binary named .cpp", "binary.cpp", None, r"is not UTF-8 text", source=ELF),
    failed("an empty C++ file", "empty.cpp", "build", r"empty\.cpp defines no function `kernel`", source=b""),
    # Loading.
    failed(
        "a syntax error", "syntax.py", "load", r"SyntaxError: .+\(syntax\.py, line 1\)", source=SYNTAX_ERROR
    ),
    failed("a null byte", "null.py", "load", r"holds a NUL byte", source=b"x = 1\0\n"),
    failed(
        "no entry point",
        "missing_entry_point.py",
        "load",
        r"missing_entry_point\.py defines no function `kernel`",
    ),
    failed("an entry point that is a number", "kernel_is_no_function.py", "load", r"no function `kernel`"),
    failed("an import error", "import_error.py", "load", r"ModuleNotFoundError: .*no_such_library"),
    failed(
        "a load without end", "sleeps_at_import.py", "load", NO_ANSWER, waits_for_limit=True, needs=SANDBOX
    ),
    # The contract of a call.
    failed(
        "too few parameters", "too_few_parameters.py", None, r"\b1 (positional )?(argument|parameter|input)"
    ),
    failed("a wrong shape", "wrong_shape.py", "call", r"output y has shape \[\d+\], expected \[\d+\]"),
    failed("a wrong dtype", "wrong_dtype.py", "call", r"output y has dtype \S*float64, expected \S*float32"),
    failed("a wrong device", "wrong_device.py", "call", r"output y .*\bmeta\b.*expected \S*cpu"),
    failed("two outputs", "two_outputs.py", "call", r"returned 2 outputs, expected 1"),
    failed("no output", "returns_none.py", "call", r"returned None"),
    failed("a list for a tensor", "returns_list.py", "call", r"list"),
    accepted("an output with a stride", "non_contiguous.py"),
    # Answers.
    wrong("wrong values", "wrong_values.py", r"\by\b"),
    wrong("NaN", "nan.py", r"(?i)\bnan\b"),
    wrong("infinity", "inf.py", r"(?i)\binf"),
    # Ends of a call.
    failed("an exception", "raises.py", "call", r"raised ValueError: tile of 48 does not divide the rows"),
    failed("an exception that has no text", "raises_silently.py", "call", r"raised Silent"),
    failed("sys.exit", "exits.py", "call", r"raised SystemExit|exited with code 0 before it answered"),
    failed("os._exit", "os_exit.py", "call", r"exited with code 0 before it answered"),
    failed("a segmentation fault", "segfault.py", "call", r"was killed by SIGSEGV"),
    failed("a sleep without end", "sleeps_for_ever.py", "call", NO_ANSWER, waits_for_limit=True),
    failed("a stop of itself", "stops_itself.py", "call", NO_ANSWER, waits_for_limit=True),
    failed(
        "prepare raises", "prepare_raises.py", "prepare", r"raised RuntimeError: no schedule for these axes"
    ),
    failed("prepare without end", "prepare_sleeps_for_ever.py", "prepare", NO_ANSWER, waits_for_limit=True),
    # `[^\x1b]*` to the end: no control character may survive.
    failed(
        "escape sequences",
        "ansi_escapes.py",
        "call",
        r"^[^\x00-\x1f\x7f]*raised ValueError: [^\x00-\x1f\x7f]*$",
    ),
    failed("a write to an input", "writes_input.py", "call", r"wrote to input a"),
    # Resources.
    failed("all the memory", "allocates_everything.py", "call", r"ran out of memory", needs=MEMORY),
    failed("a fork bomb", "fork_bomb.py", "call", r"raised BlockingIOError|ran out of memory", needs=PIDS),
    failed(
        "a full disk",
        "fills_the_disk.py",
        "call",
        r"raised OSError: .*No space|ran out of memory",
        needs=MEMORY,
    ),
    accepted("1 GB on stdout", "gigabyte_on_stdout.py"),
    accepted("a daemon that ignores SIGTERM", "daemon_left.py", needs=SANDBOX),
    # Attacks on the harness.
    failed("every descriptor closed", "closes_every_fd.py", "call", r"before it answered|closed"),
    accepted("a kill of its parent", "kills_its_parent.py", needs=SANDBOX),
    accepted("a kill of everything", "kills_everything.py", needs=SANDBOX),
    accepted("a look at other processes", "reads_other_processes.py", needs=SANDBOX),
    accepted("a look at the network", "reads_network.py", needs=SANDBOX),
    accepted("a look at $HOME", "reads_home.py", needs=SANDBOX),
    accepted("a look at the caller's environment", "reads_environment.py", needs=SANDBOX),
    accepted("a look at the reference", "reads_reference.py", needs=SANDBOX),
    failed(
        "a write outside its folder",
        "writes_outside.py",
        "call",
        r"raised (OSError|PermissionError): .*(Read-only file system|Permission denied)",
        needs=SANDBOX,
    ),
    failed(
        "a write to its own source",
        "writes_own_source.py",
        "call",
        r"raised (OSError|PermissionError): .*(Read-only file system|Permission denied)",
        needs=SANDBOX,
    ),
    # C++.
    accepted("the C++ control", "cpp_right.cpp"),
    failed("a C++ error", "cpp_compile_error.cpp", "build", r"cpp_compile_error\.cpp:5"),
    failed("no C++ entry point", "cpp_missing_entry_point.cpp", "build", r"defines no function `kernel`"),
    # The contract's declaration stands before the source, so it decides the linkage.
    accepted("C++ without extern C", "cpp_without_extern_c.cpp"),
    failed("C++ with other types", "cpp_other_types.cpp", "build", r"cpp_other_types\.cpp:\d+:\d+: error"),
    failed(
        "a compile bomb",
        "cpp_compile_bomb.cpp",
        "build",
        COMPILER_STOPPED,
        waits_for_limit=True,
        needs=SANDBOX,
    ),
    failed("an object of 8 GB", "cpp_huge_object.cpp", "build", COMPILER_STOPPED, needs=SANDBOX),
    failed(".incbin of a secret", "cpp_incbin.cpp", "build", r"/etc/passwd", needs=SANDBOX),
    failed(
        "#include of a secret",
        "cpp_includes_secret.cpp",
        "build",
        r"cpp_includes_secret\.cpp:2",
        needs=SANDBOX,
    ),
    failed("a C++ kernel that returns 7", "cpp_returns_seven.cpp", "call", r"kernel returned 7"),
    failed("a C++ segmentation fault", "cpp_segfault.cpp", "call", r"was killed by SIGSEGV"),
    failed("a C++ write to an input", "cpp_writes_input.cpp", "call", r"wrote to input a"),
    failed("a C++ exception", "cpp_throws.cpp", "call", r"was killed by SIGABRT"),
    failed("a C++ constructor that aborts", "cpp_crashes_at_load.cpp", "load", r"was killed by SIGABRT"),
)

PROBLEM_CASES: tuple[ProblemCase, ...] = (
    ProblemCase("a misspelt key", "bad_key", 2, None, None, r"problem\.toml.*tolerence"),
    ProblemCase(
        "a reference that raises",
        "reference_raises",
        3,
        Status.void,
        Fault.problem,
        r"RuntimeError: this reference knows no answer",
    ),
    ProblemCase("a workload of 12 TB", "too_large", 3, Status.void, Fault.device, r"\d GB"),
)
