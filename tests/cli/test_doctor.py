"""The doctor's table."""

import io

import pytest
from rich.console import Console

from hotlap.cli.doctor import is_healthy, report
from hotlap.referee.doctor import Probe

FINE = Probe("sandbox", True, "bubblewrap 0.11", None, True)
BROKEN = Probe("compiler", False, "no g++", "apt-get install g++", True)
LESSER = Probe("triton", False, "not installed", "pip install triton", False)


def shown(*probes: Probe) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(report(probes))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("probes", "healthy"), [((FINE,), True), ((FINE, LESSER), True), ((FINE, BROKEN), False), ((), True)]
)
def test_a_machine_is_healthy_when_all_that_is_essential_works(
    probes: tuple[Probe, ...], healthy: bool
) -> None:
    assert is_healthy(probes) is healthy


def test_what_does_not_work_comes_with_its_fix() -> None:
    text = shown(FINE, BROKEN)
    assert "✓  sandbox" in text
    assert "✗  compiler" in text
    assert "fix: apt-get install g++" in text
    assert "no kernel can be judged here until fixed: compiler" in text


def test_what_is_not_needed_is_said_apart() -> None:
    assert "missing, but not needed: triton" in shown(FINE, LESSER)


def test_a_machine_with_everything_says_so() -> None:
    assert "with nothing missing" in shown(FINE)
