"""The report's files: what a reader sees, and that nothing of an author's is markup there."""

from dataclasses import replace
from html import escape
from itertools import pairwise
from pathlib import Path

import pytest

from hotlap.fleet import report as reports
from hotlap.fleet.results import Estimate, Share, SuiteHeader, SuiteRow, report
from hotlap.model import Status
from hotlap.plots import canvas, files
from hotlap.plots.fast_p import Curve, Point, chart, p_range, share, steps, sure_share
from hotlap.plots.report import POLICY
from hotlap.stats import fast_p, sure_fast_p
from tests.fleet.factory import PROBLEMS, header, rejected, row

NASTY = "</td><script>alert(1)</script> | [x](http://e) `c` \x1b[31m\u202e"


def some_rows() -> list[SuiteRow]:
    return [
        row(PROBLEMS[0], speedup=2.0),
        row(PROBLEMS[1], speedup=1.01),
        rejected(PROBLEMS[2], reason=f"{NASTY}\nsecond line"),
        rejected(PROBLEMS[3], status=Status.void),
    ]


def markdown(given: SuiteHeader, rows: list[SuiteRow]) -> str:
    return reports.markdown(report(given, rows), given, rows)


def line(page: str, start: str) -> str:
    return next(each for each in page.splitlines() if each.startswith(start))


# --- Markdown --------------------------------------------------------------------------------------


def test_the_table_has_a_row_as_measured_and_one_of_what_is_sure() -> None:
    page = markdown(header(), some_rows())
    assert line(page, "| basics | default | ") == (
        "| basics | default | 67 % [9, 99] | 67 % [9, 99] | 67 % [9, 99] | 33 % [1, 91] | 0 % [0, 71] "
        "| 1.42x [1.40, 1.44] | 2 |"
    )
    assert line(page, "| basics | default, sure |").startswith(
        "| basics | default, sure | 67 % [9, 99] | 67 % [9, 99] | 33 % [1, 91] | 33 % [1, 91] | 0 % [0, 71] |"
    )


def test_counts_and_notes_are_told() -> None:
    page = markdown(header(), some_rows())
    assert line(page, "| basics | 4 |") == "| basics | 4 | 4 | 2 | 1 | 0 | 0 | 1 | 0 | 67 % [9, 99] |"
    assert "- 1 sample void (not the author's fault), left out of every share" in page


def test_text_of_an_author_is_no_markup_in_markdown() -> None:
    page = markdown(header(), some_rows())
    told = line(page, "| basics/sort | 0 | wrong |")
    assert "\\<script\\>" in told
    assert "](http" not in told
    assert told.replace("\\|", "").count("|") == 7
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "second line" not in page


def test_a_problem_without_a_sample_has_a_row() -> None:
    assert "| basics/sort | — | no sample | — | — |  |" in markdown(header(), [row(PROBLEMS[0])])


def test_several_samples_have_a_table_of_their_own() -> None:
    rows = [row(sample="0"), rejected(sample="1")]
    assert "| basics | 2 | 100 % [3, 100] | 100 % [3, 100] |" in markdown(header(PROBLEMS[0]), rows)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "—"),
        (Estimate(1.42, 1.40, 1.44), "1.42x [1.40, 1.44]"),
        (Estimate(1.42, None, 1.44), "1.42x"),
    ],
)
def test_a_speedup_has_its_interval_where_there_is_one(found: Estimate | None, said: str) -> None:
    assert reports.speedup_cell(found) == said


def test_a_share_has_its_interval() -> None:
    assert reports.share_cell(Share(0.5, 0.0676, 0.932, 4)) == "50 % [7, 93]"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            some_rows(),
            "67 % of 3 problems solved right; 67 % right and faster than the baseline (default), "
            "surely 33 %.",
        ),
        (
            [rejected(problem, status=Status.void) for problem in PROBLEMS],
            "Nothing of 4 problems could be judged.",
        ),
        ([row(problem, speedup=None) for problem in PROBLEMS], "100 % of 4 problems solved right."),
        (
            [row(problem, sample) for problem in PROBLEMS for sample in "01"],
            "A sample drawn for each problem: 100 % of 4 problems solved right; 100 % right and faster than "
            "the baseline (default), surely 100 %.",
        ),
    ],
)
def test_the_result_in_a_sentence(rows: list[SuiteRow], said: str) -> None:
    assert reports.lead(report(header(), rows)) == said


