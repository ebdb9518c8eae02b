"""What the rule of a duel says on simulated machines, where the truth is known, and what usual rules say.

Needs no device. The machines are those of tests/stats/machine.py; a pair has 12 blocks.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from hotlap.model import Outcome
from hotlap.stats import clopper_pearson, decide, screen, variance_components

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.stats.machine import MACHINES, MARGINS, Floats, ar1

SEED = 20261130
EFFECTS = (0.0, 0.25, 0.5, 1.0, 2.0)  # in margins
SCREEN_BLOCKS = 8


def duel_rows(duels: int, most: int) -> list[dict[str, Any]]:
    """By machine and true effect: shares of what a duel said that was read after every pair."""
    rows = []
    for name, machine in MACHINES.items():
        margin = MARGINS[name]
        for effect in EFFECTS:
            rng = np.random.default_rng(SEED)
            effects = machine.pair_effects(rng, duels, most, effect=effect * margin)
            said = [played([*row], margin, most) for row in effects]
            rows.append(
                {
                    "machine": name,
                    "margin": margin,
                    "effect": effect * margin,
                    "duels": duels,
                    "a": share(said, "a"),
                    "b": share(said, "b"),
                    "equivalent": share(said, "equivalent"),
                    "unresolved": share(said, "unresolved"),
                    "median_pairs": statistics.median(pairs for _, pairs in said),
                }
            )
    return rows


def played(effects: list[float], margin: float, most: int) -> tuple[str, int]:
    """Who is faster, or the outcome, and after how many pairs."""
    for pairs in range(2, most + 1):
        found = decide(effects[:pairs], margin)
        if found.verdict is not Outcome.unresolved:
            return found.faster or found.verdict.value, pairs
    return "unresolved", most


def share(said: list[tuple[str, int]], what: str) -> float:
    return sum(one == what for one, _ in said) / len(said)


def screen_rows(pairs: int) -> list[dict[str, Any]]:
    """By machine: how often one pair of a kernel with itself names a winner, where a pair's own part is known
    and where a calibration of 12 pairs found it."""
    rows = []
    for name, machine in MACHINES.items():
        rng = np.random.default_rng(SEED)
        known = wrong = 0
        for _ in range(pairs // 20):
            calibrating, _ = machine.blocks(rng, 12, 12)
            part = variance_components([[*row] for row in calibrating]).between_high
            for row in machine.blocks(rng, 20, SCREEN_BLOCKS)[0]:
                known += screen([*row], 1e-9, machine.part, 0.99).verdict is Outcome.decided
                wrong += screen([*row], 1e-9, part, 0.99).verdict is Outcome.decided
        count = pairs // 20 * 20
        rows.append(
            {"machine": name, "pairs": count, "known_part": known / count, "calibrated": wrong / count}
        )
    return rows


def usual_rows(trials: int) -> list[dict[str, Any]]:
    """How often usual rules name a winner between a kernel and itself, on two machines."""
    rows = []
    for name, drift, noise, process in (("calm calls", 2e-3, 2e-3, 1e-3), ("rough calls", 1e-2, 5e-3, 3e-3)):
        rng = np.random.default_rng(SEED)

        def alone(
            calls: int,
            rng: np.random.Generator = rng,
            scale: tuple[float, float, float] = (drift, noise, process),
        ) -> Floats:
            """log times of calls, each row in a process and at a time of its own, shape (trials, calls)."""
            drift, noise, process = scale
            shape = (trials, calls)
            logs = drift * ar1(rng, trials, calls, memory=2000.0) + rng.normal(scale=noise, size=shape)
            logs += (rng.random(shape) < 0.02) * rng.exponential(0.1, shape)
            return logs + rng.normal(scale=process, size=(trials, 1))

        rules: dict[str, Callable[[], Floats]] = {
            "means until their error is 0.1 %, then z > 1.96": lambda: by_means(alone(200), alone(200)),
            "least of 100, apart by 0.15 %": lambda: by_least(alone(100), alone(100)),
        }
        rows += [{"machine": name, "rule": rule, "wrong": float(f().mean())} for rule, f in rules.items()]
    for name in ("memory", "launch", "matrix"):
        effects = MACHINES[name].pair_effects(np.random.default_rng(SEED), trials, 24)
        rule = "up to 24 process pairs, a 95 % t interval read after each"
        rows.append({"machine": name, "rule": rule, "wrong": float(by_peeking(effects).mean())})
        blocks, _ = MACHINES[name].blocks(np.random.default_rng(SEED), trials, 48)
        radius = student.ppf(0.975, 47) * blocks.std(1, ddof=1) / math.sqrt(48)
        rule = "48 blocks of one process pair, a 95 % t interval"
        rows.append({"machine": name, "rule": rule, "wrong": float((np.abs(blocks.mean(1)) > radius).mean())})
    return rows


def by_means(a: Floats, b: Floats) -> Any:
    """Means of at least 100 calls, ended where they seem to be known to 0.1 %; shape (trials,) of bool."""

    def ended(logs: Floats) -> tuple[Floats, Floats]:
        times, n = np.exp(logs), np.arange(1, logs.shape[1] + 1)
        mean = np.cumsum(times, 1) / n
        variance = np.maximum(np.cumsum(times**2, 1) / n - mean**2, 0) * n / np.maximum(n - 1, 1)
        error = np.sqrt(variance / n) / mean
        done = (error < 1e-3) & (n >= 100)
        at = np.where(done.any(1), done.argmax(1), logs.shape[1] - 1), np.arange(len(logs))
        return np.log(mean[at[1], at[0]]), error[at[1], at[0]]

    (one, error), (other, other_error) = ended(a), ended(b)
    return np.abs(one - other) > 1.96 * np.hypot(error, other_error)


def by_least(a: Floats, b: Floats) -> Any:
    return np.abs(a.min(1) - b.min(1)) > 1.5e-3


def by_peeking(effects: Floats) -> Any:
    counts = np.arange(4, effects.shape[1] + 1)
    means = np.array([effects[:, :n].mean(1) for n in counts])
    errors = np.array([effects[:, :n].std(1, ddof=1) / math.sqrt(n) for n in counts])
    return (np.abs(means) > student.ppf(0.975, counts - 1)[:, None] * errors).any(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--duels", type=int, default=2000, help="of each kind")
    parser.add_argument("--most", type=int, default=24, help="pairs of a duel")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args()
    start = time.monotonic()
    duels = duel_rows(options.duels, options.most)
    screens, usual = screen_rows(options.duels), usual_rows(options.duels)
    if options.json:
        print(json.dumps({"duels": duels, "screens": screens, "usual": usual}))
        return
    low, high = clopper_pearson(round(0.05 * options.duels), options.duels)
    print(f"{options.duels} duels of each kind: a share of 5 % is known to [{low:.1%}, {high:.1%}]\n")
    print("| machine | margin | true effect | a faster | b faster | equivalent | unresolved | median pairs |")
    print("|---|---|---|---|---|---|---|---|")
    for row in duels:
        shares = " | ".join(f"{row[key]:.1%}" for key in ("a", "b", "equivalent", "unresolved"))
        effects = f"{row['margin']:.2%} | {row['effect']:.4%}"
        print(f"| {row['machine']} | {effects} | {shares} | {row['median_pairs']:g} |")
    print(f"\n| machine | screens of {SCREEN_BLOCKS} blocks | wrong, part known | wrong, part calibrated |")
    print("|---|---|---|---|")
    for row in screens:
        print(f"| {row['machine']} | {row['pairs']} | {row['known_part']:.2%} | {row['calibrated']:.2%} |")
    print("\n| machine | rule | names a winner between equals |\n|---|---|---|")
    for row in usual:
        print(f"| {row['machine']} | {row['rule']} | {row['wrong']:.0%} |")
    print(f"\n{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
