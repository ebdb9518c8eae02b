"""Carry what a submission's compilers cached from one of its processes to the next, within one run.

Defends against links that point out of the cache, floods, pipes and devices: plain files only, no link is
followed, sizes, numbers and depth are capped, and the process is frozen meanwhile. The referee never looks
into the files; they go back to the same submission and are gone with the run.
"""

import contextlib
import io
import os
import stat
import tarfile

from hotlap.errors import HarnessError
from hotlap.referee import sandbox
from hotlap.referee.seat import Seat, SeatFailed

FOLDERS = (
    "triton",
    "inductor",
    "extensions",
    "cuda",
    "cupy",
    "numba",
)  # under /tmp, see `sandbox.environment`
MOST_BYTES, MOST_FILES, DEEPEST = 256 << 20, 4096, 16


def collect(seat: Seat) -> bytes:
    """A tar archive of a contestant's compiler caches; empty where they cannot be read or there are none."""
    if sandbox.kind() == "none":
        return b""  # its /tmp is ours: the next process finds them there
    try:
        seat.freeze()
    except (SeatFailed, HarnessError):
        return b""  # it is dead, or stays inside the driver: the next process compiles again
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        left = [MOST_BYTES, MOST_FILES]
        for folder in FOLDERS:
            top = f"/proc/{seat.pid}/root/tmp/{folder}"
            if _is_folder(top):
                with contextlib.suppress(OSError):  # some processes may not be read
                    _add(tar, top, folder, left)
    return archive.getvalue()


def _add(tar: tarfile.TarFile, top: str, name: str, left: list[int]) -> None:
    for where, folders, files, folder_fd in os.fwalk(top, follow_symlinks=False, onerror=lambda error: None):
        left[1] -= 1
        inside = os.path.relpath(where, top)
        if inside.count("/") >= DEEPEST:
            folders.clear()
        for file in files:
            if left[1] < 1:
                return
            fd = _open(file, folder_fd)
            if fd is None:
                continue
            with os.fdopen(fd, "rb") as stream:
                if left[0] < os.fstat(fd).st_size:
                    continue
                data = stream.read(left[0])  # at once: where nothing freezes it, its owner may still write
                info = tarfile.TarInfo(f"{name}/{inside}/{file}")
                info.size, info.mode = len(data), 0o755
                info.mtime = int(os.fstat(fd).st_mtime)
                tar.addfile(info, io.BytesIO(data))
                left[0] -= len(data)
                left[1] -= 1


def _is_folder(path: str) -> bool:
    """Whether a folder is there. `fwalk` opens what it is given before it looks; a pipe would hold us up."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _open(file: str, folder_fd: int) -> int | None:
    """A descriptor of a plain file, or None for anything else. Opening a pipe or a device could block."""
    try:
        if not stat.S_ISREG(os.lstat(file, dir_fd=folder_fd).st_mode):
            return None
        return os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
    except OSError:
        return None
