"""What the tests of the corpus share."""

import re
from pathlib import Path

from hotlap.model import Status, Verdict
from hotlap.problems.find import find
from hotlap.referee.device import CpuDevice
from hotlap.verdict import read_submission, verdict

CORPUS = Path(__file__).parents[2] / "corpus"
NO_GAIN = 1.1  # over the baseline: what none of the liars that compute honestly in the end could reach


def stated(file: Path, key: str) -> str:
    found = re.search(rf"\b{key}: *(\S+)", file.read_text())
    if found is None:
        raise ValueError(f"{file} states no {key}")
    return found.group(1)


def files(folder: str) -> list[Path]:
    """The files of corpus/FOLDER that are judged on a CPU; those for a GPU are judged by tests/gpu."""
    return [
        file
        for file in sorted((CORPUS / folder).glob("*.py"))
        if re.search(r"^DEVICE: gpu$", file.read_text(), re.MULTILINE) is None
    ]


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
