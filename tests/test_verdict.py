"""The one door: what counts as a submission, and a stored run whose failing call is made again."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hotlap.errors import UsageError
from hotlap.model import Status
from hotlap.problems.native import load
from hotlap.referee.device import CpuDevice, open_device
from hotlap.verdict import read_submission, replay, verdict
from tests.referee.scaled import KERNEL, cpp, write_scaled

# --- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "lang"),
    [
        ("kernel.py", "def kernel(x): ...", "python"),
        ("kernel.py", "import triton\n", "triton"),
        ("kernel.py", "    from triton import language as tl\n", "triton"),
        ("kernel.py", "# import triton\nimport tritonlike\n", "python"),
        ("kernel.cpp", "int x;", "cpp"),
        ("kernel.cc", "int x;", "cpp"),
        ("kernel.cxx", "int x;", "cpp"),
        ("kernel.cu", "int x;", "cu"),
        ("kernel.py", "", "python"),
        ("größe ✓.py", "x = 'ü'", "python"),
    ],
)
def test_the_language_is_told_from_the_ending_and_the_imports(
    tmp_path: Path, name: str, content: str, lang: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    given = read_submission(path, "ada")
    assert (given.file, given.source, given.lang, given.author) == (name, content, lang, "ada")
    assert given.sha256 == hashlib.sha256(content.encode()).hexdigest()
    assert given.refused is None


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (b"# padding\n" * 1_000_000, "kernel.py is 10.0 MB; at most 1 MB"),
        (b"x = '\xff'", "kernel.py is not UTF-8 text (byte 5); a submission is source code"),
        (b"\x7fELF\x02\x01\x01\x00", "kernel.py is not UTF-8 text (it holds a NUL byte)"),
        (b"x = 1\0", "kernel.py is not UTF-8 text (it holds a NUL byte)"),
    ],
    ids=["large", "latin", "binary", "NUL"],
)
def test_a_file_that_cannot_be_judged_is_a_submission_that_says_why(
    tmp_path: Path, content: bytes, refused: str
) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(content)
    given = read_submission(path)
    assert (given.refused, given.source) == (refused, "")
    assert given.sha256 == hashlib.sha256(content).hexdigest()


def test_a_file_of_the_largest_size_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"#" * (1 << 20))
    assert read_submission(path).refused is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.py", r"missing\.py: no such file"),
        ("kernel.rs", r"ending \.rs is not known; allowed: \.py, \.cpp"),
        ("kernel", r"ending \(none\) is not known"),
        ("folder.py", r"folder\.py: not a file"),
    ],
)
def test_a_path_that_is_no_kernel_is_a_usage_error(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "kernel.rs").touch()
    (tmp_path / "kernel").touch()
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UsageError, match=message):
        read_submission(tmp_path / name)


# --- replay ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CpuDevice]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        with open_device() as opened:
            yield opened


def judged(device: CpuDevice, tmp_path: Path, source: str, name: str = "kernel.cpp") -> str:
    """The id of the run of a kernel on a problem that is given by its path."""
    path = tmp_path / name
    path.write_text(source)
    return verdict(load(write_scaled(tmp_path)), read_submission(path), device, timed=False).run


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("kernel.py", "def kernel(x, alpha):\n    return alpha * x + (x > 2)\n"),
        ("kernel.cpp", cpp("+ float(x[i] > 2)")),
    ],
    ids=["Python", "C++"],
)
def test_a_replay_gives_the_wrong_answer_again_and_keeps_inputs_outputs_and_truth(
    device: CpuDevice, tmp_path: Path, name: str, source: str
) -> None:
    run = judged(device, tmp_path, source, name)
    found = replay(run, 4, device, tmp_path / "dump")
    assert found.wrong is not None
    assert "elements beyond tolerance" in found.wrong
    assert found.axes == {"n": 20011}
    assert [file.name for file in found.files] == ["x.npy", "alpha.npy", "y.npy", "y.expected.npy"]
    x, alpha, y, expected = (np.load(file) for file in found.files)
    assert x.shape == y.shape == expected.shape == (20011, 2)
    assert np.array_equal(y, (alpha * x + (x > 2)).astype(np.float32))
    assert np.allclose(expected, alpha.astype(np.float64) * x, rtol=1e-12)


def test_a_replay_makes_the_same_inputs_each_time(device: CpuDevice, tmp_path: Path) -> None:
    run = judged(device, tmp_path, cpp())
    first, second = (replay(run, 0, device, tmp_path / name) for name in ("a", "b"))
    assert first.wrong is None
    assert all(np.array_equal(np.load(a), np.load(b)) for a, b in zip(first.files, second.files, strict=True))


def test_without_an_index_the_workload_that_failed_is_replayed(device: CpuDevice, tmp_path: Path) -> None:
    run = judged(device, tmp_path, cpp("+ (n > 5)"))
    found = replay(run, None, device, tmp_path / "dump")
    assert found.workload == 1
    assert found.wrong is not None


def test_a_replayed_crash_says_how_it_ended_and_keeps_the_inputs(device: CpuDevice, tmp_path: Path) -> None:
    run = judged(device, tmp_path, "#include <stdlib.h>\n" + cpp("+ (exit(3), 0)"))
    found = replay(run, None, device, tmp_path / "dump")
    assert found.wrong == "exited with code 3 before it answered"
    assert [file.name for file in found.files] == ["x.npy", "alpha.npy"]


def test_a_workload_that_the_run_does_not_have_is_a_usage_error(device: CpuDevice, tmp_path: Path) -> None:
    run = judged(device, tmp_path, cpp())
    with pytest.raises(UsageError, match="has no workload 9; allowed: 0 to 4"):
        replay(run, 9, device, tmp_path / "dump")


def test_a_problem_that_changed_since_is_not_replayed(device: CpuDevice, tmp_path: Path) -> None:
    run = judged(device, tmp_path, cpp())
    write_scaled(tmp_path, ("2*eps", "4*eps"))
    with pytest.raises(UsageError, match=r"was of demo/scaled@\w+; .* holds demo/scaled@\w+ now"):
        replay(run, 0, device, tmp_path / "dump")


def test_a_run_that_reached_no_workload_has_no_call_to_replay(device: CpuDevice, tmp_path: Path) -> None:
    run = judged(device, tmp_path, "int x;\n")
    with pytest.raises(UsageError, match="reached no workload"):
        replay(run, None, device, tmp_path / "dump")


def test_a_verdict_carries_the_facts_of_the_source(device: CpuDevice, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"import time\ntime.perf_counter = None\n{KERNEL}")
    given = verdict(load(write_scaled(tmp_path)), read_submission(path), device, timed=False)
    assert given.status == Status.accepted
    assert [(f.file, f.line) for f in given.findings] == [("kernel.py", 2)]
