"""`hotlap run --protocol original`, from its command line to what it prints and its exit code."""

import json
from pathlib import Path

import pytest

from hotlap.cli.main import dispatch
from tests.formats.test_original import GOOD, folder_of

Capture = pytest.CaptureFixture[str]


def run(folder: Path | str, file: Path, *options: str) -> int:
    return dispatch(["run", str(folder), str(file), "--protocol", "original", "--device", "cpu", *options])


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.py"
    file.write_text(GOOD)
    return file


def test_what_the_script_says_is_printed_and_called_self_reported(
    tmp_path: Path, kernel: Path, capsys: Capture
) -> None:
    assert run(folder_of(tmp_path), kernel) == 0
    printed = capsys.readouterr().out
    assert "secret seed  leaderboard  pass" in printed
    assert "\npassed  suite/add  64.00 µs (last)" in printed
    assert "\nself-reported: " in printed


def test_a_wrong_kernel_exits_with_1_and_says_what_the_script_said(
    tmp_path: Path, kernel: Path, capsys: Capture
) -> None:
    kernel.write_text("print('\\x1b[32mhello')\ndef custom_kernel(size):\n    return 0\n")
    assert run(folder_of(tmp_path), kernel) == 1
    printed = capsys.readouterr().out
    assert "failed  suite/add  no score: test: check: fail" in printed
    assert "  test.0.error: differs: by 1\n" in printed
    assert "  \\x1b[32mhello\n" in printed


def test_a_script_that_needs_a_gpu_exits_with_3(tmp_path: Path, kernel: Path, capsys: Capture) -> None:
    needs = ("    passed = True", "    sys.exit('No CUDA GPUs are available')")
    assert run(folder_of(tmp_path, needs), kernel) == 3
    assert "unsupported here: needs a GPU" in capsys.readouterr().out


def test_json_is_one_object_that_is_labelled(tmp_path: Path, kernel: Path, capsys: Capture) -> None:
    assert run(folder_of(tmp_path), kernel, "--json") == 0
    given = json.loads(capsys.readouterr().out)
    assert (given["schema"], given["trust"]) == ("hotlap.original/1", "self-reported")


@pytest.mark.parametrize("option", ["--plot", "--report", "--trace", "--baseline"])
def test_options_that_need_a_verdict_are_refused(
    tmp_path: Path, kernel: Path, capsys: Capture, option: str
) -> None:
    assert run(folder_of(tmp_path), kernel, option, "x.png") == 2
    assert f"{option}: --protocol original gives no verdict" in capsys.readouterr().err


@pytest.mark.parametrize("problem", ["basics/softmax", "{folder}@strict", "no/such/folder"])
def test_other_problems_have_no_original_protocol(
    tmp_path: Path, kernel: Path, capsys: Capture, problem: str
) -> None:
    assert run(problem.format(folder=folder_of(tmp_path)), kernel) == 2
    assert capsys.readouterr().err.startswith("error: ")
