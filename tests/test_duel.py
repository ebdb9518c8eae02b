"""A duel says who is faster, that nobody is, or that it does not know, and why."""

import dataclasses
import math
import types
from collections.abc import Iterator

import pytest

from hotlap import schema
from hotlap.duel import (
    FINEST,
    TIERS,
    UNCALIBRATED,
    Match,
    NotAccepted,
    allowed_margin,
    blocks_of,
    duel,
    may_decide,
    pair_effects,
    veto,
)
from hotlap.errors import UsageError
from hotlap.model import Duel, Kind, Outcome, PairBlocks, Submission, Workload
from hotlap.problems.find import find
from hotlap.referee.device import Device, open_device
from hotlap.referee.rivals import Bench, Block, summed_up, timed_ns
from hotlap.verdict import read_submission

SOFTMAX = find("basics/softmax")
RIGHT = SOFTMAX.folder / "solutions" / "correct"
TORCH = read_submission(RIGHT / "torch_out.py")
FAST = read_submission(RIGHT / "vector_exp.cpp")
WRONG = read_submission(SOFTMAX.folder / "solutions" / "wrong" / "no_max.py")


@pytest.fixture(scope="module")
def cpu() -> Iterator[Device]:
    with open_device("cpu") as device:
        yield device


def again(submission: Submission) -> Submission:
    """The same kernel in a file of another text."""
    comment = "//" if submission.lang == "cpp" else "#"
    return dataclasses.replace(submission, source=f"{submission.source}\n{comment} again\n", sha256="again")


# --- on a CPU --------------------------------------------------------------------------------------


def test_identical_files_are_equivalent_and_nothing_is_timed(cpu: Device) -> None:
    given = duel(SOFTMAX, TORCH, dataclasses.replace(TORCH, file="b.py"), cpu)
    assert given.verdict is Outcome.equivalent
    assert given.reason is not None
    assert "identical" in given.reason
    assert (given.pairs, given.effect, given.workloads) == (0, None, ())


@pytest.mark.parametrize(("a", "b", "side"), [(TORCH, WRONG, "b"), (WRONG, TORCH, "a")])
def test_no_duel_with_a_wrong_kernel_and_it_says_which(
    cpu: Device, a: Submission, b: Submission, side: str
) -> None:
    with pytest.raises(NotAccepted, match=rf"^{side} \(no_max.py\) is not accepted: wrong: ") as raised:
        duel(SOFTMAX, a, b, cpu)
    assert raised.value.side == side
    assert raised.value.verdict is not None
    assert raised.value.verdict.status == "wrong"


def test_a_much_faster_kernel_is_decided_and_the_record_is_complete(cpu: Device) -> None:
    given = duel(SOFTMAX, TORCH, FAST, cpu)
    assert (given.verdict, given.faster) == (Outcome.decided, "b")
    assert given.effect is not None
    assert given.ci is not None
    assert given.ci[0] < given.effect < given.ci[1] < 0
    assert given.margin == UNCALIBRATED["cpu"]
    assert not given.calibrated
    assert given.gpu_s > 0
    assert [w.axes for w in given.workloads] == [
        w.axes for w in SOFTMAX.workloads if w.kind is Kind.bench and w.profile == "cpu"
    ]
    assert all(w.a_ns and w.b_ns and w.a_ns > w.b_ns for w in given.workloads)
    assert schema.from_json(Duel, schema.to_json(given)) == given


def test_the_same_kernel_twice_is_never_decided(cpu: Device) -> None:
    given = duel(SOFTMAX, FAST, again(FAST), cpu, last_tier="confirm")
    assert given.verdict in (Outcome.unresolved, Outcome.equivalent)
    assert given.faster is None


def test_a_kernel_that_breaks_in_a_timed_round_is_named_and_harms_no_later_duel(cpu: Device) -> None:
    counting = "calls.append(len(calls) > 60 and 1 / 0)"
    source = (
        f"import torch\ncalls = []\ndef kernel(x, out):\n    {counting}\n    torch.softmax(x, 1, out=out)\n"
    )
    late = dataclasses.replace(TORCH, file="late.py", source=source, sha256="late")
    with pytest.raises(NotAccepted, match=r"^b \(late.py\) is not accepted: failed in the duel: raised Zero"):
        duel(SOFTMAX, FAST, late, cpu)
    given = duel(SOFTMAX, FAST, again(FAST), cpu, last_tier="screen")
    assert given.reason is None
    assert given.pairs == 1


def test_an_interrupted_duel_keeps_what_it_has(cpu: Device) -> None:
    def interrupt(phase: str, fraction: float | None) -> None:
        if phase.startswith("duel"):
            raise KeyboardInterrupt

    given = duel(SOFTMAX, FAST, again(FAST), cpu, progress=interrupt)
    assert (given.verdict, given.reason) == (Outcome.unresolved, "interrupted")
    assert (given.tier, given.pairs) == ("screen", 1)
    assert all(w.effect is not None for w in given.workloads)


def test_a_duel_ends_when_its_time_is_over(cpu: Device) -> None:
    given = duel(SOFTMAX, FAST, again(FAST), cpu, max_seconds=1e-3)
    assert given.verdict is Outcome.unresolved
    assert given.reason == "stopped after 0.001 s"
    assert given.pairs == 1


def test_a_tier_that_does_not_exist_is_refused(cpu: Device) -> None:
    with pytest.raises(UsageError, match="screen, confirm, duel, final"):
        duel(SOFTMAX, TORCH, FAST, cpu, last_tier="finale")


