"""The contestants that wait on a device: warm ones for the next run, the null seat, the last baseline's."""

import contextlib
from collections.abc import Iterator
from typing import Generic, TypeVar

from hotlap.model import Fault
from hotlap.referee.seat import Seat

S = TypeVar("S", bound=Seat)


class Wings(Generic[S]):
    """Where contestants wait; a device is one."""

    def __init__(self, queued_s: float) -> None:
        self.queued_s = queued_s
        self.freezer_found: str | None = None
        self._warm: list[S] = []
        self._null: S | None = None
        self._baseline: tuple[str, S, str | None] | None = None

    def _start(self, imports: str, interpret_triton: bool) -> S:
        """A contestant in a sandbox of its own, which starts up while the caller goes on."""
        raise NotImplementedError

    def _calm(self, null: S) -> None:
        """Measure what empty rounds cost, before any author's code runs."""
        raise NotImplementedError

    def close(self) -> None:
        """End every contestant of this device."""
        for seat in (*self._warm, self._null, self._baseline and self._baseline[1]):
            if seat is not None:
                seat.close()
        self._warm, self._null, self._baseline = [], None, None

    def take_queued_s(self) -> float:
        """Seconds that were spent waiting for this device; charged to the first run on it."""
        taken, self.queued_s = self.queued_s, 0.0
        return taken

    def warm_up(self, count: int = 1) -> None:
        """Start contestants now, so that the next run finds them ready. Call it between runs only."""
        for seat in [seat for seat in self._warm if seat.process.poll() is not None]:
            self._warm.remove(seat)
            seat.close()
        while len(self._warm) < count:
            self._warm.append(self._start("torch", False))

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Hold the warm contestants still: one that is starting up would disturb what is being timed."""
        held = [seat for seat in self._warm if seat.process.poll() is None]
        for seat in held:
            seat.freeze()
        try:
            yield
        finally:
            for seat in held:
                seat.thaw()

    def take_seat(self, imports: str = "torch", interpret_triton: bool = False) -> S:
        """A contestant for one submission; nothing of any author has run in it. The caller closes it."""
        if imports == "torch" and not interpret_triton:
            while self._warm:
                seat = self._warm.pop(0)
                if seat.process.poll() is None:
                    seat.thaw()
                    return seat
                seat.close()
        return self._start(imports, interpret_triton)

    def null_seat(self) -> S:
        """A contestant of ours that makes no calls; shared by the runs on this device."""
        if self._null is None or self._null.process.poll() is not None:
            self.drop_null()
            self._null = null = self._start("bare", False)
            null.fault = Fault.harness
            try:
                null.await_start()
                self._calm(null)
            except BaseException:
                self.drop_null()  # the next run must not meet one that is half started
                raise
        return self._null

    def baseline_seat(self, key: str) -> tuple[S, str | None]:
        """The seat of a baseline, and its style if that is loaded; the last one is kept, no others."""
        if self._baseline is not None:
            kept, seat, style = self._baseline
            if kept == key and seat.process.poll() is None:
                return seat, style
        return self.new_baseline_seat(key), None

    def new_baseline_seat(self, key: str) -> S:
        """A fresh seat for a baseline, in place of the one that is kept."""
        self.drop_baseline()
        seat = self.take_seat()
        seat.fault = Fault.problem
        self._baseline = (key, seat, None)
        return seat

    def drop_baseline(self) -> None:
        """End the baseline's contestant: the next one starts afresh."""
        if self._baseline is not None:
            self._baseline[1].close()
            self._baseline = None

    def drop_null(self) -> None:
        """End the null seat: the next one starts afresh."""
        if self._null is not None:
            self._null.close()
            self._null = None

    def keep_baseline(self, key: str, seat: S, style: str) -> None:
        self._baseline = (key, seat, style)

    def gaps(self) -> list[str]:
        """What this machine cannot enforce for a contestant."""
        return self.null_seat().gaps
