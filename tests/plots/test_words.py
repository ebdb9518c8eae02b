"""A verdict in sentences."""

from dataclasses import replace

import pytest

from hotlap.model import Fault, Status
from hotlap.plots import words
from tests.cli import factory
from tests.cli.factory import accepted, rejected


def scored(speedup: float, low: float, high: float) -> object:
    return accepted(score=replace(accepted().score, speedup=speedup, speedup_ci=(low, high)))


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (scored(1.42, 1.40, 1.44), "The answers are right, and it is 1.42 times as fast as the baseline."),
        (
            scored(0.80, 0.78, 0.82),
            "The answers are right, but it is slower than the baseline: 0.80 times as fast.",
        ),
        (
            scored(1.001, 0.99, 1.01),
            "The answers are right, and no difference from the speed of the baseline was found.",
        ),
        (
            accepted(score=replace(accepted().score, speedup=None, speedup_ci=None)),
            "The answers are right; a call takes 312.4 µs.",
        ),
        (
            accepted(score=None, score_reason="checked, not timed"),
            "The answers are right; no score: checked, not timed.",
        ),
        (rejected(Status.wrong, "n=7: y[0] is 1\nmore"), "An answer is wrong: n=7: y[0] is 1."),
        (rejected(Status.failed, "does not compile."), "The kernel failed: does not compile."),
        (
            rejected(Status.void, "no compiler", Fault.device),
            "Nothing can be said of this kernel: no compiler. Fault of the device; "
            "it never counts against it.",
        ),
        (
            rejected(Status.suspect, "n=7: below the floor", None),
            "The answers are right, but n=7: below the floor. It is no accusation, and it is not ranked.",
        ),
    ],
)
def test_the_verdict_is_said_in_plain_words(verdict: object, said: str) -> None:
    assert words.sentence(verdict) == said


def test_every_status_has_a_heading() -> None:
    assert set(words.HEADINGS) == set(Status)


def test_how_it_was_measured_names_clock_rounds_checks_and_sandbox() -> None:
    said = dict(words.measured(factory.on_gpu()))
    assert "stamps on the GPU" in said["Clock"]
    assert said["Rounds"] == "24 of 64 calls each"
    assert said["Checked"].startswith("at least 270 secretly chosen calls")
    assert "5 % of the calls" in said["Checked"]
    assert said["Launch"] == "mode graph and stream"
    assert "bubblewrap" in said["Sandbox"]


def test_self_reported_times_are_said_to_be_that() -> None:
    said = dict(words.measured(factory.claimed()))
    assert "SELF-REPORTED" in said["Clock"]
    assert "no IPC here" in said["Clock"]
    assert "Rounds" not in said


def test_the_command_that_reproduces_it_is_quoted() -> None:
    made = accepted(submission=replace(accepted().submission, file="my kernel;rm.py"))
    assert words.reproduce(made) == "hotlap run basics/softmax 'my kernel;rm.py' --device cpu"
    assert words.reproduce(factory.on_gpu()).endswith("--device cuda")


def test_each_reason_for_a_dash_is_given_once() -> None:
    bare = factory.bench(floor_ns=None, floor_reason="not calibrated")
    assert words.absences(accepted(workloads=(bare, bare, factory.untimed()))) == [
        "no floor: not calibrated",
        "test and hidden workloads are checked, never timed",
    ]
