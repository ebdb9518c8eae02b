"""Stored runs: what replay needs, one JSON file each under $HOTLAP_HOME, readable by their owner alone."""

import contextlib
import os
import time
from pathlib import Path

from hotlap import schema
from hotlap.errors import UsageError
from hotlap.model import Run

KEPT = 500
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def home() -> Path:
    """$HOTLAP_HOME, by default the XDG data folder: runs, calibration, the server's data."""
    default = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hotlap"
    return Path(os.environ.get("HOTLAP_HOME") or default).resolve()


def new_id() -> str:
    """A ULID: 48 bits of milliseconds, 80 random ones, in Crockford's base 32; sorts by time."""
    value = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(CROCKFORD[value >> (5 * place) & 31] for place in reversed(range(26)))


def save(run: Run) -> Path:
    """Store a run with its master key; the oldest beyond 500 go. Raises OSError."""
    folder = home() / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{run.id}.json"
    partial = path.with_suffix(".partial")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(schema.to_json(run))
    partial.replace(path)
    for old in sorted(folder.glob("*.json"))[:-KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
    return path


def load(run_id: str) -> Run:
    """The stored run with this id. Raises UsageError when there is none."""
    path = home() / "runs" / f"{run_id}.json"
    if not run_id.isalnum() or not path.is_file():
        raise UsageError(f"run {run_id!r} is not stored in {path.parent}; a verdict's `run` field names one")
    return schema.from_json(Run, path.read_text())
