"""`hotlap audit`: from its command line to what a person reads and the exit code."""

import json
from pathlib import Path

import pytest

from hotlap.cli.audit import size_in_bytes
from hotlap.cli.main import dispatch
from hotlap.errors import UsageError
from tests.audit.problems import write_tiny

SOUND = "def reference(x):\n    return torch.relu(x)\n"
BROKEN = "def reference(x):\n    return torch.relu(x - 100)\n"


def test_a_sound_problem_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["audit", str(write_tiny(tmp_path, SOUND))]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("sound  demo/tiny@")
    assert "2 of 2 workloads" in printed
    assert "nothing found by: right answer, trivial output" in printed


def test_a_broken_problem_exits_with_1_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(["audit", str(write_tiny(tmp_path, BROKEN))]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("broken  demo/tiny@")
    assert "accepted: zeros" in printed
    assert "all workloads" in printed


def test_a_folder_of_problems_gets_a_line_each_and_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tiny(tmp_path, SOUND, name="good")
    write_tiny(tmp_path, BROKEN, name="bad")
    (write_tiny(tmp_path, SOUND, name="unreadable") / "problem.toml").write_text("title =")
    assert dispatch(["audit", str(tmp_path / "demo")]) == 1
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    rows = [line.split()[:2] for line in lines if line.startswith(("broken   demo", "sound    demo"))]
    assert rows == [["broken", "demo/bad"], ["sound", "demo/good"], ["broken", "demo/unreadable"]]
    assert "is not TOML" in printed
    assert lines[-1].startswith("3 problems: 1 sound, 2 broken · ")


def test_json_is_one_object_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["audit", str(write_tiny(tmp_path, BROKEN)), "--json"]) == 1
    given = json.loads(capsys.readouterr().out)
    assert (given["schema"], given["counts"]) == ("hotlap.audit/1", {"broken": 1})
    (problem,) = given["problems"]
    assert problem["verdict"] == "broken"
    assert problem["findings"][0]["check"] == "trivial output"
    assert problem["findings"][0]["workloads"] == [{"n": 7}, {"n": 1000}]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["demo/nothing"], "neither a bundled problem"),
        (["{problem}", "--memory", "much"], "--memory 'much' is not a size"),
        (["{unreadable}"], "is not TOML"),
    ],
)
def test_what_cannot_be_audited_is_a_usage_error(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = write_tiny(tmp_path, SOUND)
    unreadable = write_tiny(tmp_path, SOUND, name="unreadable")
    (unreadable / "problem.toml").write_text("title =")
    filled = [word.format(problem=problem, unreadable=unreadable) for word in arguments]
    assert dispatch(["audit", *filled]) == 2
    assert says in capsys.readouterr().err


def test_nothing_audited_exits_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["audit", str(write_tiny(tmp_path, SOUND)), "--memory", "1kB"]) == 3
    assert capsys.readouterr().out.startswith("not audited  demo/tiny@")


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("512 MiB", 2**29), ("1e6", 10**6), ("1.5 kB", 1500)]
)
def test_a_size_is_read_with_its_unit(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "0", "4 apples", "1e999", "-1GB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        size_in_bytes(text)
