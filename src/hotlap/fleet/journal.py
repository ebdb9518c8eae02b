"""The journal of a suite run: a header, then a line a sample, on disk before the next one is begun.

Defends against: a kill at any moment (a torn last line is dropped, its sample is judged again), two runs that
write the same journal, and rows of other problems, another machine or another hotlap in one table.
"""

import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

from hotlap import schema
from hotlap.errors import UsageError
from hotlap.fleet.results import SuiteHeader, SuiteRow

T = TypeVar("T")

NAME = "rows.jsonl"
_HEAD = b'{"schema": "hotlap.suiteheader/1"'  # what every journal begins with
_START_ANEW = "give another --out, or delete the old one"


@dataclass
class Journal:
    """An open journal: what it holds, and the file that further rows are appended to."""

    header: SuiteHeader
    rows: list[SuiteRow]
    descriptor: int

    def append(self, row: SuiteRow) -> None:
        """Write a row; it is on disk when this returns. Raises OSError."""
        _write(self.descriptor, row)
        self.rows.append(row)


def read(folder: Path) -> tuple[SuiteHeader, list[SuiteRow]]:
    """The header and rows of a journal, without a torn last line. Raises UsageError."""
    path = folder / NAME
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}; name the folder that `hotlap suite run --out` wrote"
        ) from None
    return _parsed(path, content[: _whole(content)])


@contextmanager
def opened(folder: Path, header: SuiteHeader) -> Iterator[Journal]:
    """The journal in a folder, for this process alone: a new one with this header, or that of an earlier run.

    Raises UsageError where another process writes it, or it is about other problems, baselines, another
    device or another hotlap.
    """
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); give another --out") from None
    try:
        _lock(path, descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{path}: is no file; give another --out")
        content = path.read_bytes()
        whole = _whole(content)
        if content and not content.startswith(_HEAD[: len(content)]):
            raise UsageError(f"{path}: is not a journal of a suite run; give another --out")
        known, rows = _parsed(path, content[:whole]) if whole else (header, [])
        os.ftruncate(descriptor, whole)  # only what is known to be ours
        if whole == 0:
            _write(descriptor, header)
            _sync_folder(folder)
            yield Journal(header, [], descriptor)
            return
        _refuse_others(path, known, header)
        yield Journal(known, rows, descriptor)
    finally:
        os.close(descriptor)


def _lock(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"{path}: another process writes it at this moment; wait for it, or give another --out"
        ) from None


def _write(descriptor: int, noun: SuiteHeader | SuiteRow) -> None:
    line = f"{schema.to_json(noun)}\n".encode()
    while line:  # a signal or a full disk may cut a write short; the next start drops a torn line
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Put the new file's name on disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole(content: bytes) -> int:
    """How many bytes are whole lines: a line that was cut short by a kill has no end."""
    return content.rfind(b"\n") + 1


def _parsed(path: Path, content: bytes) -> tuple[SuiteHeader, list[SuiteRow]]:
    lines = content.splitlines()
    if not lines:
        raise UsageError(f"{path}: is empty; the run that made it did not get to its first sample")
    header = _noun(path, SuiteHeader, 1, lines[0])
    rows = [_noun(path, SuiteRow, number, line) for number, line in enumerate(lines[1:], 2)]
    _refuse_twice(path, rows)
    return header, rows


def _noun(path: Path, noun: type[T], number: int, line: bytes) -> T:
    try:
        return schema.from_json(noun, line)
    except UsageError as error:
        raise UsageError(f"{path}, line {number}: {error}; {_START_ANEW}") from None


def _refuse_twice(path: Path, rows: Sequence[SuiteRow]) -> None:
    seen: set[tuple[str, str]] = set()
    for line, row in enumerate(rows, 2):
        key = (row.problem, row.sample)
        if key in seen:
            raise UsageError(
                f"{path}, line {line}: {row.problem}, sample {row.sample} is there twice; {_START_ANEW}"
            )
        seen.add(key)


def _refuse_others(path: Path, known: SuiteHeader, wanted: SuiteHeader) -> None:
    """Rows of one table must be of the same problems, machine and rules."""
    skipped = {"started_at", "device", "problems"}
    for name in (field.name for field in fields(SuiteHeader) if field.name not in skipped):
        before, now = getattr(known, name), getattr(wanted, name)
        if before != now:
            raise UsageError(f"{path}: was begun with {name} {before}, and this run has {now}; {_START_ANEW}")
    if known.problems != wanted.problems:
        changed = sorted({*known.problems} ^ {*wanted.problems}) or ["their order"]
        raise UsageError(
            f"{path}: was begun with other problems or versions ({', '.join(changed[:4])}"
            f"{', …' if len(changed) > 4 else ''}); {_START_ANEW}"
        )
    before, now = (
        (h.device.name, h.device.uuid, h.device.driver) if h.device else None for h in (known, wanted)
    )
    if before != now:
        raise UsageError(f"{path}: was begun on {before}, and this device is {now}; {_START_ANEW}")
