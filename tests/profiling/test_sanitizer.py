"""What compute-sanitizer printed: how many errors, and where the first one is."""

import pytest

from hotlap.profiling.sanitizer import parse
from tests.profiling.captured import text


def test_memcheck_gives_the_count_and_the_first_errors_place() -> None:
    report = parse(text("memcheck.txt"), "memcheck", {"n": 7})
    assert report is not None
    assert (report.errors, report.kernel, report.place) == (513, "k(float *, int)", "bad.cu:2")
    assert report.first is not None
    assert report.first.startswith("Invalid __global__ write of size 4 bytes at k(float *, int)+0x140")
    assert "1 bytes after the nearest allocation" in report.first


def test_racecheck_gives_the_hazards_and_the_first_ones_place() -> None:
    report = parse(text("racecheck.txt"), "racecheck", {"n": 7})
    assert report is not None
    assert (report.errors, report.kernel, report.place) == (1, "k(float *, int)", "bad.cu:2")


@pytest.mark.parametrize(
    "last", ["ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed (0 errors)"]
)
def test_a_run_without_errors_has_no_first_one(last: str) -> None:
    report = parse(f"========= COMPUTE-SANITIZER\n========= {last}\n", "memcheck", {})
    assert report is not None
    assert (report.errors, report.first, report.place) == (0, None, None)


def test_code_without_line_numbers_has_a_kernel_but_no_place() -> None:
    log = (
        "========= Invalid __global__ read of size 2 bytes\n=========     at softmax+0x90\n=========\n"
        "========= ERROR SUMMARY: 3 errors\n"
    )
    report = parse(log, "memcheck", {})
    assert report is not None
    assert (report.errors, report.kernel, report.place) == (3, "softmax", None)


@pytest.mark.parametrize("log", ["", "========= COMPUTE-SANITIZER\n", "Segmentation fault\n"])
def test_a_run_that_came_to_no_end_proves_nothing(log: str) -> None:
    assert parse(log, "memcheck", {}) is None
