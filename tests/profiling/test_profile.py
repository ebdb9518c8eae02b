"""Whole profiles on this machine's CPU, by whatever tools it has."""

import json
from pathlib import Path

import pytest

from hotlap.errors import DeviceError, UsageError
from hotlap.model import Problem
from hotlap.profiling.profile import profile
from hotlap.profiling.report import Profile
from hotlap.profiling.summary import artefacts, summary
from hotlap.profiling.tools import find
from hotlap.referee.device import CpuDevice
from hotlap.runs import home
from hotlap.schema import from_json, json_schema, to_json
from hotlap.verdict import read_submission
from tests.profiling.test_tools import install
from tests.referee.scaled import KERNEL, cpp


def profiled(
    source: str, name: str, scaled: Problem, device: CpuDevice, tmp_path: Path, **options: object
) -> Profile:
    path = tmp_path / name
    path.write_text(source)
    return profile(scaled, read_submission(path), device, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def python_profile(scaled: Problem, device: CpuDevice, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Of a kernel of one line, in the default folder."""
    return profiled(KERNEL, "kernel.py", scaled, device, tmp_path_factory.mktemp("kernel"))


def test_a_python_kernel_has_hot_lines_operations_and_a_timeline(python_profile: Profile) -> None:
    made = python_profile
    assert made.failure is None
    assert made.cpu is not None
    assert made.cpu.lines[0].text == "return alpha * x"
    assert made.timeline is not None
    assert made.timeline.ops[0].name == "aten::mul"
    assert made.axes == {"n": 20011, "width": 2}
    json.loads(Path(made.folder, "trace.json").read_text())


def test_a_profile_is_about_fifteen_lines_and_says_where_its_files_are(python_profile: Profile) -> None:
    made = python_profile
    assert 6 <= len(summary(made)) <= 18
    assert artefacts(made)[0] == f"files in {made.folder}"
    assert all(Path(made.folder, name).exists() for name in made.files)


def test_a_profile_is_one_json_document_with_a_schema(python_profile: Profile) -> None:
    assert json.loads(to_json(python_profile))["schema"] == "hotlap.profile/1"
    assert json_schema(Profile)["$id"] == "hotlap.profile/1"
    assert from_json(Profile, to_json(python_profile)) == python_profile


def test_files_go_to_a_folder_of_the_data_folder_unless_told_otherwise(python_profile: Profile) -> None:
    assert python_profile.folder == str(home() / "profiles" / python_profile.id)


@pytest.mark.skipif(isinstance(find("valgrind"), str), reason="needs valgrind")
def test_a_cpp_kernel_has_its_instructions_counted_by_line(
    scaled: Problem, device: CpuDevice, tmp_path: Path
) -> None:
    made = profiled(cpp(), "kernel.cpp", scaled, device, tmp_path, out=tmp_path / "out", workload="n=1000")
    assert made.cpu is not None
    assert made.cpu.counted_by in ("callgrind", "perf")
    assert made.cpu.instructions is not None
    assert made.cpu.instructions > 100
    assert made.cpu.lines[0].text is not None
    assert made.cpu.lines[0].text.startswith("for (int64_t i = 0;")
    assert made.cpu.split is not None
    assert next(iter(made.cpu.split)) == "author"


def test_without_any_tool_a_profile_says_so_and_goes_on(
    scaled: Problem, device: CpuDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "env").symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", str(folder))
    made = profiled(cpp(), "kernel.cpp", scaled, device, tmp_path, out=tmp_path / "out")
    assert made.cpu is not None
    assert made.cpu.instructions is None
    assert [line.partition(" is not")[0] for line in made.missing] == ["perf", "valgrind"]


def test_a_perf_that_may_not_count_is_left_out_with_its_own_reason(
    scaled: Problem, device: CpuDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    install(folder, "perf", 'echo "Access to performance monitoring is limited." >&2; exit 255')
    (folder / "env").symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", str(folder))
    made = profiled(KERNEL, "kernel.py", scaled, device, tmp_path, out=tmp_path / "out")
    assert made.failure is None
    assert "perf may not count here" in made.missing[0]
    assert "Access to performance monitoring is limited." in made.missing[0]


def test_a_kernel_that_fails_under_a_profiler_is_told_with_its_fault(
    scaled: Problem, device: CpuDevice, tmp_path: Path
) -> None:
    made = profiled(
        "def kernel(x, alpha): 1 / 0\n", "kernel.py", scaled, device, tmp_path, out=tmp_path / "o"
    )
    assert made.failure is not None
    assert made.failure.fault == "submission"
    assert "failed   in call: the kernel raised ZeroDivisionError: division by zero" in summary(made)


def test_source_that_does_not_compile_is_a_failure_too(
    scaled: Problem, device: CpuDevice, tmp_path: Path
) -> None:
    made = profiled("int x = ;\n", "kernel.cpp", scaled, device, tmp_path, out=tmp_path / "o")
    assert made.failure is not None
    assert made.failure.phase == "build"


def test_a_folder_that_cannot_be_is_a_usage_error(scaled: Problem, device: CpuDevice, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot be made .* by --out"):
        profiled(KERNEL, "kernel.py", scaled, device, tmp_path, out=tmp_path / "file" / "out")


@pytest.mark.parametrize(
    ("source", "name", "options", "error", "says"),
    [
        ("import triton\n", "kernel.py", {}, DeviceError, "is Triton: it is profiled on a GPU"),
        ("", "kernel.cu", {}, DeviceError, "is CUDA: it is profiled on a GPU"),
        (KERNEL, "kernel.py", {"sanitized": True}, UsageError, "--sanitize: .* GPU"),
        (KERNEL, "kernel.py", {"sass": True}, UsageError, "--sass, --ptx"),
    ],
)
def test_what_needs_a_gpu_is_refused_on_a_cpu(
    source: str,
    name: str,
    options: dict[str, object],
    error: type[Exception],
    says: str,
    scaled: Problem,
    device: CpuDevice,
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=says):
        profiled(source, name, scaled, device, tmp_path, out=tmp_path / "out", **options)


def test_a_workload_that_needs_more_memory_than_there_is_is_the_devices_fault(
    scaled: Problem, device: CpuDevice, tmp_path: Path
) -> None:
    with pytest.raises(DeviceError, match="choose a smaller --workload"):
        profiled(
            KERNEL, "kernel.py", scaled, device, tmp_path, out=tmp_path / "out", workload="n=100000000000"
        )
