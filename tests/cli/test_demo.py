"""The demo's cases and its closing table."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from hotlap.cli.demo import CASES, Case, exit_code, in_plain_words, path_of, summary
from hotlap.cli.demo import Sort as CaseSort
from hotlap.errors import HarnessError
from hotlap.model import Fault, Score, Status, Verdict
from hotlap.problems.find import find
from tests.cli import factory

AS_EXPECTED = [
    factory.accepted(status=case.expected)
    if case.expected is Status.accepted
    else factory.rejected(case.expected, "differs")
    for case in CASES
]


def with_one(replaced: Verdict) -> list[Verdict]:
    """All as expected but the first."""
    return [replaced, *AS_EXPECTED[1:]]


def test_the_demo_shows_right_fast_wrong_and_cheating_kernels() -> None:
    assert {case.sort for case in CASES} == set(CaseSort)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_every_kernel_of_the_demo_is_there(case: Case) -> None:
    assert path_of(case, find(case.problem)).is_file()


def test_a_missing_kernel_is_a_fault_of_the_installation() -> None:
    with pytest.raises(HarnessError, match="install hotlap again"):
        path_of(replace(CASES[0], file="correct/absent.py"), find(CASES[0].problem))


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (AS_EXPECTED, 0),
        (with_one(factory.rejected(Status.wrong, "differs")), 1),
        (with_one(factory.rejected(Status.void, "disturbed", Fault.device)), 3),
    ],
    ids=["as expected", "one missed", "one void"],
)
def test_the_demo_fails_when_a_verdict_is_not_as_it_must_be(verdicts: list[Verdict], code: int) -> None:
    assert exit_code(CASES, verdicts) == code


def test_a_verdict_that_was_not_expected_is_explained_by_its_reason() -> None:
    case = CASES[0]
    assert in_plain_words(case, factory.rejected(Status.wrong, "y differs")) == "expected accepted: y differs"
    assert in_plain_words(case, factory.rejected(Status.void, "disturbed")) == "not judged: disturbed"


@pytest.mark.parametrize(
    ("interval", "words"),
    [((1.01, 1.2), "faster than"), ((0.9, 1.1), "about as fast as"), ((0.5, 0.9), "slower than")],
)
def test_a_pace_says_no_more_than_its_interval(interval: tuple[float, float], words: str) -> None:
    score = Score(1.0, 1.0, 1.0, "geomean", 1.0, interval, None)
    shown = in_plain_words(CASES[0], factory.accepted(score=score))
    assert shown.startswith(f"right, and {words} the baseline")


def test_the_summary_has_a_row_a_kernel() -> None:
    console = Console(file=io.StringIO(), width=140)
    console.print(summary(CASES, AS_EXPECTED))
    assert isinstance(console.file, io.StringIO)
    rows = console.file.getvalue().splitlines()
    assert len(rows) == 1 + len(CASES) + 2
    assert "torch_add.py" in rows[1]
    assert "1.42x" in rows[1]
