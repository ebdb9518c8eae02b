"""Every bundled solution and starter gets the verdict that its first lines state, for the stated reason."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotlap.model import Problem, Status
from hotlap.problems.find import bundled, find
from hotlap.referee.device import CpuDevice, open_device
from hotlap.verdict import LANGUAGES, read_submission, verdict

FILES = [
    (problem.id.partition("@")[0], file)
    for problem in bundled()
    for folder in ("starter", "solutions/correct", "solutions/wrong")
    for file in sorted((problem.folder / folder).iterdir())
    if file.suffix in LANGUAGES
]


def tag(file: Path, name: str) -> str | None:
    """The value of a `# name: value` line at the top of a solution."""
    found = re.search(rf"^(?:#|//) *{name}: *(.+)$", file.read_text(), re.MULTILINE)
    return found.group(1).strip() if found else None


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device() as opened:
        yield opened


@pytest.mark.parametrize(
    ("problem", "file"), FILES, ids=[f"{problem}/{file.parent.name}/{file.name}" for problem, file in FILES]
)
def test_solution_gets_the_verdict_that_it_states(problem: str, file: Path, device: CpuDevice) -> None:
    given = verdict(find(problem), read_submission(file), device, timed=False)
    assert given.status == (tag(file, "expect") or Status.accepted), given.reason
    reason = tag(file, "reason")
    if reason is not None:
        assert given.reason is not None
        assert reason in given.reason


@pytest.mark.parametrize("problem", bundled(), ids=lambda problem: problem.name)
def test_bundled_problem_has_what_a_bundled_problem_needs(problem: Problem) -> None:
    folder = problem.folder
    assert (folder / "statement.md").stat().st_size > 500
    for language in ("py", "cpp"):
        assert (folder / "starter" / f"kernel.{language}").is_file()
        assert list((folder / "solutions" / "correct").glob(f"*.{language}"))
    assert len(list((folder / "solutions" / "wrong").iterdir())) >= 4
