"""Progress on stderr while a kernel is judged, without a thread.

A refresh thread would wake up inside a measured round and take a core from it, so the line is redrawn
only when the referee reports, which it does between rounds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from hotlap.cli.console import stderr
from hotlap.text import clean

_REDRAW_S = 0.1


class Reporter:
    """Called with a phase and the done fraction of it (0 to 1, or None where it is not known)."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._started = monotonic()
        self._phase: str | None = None
        self._waiting_for: str | None = None

    def __call__(self, phase: str, fraction: float | None = None) -> None:
        """Verbose: a plain line for each new phase. Otherwise silent."""
        if phase == self._phase:
            return
        self._phase = phase
        if self._verbose:
            self._say(f"{monotonic() - self._started:6.1f} s  {phase}")

    def waiting(self, message: str) -> None:
        """Says once, terminal or not, why nothing happens: somebody else holds the device."""
        if message != self._waiting_for:
            self._waiting_for = message
            self._say(message)

    def hide(self) -> None:
        """Leave the terminal clean for results on stdout, until the next report."""

    def _say(self, message: str) -> None:
        self._console.print(Text(clean(message)), soft_wrap=True)


class _LineReporter(Reporter):
    """One transient line: phase, bar."""

    def __init__(self, console: Console, bar: Progress) -> None:
        super().__init__(console, verbose=False)
        self._bar = bar
        self._task: TaskID = bar.add_task("starting", total=None)
        self._drawn = 0.0

    def __call__(self, phase: str, fraction: float | None = None) -> None:
        now = monotonic()
        if phase == self._phase and now - self._drawn < _REDRAW_S:
            return
        self._phase, self._drawn = phase, now
        self._bar.start()  # does nothing unless hidden
        # The description is a markup string to rich: Text in the field keeps brackets in it harmless.
        self._bar.update(
            self._task,
            description=clean(phase, one_line=True),
            total=None if fraction is None else 1.0,
            completed=fraction or 0.0,
            refresh=True,
        )

    def hide(self) -> None:
        self._bar.stop()


@contextmanager
def reporting(*, verbose: bool = False) -> Iterator[Reporter]:
    """A reporter for one command: a transient line on a terminal, plain lines if `verbose`, else silence."""
    console = stderr()
    if verbose or not console.is_terminal:
        yield Reporter(console, verbose=verbose)
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bar:
        yield _LineReporter(console, bar)
