"""What an empty round costs (c) with each freezer of this machine, in turn: GO, thaw, DONE, no call."""

import os
import statistics
from contextlib import ExitStack
from typing import Any

import common

from hotlap.referee.limits import Limits
from hotlap.referee.seat import Seat

FREEZERS = ("cgroup2", "cgroup1", "init")


def measure(rounds: int) -> tuple[dict[str, Any], list[str]]:
    cores = sorted(os.sched_getaffinity(0))
    times: dict[str, list[float]] = {}
    results: dict[str, Any] = {}
    lines = [f"{'freezer':10}{'median':>12}{'quartiles':>22}{'least':>10}{'most':>12}{'n':>6}"]
    with ExitStack() as ends:
        seats = {}
        for freezer in FREEZERS:
            seat = Seat(tuple(cores[1:]), Limits(), "bare", freezer)
            ends.callback(seat.close)
            if seat.freezer == freezer:
                seat.await_start()
                seats[freezer] = seat
        os.sched_setaffinity(0, {cores[0]})
        ends.callback(os.sched_setaffinity, 0, cores)
        for number in range(-5, rounds):  # the first ones warm up
            for freezer, seat in seats.items():
                seat.ready(0, [])
                ns = seat.time_round(5)
                seat.finish()
                if number >= 0:
                    times.setdefault(freezer, []).append(ns)
    for freezer in FREEZERS:
        if freezer not in times:
            results[freezer] = None
            lines.append(f"{freezer:10}{'not here':>12}")
            continue
        one = results[freezer] = common.spread(times[freezer])
        lines.append(
            f"{freezer:10}{one['median'] / 1e3:9.1f} µs{one['q1'] / 1e3:11.1f} to {one['q3'] / 1e3:.1f} µs"
            f"{one['min'] / 1e3:10.1f}{one['max'] / 1e3:12.1f}{one['n']:6}"
        )
    fastest = min(statistics.median(t) for t in times.values())
    lines += [f"{f} / fastest: {statistics.median(t) / fastest:.1f}" for f, t in times.items()]
    return {"c_ns": results}, lines


if __name__ == "__main__":
    options = common.arguments(__doc__, rounds=200)
    common.report(__doc__, options.json, lambda: measure(options.rounds))
