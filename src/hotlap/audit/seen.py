"""What a check sees on one workload, before it is known what the other workloads show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hotlap.audit.report import Severity


class Scope(Enum):
    """On which workloads a fault must be seen to count."""

    any = "any"
    deciding = "deciding"  # on one whose time counts: a kernel may take that one for itself
    every = "every"  # on all where it could be looked for


@dataclass(frozen=True)
class Seen:
    """One look. hit: whether the fault is there. fact: the fault in words, as a sentence without a stop."""

    check: str
    fact: str
    hit: bool
    severity: Severity
    scope: Scope
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Skip:
    """What could not be looked at on this workload, and why."""

    check: str
    reason: str


def known(**numbers: float | None) -> dict[str, float]:
    """The numbers that are there."""
    return {name: value for name, value in numbers.items() if value is not None}
