"""Triton kernels are checked on a CPU in Triton's interpreter, and timed only on a GPU."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hotlap.model import Fault, Status
from hotlap.problems.find import find
from hotlap.referee.device import CpuDevice, open_device
from hotlap.verdict import read_submission, verdict

RIGHT = """
import triton
import triton.language as tl

@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y + i, tl.load(a + i, mask=mask) + tl.load(b + i, mask=mask), mask=mask)

def kernel(a, b, out):
    add[(triton.cdiv(a.numel(), 1024),)](a, b, out, a.numel(), BLOCK=1024)
"""


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device() as opened:
        yield opened


@pytest.mark.parametrize(
    ("source", "status"),
    [(RIGHT, Status.accepted), (RIGHT.replace("mask = i < n", "mask = i < n - 1"), Status.wrong)],
    ids=["right", "one element short"],
)
def test_triton_kernel_is_checked_in_the_interpreter(
    source: str, status: Status, device: CpuDevice, tmp_path: Path
) -> None:
    pytest.importorskip("triton")
    file = tmp_path / "kernel.py"
    file.write_text(source)
    given = verdict(find("basics/vectoradd"), read_submission(file), device, timed=False, interpret=True)
    assert given.status is status, given.reason
    assert given.submission.lang == "triton"


def test_triton_kernel_is_not_timed_on_a_cpu(device: CpuDevice, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(RIGHT)
    given = verdict(find("basics/vectoradd"), read_submission(file), device)
    assert (given.status, given.fault) == (Status.void, Fault.device)
    assert "hotlap check" in (given.reason or "")
