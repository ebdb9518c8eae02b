"""Where a submission is judged, and with how many contestants ready."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hotlap.cli.check import device_of
from hotlap.cli.judging import default_device, warm_contestants
from hotlap.cli.main import app, dispatch
from hotlap.referee.doctor_cuda import has_gpu
from hotlap.verdict import read_submission
from tests.run_factory import gpu_run, run, self_reported


def submission(folder: Path, name: str, source: str = "") -> "object":
    path = folder / name
    path.write_text(source)
    return read_submission(path)


@pytest.mark.parametrize(
    ("name", "source", "device"),
    [
        ("kernel.py", "import torch\n", "cpu"),
        ("kernel.cpp", "", "cpu"),
        ("kernel.cu", "", "cuda:0"),
        ("kernel.py", "import triton\n", "cuda:0" if has_gpu() else "cpu"),
    ],
)
def test_a_submission_goes_where_its_language_runs(
    tmp_path: Path, name: str, source: str, device: str
) -> None:
    assert default_device(submission(tmp_path, name, source)) == device


@pytest.mark.parametrize("verb", ["run", "check"])
def test_what_is_no_device_exits_2_and_says_what_is_allowed(
    tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    submission(tmp_path, "kernel.py")
    assert dispatch([verb, "basics/sort", str(tmp_path / "kernel.py"), "--device", "tpu"]) == 2
    assert "allowed: cpu, cuda, cuda:N" in capsys.readouterr().err


def test_a_device_on_the_command_line_goes_before_the_file_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submission(tmp_path, "kernel.py", "#! hotlap problem basics/sort\n#! hotlap device of-file\n")
    assert dispatch(["check", str(tmp_path / "kernel.py")]) == 2
    assert "'of-file'" in capsys.readouterr().err
    assert dispatch(["check", str(tmp_path / "kernel.py"), "--device", "of-line"]) == 2
    assert "'of-line'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("device", "name", "timed", "count"),
    [
        ("cpu", "kernel.py", True, 2),
        ("cpu", "kernel.py", False, 1),
        ("cpu", "kernel.cpp", True, 1),
        ("cpu", "kernel.cpp", False, 0),
        ("cuda:0", "kernel.py", True, 2),
        ("cuda:1", "kernel.cu", True, 2),
        ("cuda:0", "kernel.cu", False, 1),
        ("cuda:0", "kernel.py", False, 1),
    ],
)
def test_contestants_that_will_be_taken_start_at_once(
    tmp_path: Path, device: str, name: str, timed: bool, count: int
) -> None:
    assert warm_contestants(device, submission(tmp_path, name), timed=timed) == count


def test_a_replay_goes_where_the_run_was() -> None:
    assert device_of(run()) == "cpu"
    assert device_of(gpu_run()) == "cuda:0"
    assert device_of(self_reported()) == "cuda:0"


@pytest.mark.parametrize("verb", ["run", "check", "calibrate"])
def test_the_help_says_which_devices_there_are(verb: str) -> None:
    out = CliRunner().invoke(app, [verb, "--help"]).stdout
    assert "--device" in out
    assert "cpu|cuda|cuda:N" in out
    assert "cuda:0" in out
