"""What a suite run gives: a row a sample, and the table that rows add up to.

How the table counts, so that it can be believed:
- Every problem of the suite is in it; one without a sample is not correct.
- What is void is nobody's failure: it leaves the denominator, and its number stands beside the share.
- A problem with several samples counts by the share of its samples, as if one of them had been drawn. Best
  of k is another number and has another name, pass@k.
- A sample that is right but has no speedup is correct, is not counted as fast, and is told.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hotlap.errors import UsageError
from hotlap.model import Device, Fault, Status
from hotlap.stats.fast_p import is_fast, is_surely_fast
from hotlap.stats.geomean import geomean_interval
from hotlap.stats.pass_at_k import pass_at_k
from hotlap.stats.proportion import clopper_pearson

BEST = "best of these"  # against the fastest of the baselines, sample by sample
DEFAULT = "default"  # the problem's first baseline
OVERALL = "all"
P_VALUES = (0.0, 0.5, 1.0, 1.5, 2.0)
_ROUNDING = 1e-9  # sums of shares such as 1/3 are not whole to the last bit


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; bounds are None where nothing is known of them."""

    value: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class SuiteRow:
    """One sample as it was judged. `problem` is suite/name@version. A row is written once, never edited."""

    problem: str
    sample: str
    file: str | None  # None, as all that an imported row does not say
    sha256: str | None
    lang: str | None
    status: Status
    fault: Fault | None
    reason: str | None
    compiled: bool  # it was built and loaded, so that it could be called
    time_ns: Estimate | None
    speedups: Mapping[str, Estimate]  # by baseline
    baseline_ns: Mapping[str, float]  # time of a baseline's call, geometric mean of the workloads
    no_speedup: str | None  # why there is none, where it is accepted
    attempts: int  # 2: void at first
    runs: tuple[str, ...]  # ids of the verdicts, for `hotlap check --replay`
    trust: str | None
    seconds: float | None  # of wall time, all attempts
    started_at: str | None


@dataclass(frozen=True)
class SuiteHeader:
    """What the rows of a journal are about. `problems` are all of the suite: the denominator."""

    suite: str
    problems: tuple[str, ...]
    baselines: tuple[str, ...]
    samples: (
        int | None
    )  # wanted a problem; those that are not there are not correct. None: as many as there are
    device: Device | None  # None, with the two below, where it was imported
    hotlap_version: str | None
    started_at: str | None


@dataclass(frozen=True)
class Share:
    """A share of `of` problems with its Clopper-Pearson interval (95 %), as if drawn from many more."""

    share: float
    ci_low: float
    ci_high: float
    of: int


@dataclass(frozen=True)
class FastP:
    """Share of problems that are correct with speedup > p; `sure` demands that of the lower bound."""

    p: float
    share: Share | None
    sure: Share | None


@dataclass(frozen=True)
class PassAtK:
    """Share of problems that one of k samples solves; `fast` solves them with speedup > 1 over `baseline`."""

    k: int
    share: Share
    fast: Share | None
    baseline: str


@dataclass(frozen=True)
class Against:
    """Speedups over one baseline. `geomean` is over problems with a correct sample, `problems` of them."""

    baseline: str
    fast_p: tuple[FastP, ...]
    geomean: Estimate | None
    problems: int


@dataclass(frozen=True)
class Group:
    """One suite or level, or all. Counts are of samples unless they say problems."""

    name: str
    problems: int
    void_problems: int  # all samples void: not in any share
    samples: int
    accepted: int
    wrong: int
    failed: int
    suspect: int
    void: int
    missing: int
    without_speedup: int
    correct: Share | None
    pass_at_k: tuple[PassAtK, ...]
    against: tuple[Against, ...]


@dataclass(frozen=True)
class SuiteReport:
    """The table: a group a suite or level, and one of all where there are several."""

    suite: str
    device: Device | None
    hotlap_version: str | None
    started_at: str | None
    baselines: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]


# --- rows by problem -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """A problem with the rows of its samples; `missing` samples were wanted and are not there."""

    problem: str
    rows: tuple[SuiteRow, ...]
    missing: int

    @property
    def counted(self) -> tuple[SuiteRow, ...]:
        """Rows that say something about the samples: all but the void ones."""
        return tuple(row for row in self.rows if row.status is not Status.void)

    @property
    def draws(self) -> int:
        """Samples that one could have drawn: those counted and those that are not there."""
        return len(self.counted) + self.missing


