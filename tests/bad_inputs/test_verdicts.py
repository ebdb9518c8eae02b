"""Every bad input, judged for real: its status, whose fault it is, and what the author reads."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap import runs
from hotlap.errors import ProblemError
from hotlap.model import Verdict
from hotlap.problems.find import find
from hotlap.referee import sandbox
from hotlap.referee.device import CpuDevice, open_device
from hotlap.referee.limits import Limits
from hotlap.verdict import read_submission, verdict
from tests.bad_inputs.cases import CASES, KERNELS, PROBLEM_CASES, Case, ProblemCase

PATIENT = replace(Limits(), memory_bytes=2 << 30, processes=128)
HASTY = replace(PATIENT, load_s=3, prepare_s=2, call_s=2, build_s=4)


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device(limits=PATIENT) as opened:
        yield opened


def missing(case: Case, device: CpuDevice) -> str | None:
    if "sandbox" in case.needs and sandbox.kind() == "none":
        return "no sandbox on this machine"
    gaps = device.gaps()
    for need, gap in (("memory-limit", "no memory cgroup"), ("pids-limit", "no pids cgroup")):
        if need in case.needs and gap in gaps:
            return gap
    return None


def judge_case(case: Case, device: CpuDevice, folder: Path) -> Verdict:
    file = folder / case.file
    file.write_bytes(case.content())
    device.limits = HASTY if case.waits_for_limit else PATIENT
    return verdict(find(case.problem), read_submission(file), device, timed=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input_gets_its_verdict(case: Case, device: CpuDevice, tmp_path: Path) -> None:
    if reason := missing(case, device):
        pytest.skip(reason)
    given = judge_case(case, device, tmp_path)
    assert (given.status, given.fault) == (case.status, case.fault), given.reason
    if case.reason is not None:
        assert given.reason is not None
        assert re.search(case.reason, given.reason), given.reason
    if case.phase is not None:
        failure = runs.load(given.run).failure
        assert failure is not None
        assert failure.phase == case.phase


@pytest.mark.parametrize("case", PROBLEM_CASES, ids=lambda case: case.name)
def test_bad_problem_folder_is_the_problem_s_or_the_device_s_fault(
    case: ProblemCase, device: CpuDevice
) -> None:
    if case.status is None:
        with pytest.raises(ProblemError, match=case.reason):
            find(str(case.path))
        return
    given = verdict(find(str(case.path)), read_submission(KERNELS / "right.py"), device, timed=False)
    assert (given.status, given.fault) == (case.status, case.fault), given.reason
    assert given.reason is not None
    assert re.search(case.reason, given.reason), given.reason


def test_output_beyond_its_cap_is_cut_and_control_characters_are_shown(
    device: CpuDevice, tmp_path: Path
) -> None:
    case = next(c for c in CASES if c.file == "ansi_escapes.py")
    given = judge_case(case, device, tmp_path)
    text = f"{given.reason}{given.detail}{given.output}"
    assert "\x1b" not in text
    assert len(given.output or "") <= 4 * (16 << 10)
