"""What an audit says: a verdict on each problem, with the evidence. JSON is made by `hotlap.schema`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Soundness(StrEnum):
    """What an audit says of a problem."""

    sound = "sound"
    weak = "weak"  # something less than the whole work passes
    broken = "broken"  # no work passes, or right work does not
    not_audited = "not audited"  # too large or too slow for the budgets


class Severity(StrEnum):
    """What a finding makes of its problem; a note changes nothing."""

    broken = "broken"
    weak = "weak"
    note = "note"


@dataclass(frozen=True)
class AuditFinding:
    """One fault. `workloads`: axes of those that show it; none for what is not of a workload.

    `numbers`: evidence, the worst over these workloads.
    """

    check: str
    severity: Severity
    fact: str
    workloads: tuple[Mapping[str, int], ...]
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class NotAudited:
    """A check, or with check None a whole workload, that was not made, and why."""

    check: str | None
    axes: Mapping[str, int] | None
    reason: str


@dataclass(frozen=True)
class ProblemAudit:
    """One problem. `measures`: numbers of the checks that passed too, each the largest over all workloads.

    `call_bytes`: inputs and outputs of the largest workload, by profile; empty where they are not known.
    """

    problem: str
    verdict: Soundness
    findings: tuple[AuditFinding, ...]
    not_audited: tuple[NotAudited, ...]
    checks: tuple[str, ...]
    audited: tuple[Mapping[str, int], ...]
    workloads: int
    measures: Mapping[str, float]
    call_bytes: Mapping[str, int]
    seconds: float


@dataclass(frozen=True)
class Audit:
    """One problem or more. `counts`: how many problems got each verdict."""

    target: str
    counts: Mapping[Soundness, int]
    problems: tuple[ProblemAudit, ...]
    seconds: float
    hotlap_version: str
