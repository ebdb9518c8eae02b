"""How rows add up to a table: what is in the denominator, and what counts as fast."""

import pytest

from hotlap.errors import UsageError
from hotlap.fleet.results import BEST, Estimate, Group, SuiteHeader, SuiteRow, report, share
from hotlap.model import Status
from hotlap.stats import clopper_pearson
from tests.fleet.factory import PROBLEMS, header, rejected, row


def group(
    rows: list[SuiteRow], given: SuiteHeader | None = None, p: tuple[float, ...] = (0, 1, 1.5)
) -> Group:
    return report(given or header(), rows, p).groups[-1]


def shares(found: Group, *, sure: bool = False) -> list[float | None]:
    return [
        None if (each := one.sure if sure else one.share) is None else each.share
        for one in found.against[0].fast_p
    ]


def test_a_kernel_as_fast_as_p_is_not_faster() -> None:
    rows = [row(PROBLEMS[0], speedup=1.5), row(PROBLEMS[1], speedup=1.0), rejected(PROBLEMS[2])]
    assert shares(group([*rows, row(PROBLEMS[3], speedup=9.0)])) == [3 / 4, 2 / 4, 1 / 4]


def test_what_is_sure_needs_the_lower_bound_above_p() -> None:
    rows = [row(PROBLEMS[0], speedup=1.01), row(PROBLEMS[1], speedup=1.1)]
    found = group(rows, header(*PROBLEMS[:2]))
    assert shares(found) == [1.0, 1.0, 0.0]
    assert shares(found, sure=True) == [1.0, 0.5, 0.0]


def test_a_problem_without_a_sample_is_not_correct() -> None:
    found = group([row(PROBLEMS[0])])
    assert (found.problems, found.missing, found.correct) == (4, 3, share([1, 0, 0, 0]))


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    found = group([row(PROBLEMS[0]), row(PROBLEMS[1])]).correct
    assert found is not None
    assert (found.ci_low, found.ci_high) == clopper_pearson(2, 4)


def test_an_interval_of_parts_of_problems_is_that_of_whole_ones_outwards() -> None:
    found = share([1 / 3, 1 / 3, 1 / 3, 0.5])
    assert found is not None
    assert found.share == pytest.approx(1.5 / 4)
    assert (found.ci_low, found.ci_high) == (clopper_pearson(1, 4)[0], clopper_pearson(2, 4)[1])
    assert share([1 / 3, 1 / 3, 1 / 3]) == share([1, 0, 0])


def test_void_is_not_wrong_and_leaves_the_denominator() -> None:
    rows = [row(PROBLEMS[0]), rejected(PROBLEMS[1], status=Status.void)]
    found = group(rows, header(*PROBLEMS[:2]))
    assert (found.void, found.wrong, found.void_problems) == (1, 0, 1)
    assert found.correct == share([1])
    assert shares(found)[0] == 1.0


def test_a_void_sample_beside_others_is_as_if_it_had_not_been() -> None:
    rows = [row(sample="0"), rejected(sample="1"), rejected(sample="2", status=Status.void)]
    assert shares(group(rows, header(PROBLEMS[0])))[0] == 0.5


def test_a_suite_of_void_samples_has_no_share() -> None:
    found = group([rejected(PROBLEMS[0], status=Status.void)], header(PROBLEMS[0]))
    assert found.correct is None
    assert shares(found) == [None, None, None]


def test_a_suspect_sample_is_not_correct_until_somebody_looked() -> None:
    assert shares(group([row(status=Status.suspect, speedup=90.0)], header(PROBLEMS[0]))) == [0.0, 0.0, 0.0]


def test_a_correct_sample_without_speedup_is_correct_and_not_fast() -> None:
    found = group([row(PROBLEMS[0], speedup=None), row(PROBLEMS[1])], header(*PROBLEMS[:2]))
    assert (shares(found), found.without_speedup) == ([1.0, 0.5, 0.0], 1)


def test_where_nobody_was_timed_fast_p_is_absent_not_zero() -> None:
    found = group([row(PROBLEMS[0], speedup=None), rejected(PROBLEMS[1])], header(*PROBLEMS[:2]))
    assert shares(found) == [0.5, None, None]


