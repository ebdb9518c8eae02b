"""What a machine tells apart is computed from all its pairs of processes, and kept with its calibration."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hotlap.calibrate import load_calibration, update
from hotlap.calibrate.canary import check
from hotlap.calibrate.duels import claims, duel_with_itself, kinds_found, steps_found
from hotlap.errors import UsageError
from hotlap.model import Calibration, Ceiling, Interval, PairBlocks, Period
from hotlap.referee.device import CpuDevice, open_device


def period(
    kind: str = "memory",
    pairs: int = 16,
    effect: float = 0.0,
    placement: float = 0.0,
    sd: float = 1e-4,
    true_effect: float = 0.0,
    seed: int = 1,
) -> Period:
    """Pairs of eight blocks each: their own part is `sd`, blocks scatter by it too, placements alternate."""
    rng = random.Random(seed)
    made = []
    for number in range(pairs):
        centre = effect + rng.gauss(0, sd) + (placement if number % 2 == 0 else -placement)
        blocks = tuple(centre + rng.gauss(0, sd) for _ in range(8))
        made.append(PairBlocks(blocks, tuple(rng.random() < 0.5 for _ in blocks), 1.0, 1.0, number % 2 == 0))
    return Period(kind, "2026-11-30", true_effect, tuple(made))


def test_the_floor_of_eight_pairs_is_that_of_their_own_part() -> None:
    (found,) = kinds_found([period(pairs=400)])
    own_part = (1 + 1 / 8) ** 0.5 * 1e-4
    assert found.floor95.estimate == pytest.approx(1.96 * own_part / 8**0.5, rel=0.15)
    assert found.floor95.high > found.floor95.estimate
    assert found.pairs == 400


def test_periods_of_one_kind_are_pooled_and_kinds_kept_apart() -> None:
    found = list(kinds_found([period(seed=1), period("launch", seed=2), period(seed=3)]))
    assert [(one.kind, one.pairs) for one in found] == [("memory", 32), ("launch", 16)]


def test_what_the_placement_is_worth_is_stated_and_does_not_raise_the_floor() -> None:
    (plain,) = kinds_found([period(pairs=64)])
    (placed,) = kinds_found([period(pairs=64, placement=1e-3)])
    assert placed.placement.low < 1e-3 < placed.placement.high
    assert placed.placement.low > 9e-4
    assert placed.floor95.estimate == pytest.approx(plain.floor95.estimate, rel=0.05)


def test_places_are_those_of_one_period_and_may_be_worth_the_opposite_in_the_next() -> None:
    (plain,) = kinds_found([period(seed=1), period(seed=2)])
    (placed,) = kinds_found([period(seed=1, placement=3e-3), period(seed=2, placement=-2e-3)])
    assert placed.floor95.estimate == pytest.approx(plain.floor95.estimate, rel=0.05)
    assert placed.placement.low < 3e-3 < placed.placement.high
    assert placed.errors == plain.errors


def test_a_kernel_with_itself_has_no_winner() -> None:
    (found,) = kinds_found([period(pairs=160)])
    assert found.errors is not None
    assert found.errors.wrong <= 1
    assert found.errors.equivalent >= 15


@pytest.mark.parametrize("pairs", [0, 3])
def test_too_few_pairs_claim_nothing(pairs: int) -> None:
    assert claims([period(pairs=pairs)]) == {}


def test_the_worst_kind_is_what_the_machine_claims() -> None:
    quiet, loud = period(sd=1e-4), period("matrix", sd=5e-4)
    together = claims([quiet, loud])
    assert together["floor95"] == claims([loud])["floor95"] > claims([quiet])["floor95"]
    assert together["process_part"] == claims([loud])["process_part"]


def test_a_part_that_blocks_explain_is_not_claimed() -> None:
    rng = random.Random(5)
    pairs = tuple(
        PairBlocks(tuple(rng.gauss(0, 1e-3) for _ in range(8)), (True, False) * 4, 1.0, 1.0, n % 2 == 0)
        for n in range(12)
    )
    given = claims([Period("memory", "2026-11-30", 0.0, pairs)])
    assert (given["process_part"], given["pair_part"]) == (0.002, None)
    assert claims([period()])["pair_part"] is not None


def test_a_rung_of_the_ladder_is_a_duel_with_a_known_answer() -> None:
    slowed = period(effect=5e-4, true_effect=5e-4)
    lost = period(effect=0.0, true_effect=5e-4, sd=1e-3)
    first, second = steps_found([period(), slowed, lost])
    assert first.found
    assert first.measured == pytest.approx(5e-4, abs=1e-4)
    assert first.ci is not None
    assert first.ci[0] < 5e-4 < first.ci[1]
    assert not second.found


def test_pairs_against_a_slowed_kernel_do_not_count_as_with_itself() -> None:
    assert list(kinds_found([period(true_effect=5e-4)])) == []


# --- on a CPU --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CpuDevice]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOTLAP_HOME", str(tmp_path_factory.mktemp("home")))
        with open_device() as opened:
            yield opened


def test_pairs_are_added_to_those_before_and_nothing_else_is_lost(cpu: CpuDevice) -> None:
    ceiling = Ceiling("launch", "ns", Interval(1.0, 0.9, 1.1, 7))
    update(cpu.info, periods=(period(),), ceilings=(ceiling,))
    given = duel_with_itself(cpu, "launch", 1, slowed_by=0.5)
    stored = load_calibration(cpu.info)
    assert stored is not None
    assert stored.periods == (period(), given)
    assert stored.ceilings == (ceiling,)
    assert stored.floor95 == claims([period()])["floor95"]
    assert given.true_effect > 0.1
    assert given.pairs[0].effects[0] > 0.05


# --- the canary ------------------------------------------------------------------------------------


def test_a_machine_that_was_never_calibrated_cannot_have_changed(cpu: CpuDevice) -> None:
    with pytest.raises(UsageError, match="hotlap calibrate"):
        check(cpu, None)


def test_a_ceiling_that_moved_is_told(cpu: CpuDevice) -> None:
    then = Calibration("CPU", "1", "now", (), ceilings=(Ceiling("launch", "ns", Interval(1e6, 1e6, 1e6, 7)),))
    (look,) = check(cpu, then)
    assert (look.name, look.has_changed) == ("launch", True)
    now = replace(then, ceilings=(Ceiling("launch", "ns", Interval(look.now, 0.0, 1e3, 7)),))
    assert check(cpu, now)[0].then == look.now
