"""`hotlap profile`: one kernel, from its command line to summary, files and exit code."""

import json
from pathlib import Path

import pytest

from hotlap.cli.main import dispatch
from tests.referee.scaled import KERNEL, cpp, write_scaled

WRONG = "def kernel(x, alpha):\n    return alpha + x\n"


@pytest.fixture
def problem(tmp_path: Path) -> str:
    return str(write_scaled(tmp_path))


def write(tmp_path: Path, source: str, name: str = "kernel.py") -> str:
    path = tmp_path / name
    path.write_text(source)
    return str(path)


def test_a_right_kernel_gets_a_summary_and_files(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert dispatch(["profile", problem, write(tmp_path, KERNEL), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("profile  demo/scaled  kernel.py  n=20011 width=2")
    assert "\nbottleneck  " in printed
    assert f"\nfiles in {out}\n" in printed
    assert (out / "trace.json").is_file()


def test_json_is_one_object_and_nothing_else(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["profile", problem, write(tmp_path, cpp(), "kernel.cpp"), "--json", "--workload", "n=9"]
    assert dispatch([*arguments, "--out", str(tmp_path / "out")]) == 0
    given = json.loads(capsys.readouterr().out)
    assert (given["schema"], given["axes"]) == ("hotlap.profile/1", {"n": 9, "width": 2})


def test_a_wrong_kernel_is_profiled_and_said_to_be_wrong(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["profile", problem, write(tmp_path, WRONG), "--out", str(tmp_path / "out")]
    assert dispatch(arguments) == 1
    assert "\nwrong: its answers are not right" in capsys.readouterr().out


def test_a_kernel_that_fails_is_told_as_check_tells_it(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(["profile", problem, write(tmp_path, "def kernel(x, alpha): 1 / 0\n")]) == 1
    assert "raised ZeroDivisionError: division by zero" in capsys.readouterr().out


def test_a_kernel_for_another_device_is_not_at_fault(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(["profile", problem, write(tmp_path, "", "kernel.cu"), "--device", "cpu"]) == 3
    assert "is CUDA: it needs a GPU" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["absent.py"], "'absent.py' is not a file"),
        (["demo/nothing", "{kernel}"], "demo/nothing"),
        (["{problem}", "{kernel}", "--workload", "7"], "--workload 7"),
        (["{problem}", "{kernel}", "--device", "tpu"], "device 'tpu' does not exist"),
        (["{problem}", "{kernel}", "--sanitize"], "--sanitize: compute-sanitizer looks at GPU kernels"),
    ],
)
def test_a_command_line_that_cannot_be_is_a_usage_error(
    arguments: list[str], says: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = write(tmp_path, KERNEL)
    filled = [word.format(problem=problem, kernel=kernel) for word in arguments]
    assert dispatch(["profile", *filled]) == 2
    assert says in capsys.readouterr().err
