"""The score that KernelBot computes from the result lines of its leaderboard mode. Pure."""

import math
from collections.abc import Mapping

COUNT = "benchmark-count"
MOST_BENCHMARKS = 10_000  # that a script may say it has


class NoScore(Exception):
    """The lines hold no score; the message says why."""


def score_s(lines: Mapping[str, str], ranking_by: str) -> float:
    """Seconds: the one benchmark's mean (last), or the mean or geometric mean of all (mean, geom).

    The geometric mean goes through logarithms: a product of many short times underflows to 0, which nobody
    can beat. Raises NoScore.
    """
    times_s = [mean_ns(lines, index) / 1e9 for index in range(_count(lines))]
    if ranking_by == "last" and len(times_s) != 1:
        raise NoScore(f"{COUNT} is {len(times_s)}; ranking_by: last takes one benchmark")
    if ranking_by == "geom":
        return math.exp(math.fsum(map(math.log, times_s)) / len(times_s))
    return math.fsum(times_s) / len(times_s)


def mean_ns(lines: Mapping[str, str], index: int) -> float:
    """benchmark.INDEX.mean. Raises NoScore where it is missing, or no time."""
    key = f"benchmark.{index}.mean"
    try:
        value = float(lines[key])
    except KeyError:
        raise NoScore(f"the script wrote no {key}") from None
    except ValueError:
        raise NoScore(f"{key} is {lines[key][:80]!r}, not a number") from None
    if not (math.isfinite(value) and value > 0):
        raise NoScore(f"{key} is {value:g}, which is no time")
    return value


def _count(lines: Mapping[str, str]) -> int:
    said = lines.get(COUNT)
    if said is None:
        raise NoScore(f"the script wrote no {COUNT}")
    if not (said.isascii() and said.isdigit() and 0 < len(said) < 9 and 0 < int(said) <= MOST_BENCHMARKS):
        raise NoScore(f"{COUNT} is {said[:80]!r}, not a number from 1 to {MOST_BENCHMARKS}")
    return int(said)
