"""A pair of processes on a GPU, one a rival: alive together, buffers of their own, rounds in turn.

Defends against: what one rival leaves on the GPU for the other's round (it is frozen meanwhile, and a gap
in the prologue shows what it had queued); addresses (the arrays of both sides lie in two places that stay the
same, and who gets which is drawn, and changes from pair to pair).
"""

import itertools
from collections.abc import Iterator, Sequence

from hotlap.errors import DeviceError, HarnessError
from hotlap.referee import caches
from hotlap.referee.case import account, draw
from hotlap.referee.clock_cuda import CudaSeat, CudaVault, Stalled
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.loading import imports, load
from hotlap.referee.measure import BASELINE_WORDS
from hotlap.referee.measure_cuda import RETRIES, Side, baseline_side, calls_per_round, first_mode, settle
from hotlap.referee.rivals import DUEL_ROUND, Bench, Block, Rival, RivalFailed
from hotlap.referee.rng import new_master_key
from hotlap.referee.rounds import RoundResult
from hotlap.referee.seat import SeatFailed

WARM = 6  # contestants whose frameworks load while others are timed
SINGLE_ROUNDS = 6


class CudaRivals:
    """One pair of processes. Close it before the next."""

    def __init__(self, device: CudaDevice, rivals: tuple[Rival, Rival], swapped: bool):
        self.device, self.rivals = device, rivals
        self.order = tuple(reversed(rivals)) if swapped else rivals
        self._numbers = itertools.count(DUEL_ROUND)
        self._sides: dict[str, Side] = {}
        self.clocks_mhz: dict[str, list[int]] = {rival.name: [] for rival in rivals}
        try:
            for rival in self.order:
                self._sides[rival.name] = self._start(rival)
            device.warm_up(WARM)
        except BaseException:
            self.close()
            raise

    def _start(self, rival: Rival) -> Side:
        case = rival.case
        case.master = new_master_key()
        seat = self._seat(rival)

        def restart(side: Side) -> None:
            rival.cached = caches.collect(side.seat)
            side.seat.close()
            side.seat = self._seat(rival)
            side.style, rival.mode = case.style, side.mode

        return Side(seat, case.style, restart, lambda error: error, True, rival.mode)

    def _seat(self, rival: Rival) -> CudaSeat:
        case = rival.case
        case.seat = seat = self.device.take_seat(imports(case.submission, "cuda"))
        seat.shelf = self.device.shelves[0 if rival is self.order[0] else 1]
        seat.handicap_ns = rival.handicap_ns
        try:
            seat.await_start()
            case.style = load(
                seat, case.problem, case.submission, case.library, rival.cached, case.reference.beside
            )
        except SeatFailed as error:
            raise RivalFailed(rival, error.failure) from None
        return seat

    def settle(self, bench: Bench) -> None:
        """Give both their buffers for a workload; each makes a round that is compared in full.

        Raises RivalFailed, DeviceError.
        """
        for side in self._sides.values():
            side.close()
        for rival in self.order:
            side, tally = self._sides[rival.name], rival.tally(bench.index)
            rival.case.pin(bench.axes)
            try:
                settle(rival.case, self.device, side, bench.index, bench.axes, bench.calls, tally)
            except SeatFailed as error:
                raise RivalFailed(rival, error.failure) from None
            if tally.failure is not None:
                raise RivalFailed(rival, tally.failure)
            rival.mode = side.mode
            side.seat.freeze()

    def blocks(
        self, bench: Bench, orders: Sequence[bool], wanted: Sequence[Sequence[int]], samples: int
    ) -> Iterator[Block]:
        """A block for each order (whether A goes first), after one that does not count.

        wanted: the calls of each round of a side that are compared in full, two rounds a block. samples:
        words of each round that are read at its end. Raises RivalFailed, DeviceError.
        """
        self._block(bench, orders[0], ([0], [0]), samples)
        for a_first, half in zip(orders, range(0, len(wanted), 2), strict=True):
            yield self._block(bench, a_first, wanted[half : half + 2], samples)

    def _block(self, bench: Bench, a_first: bool, wanted: Sequence[Sequence[int]], samples: int) -> Block:
        for _ in range(RETRIES + 1):
            times: dict[str, list[int]] = {rival.name: [] for rival in self.rivals}
            first, second = self.rivals if a_first else reversed(self.rivals)
            halves = ((first, second), (second, first))
            intruded = [
                self._pair(bench, half, calls, samples, times)
                for half, calls in zip(halves, wanted, strict=True)
            ]
            if not any(intruded):
                a, b = (times[rival.name] for rival in self.rivals)
                return Block((a[0], a[1]), (b[0], b[1]), self.device.empty_round(), a_first)
        raise DeviceError(
            "something else ran on the GPU while inputs were copied, in every retry: work that one of the "
            "kernels left behind, or another program's"
        )

    def _pair(
        self,
        bench: Bench,
        pair: Sequence[Rival],
        wanted: Sequence[int],
        samples: int,
        times: dict[str, list[int]],
    ) -> bool:
        """A round of each on the same inputs; whether something else had the GPU meanwhile."""
        number, case = next(self._numbers), pair[0].case
        vault = draw(case, bench.index, number, bench.axes, bench.calls)
        intruded = False
        for rival in pair:
            result = self._round(rival, bench, vault, wanted, samples, number)
            times[rival.name].append(result.time_ns)
            intruded |= bool(result.intrusion_ns)
            clock = self.device.see_clock()
            self.clocks_mhz[rival.name] += [] if clock is None else [clock]
        return intruded

    def _round(
        self, rival: Rival, bench: Bench, vault: CudaVault, wanted: Sequence[int], samples: int, number: int
    ) -> RoundResult:
        side, tally, case = self._sides[rival.name], rival.tally(bench.index), rival.case
        try:
            result = side.assignment.round(vault, wanted, samples, case.limits.measure_s)
        except SeatFailed as error:
            raise RivalFailed(rival, error.failure) from None
        except Stalled:
            raise HarnessError(f"{rival.name}'s calls were not queued in time") from None
        account(case, bench.axes, vault, result, tally, number)
        if tally.failure is not None:
            raise RivalFailed(rival, tally.failure)
        return result

    def singles(self, bench: Bench) -> dict[str, list[int]]:
        """Nanoseconds of some rounds of one call, of each rival: calls that share work cannot do so there."""
        times: dict[str, list[int]] = {rival.name: [] for rival in self.rivals}
        for rival in self.rivals if bench.calls > 1 else ():
            for _ in range(SINGLE_ROUNDS):
                number = next(self._numbers)
                vault = draw(rival.case, bench.index, number, bench.axes, 1)
                result = self._round(rival, bench, vault, [0], BASELINE_WORDS, number)
                times[rival.name].append(result.time_ns)
        return times

    def close(self) -> None:
        """End both processes; what their compilers cached is kept."""
        for rival in self.rivals:
            side = self._sides.get(rival.name)
            if side is not None:
                if not rival.cached:
                    rival.cached = caches.collect(side.seat)
                side.close()
            if rival.case.seat is not None:
                rival.case.seat.close()
                rival.case.seat = None


def calls_of_workloads(
    device: CudaDevice, rivals: tuple[Rival, Rival], indexed: Sequence[tuple[int, dict[str, int]]]
) -> list[int]:
    """Calls a round of each workload, from the baseline's time; its process ends afterwards. The places of an
    earlier duel are given back before.

    indexed: index and axes of each workload. Raises ProblemError, DeviceError.
    """
    device.empty_shelves()
    for rival in rivals:
        rival.mode = first_mode(rival.case.problem)
    case = rivals[0].case
    theirs = baseline_side(case, device, None)
    try:
        return [calls_per_round(case, device, theirs, index, axes) for index, axes in indexed]
    finally:
        theirs.close()
        device.drop_baseline()
