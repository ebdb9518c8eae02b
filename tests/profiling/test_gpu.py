"""How NVIDIA's tools are run and read, with stand-ins for them: the kernel itself runs on the CPU here."""

from pathlib import Path

import pytest

from hotlap.profiling import gpu
from hotlap.profiling.findings import Findings
from hotlap.referee.case import silent
from tests.profiling.captured import FOLDER
from tests.profiling.conftest import BenchOf
from tests.profiling.test_tools import install
from tests.referee.scaled import KERNEL

NCU = """\
if [ "$1" = -i ]; then cat "$(dirname "$0")/page.csv"; exit 0; fi
while [ "$1" != -o ]; do shift; done
report=$2; shift 2
"$@" && echo counters > "$report.ncu-rep"
"""
SANITIZER = """\
while [ "$1" != --tool ]; do shift; done
tool=$2
while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
cp "$(dirname "$0")/$tool.txt" "$log"
exec "$@"
"""


@pytest.fixture
def tool_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in front of the path."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_ncu_counts_one_call_and_its_page_is_read(tool_folder: Path, bench_of: BenchOf) -> None:
    install(tool_folder, "ncu", NCU)
    (tool_folder / "page.csv").write_text((FOLDER / "ncu_raw.csv").read_text())
    bench, found = bench_of(KERNEL), Findings()
    gpu.count(bench, found)
    assert found.missing == []
    assert len(found.kernels) == 2
    assert set(found.files) == {"counters.ncu-rep", "counters.csv"}
    assert (bench.out / "counters.ncu-rep").read_text() == "counters\n"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"; exit 1', "administrators"),
        ('echo "==ERROR== Unknown option --nvtx"; exit 1', "counters: ==ERROR== Unknown option --nvtx"),
        ("kill -9 $$", "counters: under ncu the kernel was killed by SIGKILL"),
        (NCU.replace("cat", "exit 1; cat"), "counters: ncu exited with code 1"),
    ],
)
def test_where_ncu_cannot_count_one_line_says_why(
    script: str, says: str, tool_folder: Path, bench_of: BenchOf
) -> None:
    install(tool_folder, "ncu", script)
    found = Findings()
    gpu.count(bench_of(KERNEL), found)
    assert found.kernels == ()
    assert len(found.missing) == 1
    assert says in found.missing[0]


def test_where_ncu_sees_no_kernel_that_is_said(tool_folder: Path, bench_of: BenchOf) -> None:
    install(tool_folder, "ncu", NCU)
    (tool_folder / "page.csv").write_text("==WARNING== No kernels were profiled.\n")
    found = Findings()
    gpu.count(bench_of(KERNEL), found)
    assert found.missing == ["counters: ncu saw no kernel in the range of one call"]


def test_without_ncu_one_line_says_where_it_comes_from(tool_folder: Path, bench_of: BenchOf) -> None:
    found = Findings()
    gpu.count(bench_of(KERNEL), found)
    assert found.missing == ["ncu is not installed: it comes with the CUDA toolkit, or as Nsight Compute"]


def test_sanitizers_are_read_from_their_logs(tool_folder: Path, bench_of: BenchOf) -> None:
    install(tool_folder, "compute-sanitizer", SANITIZER)
    for name in ("memcheck.txt", "racecheck.txt"):
        (tool_folder / name).write_text((FOLDER / name).read_text())
    found = Findings()
    gpu.sanitize(bench_of(KERNEL), found, silent)
    assert {report.tool: report.errors for report in found.sanitizer} == {"memcheck": 513, "racecheck": 1}
    assert found.sanitizer[0].axes == {"n": 100, "width": 2}
    assert set(found.files) == {"memcheck.txt", "racecheck.txt"}


def test_a_sanitizer_that_comes_to_no_end_is_not_taken_for_a_clean_one(
    tool_folder: Path, bench_of: BenchOf
) -> None:
    install(tool_folder, "compute-sanitizer", 'echo "no device"; exit 1')
    found = Findings()
    gpu.sanitize(bench_of(KERNEL), found, silent)
    assert found.sanitizer == []
    assert [line.partition(":")[0] for line in found.missing] == ["memcheck", "racecheck"]
    assert "no device" in found.missing[0]
