"""From looks at single workloads to findings of a problem. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hotlap.audit.report import AuditFinding, Severity, Soundness
from hotlap.audit.seen import Scope, Seen

TRIVIAL, NARROW = "trivial output", "tolerance narrow enough"
ESSENTIAL = {TRIVIAL, "repeatable", "inputs matter"}  # for a problem to be called sound
MEASURED = ("tolerance wide enough", "constant output", "cost", "finite")


@dataclass(frozen=True)
class Look:
    """One look on one workload; axes None for what is of no workload. decides: whether its time counts."""

    seen: Seen
    axes: Mapping[str, int] | None
    decides: bool


def findings_of(looks: Sequence[Look]) -> tuple[AuditFinding, ...]:
    """What counts of the faults that were seen, the worst first, then in order of checks.

    One that was not seen where it would count is left out, but for trivial outputs: a note says which tests
    test little.
    """
    by_subject: dict[tuple[str, str], list[Look]] = {}
    for look in looks:
        by_subject.setdefault((look.seen.check, _subject(look.seen)), []).append(look)
    found = [finding for group in by_subject.values() if (finding := _finding(group)) is not None]
    order = list(Severity)
    return (*sorted(found, key=lambda finding: order.index(finding.severity)), *_idle_tests(looks))


def _idle_tests(looks: Sequence[Look]) -> Iterable[AuditFinding]:
    """A note on workloads that accept a trivial output, where no time is at stake."""
    hits = [look for look in looks if look.seen.hit and look.seen.check == TRIVIAL and not look.decides]
    deciding = {look.seen.fact for look in looks if look.seen.hit and look.decides}
    idle = [look for look in hits if look.seen.fact not in deciding]
    if idle:
        axes = list(dict.fromkeys(tuple((look.axes or {}).items()) for look in idle))
        said = ", ".join(dict.fromkeys(look.seen.fact.partition(": ")[2] for look in idle))
        fact = f"some tests test little: they accept {said}"
        yield AuditFinding(TRIVIAL, Severity.note, fact, tuple(dict(each) for each in axes), {})


def _subject(seen: Seen) -> str:
    """What the fact is about: what stands in brackets are the details of one workload."""
    return seen.fact.partition(" (")[0] if seen.scope is Scope.any else seen.fact


def _finding(group: list[Look]) -> AuditFinding | None:
    hits = [look for look in group if look.seen.hit]
    if not hits:
        return None
    scope, first = hits[0].seen.scope, hits[0].seen
    if scope is Scope.every and len(hits) < len(group):
        return None
    if scope is Scope.deciding and not any(look.decides for look in hits):
        return None
    axes = tuple(look.axes for look in hits if look.axes is not None)
    return AuditFinding(
        first.check, first.severity, first.fact, axes, largest(look.seen.numbers for look in hits)
    )


def largest(numbers: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Each number at its largest."""
    found: dict[str, float] = {}
    for each in numbers:
        for name, value in each.items():
            found[name] = max(value, found.get(name, value))
    return found


def verdict_of(findings: Iterable[AuditFinding], looks: Iterable[Look]) -> Soundness:
    """The worst finding decides; sound is only what was looked at where it counts."""
    severities = {finding.severity for finding in findings}
    if Severity.broken in severities:
        return Soundness.broken
    if Severity.weak in severities:
        return Soundness.weak
    made = {look.seen.check for look in looks if look.decides}
    return Soundness.sound if made >= ESSENTIAL else Soundness.not_audited


def measures_of(looks: Iterable[Look]) -> dict[str, float]:
    """Numbers worth knowing of a sound problem too, each as near to a fault as it came: the least that a
    narrower type is off by on a workload that decides, the most of all others on any workload."""
    found: dict[str, float] = {}
    for look in looks:
        is_narrow = look.seen.check == NARROW
        if is_narrow and not look.decides:
            continue
        if is_narrow or look.seen.check in MEASURED:
            nearest = min if is_narrow else max
            for name, value in look.seen.numbers.items():
                found[name] = nearest(value, found.get(name, value))
    return found
