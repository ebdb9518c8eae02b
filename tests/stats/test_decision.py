"""The rule of a duel on values made by hand, and its errors on simulated machines (machine.py)."""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from hotlap.model import Decision, Outcome
from hotlap.stats import (
    aa_errors,
    clopper_pearson,
    decide,
    floor95,
    order_effect,
    overall,
    screen,
    successive_duels,
    variance_components,
    without_placement,
)
from tests.stats.coverage import monte_carlo_error
from tests.stats.machine import MACHINES, MARGINS, Machine

DUELS = 300
finite = st.floats(-1, 1)


def around(centre: float, radius: float, pairs: int = 8) -> list[float]:
    """Pair effects whose interval reaches about `radius` to either side of `centre`."""
    values = np.resize([-1.0, 1.0], pairs)
    low, high = decide([*values], 1e9).ci or (0.0, 0.0)
    return [*(centre + values * radius * 2 / (high - low))]


# --- decide


@pytest.mark.parametrize(
    ("centre", "radius", "verdict", "faster"),
    [
        (3.0, 1.0, "decided", "a"),
        (-3.0, 1.0, "decided", "b"),
        (0.0, 0.9, "equivalent", None),
        (0.0, 1.5, "unresolved", None),
        (1.0, 0.5, "decided", "a"),  # an effect as large as the margin
        (0.3, 0.2, "equivalent", None),  # excludes 0, but no claim is finer than the margin
        (0.6, 0.5, "decided", "a"),  # excludes 0 and reaches beyond the margin: the sign is known
        (0.6, 0.7, "unresolved", None),
    ],
)
def test_what_an_interval_says_at_a_margin_of_1(
    centre: float, radius: float, verdict: str, faster: str | None
) -> None:
    given = decide(around(centre, radius), margin=1.0)
    assert (given.verdict, given.faster) == (verdict, faster)
    assert given.effect == pytest.approx(centre)


@given(st.lists(finite, min_size=1, max_size=12), st.floats(1e-3, 1))
def test_swapping_the_sides_swaps_the_winner(effects: list[float], margin: float) -> None:
    one, other = decide(effects, margin), decide([-e for e in effects], margin)
    assert one.verdict == other.verdict
    assert {one.faster, other.faster} in ({None}, {"a", "b"})


@given(st.lists(finite, min_size=4, max_size=12), st.floats(1e-3, 1))
def test_the_effect_lies_in_its_interval(effects: list[float], margin: float) -> None:
    found = decide(effects, margin)
    assert found.ci is None or (found.effect is not None and found.ci[0] <= found.effect <= found.ci[1])


def test_fewer_pairs_than_the_fewest_decide_nothing() -> None:
    effects = around(5.0, 0.1, pairs=6)
    assert decide(effects, 1.0).verdict is Outcome.decided
    given = decide(effects, 1.0, fewest=7)
    assert (given.verdict, given.ci, given.pairs) == (Outcome.unresolved, None, 6)


@pytest.mark.parametrize("effects", [[0.02] * 30, [0.0] * 30])
def test_pairs_that_are_all_alike_decide_nothing_because_the_tick_rules(effects: list[float]) -> None:
    given = decide(effects, 0.01)
    assert (given.verdict, given.ci) == (Outcome.unresolved, None)
    assert given.effect == pytest.approx(effects[0])


def test_pairs_that_contradict_each_other_decide_nothing() -> None:
    early, late = [5.0, 5.01, 4.99, 5.0, 5.0], [9.0, 9.01] * 40
    assert decide(early, 1.0).verdict is Outcome.decided
    given = decide(early + late, 1.0)
    assert (given.verdict, given.ci) == (Outcome.unresolved, None)


def test_no_pairs_have_no_effect() -> None:
    assert decide([], 1.0) == Decision(Outcome.unresolved, None, None, None, 0)