def by_problem(header: SuiteHeader, rows: Iterable[SuiteRow]) -> list[Judged]:
    """Every problem of the suite with its rows, in the header's order.

    Raises UsageError for a row of another problem.
    """
    found: dict[str, list[SuiteRow]] = {problem: [] for problem in header.problems}
    for row in rows:
        if row.problem not in found:
            raise UsageError(
                f"a row is of {row.problem}, which is none of the {len(found)} problems of {header.suite}; "
                "is this the journal of another suite?"
            )
        found[row.problem].append(row)
    return [_judged(problem, mine, header.samples) for problem, mine in found.items()]


def _judged(problem: str, rows: Sequence[SuiteRow], wanted: int | None) -> Judged:
    return Judged(problem, tuple(rows), max(0, (wanted or 1) - len(rows)))


def group_name(problem: str) -> str:
    """The suite or level of suite/name@version."""
    return problem.partition("/")[0]


# --- the table -------------------------------------------------------------------------------------


def report(
    header: SuiteHeader, rows: Iterable[SuiteRow], p_values: Sequence[float] = P_VALUES
) -> SuiteReport:
    """The table of these rows. Raises UsageError where they are not the header's."""
    several = len(header.baselines) > 1
    judged = by_problem(header, (with_best(row, header.baselines) if several else row for row in rows))
    names = list(dict.fromkeys(group_name(one.problem) for one in judged))
    parts = [(name, [one for one in judged if group_name(one.problem) == name]) for name in names]
    if len(parts) > 1:
        parts.append((OVERALL, judged))
    baselines = [*header.baselines, BEST] if several else list(header.baselines)
    groups = tuple(_group(name, mine, baselines, p_values) for name, mine in parts)
    return SuiteReport(
        header.suite,
        header.device,
        header.hotlap_version,
        header.started_at,
        tuple(baselines),
        groups,
        tuple(_notes(header, judged)),
    )


def _group(name: str, judged: Sequence[Judged], baselines: Sequence[str], p_values: Sequence[float]) -> Group:
    rows = [row for one in judged for row in one.rows]
    counts = {status: sum(row.status is status for row in rows) for status in Status}
    solved = [(one.draws, sum(map(is_correct, one.counted))) for one in judged if one.draws]
    return Group(
        name=name,
        problems=len(judged),
        void_problems=sum(one.draws == 0 for one in judged),
        samples=len(rows),
        accepted=counts[Status.accepted],
        wrong=counts[Status.wrong],
        failed=counts[Status.failed],
        suspect=counts[Status.suspect],
        void=counts[Status.void],
        missing=sum(one.missing for one in judged),
        without_speedup=sum(is_correct(row) and not row.speedups for row in rows),
        correct=share(passed / draws for draws, passed in solved),
        pass_at_k=_pass_at_k(judged, baselines),
        against=tuple(_against(baseline, judged, p_values) for baseline in baselines),
    )


def is_correct(row: SuiteRow) -> bool:
    """Accepted: a suspect one is held for a human and counts as not correct until then."""
    return row.status is Status.accepted


def with_best(row: SuiteRow, baselines: Sequence[str]) -> SuiteRow:
    """The row with its speedup over the best baseline, the smallest; it is known only where all are.

    The lower bound of the smallest holds as it stands: only the fastest baseline's own bound can miss it. The
    upper one may miss more often than 2.5 %.
    """
    found = [row.speedups[name] for name in baselines if name in row.speedups]
    if not found or len(found) < len(baselines):
        return row
    lows = [one.ci_low for one in found if one.ci_low is not None]
    highs = [one.ci_high for one in found if one.ci_high is not None]
    best = Estimate(
        min(one.value for one in found),
        min(lows) if len(lows) == len(found) else None,
        min(highs) if len(highs) == len(found) else None,
    )
    return replace(row, speedups={**row.speedups, BEST: best})


def _against(baseline: str, judged: Sequence[Judged], p_values: Sequence[float]) -> Against:
    means = [mean for one in judged if (mean := _geomean_of(one, baseline)) is not None]
    return Against(
        baseline, tuple(_fast_p(baseline, judged, p) for p in p_values), _geomean(means), len(means)
    )


def _geomean_of(one: Judged, baseline: str) -> Estimate | None:
    found = [row.speedups.get(baseline) for row in one.counted if is_correct(row)]
    return _geomean([each for each in found if each is not None])


def _geomean(values: Sequence[Estimate]) -> Estimate | None:
    """Geometric mean with the interval of independently measured values; bounds None where one has none."""
    if not values:
        return None
    lows = [-math.inf if v.ci_low is None else v.ci_low for v in values]
    highs = [math.inf if v.ci_high is None else v.ci_high for v in values]
    mean, low, high = geomean_interval([v.value for v in values], lows, highs)
    return Estimate(mean, low if math.isfinite(low) else None, high if math.isfinite(high) else None)


