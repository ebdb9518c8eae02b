"""Contestants that wait: who is taken, who is replaced, and that none is forgotten."""

from collections.abc import Iterator

import pytest

from hotlap.errors import OutOfDeviceMemory
from hotlap.model import Fault
from hotlap.referee.seat import Seat
from hotlap.referee.wings import Wings
from tests.referee.seats import CPUS, LIMITS


class Waiting(Wings[Seat]):
    """Wings of bare contestants, which start in no time; keeps every seat it ever started."""

    def __init__(self, queued_s: float = 0.0) -> None:
        super().__init__(queued_s)
        self.started: list[Seat] = []
        self.wanted: list[tuple[str, bool]] = []
        self.calmed: list[Seat] = []

    def _start(self, imports: str, interpret_triton: bool) -> Seat:
        self.wanted.append((imports, interpret_triton))
        self.started.append(Seat(CPUS, LIMITS, "bare"))
        return self.started[-1]

    def _calm(self, null: Seat) -> None:
        self.calmed.append(null)


@pytest.fixture
def wings() -> Iterator[Waiting]:
    made = Waiting(queued_s=1.5)
    yield made
    made.close()
    for seat in made.started:
        seat.close()


def is_alive(seat: Seat) -> bool:
    return seat.process.poll() is None


def end(seat: Seat) -> None:
    seat.process.kill()
    seat.process.wait()


def test_a_warm_contestant_is_taken_first(wings: Waiting) -> None:
    wings.warm_up(2)
    first, second = wings.started
    assert wings.take_seat() is first
    assert wings.take_seat() is second
    assert wings.take_seat() is wings.started[2]


@pytest.mark.parametrize(("imports", "interpret_triton"), [("bare", False), ("torch", True)])
def test_a_contestant_of_another_kind_is_started_afresh(
    wings: Waiting, imports: str, interpret_triton: bool
) -> None:
    wings.warm_up(1)
    assert wings.take_seat(imports, interpret_triton) is wings.started[1]
    assert wings.wanted[1] == (imports, interpret_triton)


def test_a_warm_contestant_that_died_is_not_taken(wings: Waiting) -> None:
    wings.warm_up(2)
    end(wings.started[0])
    assert wings.take_seat() is wings.started[1]
    assert not wings.started[0].folder.exists()


def test_warming_up_replaces_the_dead_and_starts_no_more_than_asked_for(wings: Waiting) -> None:
    wings.warm_up(2)
    wings.warm_up(2)
    assert len(wings.started) == 2
    end(wings.started[1])
    wings.warm_up(2)
    assert len(wings.started) == 3
    assert [is_alive(seat) for seat in wings.started] == [True, False, True]


def test_those_who_wait_are_frozen_while_it_is_quiet_and_run_again_after(wings: Waiting) -> None:
    wings.warm_up(2)
    with wings.quiet():
        assert [seat.frozen for seat in wings.started] == [True, True]
    assert [seat.frozen for seat in wings.started] == [False, False]


def test_a_contestant_that_is_taken_while_it_is_quiet_runs(wings: Waiting) -> None:
    wings.warm_up(1)
    with wings.quiet():
        assert not wings.take_seat().frozen


def test_the_null_seat_is_made_once_calmed_and_ours(wings: Waiting) -> None:
    null = wings.null_seat()
    assert wings.null_seat() is null
    assert wings.calmed == [null]
    assert null.fault == Fault.harness


def test_a_null_seat_that_is_not_calmed_is_not_kept(wings: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(null: Seat) -> None:
        raise OutOfDeviceMemory("nothing left")

    monkeypatch.setattr(wings, "_calm", full)
    with pytest.raises(OutOfDeviceMemory):
        wings.null_seat()
    assert not is_alive(wings.started[0])
    monkeypatch.undo()
    assert wings.null_seat() is wings.started[1]


def test_the_next_baseline_ends_the_last_one(wings: Waiting) -> None:
    first, style = wings.baseline_seat("a")
    assert style is None
    wings.keep_baseline("a", first, "out")
    assert wings.baseline_seat("a") == (first, "out")
    second, style = wings.baseline_seat("b")
    assert (style, second.fault) == (None, Fault.problem)
    assert [is_alive(seat) for seat in (first, second)] == [False, True]


def test_a_baseline_that_died_is_started_again(wings: Waiting) -> None:
    first, _ = wings.baseline_seat("a")
    wings.keep_baseline("a", first, "out")
    end(first)
    second, style = wings.baseline_seat("a")
    assert second is not first
    assert style is None


def test_a_fresh_baseline_s_seat_has_no_style_yet(wings: Waiting) -> None:
    first, _ = wings.baseline_seat("a")
    wings.keep_baseline("a", first, "out")
    second = wings.new_baseline_seat("a")
    assert wings.baseline_seat("a") == (second, None)
    assert not is_alive(first)


def test_waiting_for_the_device_is_charged_to_the_first_run_only(wings: Waiting) -> None:
    assert [wings.take_queued_s(), wings.take_queued_s()] == [1.5, 0.0]


def test_closing_ends_all_but_those_that_were_taken(wings: Waiting) -> None:
    wings.warm_up(2)
    taken = wings.take_seat()
    wings.null_seat()
    wings.baseline_seat("a")
    wings.close()
    assert [seat for seat in wings.started if is_alive(seat)] == [taken]
