"""The command: exit codes, error lines, help, version, and that reading verbs need no torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hotlap import __version__
from hotlap.cli import console
from hotlap.cli.main import app, dispatch, exit_code_of, message_of
from hotlap.errors import DeviceError, HarnessError, ProblemError, SubmissionError, UsageError
from hotlap.model import Status
from tests.cli import factory

VERBS = (
    *("problems", "show", "init", "audit", "check", "run", "duel", "profile", "question"),
    *("calibrate", "schema", "doctor", "demo"),
)


@pytest.mark.parametrize(
    ("status", "code"),
    [(Status.accepted, 0), (Status.wrong, 1), (Status.failed, 1), (Status.suspect, 1), (Status.void, 3)],
)
def test_the_exit_code_says_what_the_verdict_is(status: Status, code: int) -> None:
    assert console.exit_code(factory.accepted(status=status)) == code


def test_every_status_has_an_exit_code() -> None:
    assert set(console.EXIT_CODES) == set(Status)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no such problem"), 2),
        (ProblemError("bad key"), 2),
        (SubmissionError("empty"), 2),
        (DeviceError("no memory"), 3),
        (HarnessError("disturbed"), 3),
        (RuntimeError("bug"), 3),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 2),
    ],
)
def test_an_error_exits_with_the_code_of_whose_fault_it_is(error: Exception, code: int) -> None:
    assert exit_code_of(error) == code


def test_a_bug_of_hotlap_is_never_blamed_on_the_kernel() -> None:
    assert "a bug in hotlap, not in your kernel" in message_of(KeyError("x"))
    assert "pip install torch" in message_of(ModuleNotFoundError(name="torch"))


def test_an_error_is_one_paragraph_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["show", "basics/absent"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_a_traceback_comes_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOTLAP_TRACEBACK", "1")
    assert dispatch(["show", "basics/absent"]) == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["fly"], ["run"], ["run", "--speed"], ["schema", "poem"]])
def test_a_bad_command_line_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(arguments) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_another_system_gets_one_clear_line(platform: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["problems"], platform) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_escape_in_an_error_does_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    dispatch(["show", "\x1b[2Jx"])
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_each_verb_has_examples(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0
    assert f"$ hotlap {verb}" in result.stdout


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"hotlap {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["problems"], ["problems", "--json"], ["show", "basics/vectoradd"], ["schema"]]
)
def test_reading_verbs_import_neither_torch_nor_scipy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom hotlap.cli.main import dispatch\n"
        f"code = dispatch({arguments!r})\n"
        "heavy = {'torch', 'scipy', 'triton', 'numba'} & set(sys.modules)\n"
        "sys.exit(f'exit {code}, imported {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_problems_as_json_is_a_list_and_nothing_else() -> None:
    listed = json.loads(CliRunner().invoke(app, ["problems", "--suite", "basics", "--json"]).stdout)
    assert {"basics/vectoradd"} <= {f"{p['suite']}/{p['name']}" for p in listed}
    assert all(p["id"] == f"{p['suite']}/{p['name']}@{p['version']}" for p in listed)


def test_show_prints_all_that_a_kernel_must_keep() -> None:
    out = CliRunner().invoke(app, ["show", "basics/vectoradd"]).stdout
    for part in (
        "float32",
        'extern "C" int kernel(',
        "def kernel(",
        "rtol = ",
        "bytes = ",
        "bench",
        "hotlap init",
    ):
        assert part in out


def test_the_prototype_alone_is_c() -> None:
    out = CliRunner().invoke(app, ["show", "basics/vectoradd", "--prototype"]).stdout
    assert out.startswith('extern "C" int kernel(')


def test_show_as_json_has_the_fields_of_the_problem() -> None:
    shown = json.loads(CliRunner().invoke(app, ["show", "basics/vectoradd", "--json"]).stdout)
    assert shown["id"].startswith("basics/vectoradd@")
    assert {"statement", "inputs", "outputs", "tolerance", "cost", "workloads", "c_prototype"} <= set(shown)


def test_colours_are_off_where_there_is_no_terminal() -> None:
    assert "\x1b" not in CliRunner().invoke(app, ["problems"]).stdout


def test_json_on_stdout_is_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"reason": "µs \u202e"})
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == {"reason": "µs \u202e"}


def test_init_as_json_names_the_files_written(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", "basics/vectoradd", str(tmp_path / "mine"), "--json"])
    assert json.loads(result.stdout)["files"] == [
        str(tmp_path / "mine" / f) for f in ("kernel.py", "statement.md")
    ]
