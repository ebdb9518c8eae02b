"""The five liars get their verdicts however the tree is frozen."""

from collections.abc import Iterator

import pytest

from hotlap.referee import sandbox
from hotlap.referee.device import CpuDevice, open_device
from tests.corpus.judging import CORPUS, gains_nothing, judged, stated

LIARS = ("patched_clocks", "cached_outputs", "thread_left_working", "sigcont_timer", "early_done")


@pytest.fixture(scope="module", params=["cgroup1", "init"])
def other_device(request: pytest.FixtureRequest) -> Iterator[CpuDevice]:
    if sandbox.kind() == "none":
        pytest.skip("no sandbox on this machine")
    with open_device(freezer=request.param) as opened:
        if opened.null_seat().freezer != request.param:
            pytest.skip(f"{request.param} cannot freeze here")
        yield opened


@pytest.mark.parametrize("liar", LIARS)
def test_liar_is_beaten_under_another_freezer_too(liar: str, other_device: CpuDevice) -> None:
    file = CORPUS / "exploits" / f"{liar}.py"
    given = judged(file, other_device, timed=True)
    assert given.status == stated(file, "EXPECT"), given.reason
    gains_nothing(given)