def test_without_bounds_nothing_is_sure_and_the_mean_has_no_interval() -> None:
    imported = row(speedups={"default": Estimate(2.0, None, None)})
    found = group([imported], header(PROBLEMS[0]))
    assert shares(found) == [1.0, 1.0, 1.0]
    assert shares(found, sure=True) == [None, None, None]
    assert found.against[0].geomean == Estimate(pytest.approx(2.0), None, None)


def test_several_samples_count_by_their_share_and_best_of_k_has_its_own_name() -> None:
    rows = [
        row(sample="0", speedup=2.0),
        row(sample="1", speedup=0.5),
        rejected(sample="2"),
        rejected(sample="3"),
    ]
    found = group(rows, header(PROBLEMS[0]))
    assert shares(found) == [0.5, 0.25, 0.25]
    assert [each.k for each in found.pass_at_k] == [1, 2, 4]
    assert [each.share.share for each in found.pass_at_k] == pytest.approx([1 / 2, 5 / 6, 1.0])
    assert [each.fast and each.fast.share for each in found.pass_at_k] == pytest.approx([1 / 4, 1 / 2, 1.0])


def test_single_samples_have_no_pass_at_k() -> None:
    assert group([row(PROBLEMS[0]), row(PROBLEMS[1])]).pass_at_k == ()


def test_a_problem_without_samples_solves_nothing_at_any_k() -> None:
    found = group([row(sample="0"), row(sample="1")], header(*PROBLEMS[:2]))
    assert [each.share.share for each in found.pass_at_k] == [0.5, 0.5]


def test_samples_that_were_wanted_and_are_missing_are_not_correct() -> None:
    found = group([row(sample="0")], header(PROBLEMS[0], samples=4))
    assert (found.missing, shares(found)[0]) == (3, 0.25)


def test_the_best_baseline_is_the_one_that_the_sample_beats_least() -> None:
    speedups = {"eager": Estimate(3.0, 2.9, 3.1), "compiled": Estimate(1.1, 0.99, 1.2)}
    given = header(PROBLEMS[0], baselines=("eager", "compiled"))
    found = group([row(speedups=speedups, baseline_ns={"eager": 3.0, "compiled": 1.1})], given)
    assert [each.baseline for each in found.against] == ["eager", "compiled", BEST]
    best = found.against[-1].fast_p
    assert [each.share and each.share.share for each in best] == [1.0, 1.0, 0.0]
    assert [each.sure and each.sure.share for each in best] == [1.0, 0.0, 0.0]
    assert found.against[-1].geomean == Estimate(pytest.approx(1.1), pytest.approx(0.99), pytest.approx(1.2))


def test_against_the_best_of_baselines_needs_a_speedup_over_each() -> None:
    given = header(PROBLEMS[0], baselines=("eager", "compiled"))
    found = group([row(speedups={"eager": Estimate(3.0, 2.9, 3.1)})], given)
    assert found.against[-1].geomean is None


def test_suites_have_rows_of_their_own_and_one_of_all() -> None:
    given = header("level1/1_a@x", "level1/2_b@x", "level2/1_a@x")
    found = report(given, [row("level1/1_a@x"), row("level2/1_a@x")])
    assert [(each.name, each.correct and each.correct.share) for each in found.groups] == [
        ("level1", 0.5),
        ("level2", 1.0),
        ("all", pytest.approx(2 / 3)),
    ]


def test_a_problem_with_many_samples_weighs_as_much_in_the_mean_as_one_with_one() -> None:
    rows = [row(PROBLEMS[0], str(sample), 4.0) for sample in range(9)]
    found = group([*rows, row(PROBLEMS[1], speedup=1.0)], header(*PROBLEMS[:2])).against[0]
    assert found.geomean is not None
    assert (found.geomean.value, found.problems) == (pytest.approx(2.0), 2)


def test_a_row_of_another_suite_is_refused() -> None:
    with pytest.raises(UsageError, match="llm/rope@9, which is none of the 4 problems of basics"):
        report(header(), [row("llm/rope@9")])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(PROBLEMS[0])], "3 problems without a sample, counted as not correct: basics/softmax"),
        ([rejected(status=Status.void)], "1 sample void (not the author's fault), left out of every share"),
        ([row(speedup=None)], "1 correct sample without speedup, not counted as fast: too short to be timed"),
        ([row(status=Status.suspect)], "1 sample suspect"),
    ],
)
def test_what_a_reader_must_know_is_said(rows: list[SuiteRow], said: str) -> None:
    assert any(note.startswith(said) for note in report(header(), rows).notes)
