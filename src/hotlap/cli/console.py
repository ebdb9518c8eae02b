"""Where a command writes: results on stdout, everything else on stderr, and what its exit code means."""

import json
import sys
from typing import Any

from rich.console import Console

from hotlap.model import Status, Verdict
from hotlap.text import clean

ACCEPTED, REJECTED, USAGE, VOID, INTERRUPTED = 0, 1, 2, 3, 130

EXIT_CODES = {
    Status.accepted: ACCEPTED,
    Status.wrong: REJECTED,
    Status.failed: REJECTED,
    Status.suspect: REJECTED,
    Status.void: VOID,
}

# A file or a pipe has no width; 80 columns would break the table of workloads for nobody's benefit.
_PIPE_WIDTH = 132


def exit_code(verdict: Verdict) -> int:
    """0 accepted, 1 wrong, failed or suspect, 3 void."""
    return EXIT_CODES[verdict.status]


def stdout() -> Console:
    """A console for results. Markup and emoji codes are off: what is printed was written by others."""
    return _console(stderr=False)


def stderr() -> Console:
    """A console for progress, warnings and errors."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def print_json(value: Any) -> None:
    """One JSON document on stdout, and nothing else there. ASCII: no text in it reaches a terminal raw."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def error(message: str) -> None:
    """`error: …` on stderr, one paragraph."""
    sys.stderr.write(f"error: {clean(message).strip()}\n")
