"""What an empty round costs (c) with each freezer of this machine, in turn: GO, thaw, DONE, no call.

Then with the first freezer, after the contestants' core had nothing to do for a while, as it has while a
referee fills the slots of a round; and that of a second seat right after, which finds the core awake.
"""

import os
import statistics
import time
from contextlib import ExitStack
from typing import Any

import common

from hotlap.referee.limits import Limits
from hotlap.referee.seat import Seat

FREEZERS = ("cgroup2", "cgroup1", "init")
IDLE_MS = (0.0, 1.0, 10.0)


def after_idling(first: Seat, second: Seat, idle_ms: float, rounds: int) -> tuple[list[int], list[int]]:
    """Nanoseconds of empty rounds of two seats, one after the other, after so long without work."""
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(rounds):
        first.ready(0, [])
        second.ready(0, [])
        end = time.perf_counter() + idle_ms / 1e3
        while time.perf_counter() < end:
            pass
        for seat, one in zip((first, second), times, strict=True):
            one.append(seat.time_round(5))
        first.finish()
        second.finish()
    return times


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
        first = next(iter(seats.values()))
        second = Seat(tuple(cores[1:]), Limits(), "bare", first.freezer or "best")
        ends.callback(second.close)
        second.await_start()
        idle, idle_lines = [], []
        for idle_ms in IDLE_MS:
            pair = [common.spread(t) for t in after_idling(first, second, idle_ms, -(-rounds // 2))]
            idle.append({"idle_ms": idle_ms, "first": pair[0], "second": pair[1]})
            idle_lines.append(
                f"after {idle_ms:g} ms without work: first {pair[0]['median'] / 1e3:.0f} µs, "
                f"second {pair[1]['median'] / 1e3:.0f} µs"
            )
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
    return {"c_ns": results, "after_idling": idle}, lines + idle_lines


if __name__ == "__main__":
    options = common.arguments(__doc__, rounds=200)
    common.report(__doc__, options.json, lambda: measure(options.rounds))
