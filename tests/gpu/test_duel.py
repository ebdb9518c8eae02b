"""Duels on a GPU: who is faster, that nobody is, and what keeps a duel from being believed."""

import dataclasses
from typing import Any

import pytest

from hotlap.calibrate.duels import duel_with_itself, match_of_kind
from hotlap.duel import (
    FINEST,
    MODES_DIFFER,
    TIERS,
    duel,
    give_back_places,
    match_of,
    pair_effects,
    play_pair,
)
from hotlap.model import Outcome, Submission
from hotlap.problems import reference as references
from hotlap.problems.find import find
from hotlap.referee.case import Case
from hotlap.referee.rivals import Rival
from hotlap.referee.rng import new_master_key
from hotlap.verdict import read_submission
from tests.gpu.cases import CORPUS, RIGHT

SOFTMAX = find("basics/softmax")
CORRECT = SOFTMAX.folder / "solutions" / "correct"


def again(submission: Submission) -> Submission:
    """The same kernel in a file of another text."""
    return dataclasses.replace(submission, source=f"{submission.source}\n# again\n", sha256="again")


def test_the_faster_of_two_is_named(device: Any) -> None:
    a, b = (read_submission(CORRECT / name) for name in ("torch_out.py", "triton_rows.py"))
    given = duel(SOFTMAX, a, b, device)
    assert (given.verdict, given.faster) == (Outcome.decided, "b"), given.reason
    assert {(w.a_mode, w.b_mode) for w in given.workloads} == {("graph", "graph")}


def test_a_kernel_against_itself_is_not_decided(device: Any) -> None:
    kernel = read_submission(CORRECT / "torch_out.py")
    given = duel(SOFTMAX, kernel, again(kernel), device, last_tier="confirm")
    assert given.verdict in (Outcome.equivalent, Outcome.unresolved), given.reason
    assert given.effect is not None
    assert abs(given.effect) < 0.005


def test_a_known_difference_is_told_as_large_as_it_is(device: Any) -> None:
    problem = find("calibration/memory")
    kernel = read_submission(problem.folder / "solutions" / "correct" / "torch_out.py")
    reference = references.load_reference(problem)
    a, b = (Rival(side, Case(problem, kernel, device, reference, new_master_key())) for side in "ab")
    device.null_seat()
    benches = [w for w in problem.workloads if w.kind == "bench" and w.profile == "gpu"]
    match = match_of(device, (a, b), benches, FINEST, 0.001)
    a.handicap_ns, b.handicap_ns = 1, 100_000
    pairs = [play_pair(match, TIERS[0])[0] for _ in range(2)]
    longer = 100_000 / (pairs[0].a_ns * match.benches[0].calls)
    assert sum(pair_effects(pairs)) / 2 == pytest.approx(longer, rel=0.15)


def test_kernels_that_are_launched_in_different_ways_need_a_larger_difference(device: Any) -> None:
    a, b = (read_submission(file) for file in (RIGHT, CORPUS / "honest" / "gpu_branches_on_item.py"))
    given = duel(find("basics/vectoradd"), a, b, device)
    assert given.margin >= MODES_DIFFER
    assert given.notes
    assert "b in after-go" in given.notes[0]
    assert (given.verdict, given.faster) == (Outcome.decided, "a"), given.reason


def test_the_places_of_both_sides_stay_the_same_for_a_match_and_are_given_back(device: Any) -> None:
    match = match_of_kind(device, "launch")
    seen = []
    for _ in range(2):
        play_pair(match, TIERS[0])
        seen.append([sorted(address for _, address, _ in shelf.blocks) for shelf in device.shelves])
    assert seen[0] == seen[1]
    assert all(seen[0])
    assert not set(seen[0][0]) & set(seen[0][1])
    give_back_places(device)
    assert [shelf.blocks for shelf in device.shelves] == [[], []]


def test_pairs_of_a_kernel_with_itself_are_kept(device: Any) -> None:
    period = duel_with_itself(device, "launch", 2)
    assert len(period.pairs) == 2
    assert {pair.a_placed_first for pair in period.pairs} == {True, False}
    assert all(abs(effect) < 0.01 for effect in pair_effects(period.pairs))
