"""A GPU that cannot give a verdict now, and says so: used by someone else, or too small for a workload."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hotlap.problems.find import find
from hotlap.referee.nvml import Nvml
from tests.gpu.cases import RIGHT, Judge

STRANGER = """
import os, torch
x = torch.ones(1 << 26, device="cuda")
torch.cuda.synchronize()
print(os.getpid(), flush=True)
while True:
    x.mul_(1.0)
    torch.cuda.synchronize()
"""


class Stranger:
    """A process that has nothing to do with hotlap, nor with this one, and keeps the GPU busy."""

    def __init__(self) -> None:
        # A shell that ends at once: what it leaves behind is no descendant of ours any more.
        orphan = ["sh", "-c", '"$0" -c "$1" &', sys.executable, STRANGER]
        with subprocess.Popen(orphan, stdout=subprocess.PIPE) as shell:
            assert shell.stdout is not None
            self._words = os.fdopen(os.dup(shell.stdout.fileno()), "rb", buffering=0)
        self.pid = int(self._words.readline())

    def end(self) -> None:
        if not self._words.closed:
            os.kill(self.pid, signal.SIGKILL)
            self._words.read()  # until nobody holds the other end
            self._words.close()


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    started = Stranger()
    try:
        yield started
    finally:
        started.end()


def test_gpu_in_use_by_someone_else_is_void_until_they_are_gone(
    device: Any,
    judged: Judge,
    unharmed: Callable[[str], None],
    stranger: Stranger,
) -> None:
    given = judged("GPU in use by another process", find("basics/vectoradd"), RIGHT, "void", timed=True)
    assert (given.status, given.fault) == ("void", "device"), given.reason
    # In a container NVML may list nobody; then the stranger is seen by what it does, not by name.
    if stranger.pid in Nvml(device.info.uuid).compute_processes():
        assert re.search(rf"\b{stranger.pid}\b", given.reason or ""), given.reason
    stranger.end()
    unharmed("another process")


def test_workload_that_is_too_large_for_the_gpu_is_void_and_says_how_much_it_needs(
    judged: Judge, unharmed: Callable[[str], None], tmp_path: Path
) -> None:
    folder = tmp_path / "vectoradd"
    shutil.copytree(find("basics/vectoradd").folder, folder)
    sheet = (folder / "problem.toml").read_text()
    numbers = itertools.count(10**12)  # each workload another one
    enlarged = re.sub(r"^n = \d+$", lambda _: f"n = {next(numbers)}", sheet, flags=re.MULTILINE)
    (folder / "problem.toml").write_text(enlarged)
    given = judged("workload of 12 TB", find(str(folder)), RIGHT, "void", timed=False)
    assert (given.status, given.fault) == ("void", "device"), given.reason
    assert re.search(r"\d GB", given.reason or ""), given.reason
    unharmed("a workload of 12 TB")