# --- page ------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    rows = some_rows()
    page = reports.page(report(header(), rows), header(), rows)
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert f'content="{escape(POLICY)}"' in page
    assert " src=" not in page
    assert "<svg" in page
    assert "67 % [9, 99]" in page
    assert "\x1b" not in page


def test_a_page_without_a_speedup_has_no_curve_and_says_so() -> None:
    rows = [rejected(PROBLEMS[0])]
    page = reports.page(report(header(), rows), header(), rows)
    assert "<svg" not in page
    assert "0 % of 4 problems solved right" in page


# --- curves ----------------------------------------------------------------------------------------

SPEEDUPS, LOWS = [0.5, 1.0, 1.5, 1.5, 9.0], [0.4, 0.9, 1.4, 1.1, 8.0]
CURVE = Curve("basics", tuple(Point(s, low, 1.0) for s, low in zip(SPEEDUPS, LOWS, strict=True)), 6)


@pytest.mark.parametrize("p", [0.0, 0.45, 0.5, 0.95, 1.0, 1.2, 1.5, 8.5, 9.0, 20.0])
def test_a_curve_is_fast_p_at_every_p(p: float) -> None:
    correct = [True] * 5 + [False]
    assert share(CURVE, p) == pytest.approx(fast_p([*SPEEDUPS, None], correct, p))
    assert sure_share(CURVE, p) == pytest.approx(sure_fast_p([*LOWS, None], correct, p))


def test_a_curve_changes_only_at_its_steps() -> None:
    found = steps(CURVE)
    assert [step.p for step in found] == [0.0, 0.4, 0.5, 0.9, 1.0, 1.1, 1.4, 1.5, 8.0, 9.0]
    for step, after in pairwise(found):
        middle = (step.p + after.p) / 2
        assert (share(CURVE, middle), sure_share(CURVE, middle)) == (step.share, step.sure_share)
    assert (found[0].share, found[-1].share) == (5 / 6, 0.0)


def test_a_sample_without_bounds_leaves_nothing_sure() -> None:
    assert sure_share(replace(CURVE, points=(*CURVE.points, Point(2.0, None, 1.0))), 1.0) is None


def test_the_axis_shows_one_and_stays_readable() -> None:
    assert p_range([Curve("fast", (Point(1e6, 1e5, 1.0),), 1)])[1] < 25
    low, high = p_range([CURVE])
    assert low < 0.4 < 1 < 9 < high


def test_a_curve_of_no_problem_is_refused() -> None:
    with pytest.raises(ValueError, match="of no problem"):
        chart([Curve("nothing", (), 0)])


def test_there_is_a_curve_for_each_suite_and_baseline() -> None:
    given = header("level1/1_a@x", "level2/1_b@x", baselines=("eager", "compiled"))
    speedups = {"eager": Estimate(2.0, 1.9, 2.1), "compiled": Estimate(1.2, 1.1, 1.3)}
    rows = [row(problem, speedups=speedups) for problem in given.problems]
    drawn = reports.curves(given, rows, report(given, rows))
    assert [curve.label for curve in drawn] == [
        f"{group} against {baseline}"
        for group in ("level1", "level2", "all")
        for baseline in ("eager", "compiled", "best of these")
    ]
    assert drawn[-1].problems == 2


@pytest.mark.parametrize("width", [3.75, 10.0])
@pytest.mark.parametrize(
    "curves",
    [
        [CURVE],
        [CURVE, Curve(NASTY * 4, (Point(2.0, None, 0.5),), 3)],
        [Curve("far", (Point(1e6, 1e-6, 1.0),), 1)],
        [Curve("none", (), 2)],
    ],
    ids=["one", "without bounds", "far", "none"],
)
def test_curves_draw_at_every_width(curves: list[Curve], width: float) -> None:
    origin = reports.provenance(report(header(), some_rows()))
    with canvas.style():
        figure = files.compose([chart(curves)], origin, width)
        figure.draw_without_rendering()
    assert figure.get_size_inches()[0] == width


# --- Parquet ---------------------------------------------------------------------------------------


def test_parquet_holds_a_row_a_sample_and_nothing_where_nothing_is(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    reports.write_parquet(some_rows(), ("default",), tmp_path / "rows.parquet")
    read = parquet.read_table(tmp_path / "rows.parquet").to_pydict()
    assert read["status"] == ["accepted", "accepted", "wrong", "void"]
    assert read["speedup_default"] == [2.0, 1.01, None, None]
    assert read["time_ns_ci_low"][0] == pytest.approx(99_500)
    assert read["reason"][2].endswith("second line")
