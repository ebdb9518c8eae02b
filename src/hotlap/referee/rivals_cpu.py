"""A pair of processes on a CPU, one a rival: rounds in turn on the same cores, the other one frozen."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from hotlap.referee.case import Case, account, draw, prepare
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.loading import imports, load
from hotlap.referee.measure import SideFailed, baseline_seat, calls_per_round, paired_rounds
from hotlap.referee.rivals import DUEL_ROUND, Bench, Block, Rival, RivalFailed
from hotlap.referee.rng import new_master_key
from hotlap.referee.rounds import Assignment
from hotlap.referee.seat import Seat, SeatFailed


class CpuRivals:
    """One pair of processes. Close it before the next."""

    def __init__(self, device: CpuDevice, rivals: tuple[Rival, Rival], swapped: bool):
        self.device, self.rivals = device, rivals
        self.order = tuple(reversed(rivals)) if swapped else rivals
        self.clocks_mhz: dict[str, list[int]] = {rival.name: [] for rival in rivals}
        self._numbers = itertools.count(DUEL_ROUND)
        self._work: dict[str, Assignment] = {}
        self._ends = ExitStack()
        try:
            for rival in self.order:  # both start up at once
                case = rival.case
                case.master = new_master_key()
                case.seat = device.take_seat(imports(case.submission, "cpu"))
                case.seat.handicap_ns = rival.handicap_ns
            for rival in self.order:
                self._load(rival)
            self._ends.enter_context(device.quiet())
            device.set_referee_affinity()
            self._ends.callback(device.restore_affinity)
        except BaseException:
            self.close()
            raise

    def _load(self, rival: Rival) -> None:
        case = rival.case
        try:
            case.seat.await_start()
            case.style = load(
                case.seat, case.problem, case.submission, case.library, beside=case.reference.beside
            )
        except SeatFailed as error:
            raise RivalFailed(rival, error.failure) from None

    def settle(self, bench: Bench) -> None:
        """Give both their buffers for a workload; each makes a call that is compared in full.

        Raises RivalFailed.
        """
        self._drop_work()
        for rival in self.order:
            case, seat, tally = rival.case, rival.case.seat, rival.tally(bench.index)
            try:
                case.pin(bench.axes)
                prepare(seat, bench.axes, case.call)
                work = Assignment(case.problem, bench.axes, seat, case.style, bench.calls)
                self._work[rival.name] = work
                number = next(self._numbers)
                vault = draw(case, bench.index, number, bench.axes, 1)
                result = work.round(vault, [0], 64, case.limits.prepare_s)
                account(case, bench.axes, vault, result, tally, number)
                seat.freeze()
            except SeatFailed as error:
                raise RivalFailed(rival, error.failure) from None
            if tally.failure is not None:
                raise RivalFailed(rival, tally.failure)

    def blocks(
        self, bench: Bench, orders: Sequence[bool], wanted: Sequence[Sequence[int]], samples: int
    ) -> Iterator[Block]:
        """A block for each order (whether A goes first), after one that does not count.

        wanted: the calls of each round of a side that are compared in full, two rounds a block. samples:
        words of each round that are read at its end. Raises RivalFailed, HarnessError.
        """
        self._block(bench, orders[0], ([0], [0]), samples)
        for a_first, half in zip(orders, range(0, len(wanted), 2), strict=True):
            yield self._block(bench, a_first, wanted[half : half + 2], samples)

    def _block(self, bench: Bench, a_first: bool, wanted: Sequence[Sequence[int]], samples: int) -> Block:
        times: dict[str, list[int]] = {rival.name: [] for rival in self.rivals}
        first, second = self.rivals if a_first else reversed(self.rivals)
        halves = ((first, second), (second, first))
        empty_ns = [
            self._pair(bench, half, calls, samples, times) for half, calls in zip(halves, wanted, strict=True)
        ]
        a, b = (times[rival.name] for rival in self.rivals)
        return Block((a[0], a[1]), (b[0], b[1]), min(empty_ns), a_first)

    def _pair(
        self,
        bench: Bench,
        pair: Sequence[Rival],
        wanted: Sequence[int],
        samples: int,
        times: dict[str, list[int]],
    ) -> int:
        """A round of each on the same inputs; nanoseconds of an empty one."""
        number, case, null = next(self._numbers), pair[0].case, self.device.null_seat()
        vault = draw(case, bench.index, number, bench.axes, bench.calls)
        sides = [self._work[rival.name] for rival in pair]
        try:
            results, empty_ns = paired_rounds(case, null, sides, vault, wanted, samples)
        except BaseException as broken:
            self.device.drop_null()  # it may wait for a GO that does not come: the next pair must not meet it
            if isinstance(broken, SideFailed):
                raise RivalFailed(pair[sides.index(broken.side)], broken.error.failure) from None
            raise
        for rival, side in zip(pair, sides, strict=True):
            tally = rival.tally(bench.index)
            account(rival.case, bench.axes, vault, results[side], tally, number)
            if tally.failure is not None:
                raise RivalFailed(rival, tally.failure)
            times[rival.name].append(results[side].time_ns)
        return empty_ns

    def singles(self, bench: Bench) -> dict[str, list[int]]:
        """None: calls that overlap are not told from others on a CPU."""
        return {rival.name: [] for rival in self.rivals}

    def _drop_work(self) -> None:
        for work in self._work.values():
            work.close()
        self._work = {}

    def close(self) -> None:
        """End both processes."""
        self._ends.close()
        self._drop_work()
        for rival in self.rivals:
            if rival.case.seat is not None:
                rival.case.seat.close()
                rival.case.seat = None


def calls_of_workloads(
    device: CpuDevice, rivals: tuple[Rival, Rival], indexed: Sequence[tuple[int, dict[str, int]]]
) -> list[int]:
    """Calls a round of each workload, from the baseline's time; its process ends afterwards.

    indexed: index and axes of each workload. Raises ProblemError, DeviceError.
    """
    case: Case = rivals[0].case
    null: Seat = device.null_seat()
    null.freeze()
    seat, style = baseline_seat(case, None)
    device.set_referee_affinity()
    try:
        return [calls_per_round(case, seat, style, null, index, axes) for index, axes in indexed]
    finally:
        device.restore_affinity()
        device.drop_baseline()
