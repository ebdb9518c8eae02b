"""Problems of other benchmarks on a GPU: right and wrong kernels get their verdicts; trees, weights and
scalars reach the kernel, and a dropout mask is the same on both sides.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hotlap.duel import duel
from hotlap.model import Outcome, Status, Submission
from hotlap.problems.find import find
from hotlap.verdict import verdict
from tests.formats.kernelbot_folder import write_folder
from tests.problems.test_flashinfer import RUN, WRITES, written

CUSTOM = """\
import torch
from task import SCALE


def custom_kernel(data):
    a, b, out = data
    torch.add(a, b, alpha=SCALE, out=out)
    return out
"""
MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
        {more}

    def forward(self, x):
        return torch.relu(self.layer(x)){and_then}


def get_inputs():
    return [torch.rand(64, 256)]


def get_init_inputs():
    return [256]
"""


def python(source: str) -> Submission:
    return Submission("kernel.py", source, "python", f"{hash(source):064x}"[-64:])


def model(more: str = "pass", and_then: str = "") -> str:
    return MODEL.format(more=more, and_then=and_then)


@pytest.mark.parametrize(
    ("source", "status"),
    [
        (CUSTOM, Status.accepted),
        (CUSTOM.replace("alpha=SCALE", "alpha=1.0"), Status.wrong),
        (
            CUSTOM.replace("    torch.add", "    if a[0, 0].item() > 9:\n        return b\n    torch.add"),
            Status.accepted,
        ),
        (CUSTOM.replace("    return out", "    raise ValueError('no')"), Status.failed),
    ],
    ids=["right", "wrong", "looks at its data", "raises"],
)
@pytest.mark.parametrize("timed", [False, True])
def test_a_kernelbot_folder(device: Any, tmp_path: Path, source: str, status: Status, timed: bool) -> None:
    given = verdict(find(str(write_folder(tmp_path))), python(source), device, timed=timed)
    assert given.status is status, given.reason


@pytest.mark.parametrize(
    "given",
    [model(), model("self.drop = nn.Dropout(0.5)", " * self.drop(torch.ones_like(x))")],
    ids=["weights", "dropout"],
)
def test_a_kernelbench_file_and_its_own_model(device: Any, tmp_path: Path, given: str) -> None:
    path = tmp_path / "level1" / "1_Linear_relu.py"
    path.parent.mkdir()
    path.write_text(given)
    right = python(given.replace("class Model", "class ModelNew"))
    wrong = python(given.replace("class Model", "class ModelNew").replace("torch.relu(", "torch.abs("))
    found = verdict(find(str(path)), right, device)
    assert found.status is Status.accepted, found.reason
    assert verdict(find(str(path)), wrong, device, timed=False).status is Status.wrong


@pytest.mark.parametrize(
    ("source", "status"),
    [(RUN, Status.accepted), (WRITES, Status.accepted), (RUN.replace("+ eps", "+ 1 + eps"), Status.wrong)],
    ids=["returns", "writes", "wrong"],
)
def test_a_flashinfer_definition(device: Any, tmp_path: Path, source: str, status: Status) -> None:
    path = written(tmp_path)
    assert json.loads(path.read_text())["name"] == "rms_d64"
    given = verdict(find(str(path)), python(source), device)
    assert given.status is status, given.reason


def test_a_duel_in_a_foreign_format(device: Any, tmp_path: Path) -> None:
    slow = CUSTOM.replace("    return out", "    for _ in range(20):\n        out += 0.0\n    return out")
    given = duel(find(str(write_folder(tmp_path))), python(CUSTOM), python(slow), device)
    assert (given.verdict, given.faster) == (Outcome.decided, "a"), given.reason
