"""`hotlap suite` as its user meets it: what it prints, writes and exits with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hotlap.cli import suite
from hotlap.cli.main import app, dispatch
from hotlap.errors import UsageError
from hotlap.fleet import exchange, journal
from hotlap.fleet.suite_run import State
from hotlap.model import Status
from tests.fleet.factory import PROBLEMS, header, rejected, row
from tests.referee.scaled import cpp, write_scaled


def journalled(folder: Path) -> Path:
    with journal.opened(folder, header()) as book:
        book.append(row(PROBLEMS[0], speedup=2.0))
        book.append(rejected(PROBLEMS[1]))
    return folder


def test_a_run_prints_a_table_and_leaves_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problems = write_scaled(tmp_path).parent
    solutions = tmp_path / "solutions"
    solutions.mkdir()
    (solutions / "scaled_0.cpp").write_text(cpp())
    (solutions / "scaled_1.cpp").write_text(cpp("+ 1"))
    (solutions / "other_0.cpp").write_text(cpp())
    arguments = ["suite", "run", str(problems), "--solutions", str(solutions), "--out", str(tmp_path / "out")]
    assert dispatch([*arguments, "--p", "1"]) == 0
    out, err = capsys.readouterr()
    assert "A sample drawn for each problem: 50 % of 1 problem solved right" in out
    assert "2/2  wrong  demo/scaled 1" in err
    assert "not judged: other_0.cpp" in err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"rows.jsonl", "verdicts", "report.md", "report.json", "report.html", "fast_p.svg"} <= names

    assert dispatch([*arguments, "--json", "--p", "1,2"]) == 0
    out, err = capsys.readouterr()
    given = json.loads(out)
    assert given["schema"] == "hotlap.suitereport/1"
    assert [each["p"] for each in given["groups"][0]["against"][0]["fast_p"]] == [1.0, 2.0]
    assert "wrong" not in err  # nothing was judged again

    (solutions / "scaled_1.cpp").write_text(cpp("+ 2"))
    assert dispatch(arguments) == 2
    assert "has changed since it was judged" in capsys.readouterr().err


def test_a_report_is_made_again_from_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["suite", "report", str(journalled(tmp_path)), "--p", "0,1"]) == 0
    out, _ = capsys.readouterr()
    assert "25 % [1, 81]" in out
    assert "2 problems without a sample, counted as not correct: basics/sort, basics/vectoradd" in out
    assert "25 % [1, 81]" in (tmp_path / "report.md").read_text()


def test_a_report_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom hotlap.cli.main import dispatch\n"
        f"code = dispatch(['suite', 'report', {str(journalled(tmp_path))!r}])\n"
        "sys.exit(code or ('torch' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_kernelbench_files_go_out_and_come_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = tmp_path / "export"
    assert (
        dispatch(["suite", "report", str(journalled(tmp_path)), "--kernelbench", str(export), "--json"]) == 0
    )
    before = json.loads(capsys.readouterr().out)
    results, times = export / "level1" / exchange.RESULTS, export / "baseline_time_default.json"
    assert dispatch(["suite", "report", str(results), "--times", str(times), "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["groups"] == before["groups"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "basics"], "--solutions"),
        (["run", "basics", "--solutions", "absent"], "no such folder"),
        (["run", "absent", "--solutions", "."], "no bundled suite has this name"),
        (["run", "basics", "--solutions", ".", "--p", "fast"], "expected numbers of 0 or more"),
        (["run", "basics", "--solutions", ".", "--samples", "0"], "--samples"),
        (["report", "absent"], "name the folder that `hotlap suite run --out` wrote"),
        (["report", ".", "--level", "1"], "belong to an eval_results.json"),
    ],
)
def test_a_bad_command_line_says_what_is_wrong(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dispatch(["suite", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


@pytest.mark.parametrize(("given", "found"), [("1", [1.0]), ("2,0,0.5,2", [0.0, 0.5, 2.0])])
def test_p_is_a_list_of_numbers(given: str, found: list[float]) -> None:
    assert suite.parsed_p(given) == found


@pytest.mark.parametrize("given", ["", "1,", "-1", "inf", "nan", "1;2"])
def test_p_that_is_no_such_list_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="expected numbers of 0 or more"):
        suite.parsed_p(given)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (100, "1 min 40 s"), (7500, "2 h 5 min")]
)
def test_what_is_left_is_told_in_two_units(seconds: float, said: str) -> None:
    assert suite.duration(seconds) == said


def test_progress_tells_done_accepted_and_what_is_left() -> None:
    assert suite.progress_words(State(12, 3, 2, 100.0)) == "3/12 · 2 accepted · 1 min 40 s left"
    assert suite.progress_words(State(12, 0, 0, None)) == "0/12 · 0 accepted"


def test_a_judged_sample_is_one_clean_line() -> None:
    told = suite.judged_line(
        rejected(PROBLEMS[0], "0\x1b[2J", Status.failed, reason="bad\x1b\nmore"), State(2, 1, 0, 5.0)
    )
    assert told.plain == "1/2  failed  basics/matmul 0\\x1b[2J  bad\\x1b  0 accepted · 5 s left"


@pytest.mark.parametrize("verb", ["run", "report"])
def test_the_help_of_each_verb_has_examples(verb: str) -> None:
    result = CliRunner().invoke(app, ["suite", verb, "--help"])
    assert result.exit_code == 0
    assert f"$ hotlap suite {verb}" in result.stdout
