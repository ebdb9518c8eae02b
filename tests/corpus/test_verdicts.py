"""Every file of the corpus gets the verdict that it states, and the five liars get theirs however the tree
is frozen."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotlap.model import Kind, Status, Verdict
from hotlap.problems.find import find
from hotlap.referee import sandbox
from hotlap.referee.device import CpuDevice, open_device
from hotlap.verdict import read_submission, verdict

CORPUS = Path(__file__).parents[2] / "corpus"
EXPLOITS = sorted((CORPUS / "exploits").glob("*.py"))
HONEST = sorted((CORPUS / "honest").glob("*.py"))
LIARS = ("patched_clocks", "cached_outputs", "thread_left_working", "sigcont_timer", "early_done")
NO_GAIN = 1.1  # over the baseline: what none of the liars that compute honestly in the end could reach


def stated(file: Path, key: str) -> str:
    found = re.search(rf"\b{key}: *(\S+)", file.read_text())
    if found is None:
        raise ValueError(f"{file} states no {key}")
    return found.group(1)


def judged(file: Path, device: CpuDevice, timed: bool) -> Verdict:
    given = verdict(find(stated(file, "PROBLEM")), read_submission(file), device, timed=timed)
    device.warm_up(1)
    return given


def gains_nothing(given: Verdict) -> None:
    """A liar whose answers are right in the end is accepted at the time that it really took."""
    if given.status is Status.accepted:
        assert given.score is not None
        assert given.score.speedup_ci is not None
        assert given.score.speedup_ci[0] < NO_GAIN


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device() as opened:
        yield opened


@pytest.fixture(scope="module", params=["cgroup1", "init"])
def other_device(request: pytest.FixtureRequest) -> Iterator[CpuDevice]:
    if sandbox.kind() == "none":
        pytest.skip("no sandbox on this machine")
    with open_device(freezer=request.param) as opened:
        if opened.null_seat().freezer != request.param:
            pytest.skip(f"{request.param} cannot freeze here")
        yield opened


@pytest.mark.parametrize("file", EXPLOITS, ids=lambda file: file.stem)
def test_exploit_gets_the_verdict_that_it_states(file: Path, device: CpuDevice) -> None:
    if sandbox.kind() == "none":
        pytest.skip("no sandbox on this machine")
    given = judged(file, device, timed=True)
    assert given.status == stated(file, "EXPECT"), given.reason
    gains_nothing(given)


@pytest.mark.parametrize("file", HONEST, ids=lambda file: file.stem)
def test_honest_kernel_is_accepted(file: Path, device: CpuDevice) -> None:
    given = judged(file, device, timed=False)
    assert given.status is Status.accepted, given.reason


@pytest.mark.parametrize("liar", LIARS)
def test_liar_is_beaten_under_another_freezer_too(liar: str, other_device: CpuDevice) -> None:
    file = CORPUS / "exploits" / f"{liar}.py"
    given = judged(file, other_device, timed=True)
    assert given.status == stated(file, "EXPECT"), given.reason
    gains_nothing(given)


def test_accepted_kernel_has_no_five_percent_of_wrong_calls(device: CpuDevice) -> None:
    given = judged(CORPUS / "honest" / "plain_add.py", device, timed=True)
    assert given.status is Status.accepted, given.reason
    benches = [w for w in given.workloads if w.kind is Kind.bench]
    # 5 % of wrong calls would have been seen but once in a million runs; less where all calls were compared.
    assert all(w.excluded_share is not None and w.excluded_share < 0.053 for w in benches)