# --- the margin ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "floor95", "kind", "used"),
    [
        (None, None, "cuda", 0.005),
        (None, None, "cpu", 0.03),
        (None, 0.0002, "cuda", FINEST),
        (None, 0.002, "cuda", 0.002),
        (0.01, 0.002, "cuda", 0.01),
        (0.01, None, "cuda", 0.01),
    ],
)
def test_the_margin_is_never_finer_than_the_machine(
    wanted: float | None, floor95: float | None, kind: str, used: float
) -> None:
    assert allowed_margin(wanted, floor95, kind) == used


@pytest.mark.parametrize(("wanted", "floor95"), [(0.0001, 0.0002), (0.001, 0.002), (0.001, None)])
def test_a_margin_finer_than_the_machine_is_refused(wanted: float, floor95: float | None) -> None:
    with pytest.raises(UsageError, match="too fine"):
        allowed_margin(wanted, floor95, "cuda")


# --- blocks ----------------------------------------------------------------------------------------


def test_a_block_s_effect_is_the_log_ratio_of_its_calls_without_the_empty_round() -> None:
    blocks = [Block((1100, 1100), (1200, 1200), 100, True), Block((2100, 2100), (2300, 2300), 100, False)]
    found = summed_up(blocks, 10)
    assert found is not None
    assert found.effects == pytest.approx((math.log(1.1), math.log(1.1)))
    assert found.a_first == (True, False)
    assert (found.a_ns, found.b_ns) == (150.0, 165.0)
    assert timed_ns(blocks) == 2 * 1000 + 2 * 1100 + 2 * 2000 + 2 * 2200


def test_rounds_no_longer_than_an_empty_one_give_nothing() -> None:
    assert summed_up([Block((100, 120), (130, 140), 100, True)], 1) is None


def test_a_pair_is_one_number_that_an_odd_block_does_not_move() -> None:
    calm = PairBlocks((0.01, 0.011, 0.009, 0.01, 0.5), (True, False, True, False, True), 1.0, 1.0)
    assert pair_effects([calm]) == pytest.approx([0.01], abs=0.002)


@pytest.mark.parametrize(
    ("effect", "scatter", "part", "goes_on"),
    [
        (0.0, 1e-4, 0.001, False),  # equals: two pairs would not decide either
        (0.0019, 1e-6, 0.001, False),  # below 3 * 0.001 / sqrt(2)
        (0.0023, 1e-6, 0.001, True),
        (0.0023, 1e-2, 0.001, False),  # its blocks scatter too much
        (-0.0023, 1e-6, 0.001, True),
    ],
)
def test_a_second_screen_is_left_out_where_it_would_not_decide_what_the_first_saw(
    effect: float, scatter: float, part: float, goes_on: bool
) -> None:
    played = dataclasses.replace(match(tuple(effect + scatter * (i % 3 - 1) for i in range(9))), part=part)
    assert may_decide(played, TIERS[1]) is goes_on
    assert may_decide(dataclasses.replace(played, found=[]), TIERS[0])


def test_workloads_of_a_screen_have_as_many_blocks_however_short_their_rounds_are() -> None:
    played = dataclasses.replace(
        match(),
        device=types.SimpleNamespace(info=types.SimpleNamespace(kind="cuda")),
        round_ns={0: 1e6, 1: 5e6},
    )
    benches = [dataclasses.replace(played.benches[0], index=i) for i in range(2)]
    assert [blocks_of(TIERS[0], played, bench) for bench in benches] == [8, 8]
    assert [blocks_of(TIERS[2], played, bench) for bench in benches] == [20, 8]


# --- vetoes ----------------------------------------------------------------------------------------


def match(
    effects: tuple[float, ...] = (0.0,) * 16, clocks: tuple[int, int] = (1980, 1980), overlaps: int = 0
) -> Match:
    """A match of one workload and one pair, nothing of which was run."""
    pair = PairBlocks(effects, tuple(i % 2 == 0 for i in range(len(effects))), 1.0, 1.0)
    bench = Bench(0, Workload(Kind.bench, "cpu", {"n": 1}), {"n": 1}, 10)
    return Match(
        device=None,  # type: ignore[arg-type]
        rivals=(),  # type: ignore[arg-type]
        benches=[bench],
        margin=0.001,
        part=0.0,
        error=0.05,
        swapped=False,
        pairs=1,
        overlaps=["a in n=1"] * overlaps,
        clocks_mhz={"a": [clocks[0]], "b": [clocks[1]]},
        tier=TIERS[0],
        found=[[pair]],
    )


def scattered(abba: float, baab: float) -> tuple[float, ...]:
    return tuple((abba if i % 2 == 0 else baab) + 1e-5 * (i % 5) for i in range(32))


@pytest.mark.parametrize(
    ("played", "reason"),
    [
        (match(scattered(0.0, 0.0)), None),
        (match(scattered(-0.0005, 0.0005)), None),
        (match(scattered(-0.01, 0.01)), "who goes first matters"),
        (match(scattered(0.01, -0.01)), "who goes first matters"),
        (match(clocks=(1980, 1700)), "different clocks: a at 1980 MHz, b at 1700 MHz"),
        (match(clocks=(1980, 1965)), None),
        (match(overlaps=1), "calls overlap"),
    ],
)
def test_a_duel_that_may_not_be_believed_is_void(played: Match, reason: str | None) -> None:
    found = veto(played)
    assert (found is None) if reason is None else (found is not None and reason in found)


def test_chances_of_error_of_the_tiers_that_may_take_many_pairs_stay_below_five_per_cent() -> None:
    assert sum(1 - tier.level for tier in TIERS if not tier.is_screen) < 0.05
