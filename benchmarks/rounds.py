"""How long a round should be, and how close the two sides of a pair: what decision 0003 rests on.

A/A on basics/vectoradd: two contestants with the same code. For each length, `together` fills both sides and
times both back to back; `apart` fills, times and reads one side before the other. Told: the round-to-round
sd of one side, the correlation of the two sides, the sd of the pair's ratio, what a pair costs, and the
standard error that a workload's budget (1.4 s) buys with it.
"""

import math
import statistics
import time
from collections.abc import Sequence
from typing import Any

import common

from hotlap.model import Problem
from hotlap.problems import shapes
from hotlap.problems.find import find
from hotlap.problems.reference import Reference, load_reference
from hotlap.referee.device import CpuDevice, open_device
from hotlap.referee.measure import WORKLOAD_S
from hotlap.referee.referee import load
from hotlap.referee.rng import derive, new_master_key
from hotlap.referee.rounds import Assignment, Vault, draw_vault

CALLS = (16, 32, 64, 224)
DISCARDED = 3


class Rounds:
    """Two contestants with the code of the baseline, and fresh inputs for them."""

    def __init__(self, device: CpuDevice, problem: Problem, reference: Reference, axes: dict[str, int]):
        self.device, self.problem, self.reference, self.axes = device, problem, reference, axes
        self.master, self.drawn = new_master_key(), 0
        self.seats = [device.take_seat(), device.take_seat()]
        for seat in self.seats:
            seat.await_start()
            submission = common.baseline_as_submission(problem)
            self.style = load(seat, problem, submission, submission.source.encode())

    def vault(self, calls: int) -> Vault:
        self.drawn += 1
        keys = [derive(self.master, self.drawn, call) for call in range(calls)]
        return draw_vault(self.problem, self.reference, self.axes, keys, self.device.pool)

    def sides(self, calls: int) -> list[Assignment]:
        pair = []
        for seat in self.seats:
            seat.thaw()
            seat.ask("prepare", 60, op="prepare", axes=self.axes)
            side = Assignment(self.problem, self.axes, seat, self.style, calls)
            side.round(self.vault(1), [0], 64, 10)
            seat.freeze()
            pair.append(side)
        return pair


def pair_ns(sides: Sequence[Assignment], vault: Vault, together: bool) -> dict[Assignment, int]:
    """Nanoseconds of one round of each side."""
    times = {}
    if together:
        for side in sides:
            side.fill(vault)
        for side in sides:
            times[side] = side.seat.time_round(10)
        for side in sides:
            side.read(times[side], [], 64)
    else:
        for side in sides:
            side.fill(vault)
            times[side] = side.seat.time_round(10)
            side.read(times[side], [], 64)
    return times


def series(rounds: Rounds, calls: int, pairs: int, together: bool) -> dict[str, float]:
    mine, theirs = rounds.sides(calls)
    a, b = [], []
    start = time.monotonic()
    for pair in range(-DISCARDED, pairs):
        if pair == 0:
            start = time.monotonic()
        order = (mine, theirs) if pair % 4 in (0, 3) else (theirs, mine)
        times = pair_ns(order, rounds.vault(calls), together)
        if pair >= 0:
            a.append(math.log(times[mine]))
            b.append(math.log(times[theirs]))
    pair_s = (time.monotonic() - start) / pairs
    mine.close()
    theirs.close()
    sd = statistics.stdev([y - x for x, y in zip(a, b, strict=True)])
    return {
        "calls": calls,
        "round_ms": math.exp(statistics.median(a)) / 1e6,
        "sd_of_a_round": statistics.stdev(a),
        "correlation": statistics.correlation(a, b),
        "sd_of_a_pair": sd,
        "pair_s": pair_s,
        "budget_standard_error": sd / math.sqrt(WORKLOAD_S / pair_s),
    }


def measure(pairs: int) -> tuple[dict[str, Any], list[str]]:
    problem = common.with_one_bench(find("basics/vectoradd"))
    axes = shapes.all_axes(problem, problem.workloads[0].axes)
    rows = []
    heads = ("calls", "round", "sd", "corr", "sd pair", "a pair", "budget")
    lines = [f"{'sides':10}{''.join(f'{head:>10}' for head in heads)}"]
    with open_device() as device:
        rounds = Rounds(device, problem, load_reference(problem), axes)
        device.set_referee_affinity()
        for calls in CALLS:
            for together in (True, False):
                name = "together" if together else "apart"
                one = series(rounds, calls, pairs, together)
                rows.append({"order": name, **one})
                lines.append(
                    f"{name:10}{calls:10}{one['round_ms']:7.2f} ms{100 * one['sd_of_a_round']:8.1f} %"
                    f"{one['correlation']:10.2f}{100 * one['sd_of_a_pair']:8.1f} %"
                    f"{1e3 * one['pair_s']:7.1f} ms{100 * one['budget_standard_error']:8.2f} %"
                )
        device.restore_affinity()
        for seat in rounds.seats:
            seat.close()
    return {"rows": rows, "pairs": pairs}, lines


if __name__ == "__main__":
    options = common.arguments(__doc__, pairs=80)
    common.report(__doc__, options.json, lambda: measure(options.pairs))
