"""A stored run's call, made again on the GPU: the same inputs, and so the same answer."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap import runs
from hotlap.model import Failure
from hotlap.problems.find import find
from hotlap.verdict import replay
from tests.gpu.cases import RIGHT, Judge

SOFTMAX = "basics/softmax"


def first_failure(run_id: str) -> tuple[Failure, int]:
    """Of a stored run: what was wrong with a workload, and its index."""
    for workload in runs.load(run_id).workloads:
        if workload.failure is not None:
            return workload.failure, workload.index
    pytest.fail("no workload of the run failed")


def kind_of(message: str | None) -> str:
    """What a message says, whatever the numbers in it."""
    return re.sub(r"\d+", "N", (message or "nothing was wrong").split(";")[0])


@pytest.mark.parametrize("name", ["no_max.py", "columns.py", "triton_pads_with_zero.py"])
def test_a_wrong_answer_is_wrong_again(device: Any, judged: Judge, tmp_path: Path, name: str) -> None:
    problem = find(SOFTMAX)
    file = problem.folder / "solutions" / "wrong" / name
    given = judged(f"replay: {name}", problem, file, "wrong", timed=False)
    assert given.status == "wrong", given.reason
    failure, index = first_failure(given.run)
    found = replay(given.run, None, device, tmp_path)
    assert found.workload == index
    assert kind_of(found.wrong) == kind_of(failure.message) == "output y: N of N elements beyond tolerance"
    assert [dumped.name for dumped in found.files] == ["x.npy", "y.npy", "y.expected.npy"]
    x, y, expected = (np.load(dumped) for dumped in found.files)
    assert x.shape == y.shape == expected.shape == (found.axes["rows"], found.axes["cols"])
    assert not np.allclose(y, expected, rtol=1e-3, atol=1e-6)


def test_a_right_answer_is_right_again_on_the_same_inputs(device: Any, judged: Judge, tmp_path: Path) -> None:
    given = judged("replay: right.py", find("basics/vectoradd"), RIGHT, "accepted", timed=False)
    assert given.status == "accepted", given.reason
    first, second = (replay(given.run, 0, device, tmp_path / name) for name in ("first", "second"))
    assert (first.wrong, second.wrong) == (None, None)
    for one, other in zip(first.files, second.files, strict=True):
        assert np.array_equal(np.load(one), np.load(other))
