"""Two submissions side by side: what outlives their processes, and what a block of rounds gives."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from hotlap.model import Failure, PairBlocks, Workload
from hotlap.problems import shapes
from hotlap.referee.case import Case, Tally
from hotlap.referee.clock_cuda import MODES

DUEL_ROUND = 10_000_000  # rounds of duels, counted on over all of one, so that no key serves twice
BLOCK_ROUNDS = 4


class RivalFailed(Exception):
    """One of the two could not go on; `rival` says which."""

    def __init__(self, rival: "Rival", failure: Failure):
        super().__init__(failure.message)
        self.rival, self.failure = rival, failure


@dataclass
class Rival:
    """One of two: its case, what its compilers cached, and on a GPU the mode it needs."""

    name: str  # a or b
    case: Case
    mode: str = MODES[0]
    cached: bytes = b""
    handicap_ns: int = 0
    tallies: dict[int, Tally] = field(default_factory=dict)  # of each workload, by its index

    def tally(self, index: int) -> Tally:
        return self.tallies.setdefault(index, Tally())


@dataclass(frozen=True)
class Bench:
    """A workload that is timed: its index in the run, all its axes, and calls a round."""

    index: int
    workload: Workload
    axes: dict[str, int]
    calls: int


@dataclass(frozen=True)
class Block:
    """Four rounds in the order ABBA or BAAB, nanoseconds, and an empty one."""

    a_ns: tuple[int, int]
    b_ns: tuple[int, int]
    empty_ns: int
    a_first: bool


def bench_of(case: Case, index: int, workload: Workload, calls: int) -> Bench:
    return Bench(index, workload, shapes.all_axes(case.problem, workload.axes), calls)


def summed_up(blocks: Sequence[Block], calls: int) -> PairBlocks | None:
    """The log-ratios of a pair's blocks, the median empty round taken off every round; None where a round was
    no longer than that."""
    empty = statistics.median(block.empty_ns for block in blocks)
    a = [[t - empty for t in block.a_ns] for block in blocks]
    b = [[t - empty for t in block.b_ns] for block in blocks]
    if min(map(min, (*a, *b))) <= 0:
        return None
    return PairBlocks(
        effects=tuple(_mean_log(y) - _mean_log(x) for x, y in zip(a, b, strict=True)),
        a_first=tuple(block.a_first for block in blocks),
        a_ns=statistics.median(t for times in a for t in times) / calls,
        b_ns=statistics.median(t for times in b for t in times) / calls,
    )


def timed_ns(blocks: Sequence[Block]) -> int:
    """Nanoseconds that the calls of both sides took."""
    return sum(sum(block.a_ns) + sum(block.b_ns) - BLOCK_ROUNDS * block.empty_ns for block in blocks)


def _mean_log(times: Sequence[float]) -> float:
    return sum(map(math.log, times)) / len(times)