def _fast_p(baseline: str, judged: Sequence[Judged], p: float) -> FastP:
    pairs = [(row, row.speedups.get(baseline)) for one in judged for row in one.counted if is_correct(row)]
    measured = [found for _, found in pairs if found is not None]
    if p > 0 and pairs and not measured:
        return FastP(p, None, None)  # nobody was timed: no share is 0, it is unknown
    shares, sure = [], []
    for one in judged:
        if one.draws:
            shares.append(fast_samples(one, baseline, p) / one.draws)
            sure.append(fast_samples(one, baseline, p, sure=True) / one.draws)
    bounds_known = all(found.ci_low is not None for found in measured)
    return FastP(p, share(shares), share(sure) if bounds_known else None)


def fast_samples(one: Judged, baseline: str, p: float, *, sure: bool = False) -> int:
    """How many samples of a problem are correct with speedup > p, or surely so."""
    return sum(_counts_as_fast(row, baseline, p, sure) for row in one.counted)


def _counts_as_fast(row: SuiteRow, baseline: str, p: float, sure: bool) -> bool:
    found = row.speedups.get(baseline)
    if found is None:
        return is_correct(row) and p == 0
    if not sure:
        return is_fast(found.value, is_correct(row), p)
    return is_surely_fast(-math.inf if found.ci_low is None else found.ci_low, is_correct(row), p)


def _pass_at_k(judged: Sequence[Judged], baselines: Sequence[str]) -> tuple[PassAtK, ...]:
    """For k = 1, 2, 4, … up to the fewest samples of a problem that has some; none for single samples."""
    counted = [one for one in judged if one.draws]
    most = min((one.draws for one in counted if one.rows), default=0)
    if most < 2:
        return ()
    timed = any(row.speedups for one in counted for row in one.rows)
    ks = sorted({*(1 << power for power in range(most.bit_length())), most})
    strict = baselines[-1]
    return tuple(
        PassAtK(
            k,
            _shared(_at_k(one, k, sum(map(is_correct, one.counted))) for one in counted),
            share(_at_k(one, k, fast_samples(one, strict, 1.0)) for one in counted) if timed else None,
            strict,
        )
        for k in ks
    )


def _at_k(one: Judged, k: int, passed: int) -> float:
    return pass_at_k(one.draws, passed, k) if one.rows else 0.0  # no sample at all solves nothing


def _shared(values: Iterable[float]) -> Share:
    found = share(values)
    if found is None:
        raise ValueError("a share of no problems")
    return found


def share(values: Iterable[float]) -> Share | None:
    """The mean of a number from 0 to 1 for each problem; None for no problem.

    Where they are all 0 or 1 the interval is Clopper and Pearson's. Else theirs of the next whole number of
    problems outwards, which is wider: nothing between 0 and 1 scatters more than 0 and 1 do.
    """
    found = list(values)
    if not found:
        return None
    total = math.fsum(found)
    low, _ = clopper_pearson(math.floor(total + _ROUNDING), len(found))
    _, high = clopper_pearson(math.ceil(total - _ROUNDING), len(found))
    return Share(total / len(found), low, high, len(found))


def _notes(header: SuiteHeader, judged: Sequence[Judged]) -> list[str]:
    """What a reader must know to read the shares aright."""
    notes = []
    rows = [row for one in judged for row in one.rows]
    if absent := [one.problem.partition("@")[0] for one in judged if not one.rows]:
        notes.append(
            f"{_count(len(absent), 'problem')} without a sample, counted as not correct: {_some(absent)}"
        )
    elif short := sum(one.missing for one in judged):
        notes.append(f"{_count(short, 'sample')} of those wanted missing, counted as not correct")
    if void := sum(row.status is Status.void for row in rows):
        gone = sum(one.draws == 0 for one in judged)
        whole = f", and with them {_count(gone, 'problem')} that had no other" if gone else ""
        notes.append(
            f"{_count(void, 'sample')} void (not the author's fault), left out of every share{whole}"
        )
    if held := sum(row.status is Status.suspect for row in rows):
        notes.append(
            f"{_count(held, 'sample')} suspect (below the floor), counted as not correct until looked at"
        )
    untimed = [row for row in rows if is_correct(row) and not row.speedups]
    if untimed:
        why = _some(list(dict.fromkeys(row.no_speedup or "not timed" for row in untimed)))
        notes.append(f"{_count(len(untimed), 'correct sample')} without speedup, not counted as fast: {why}")
    if header.device is None:
        notes.append("imported: judged and timed elsewhere, not by hotlap")
    return notes


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def _some(words: Sequence[str], most: int = 5) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
