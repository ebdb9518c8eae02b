"""What a command line points at: a problem and a file, where the file may name its problem itself."""

import re
from dataclasses import dataclass
from pathlib import Path

from hotlap.errors import UsageError

# `#! hotlap problem basics/softmax`, `//! hotlap device cpu`; KernelBot's: `#!POPCORN leaderboard NAME`.
_DIRECTIVE = re.compile(r"^(?:#|//)!\s*(?:hotlap|POPCORN)\s+(\w+)\s+(.+?)\s*$")
_COMMENT = re.compile(r"^\s*(?:#|//|$)")
_HEAD_BYTES = 16 * 1024
_MEANING = {"problem": "problem", "leaderboard": "problem", "device": "device"}


@dataclass(frozen=True)
class Target:
    """A problem by name or path, a submission file, and the device that the file asks for, if any."""

    problem: str
    file: Path
    device: str | None = None


def directives(text: str) -> dict[str, str]:
    """`problem` and `device` as the leading comment lines of a source name them; the first of each counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not _COMMENT.match(line):
            break
        match = _DIRECTIVE.match(line)
        if match and match[1] in _MEANING:
            found.setdefault(_MEANING[match[1]], match[2])
    return found


def directive_line(problem: str, suffix: str) -> str:
    """The line that names `problem` in a file of this suffix."""
    return f"{'#!' if suffix == '.py' else '//!'} hotlap problem {problem}"


def resolve(first: str, second: Path | None) -> Target:
    """`PROBLEM FILE`, or `FILE` alone when its leading comments name the problem.

    Raises UsageError where the file is missing, or names no problem.
    """
    if second is not None:
        head = _head(second)
        return Target(first, second, directives(head).get("device"))
    file = Path(first)
    if not file.is_file():
        wanted = "PROBLEM" if file.suffix else first
        raise UsageError(
            f"{first!r} is not a file. Allowed: PROBLEM FILE, or FILE alone when its first line is "
            f"'#! hotlap problem NAME'. To start a kernel: hotlap init {wanted}"
        )
    said = directives(_head(file))
    if "problem" not in said:
        raise UsageError(
            f"{first}: names no problem. Put '{directive_line('NAME', file.suffix)}' in its first line, or "
            f"say PROBLEM {first}. `hotlap problems` lists the names"
        )
    return Target(said["problem"], file, said.get("device"))


def _head(file: Path) -> str:
    """The start of a file, for its directives; faults of the text itself are the verdict's business."""
    if not file.is_file():  # a pipe or a device could be read for ever
        found = "not a file" if file.exists() else "no such file"
        raise UsageError(f"{file}: {found}. Name a source file (.py, .cpp, .cu) that can be read")
    try:
        with file.open("rb") as stream:
            return stream.read(_HEAD_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror or error}. Name a source file (.py, .cpp, .cu) that can be read"
        ) from error
