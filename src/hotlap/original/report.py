"""What a folder's own eval script said, as frozen dataclasses. What it did not say is absent."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hotlap.model import Device, Sandbox, SubmissionInfo, Trust


class Outcome(StrEnum):
    """passed: every stage of both runs; failed: some stage did not; void: this machine cannot run it."""

    passed = "passed"
    failed = "failed"
    void = "void"


@dataclass(frozen=True)
class Stage:
    """One process of a run.

    mode: build (the submission alone, which decides nothing), test, benchmark or leaderboard. seconds: wall
    time from start to end. exit_code: None when it was ended; 128 + N when signal N killed it. lines: its
    result lines, all of them. reason: why it did not pass. output: the last 16 KB that it printed, escaped.
    """

    mode: str
    passed: bool
    reason: str | None
    exit_code: int | None
    seconds: float
    timeout_s: float
    lines: Mapping[str, str]
    output: str


@dataclass(frozen=True)
class Original:
    """What the eval script of a folder says of a submission. It never ranks.

    public: the stages of the run whose score counts. secret: those of its twin with a secret seed, in which
    all must pass too; empty where the public run did not pass. seed: the secret one, None where it was not
    needed. files_sha256: of the folder's files, the eval script's too, and the cases.
    """

    status: Outcome
    reason: str | None
    problem: str
    files_sha256: str
    submission: SubmissionInfo
    device: Device
    trust: Trust
    trust_reason: str
    sandbox: Sandbox
    ranking_by: str
    score_s: float | None
    score_reason: str | None
    seed: int | None
    public: tuple[Stage, ...]
    secret: tuple[Stage, ...]
    seconds: float
    started_at: str
    hotlap_version: str
