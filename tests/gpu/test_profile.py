"""Profiles on a GPU: what each of NVIDIA's tools says of the bundled kernels, or why it cannot."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotlap.model import Verdict
from hotlap.problems.find import find
from hotlap.profiling.profile import profile
from hotlap.profiling.report import Profile
from hotlap.profiling.summary import summary
from hotlap.verdict import read_submission, verdict

SOFTMAX = find("basics/softmax")
ADD = find("basics/vectoradd")
RIGHT = SOFTMAX.folder / "solutions" / "correct"
KERNELS = ["row_in_registers.cu", "triton_rows.py", "torch_returns.py"]
MANY_LAUNCHES = """\
def kernel(a, b):
    for _ in range(40):
        a = a.view(-1).contiguous().view(-1) + 0.0
    return a + b
"""
WAITS = """\
def kernel(a, b):
    for _ in range(20):
        a.flatten()[0].item()
    return a + b
"""

ProfileOf = Callable[..., Profile]


@pytest.fixture
def profile_of(device: Any, tmp_path: Path) -> ProfileOf:
    """A function that profiles a file of basics/softmax, or of another problem, and shows its summary."""

    def make(file: Path, problem: Any = SOFTMAX, checked: Verdict | None = None, **options: Any) -> Profile:
        made = profile(
            problem, read_submission(file), device, out=tmp_path / "out", checked=checked, **options
        )
        print("\n".join(["", *summary(made)]))
        return made

    return make


@pytest.fixture(scope="module", params=KERNELS)
def made(request: pytest.FixtureRequest, device: Any, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """The profile of one right softmax."""
    given = read_submission(RIGHT / request.param)
    found = profile(SOFTMAX, given, device, out=tmp_path_factory.mktemp("profile"), sass=True, ptx=True)
    print("\n".join(["", *summary(found)]))
    return found


def test_a_timeline_shows_the_kernels_of_a_call(made: Profile) -> None:
    assert made.failure is None
    assert made.timeline is not None, made.missing
    assert made.timeline.kernels_per_call == 1.0
    assert made.timeline.kernel_ns is not None
    assert made.timeline.wall_ns is not None
    assert 0 < made.timeline.kernel_ns <= 1.1 * made.timeline.wall_ns
    assert Path(made.folder, "trace.json").is_file()


def test_counters_name_the_bottleneck_or_one_line_says_why_not(made: Profile) -> None:
    if not made.kernels:
        assert len([line for line in made.missing if line.startswith(("counters:", "ncu"))]) == 1
        pytest.skip(made.missing[0])
    (launch,) = made.kernels
    assert made.bottleneck.kind in ("memory", "compute")
    assert launch.dram_read_bytes is not None
    assert launch.dram_read_bytes > 1e8
    assert launch.stalls
    assert Path(made.folder, "counters.ncu-rep").is_file()


def test_what_was_compiled_for_the_kernel_is_kept_with_what_it_was_given(made: Profile) -> None:
    if made.submission.lang == "python":
        assert made.notes == ("no compiled code of the author's own: the kernels are a library's",)
        return
    assert made.resources, made.missing
    assert all(one.registers > 0 for one in made.resources)
    assert any("Function :" in path.read_text() for path in Path(made.folder).glob("*.sass"))
    assert any(".entry" in path.read_text() for path in Path(made.folder).rglob("*.ptx"))


def test_many_tiny_launches_are_bound_by_launching(profile_of: ProfileOf, tmp_path: Path) -> None:
    file = tmp_path / "many.py"
    file.write_text(MANY_LAUNCHES)
    made = profile_of(file, ADD, workload="n=1024")
    assert made.bottleneck.kind == "launch", made.timeline


def test_waiting_for_the_gpu_within_a_call_is_the_hosts_doing(profile_of: ProfileOf, tmp_path: Path) -> None:
    file = tmp_path / "waits.py"
    file.write_text(WAITS)
    made = profile_of(file, ADD, workload="n=1024")
    assert made.bottleneck.kind == "host", made.timeline


def test_sanitizers_find_nothing_in_a_right_kernel(profile_of: ProfileOf) -> None:
    made = profile_of(RIGHT / "row_in_registers.cu", sanitized=True)
    assert {report.tool: report.errors for report in made.sanitizer} == {"memcheck": 0, "racecheck": 0}, (
        made.missing
    )


def test_racecheck_names_the_line_of_a_missing_barrier(profile_of: ProfileOf) -> None:
    made = profile_of(SOFTMAX.folder / "solutions" / "wrong" / "missing_barrier.cu", sanitized=True)
    (report,) = [report for report in made.sanitizer if report.tool == "racecheck"]
    assert report.errors > 0
    assert report.place is not None
    assert report.place.startswith("missing_barrier.cu:")


def test_of_a_kernel_that_fails_only_the_sanitizers_tell(profile_of: ProfileOf, device: Any) -> None:
    file = Path(__file__).parent / "kernels" / "illegal_access.cu"
    checked = verdict(ADD, read_submission(file), device, timed=False)
    made = profile_of(file, ADD, checked, sanitized=True)
    assert made.timeline is None
    (report,) = [report for report in made.sanitizer if report.tool == "memcheck"]
    assert report.errors > 0
    assert report.kernel is not None
