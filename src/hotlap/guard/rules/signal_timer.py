"""signal-timer: the source names a timer that sends signals, or the signal that wakes a stopped process.

Exploit: corpus/exploits/sigcont_timer.py. Honest twin: corpus/honest/signal_handler.py.
"""

from collections.abc import Iterator

from hotlap.guard.source import Fact, Source

NAMES = frozenset(
    ("timer_create", "timer_settime", "setitimer", "alarm", "ualarm", "SIGCONT", "pthread_sigqueue", "tgkill")
)


def find(source: Source) -> Iterator[Fact]:
    """A fact for each mention of a signal timer or of SIGCONT outside docstrings and comments."""
    for line, word in source.words:
        if word in NAMES:
            yield Fact(line, f"names {word}")
