"""Compiler caches go from one process of a submission to its next: plain files, in their places, no more."""

import os
import signal
import stat
from pathlib import Path

import pytest

from hotlap.model import Submission
from hotlap.referee import caches, sandbox
from hotlap.referee.loading import load
from hotlap.referee.seat import Seat
from tests.referee.seats import DOUBLING, library, seated, take

pytestmark = pytest.mark.skipif(sandbox.kind() == "none", reason="without a sandbox /tmp is everybody's")

RIGHT = """
extern "C" int kernel(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  return 0;
}
"""
LEAVES = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
static void folder(const std::string& path) { mkdir(path.c_str(), 0755); }
static void file(const std::string& path, const char* text, off_t size = 0) {
  int fd = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  if (fd < 0 || write(fd, text, strlen(text)) < 0 || (size && ftruncate(fd, size))) abort();
  close(fd);
}
static void pipe_at(const std::string& path) { if (mkfifo(path.c_str(), 0600)) abort(); }
static void link_to(const char* target, const std::string& path) {
  if (symlink(target, path.c_str())) abort();
}
extern "C" int prepare(int64_t n) {
  const std::string top = "/tmp/";
  /* leaves */
  return 0;
}
"""
SECRET = "nothing that a contestant may see"


def leaves(body: str) -> str:
    """A right kernel that leaves things below /tmp when it is prepared."""
    return LEAVES.replace("/* leaves */", body) + RIGHT


def collected(body: str) -> bytes:
    """What is taken from a process whose kernel left things."""
    with seated() as seat:
        take(seat, leaves(body), {"n": 8})
        return caches.collect(seat)


def given(seat: Seat, cached: bytes) -> dict[str, bytes]:
    """Load a kernel with the caches of another process; every path below its /tmp, with a plain file's bytes.

    What is neither a plain file nor a folder has its file type in place of bytes.
    """
    submission = Submission("kernel.cpp", RIGHT, "cpp", "", None)
    load(seat, DOUBLING, submission, library(RIGHT), cached=cached)
    top = Path(f"/proc/{seat.pid}/root/tmp")
    bound = {top / p.relative_to("/tmp") for p in sandbox.prefixes() if p.is_relative_to("/tmp")}
    found: dict[str, bytes] = {}
    for where, folders, files in os.walk(top):
        folders[:] = [name for name in folders if Path(where) / name not in bound]  # our own environment
        for name in (*folders, *files):
            path = Path(where) / name
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                found[str(path.relative_to(top))] = path.read_bytes()
            elif not stat.S_ISDIR(mode):
                found[str(path.relative_to(top))] = f"type {stat.S_IFMT(mode):o}".encode()
    return found


def carried(body: str) -> dict[str, bytes]:
    """What the next process of a kernel that left things finds."""
    cached = collected(body)
    with seated() as seat:
        return given(seat, cached)


PLAIN = """
  folder(top + "triton"); folder(top + "triton/hash"); folder(top + "cuda");
  file(top + "triton/hash/kernel.cubin", "code"); file(top + "triton/index", "one"); file(top + "cuda/x", "");
"""
FOUND = {"triton/hash/kernel.cubin": b"code", "triton/index": b"one", "cuda/x": b""}


def test_plain_files_are_found_at_the_same_place() -> None:
    assert carried(PLAIN) == FOUND


def test_a_carried_library_can_be_executed_and_read() -> None:
    cached = collected(PLAIN)
    with seated() as seat:
        given(seat, cached)
        mode = Path(f"/proc/{seat.pid}/root/tmp/triton/index").lstat().st_mode
        assert stat.S_IMODE(mode) == 0o755


@pytest.mark.parametrize(
    "other",
    [
        'link_to("/tmp/triton/index", top + "triton/inner");',
        'link_to("/etc/passwd", top + "triton/absolute");',
        'link_to("../../../../../etc/passwd", top + "triton/relative");',
        'link_to("/etc", top + "triton/folder");',
        'link_to("/nowhere", top + "triton/dangling");',
        'link_to("/dev/zero", top + "triton/device");',
        'link_to("/etc", top + "numba");',
        'link_to("triton", top + "cupy");',
        'pipe_at(top + "triton/pipe");',
        'pipe_at(top + "inductor");',
        'file(top + "extensions", "a file where a folder should be");',
        'file(top + "elsewhere", "no cache");',
        'file(top + "triton/huge", "", off_t(1) << 40);',
        'file(top + "triton/large", "", (256 << 20) + 1);',
    ],
)
def test_what_is_no_plain_file_of_a_cache_is_left_behind(other: str) -> None:
    assert carried(PLAIN + other) == FOUND


def test_a_link_does_not_bring_a_file_of_the_referee_s(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    cached = collected(
        f'folder(top + "triton"); link_to("{secret}", top + "triton/a"); link_to("{tmp_path}", top + "cuda");'
    )
    assert SECRET.encode() not in cached


def test_all_files_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "MOST_BYTES", 1000)
    files = "".join(f'file(top + "triton/{i}", "", 300);' for i in range(5))
    found = carried('folder(top + "triton");' + files)
    assert [len(data) for data in found.values()] == [300] * 3


def test_the_number_of_files_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "MOST_FILES", 4)
    body = (
        'folder(top + "triton"); for (int i = 0; i < 9; i++) file(top + "triton/" + std::to_string(i), "x");'
    )
    assert len(carried(body)) == 3  # the folder counts too


def test_a_chasm_of_folders_is_not_walked_to_its_bottom() -> None:
    deep = """
      if (chdir("/tmp") || mkdir("triton", 0755) || chdir("triton")) abort();
      for (int depth = 0; depth < 1500; depth++) {
        file("here", "x");
        if (mkdir("d", 0755) || chdir("d")) abort();
      }
      if (chdir("/")) abort();
    """
    found = carried(deep)
    assert "triton/here" in found
    assert len(found) <= caches.DEEPEST + 2


def test_names_that_are_no_text_come_along() -> None:
    found = carried('folder(top + "triton"); file(top + "triton/\\xff\\n..", "odd");')
    assert found == {"triton/\udcff\n..": b"odd"}


def test_nothing_is_taken_where_nothing_was_compiled() -> None:
    assert carried("") == {}


def test_the_process_stands_still_while_it_is_read() -> None:
    with seated() as seat:
        take(seat, leaves(PLAIN), {"n": 8})
        caches.collect(seat)
        assert seat.frozen


@pytest.mark.parametrize("freezer", ["best", "init"])
def test_a_process_that_is_dead_costs_its_caches_at_most(freezer: str) -> None:
    with seated(freezer=freezer) as seat:
        take(seat, leaves(PLAIN), {"n": 8})
        seat.thaw()
        os.kill(seat.process.pid, signal.SIGKILL)
        seat.process.wait()
        assert isinstance(caches.collect(seat), bytes)
