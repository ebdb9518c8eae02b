"""Facts about the source of a submission, each with its line, for a reader.

A finding never decides: the referee makes a forged time or answer impossible, and the guard only tells a
reader where to look first. It does not find what is hidden on purpose, and it says nothing yet about C++.
"""

from collections.abc import Callable, Iterator

from hotlap.guard.rules import clock_patch, foreign_memory, pointer_cache, signal_timer, thread_start
from hotlap.guard.source import Fact, Source, parse
from hotlap.model import Finding, Submission

Rule = Callable[[Source], Iterator[Fact]]

RULES: dict[str, Rule] = {
    "timer-rebinding": clock_patch.find,
    "thread-start": thread_start.find,
    "foreign-memory": foreign_memory.find,
    "pointer-cache": pointer_cache.find,
    "signal-timer": signal_timer.find,
}
PYTHON = frozenset(("python", "triton"))
MAX_FINDINGS = 200  # a verdict is read by people
MAX_FACT = 200  # characters


def findings(submission: Submission) -> tuple[Finding, ...]:
    """The first 200 facts that the rules see, by line, each once. Empty for C++ and what is not Python."""
    source = parse(submission.source) if submission.lang in PYTHON else None
    if source is None:
        return ()
    facts = {(fact.line, rule, printable(fact.text)) for rule, find in RULES.items() for fact in find(source)}
    first = sorted(facts)[:MAX_FINDINGS]
    return tuple(Finding(rule, submission.file, line, text) for line, rule, text in first)


def printable(text: str) -> str:
    """The text on one line and without control characters: parts of a fact are the author's own words."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:MAX_FACT])
    return shown if len(shown) <= MAX_FACT else shown[: MAX_FACT - 1] + "…"
