"""Machines on which duels are simulated: what their rounds scatter by, and the blocks and pairs of it.

log time of a round = drift + what the process pair's side b has of its own + effect of side b + noise, then
rounded to the clock's tick. All in units of the log-ratio: 0.0005 is 0.05 %.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from hotlap.stats import hodges_lehmann

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Machine:
    """Standard deviations, except where said otherwise."""

    noise: float  # of a round
    part: float  # of a process pair's own part
    drift: float = 0.0  # shared by both sides: AR(1), correlated over `memory` rounds
    memory: float = 50.0
    outliers: float = 0.0  # share of rounds that something else on the machine makes longer ...
    longer: float = 0.0  # ... by this much on average
    tick: float = 0.0  # of the clock, as a share of a round
    slow_state: float = 0.0  # how much longer rounds are in a machine's second state, half of the time
    ends: float = 0.0  # how much longer a round at either end of a block is

    def blocks(
        self, rng: np.random.Generator, pairs: int, blocks: int, effect: float = 0.0
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Effects of the blocks, and whether each was ABBA; both of shape (pairs, blocks)."""
        shape = (pairs, blocks, 4)
        a_first = rng.random((pairs, blocks)) < 0.5
        outer = np.array([True, False, False, True])
        is_b = np.where(a_first[..., None], ~outer, outer)
        log_time = self.drift * ar1(rng, pairs, 4 * blocks, self.memory).reshape(shape)
        if self.slow_state:
            log_time += self.slow_state * (ar1(rng, pairs, 4 * blocks, self.memory).reshape(shape) > 0)
        side_b = effect + rng.normal(scale=self.part, size=(pairs, 1, 1))
        log_time += np.where(is_b, side_b, 0.0) + np.where(outer, self.ends, 0.0)
        log_time += rng.normal(scale=self.noise, size=shape)
        log_time += (rng.random(shape) < self.outliers) * rng.exponential(self.longer, shape)
        if self.tick:
            log_time = np.log(np.maximum(1.0, np.round(np.exp(log_time) / self.tick)) * self.tick)
        return np.where(is_b, log_time, -log_time).sum(-1) / 2, a_first

    def pair_effects(
        self, rng: np.random.Generator, duels: int, pairs: int, blocks: int = 12, effect: float = 0.0
    ) -> Floats:
        """Shape (duels, pairs): what a duel has from each process pair."""
        found, _ = self.blocks(rng, duels * pairs, blocks, effect)
        return np.array([hodges_lehmann(row) for row in found]).reshape(duels, pairs)


# Rounds of 5 ms on an H200 as a prototype of the referee measured them, a machine with all that may go wrong,
# and a virtual machine whose host has two speeds.
MACHINES = {
    "memory": Machine(noise=5.9e-4, part=0.0, drift=2e-3, tick=6.4e-6),
    "launch": Machine(noise=4.9e-4, part=2.0e-4, drift=2e-3, tick=6.4e-6),
    "matrix": Machine(noise=5.1e-4, part=6.4e-4, drift=2e-3, tick=6.4e-6),
    "harsh": Machine(noise=5e-3, part=1e-3, drift=1e-2, outliers=0.02, longer=0.1, tick=3e-4),
    "two speeds": Machine(noise=1e-2, part=2e-3, drift=1e-2, slow_state=0.2, memory=200.0),
}
# About what each can tell apart: the margin of its duels.
MARGINS = {"memory": 5e-4, "launch": 5e-4, "matrix": 5e-4, "harsh": 5e-3, "two speeds": 2e-2}


def ar1(rng: np.random.Generator, rows: int, length: int, memory: float) -> Floats:
    """Stationary, of standard deviation 1, shape (rows, length)."""
    keep = np.exp(-1 / memory)
    steps = rng.normal(size=(rows, length))
    steps[:, 1:] *= np.sqrt(1 - keep**2)
    drifting: Floats = lfilter([1.0], [1.0, -keep], steps, axis=1)
    return drifting
