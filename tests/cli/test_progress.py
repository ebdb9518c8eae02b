"""Progress, which must not disturb what it reports on."""

import io
import threading

import pytest
from rich.console import Console

from hotlap.cli import progress
from hotlap.cli.progress import Reporter, reporting


def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Pretends that stderr is a terminal, and returns what is drawn on it."""
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=80, markup=False)
    monkeypatch.setattr(progress, "stderr", lambda: console)
    return drawn


def test_progress_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    before = threading.active_count()
    with reporting() as report:
        report("measuring", 0.5)
        assert threading.active_count() == before


def test_a_terminal_shows_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = terminal(monkeypatch)
    with reporting() as report:
        report("checking [red]x[/]", None)
        report("measuring \x1b[2J", 0.5)
    assert "checking [red]x[/]" in drawn.getvalue()
    assert r"measuring \x1b[2J" in drawn.getvalue()


def test_a_hidden_line_is_erased_and_comes_back_with_the_next_report(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = terminal(monkeypatch)
    with reporting() as report:
        report("measuring", 0.5)
        report.hide()
        assert drawn.getvalue().rstrip("\x1b[?25h").endswith("\x1b[2K")  # the line is erased
        report("judging")
    assert "judging" in drawn.getvalue()


def test_without_a_terminal_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting() as report:
        report("measuring", 0.5)
    assert capsys.readouterr() == ("", "")


def test_verbose_says_each_phase_once_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(verbose=True) as report:
        report("measuring", 0.1)
        report("measuring", 0.2)
        report("judging")
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split("  ")[-1] for line in err.splitlines()] == ["measuring", "judging"]


def test_waiting_for_a_device_is_said_once_even_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reporting() as report:
        assert isinstance(report, Reporter)
        for _ in range(3):
            report.waiting("cpu is in use by another run; waiting")
    assert capsys.readouterr().err == "cpu is in use by another run; waiting\n"
