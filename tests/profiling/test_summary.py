"""What a person and an agent read of a profile."""

from dataclasses import replace
from typing import Any

import pytest

from hotlap.model import Failure, Fault, Status, SubmissionInfo
from hotlap.profiling import bottleneck, counters, resources
from hotlap.profiling.report import KernelTime, Profile, SanitizerReport, Timeline
from hotlap.profiling.summary import artefacts, summary
from tests.cli.factory import GPU
from tests.profiling.captured import text

LAUNCHES = counters.parse(text("ncu_raw.csv"))[1:]
TIMELINE = Timeline(20, 190_000.0, 181_000.0, 0.047, 1.0, (KernelTime("add", 1.0, 1.0, 181_000.0),), 0, 0, 0)
USAGE = tuple(resources.parse(text("resource_usage.txt"), "kernel.so"))


def on_gpu(**changes: Any) -> Profile:
    """A profile of one kernel that is bound by memory."""
    made = Profile(
        id="01JD",
        problem="basics/vectoradd@1",
        submission=SubmissionInfo("ab" * 32, "kernel.cu", "cu", "c", None),
        device=GPU,
        axes={"n": 67_108_864},
        status="accepted",
        failure=None,
        bottleneck=bottleneck.of_gpu(LAUNCHES, TIMELINE, 805_306_368),
        cpu=None,
        timeline=TIMELINE,
        kernels=LAUNCHES,
        resources=(),
        sanitizer=(),
        missing=(),
        notes=(),
        folder="/data/profiles/01JD",
        files={"counters.ncu-rep": "all counters: ncu-ui, or ncu -i", "trace.json": "torch's timeline"},
        started_at="2026-11-30T10:00:00Z",
        hotlap_version="0.1.0",
    )
    return replace(made, **changes)


def test_it_names_kernel_workload_device_and_bottleneck_first() -> None:
    first, second, *_ = summary(on_gpu())
    assert first == "profile  basics/vectoradd  kernel.cu  n=67108864  Example GPU"
    assert second == "bottleneck  memory: DRAM at 90 % of its peak"


def test_it_has_about_fifteen_lines_with_everything_there_is() -> None:
    report = SanitizerReport("memcheck", {"n": 7}, 0, None, None, None)
    lines = summary(on_gpu(resources=USAGE, sanitizer=(report, replace(report, tool="racecheck"))))
    assert 12 <= len(lines) <= 16


def test_it_tells_how_much_of_a_call_kernels_ran() -> None:
    assert (
        "timeline  1 kernels a call, 181.0 µs of 190.0 µs (idle 4.7 %); copies 0, fills 0, waits 0"
        in summary(on_gpu())
    )


def test_it_tells_what_the_compiler_gave_the_kernel_that_ran_and_not_its_variants() -> None:
    ran = KernelTime("void row_a_block<512, 8>(float const*)", 1.0, 1.0, 1e5, registers=49)
    named = [replace(one, name=f"row_a_block<{i}>") for i, one in enumerate(USAGE[:3])]
    lines = summary(on_gpu(timeline=replace(TIMELINE, kernels=(ran,)), resources=tuple(named)))
    assert [line for line in lines if line.startswith("compiler")] == [
        "compiler  row_a_block<0>: 49 registers, 1.28 kB shared, no spills"
    ]


def test_spills_are_told() -> None:
    (line,) = [
        line
        for line in summary(on_gpu(resources=(replace(USAGE[0], stack_bytes=64),)))
        if line.startswith("compiler")
    ]
    assert "64 B of stack: spills or local arrays" in line


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (SanitizerReport("racecheck", {"n": 7}, 0, None, None, None), "racecheck  nothing found on n=7"),
        (
            SanitizerReport("memcheck", {"n": 7}, 3, "Invalid write", "k(float *)", "bad.cu:2"),
            "memcheck  3 errors on n=7; the first in k(float *) at bad.cu:2: Invalid write",
        ),
    ],
)
def test_each_sanitizer_has_a_line(report: SanitizerReport, says: str) -> None:
    assert says in summary(on_gpu(sanitizer=(report,)))


def test_what_could_not_be_seen_is_told_and_so_are_notes() -> None:
    lines = summary(on_gpu(missing=("ncu is not installed",), notes=("one call",)))
    assert lines[-2:] == ["not seen  ncu is not installed", "note  one call"]


def test_a_kernel_that_is_wrong_is_said_to_be_before_anything_else() -> None:
    assert summary(on_gpu(status="wrong"))[1].startswith("wrong: its answers are not right")


def test_a_kernel_that_failed_has_no_bottleneck() -> None:
    failure = Failure(Status.failed, Fault.submission, "call", "was killed by SIGSEGV")
    lines = summary(on_gpu(failure=failure, timeline=None))
    assert lines[1] == "failed   in call: the kernel was killed by SIGSEGV"
    assert not any(line.startswith("bottleneck") for line in lines)


def test_artefacts_are_listed_with_how_to_look_at_them() -> None:
    assert artefacts(on_gpu()) == [
        "files in /data/profiles/01JD",
        "  counters.ncu-rep  all counters: ncu-ui, or ncu -i",
        "  trace.json        torch's timeline",
    ]
    assert artefacts(on_gpu(files={})) == []