@pytest.mark.parametrize(("effects", "margin"), [([1.0, math.nan], 1.0), ([1.0], 0.0), ([1.0], -1.0)])
def test_a_decision_about_nonsense_is_refused(effects: list[float], margin: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        decide(effects, margin)


# --- decide, simulated: read after every pair


@cache
def simulated_duels(
    machine: Machine, effect: float, margin: float, most: int = 24, duels: int = DUELS
) -> list[Decision]:
    """Duels that end as soon as they can, at the latest after `most` pairs."""
    rng = np.random.default_rng(20261130)

    def play(effects: list[float]) -> Decision:
        found = decide(effects[:1], margin)
        for pairs in range(2, most + 1):
            if found.verdict is not Outcome.unresolved:
                break
            found = decide(effects[:pairs], margin)
        return found

    return [play([*row]) for row in machine.pair_effects(rng, duels, most, effect=effect)]


def share(duels: list[Decision], verdict: Outcome, faster: str | None = None, within: int = 99) -> float:
    return float(np.mean([d.verdict is verdict and d.faster == faster and d.pairs <= within for d in duels]))


@pytest.mark.parametrize("name", MACHINES)
def test_a_kernel_against_itself_is_decided_in_at_most_5_percent_of_duels(name: str) -> None:
    duels = simulated_duels(MACHINES[name], 0.0, MARGINS[name])
    wrong = share(duels, Outcome.decided, "a") + share(duels, Outcome.decided, "b")
    assert wrong <= 0.05 + monte_carlo_error(0.05, DUELS)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("margins", [0.3, 1.0])
def test_the_slower_side_is_hardly_ever_named(name: str, margins: float) -> None:
    duels = simulated_duels(MACHINES[name], margins * MARGINS[name], MARGINS[name])
    assert share(duels, Outcome.decided, "b") <= 0.025 + monte_carlo_error(0.025, DUELS)


@pytest.mark.parametrize("name", MACHINES)
def test_a_difference_of_the_margin_is_called_equivalent_in_at_most_5_percent_of_duels(name: str) -> None:
    duels = simulated_duels(MACHINES[name], MARGINS[name], MARGINS[name])
    assert share(duels, Outcome.equivalent) <= 0.05 + monte_carlo_error(0.05, DUELS)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("margins", [0.0, 0.3, 1.0, 4.0])
def test_the_interval_holds_the_effect_when_the_duel_stops(name: str, margins: float) -> None:
    effect = margins * MARGINS[name]
    duels = simulated_duels(MACHINES[name], effect, MARGINS[name])
    held = [d.ci is None or d.ci[0] <= effect <= d.ci[1] for d in duels]
    assert np.mean(held) >= 0.95 - monte_carlo_error(0.95, DUELS)


@pytest.mark.parametrize("name", ["memory", "launch", "harsh", "two speeds"])
def test_a_difference_of_the_margin_is_found_in_90_percent_of_duels(name: str) -> None:
    duels = simulated_duels(MACHINES[name], MARGINS[name], MARGINS[name])
    assert share(duels, Outcome.decided, "a") >= 0.9


def test_a_process_part_larger_than_the_margin_leaves_duels_unresolved_not_wrong() -> None:
    duels = simulated_duels(MACHINES["matrix"], 0.0, MARGINS["matrix"])
    assert share(duels, Outcome.unresolved) > 0.5


def test_equal_kernels_of_a_quiet_machine_are_called_equivalent_within_8_pairs() -> None:
    duels = simulated_duels(MACHINES["memory"], 0.0, MARGINS["memory"])
    assert share(duels, Outcome.equivalent, within=8) >= 0.9


def test_the_same_pairs_read_with_a_fixed_n_interval_would_err_several_times_as_often() -> None:
    rng = np.random.default_rng(20261130)
    effects = MACHINES["launch"].pair_effects(rng, DUELS, 24)
    counts = np.arange(4, 25)
    means = np.array([effects[:, :n].mean(1) for n in counts])
    errors = np.array([effects[:, :n].std(1, ddof=1) / np.sqrt(n) for n in counts])
    excludes_zero = np.abs(means) > student.ppf(0.975, counts - 1)[:, None] * errors
    assert excludes_zero.any(0).mean() > 0.12


def test_blocks_of_one_pair_do_not_stand_in_for_pairs() -> None:
    rng = np.random.default_rng(20261130)
    blocks, _ = MACHINES["matrix"].blocks(rng, DUELS, 12)
    assert np.mean([decide([*row], 5e-4).verdict is Outcome.decided for row in blocks]) > 0.3


# --- who was placed first


def placed_in_turn(machine: Machine, effect: float, worth: float) -> list[tuple[list[float], list[bool]]]:
    """Pair effects of duels whose sides change places from pair to pair, and whether A was placed first."""
    rng = np.random.default_rng(20261130)
    placed = np.arange(16) % 2 == 0
    effects = machine.pair_effects(rng, DUELS, 16, effect=effect) + worth * np.where(placed, 1.0, -1.0)
    return [([*row], [*placed]) for row in effects]


@pytest.mark.parametrize("name", ["memory", "launch"])
@pytest.mark.parametrize("worth", [0.0, 0.002])
def test_what_a_place_is_worth_does_not_name_a_winner_between_equals(name: str, worth: float) -> None:
    duels = [
        successive_duels(effects, MARGINS[name], placed=placed)
        for effects, placed in placed_in_turn(MACHINES[name], 0.0, worth)
    ]
    wrong = np.mean([duel[0].verdict is Outcome.decided for duel in duels])
    assert wrong <= 0.05 + monte_carlo_error(0.05, DUELS)


@pytest.mark.parametrize("worth", [0.0, 0.002])
def test_a_difference_of_the_margin_is_found_though_a_place_is_worth_more(worth: float) -> None:
    found = [
        decide(effects, 5e-4, placed=placed).faster
        for effects, placed in placed_in_turn(MACHINES["launch"], 5e-4, worth)
    ]
    assert np.mean([faster == "a" for faster in found]) >= 0.9


def test_without_looking_at_places_such_a_difference_is_lost() -> None:
    found = [decide(effects, 5e-4).faster for effects, _ in placed_in_turn(MACHINES["launch"], 5e-4, 0.002)]
    assert np.mean([faster == "a" for faster in found]) < 0.2


def test_effects_without_placement_have_one_mean() -> None:
    assert without_placement([5.0, 1.0, 7.0, 3.0], [True, False, True, False]) == [3.0, 3.0, 5.0, 5.0]
    assert without_placement([5.0, 1.0], [True, True]) == [5.0, 1.0]


# --- screen


@pytest.mark.parametrize(
    ("effect", "margin", "process_part", "verdict"),
    [
        (0.02, 0.0005, 0.001, "decided"),
        (0.0025, 0.0005, 0.001, "unresolved"),  # below three times the process part
        (0.02, 0.03, 0.001, "unresolved"),  # below the margin
        (0.02, 0.0005, 0.01, "unresolved"),
    ],
)
def test_one_pair_decides_only_far_beyond_its_doubt(
    effect: float, margin: float, process_part: float, verdict: str
) -> None:
    scatter = 1e-4 * np.resize([-1.0, 1.0], 8)
    assert screen([*(effect + scatter)], margin, process_part).verdict == verdict
    mirrored = screen([*(-effect + scatter)], margin, process_part)
    assert mirrored.faster == ("b" if verdict == "decided" else None)


def test_a_pair_that_scatters_as_much_as_it_differs_is_left_to_the_next_tier() -> None:
    assert screen([0.01, 0.05, -0.01, 0.03, 0.02, 0.0], 0.0005, 0.0).verdict is Outcome.unresolved


@pytest.mark.parametrize("effects", [[0.5], [0.5] * 8])
def test_one_block_or_blocks_all_alike_decide_nothing(effects: list[float]) -> None:
    assert screen(effects, 0.001, 0.0) == Decision(Outcome.unresolved, None, 0.5, None, 1)


@pytest.mark.parametrize(
    ("effects", "process_part", "level"),
    [([], 0.0, 0.95), ([1.0, math.nan], 0.0, 0.95), ([1.0, 2.0], -0.1, 0.95), ([1.0, 2.0], 0.1, 1.0)],
)
def test_a_screen_of_nonsense_is_refused(effects: list[float], process_part: float, level: float) -> None:
    with pytest.raises(ValueError, match=r"screen|hodges_lehmann"):
        screen(effects, 0.001, process_part, level)


PAIRS = 1500


@pytest.mark.parametrize("name", MACHINES)
def test_a_screen_of_a_kernel_against_itself_decides_in_less_than_half_a_percent_of_pairs(name: str) -> None:
    machine = MACHINES[name]
    blocks, _ = machine.blocks(np.random.default_rng(20261130), PAIRS, 8)
    wrong = [screen([*row], 1e-9, machine.part).verdict is Outcome.decided for row in blocks]
    assert np.mean(wrong) <= 0.005 + monte_carlo_error(0.005, PAIRS)


def test_a_process_part_from_a_dozen_pairs_is_good_enough_for_a_screen() -> None:
    rng, machine, wrong = np.random.default_rng(20261130), MACHINES["matrix"], []
    for _ in range(100):
        calibrating, _ = machine.blocks(rng, 12, 12)
        part = variance_components([[*row] for row in calibrating]).between_high
        blocks, _ = machine.blocks(rng, 20, 8)
        wrong += [screen([*row], 1e-9, part).verdict is Outcome.decided for row in blocks]
    assert np.mean(wrong) <= 0.005


@pytest.mark.parametrize("name", MACHINES)
def test_the_interval_of_a_screen_holds_the_effect_though_pairs_differ(name: str) -> None:
    machine, effect = MACHINES[name], 0.02
    blocks, _ = machine.blocks(np.random.default_rng(20261130), 800, 8, effect)
    intervals = [screen([*row], 1e-4, machine.part).ci or (-math.inf, math.inf) for row in blocks]
    held = np.mean([low <= effect <= high for low, high in intervals])
    assert held >= 0.95 - monte_carlo_error(0.95, 800)


def test_a_screen_decides_2_percent_on_every_quiet_machine() -> None:
    for name in ("memory", "launch", "matrix"):
        blocks, _ = MACHINES[name].blocks(np.random.default_rng(20261130), 100, 8, effect=0.02)
        assert all(screen([*row], 5e-4, 1e-3, 0.99).faster == "a" for row in blocks)


# --- several workloads


def test_workloads_are_averaged_within_each_pair() -> None:
    assert overall([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]) == [2.0, 3.0, 4.0]


def test_what_the_workloads_of_a_pair_share_stays_in_the_scatter() -> None:
    rng = np.random.default_rng(1)
    shared = rng.normal(size=40)
    together = overall([[*(shared + rng.normal(scale=0.1, size=40))] for _ in range(9)])
    assert np.std(together) == pytest.approx(np.std(shared), rel=0.1)


@pytest.mark.parametrize("effects", [[], [[1.0, 2.0], [1.0]]])
def test_workloads_with_other_pairs_are_refused(effects: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="as many pairs"):
        overall(effects)


# --- order effect


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("ends", [0.0, 0.002])
def test_the_interval_of_an_order_effect_holds_it(name: str, ends: float) -> None:
    machine = Machine(**{**vars(MACHINES[name]), "ends": ends})
    rng = np.random.default_rng(20261130)
    found = []
    for _ in range(400):
        effects, a_first = machine.blocks(rng, 4, 8, effect=0.01)
        found.append(order_effect([*effects.ravel()], [*a_first.ravel()], level=0.95))
    held = np.mean([f.low <= ends <= f.high for f in found])
    assert held >= 0.95 - monte_carlo_error(0.95, 400)


def test_a_drawn_order_keeps_what_the_ends_cost_out_of_the_effect() -> None:
    machine = Machine(noise=1e-3, part=0.0, ends=0.002)
    effects, a_first = machine.blocks(np.random.default_rng(1), 100, 32, effect=0.005)
    assert effects.mean() == pytest.approx(0.005, abs=2e-4)
    assert effects[a_first].mean() == pytest.approx(0.003, abs=2e-4)  # ABBA alone would be off by it


@pytest.mark.parametrize(
    ("effects", "a_first"),
    [
        ([1.0, 2.0, 3.0], [True, True, True]),
        ([1.0, 2.0, 3.0], [True, True, False]),
        ([1.0, 1.0, 3.0, 4.0], [True, True, False, False]),
        ([], []),
    ],
)
def test_too_few_blocks_of_an_order_or_a_clock_too_coarse_excludes_nothing(
    effects: list[float], a_first: list[bool]
) -> None:
    found = order_effect(effects, a_first)
    assert (found.low, found.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("effects", "level"), [([1.0], 0.999), ([1.0, 2.0], 1.0)])
def test_orders_that_do_not_fit_are_refused(effects: list[float], level: float) -> None:
    with pytest.raises(ValueError, match="order_effect"):
        order_effect(effects, [True, False], level)


# --- floor of comparison


def pools(kind: str, bias: float, count: int, rng: np.random.Generator, size: int) -> Iterator[np.ndarray]:
    for _ in range(count):
        noise = rng.normal(size=size) if kind == "normal" else rng.standard_t(3, size=size)
        yield noise + bias


@pytest.mark.parametrize(
    ("kind", "bias", "size", "least"),
    [
        ("normal", 0.0, 8, 0.95),
        ("normal", 0.0, 24, 0.95),
        ("normal", 0.0, 160, 0.95),
        ("normal", 0.2, 60, 0.88),
        ("normal", 0.5, 60, 0.9),
        ("normal", 1.0, 24, 0.95),
        ("student t, 3 degrees", 0.0, 60, 0.8),
    ],
)
def test_the_bound_of_floor95_holds_about_as_often_as_its_docstring_says(
    kind: str, bias: float, size: int, least: float
) -> None:
    rng = np.random.default_rng(20261130)
    means = [pool.reshape(-1, 8).mean(1) for pool in pools(kind, bias, 20, rng, 80_000)]
    truth = float(np.quantile(np.abs(np.concatenate(means)), 0.95))
    found = [floor95([*pool]) for pool in pools(kind, bias, 300, rng, size)]
    assert np.mean([f.high >= truth for f in found]) >= least - monte_carlo_error(least, 300)
    if kind == "normal":
        assert np.median([f.estimate for f in found]) >= 0.95 * truth


@pytest.mark.parametrize("pairs", [1, 4, 16])
def test_floor95_of_more_pairs_is_smaller_by_their_root(pairs: int) -> None:
    effects = [*np.random.default_rng(1).normal(size=400)]
    assert floor95(effects, pairs).estimate == pytest.approx(1.96 / pairs**0.5, rel=0.1)


def test_a_bias_does_not_average_out_of_floor95() -> None:
    effects = [*(1.0 + 0.1 * np.random.default_rng(1).normal(size=400))]
    assert floor95(effects, pairs=64).estimate >= 1.0


@pytest.mark.parametrize("effects", [[], [1.0]])
def test_floor95_of_too_little_is_refused(effects: list[float]) -> None:
    with pytest.raises(ValueError, match="floor95"):
        floor95(effects)


# --- duels one after another


def test_every_duel_has_pairs_of_its_own() -> None:
    machine = MACHINES["launch"]
    effects = [*machine.pair_effects(np.random.default_rng(3), 1, 100)[0]]
    duels = successive_duels(effects, 5e-4)
    start = 0
    for duel in duels:
        assert duel == decide(effects[start : start + duel.pairs], 5e-4)
        start += duel.pairs
    assert len(effects) - start < 24


def test_a_duel_that_reaches_the_most_pairs_counts_as_unresolved() -> None:
    duels = successive_duels([1.0, -1.0] * 12, margin=0.1, most=8)
    assert [(duel.verdict, duel.pairs) for duel in duels] == [(Outcome.unresolved, 8)] * 3


def test_errors_are_counted_with_the_interval_of_their_share() -> None:
    alike, apart = around(0.0, 0.5, 6), around(9.0, 0.5, 6)
    needed = successive_duels(alike, 1.0)[0].pairs
    found = aa_errors(successive_duels(alike[:needed] * 3 + apart[:4], margin=1.0))
    assert found is not None
    assert (found.duels, found.wrong, found.equivalent) == (4, 1, 3)
    assert (found.low, found.high) == clopper_pearson(1, 4)


def test_too_few_pairs_for_a_duel_have_no_error_rate() -> None:
    assert aa_errors(successive_duels([0.1, 0.2, 0.3], margin=0.1)) is None


@pytest.mark.parametrize("name", MACHINES)
def test_successive_duels_of_a_kernel_with_itself_err_as_rarely_as_they_say(name: str) -> None:
    effects = MACHINES[name].pair_effects(np.random.default_rng(20261130), 1, 2000)[0]
    found = aa_errors(successive_duels([*effects], MARGINS[name]))
    assert found is not None
    assert found.low <= 0.05
