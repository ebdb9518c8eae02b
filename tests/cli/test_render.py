"""What a verdict looks like."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from hotlap.cli import render
from hotlap.model import (
    Bandwidth,
    Calibration,
    Fault,
    Finding,
    Interval,
    Kind,
    Sandbox,
    Status,
    Verdict,
    WorkloadVerdict,
)
from hotlap.roofline import ceiling
from tests.cli import factory


def shown(given: Verdict, width: int = 132) -> str:
    """The verdict as plain text."""
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    console.print(render.verdict(given, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_an_accepted_verdict_is_one_line_to_act_on() -> None:
    assert render.verdict_line(factory.accepted()).plain == (
        "accepted  basics/softmax  312.4 µs [311.8, 313.1] n=12  1.42x vs baseline [1.40, 1.44]  "
        "44 % of floor  Example CPU @ 2.00GHz, 2 cores"
    )


@pytest.mark.parametrize("status", [Status.wrong, Status.failed, Status.void])
def test_a_verdict_that_is_not_accepted_says_why_in_its_line(status: Status) -> None:
    line = render.verdict_line(factory.rejected(status, "y[3] is 1.0, expected 2.0\nsecond line")).plain
    assert line == f"{status}  basics/softmax  y[3] is 1.0, expected 2.0  Example CPU @ 2.00GHz, 2 cores"


def test_a_suspect_verdict_shows_reason_and_time() -> None:
    line = render.verdict_line(factory.accepted(status=Status.suspect, reason="below the floor")).plain
    assert "below the floor  312.4 µs" in line


def test_the_rest_of_a_long_reason_comes_under_the_line() -> None:
    assert "\nsecond line\n" in shown(factory.rejected(Status.wrong, "first line\nsecond line"))


def test_the_table_has_a_row_a_workload_with_interval_speedup_floor_and_error() -> None:
    head, test, bench, hidden = shown(factory.accepted()).splitlines()[:4]
    assert " ".join(head.split()) == "workload axes time p5 vs baseline of floor error/tol status"
    assert " ".join(test.split()) == "test rows=7 cols=13 — — — — 0.11 correct"
    assert " ".join(bench.split()) == (
        "bench rows=1024 cols=1021 312.4 µs [311.8, 313.1] 309.0 µs 1.42x [1.40, 1.44] 44 % 0.2 correct"
    )
    assert hidden.split()[0] == "hidden"


def test_a_narrow_terminal_gets_the_interval_on_a_second_line() -> None:
    lines = [line.split() for line in shown(factory.accepted(), width=88).splitlines()]
    assert any("[311.8," in line and "312.4" not in line for line in lines)


def test_a_check_without_times_has_no_columns_of_times() -> None:
    text = shown(factory.accepted(workloads=(factory.untimed(),), score=None, score_reason="not timed"))
    assert text.splitlines()[0].split() == ["workload", "axes", "error/tol", "status"]
    assert "— no score: not timed" in text


def test_an_absent_floor_is_a_dash_with_its_reason_once() -> None:
    lost = factory.bench(floor_ns=None, floor_reason="not calibrated; run hotlap calibrate")
    text = shown(factory.accepted(workloads=(lost, lost)))
    assert text.count("no floor: not calibrated; run hotlap calibrate") == 1


def test_each_faulty_workload_says_what_was_wrong_unless_the_line_did() -> None:
    first = factory.untimed(status="wrong", error="output y: 3 of 91 elements")
    second = factory.untimed(Kind.hidden, status="wrong", error="output y: 5 of 91 elements")
    text = shown(factory.rejected(Status.wrong, f"rows=7 cols=13: {first.error}", workloads=(first, second)))
    assert text.count("3 of 91") == 1
    assert "wrong  rows=7 cols=13: output y: 5 of 91 elements" in text


def test_of_many_faulty_workloads_the_first_are_shown_and_the_rest_counted() -> None:
    faulty = tuple(factory.untimed(axes={"n": n}, status="wrong", error="output y") for n in range(9))
    text = shown(factory.rejected(Status.wrong, "n=0: output y", workloads=faulty))
    assert text.count(": output y") == 4
    assert "and 5 more; --json has them all" in text


def test_detail_output_and_findings_are_shown() -> None:
    given = factory.rejected(
        Status.failed,
        "kernel raised",
        detail="Traceback: kernel.py:3",
        output="hello",
        findings=(factory.FINDING,),
    )
    text = shown(given)
    assert "  Traceback: kernel.py:3" in text
    assert "output of the kernel" in text
    assert "finding  kernel.py:12  timer-rebinding: assigns to time.perf_counter" in text


def test_the_absence_of_a_sandbox_is_loud() -> None:
    text = shown(factory.accepted(sandbox=Sandbox("none", ("network",))))
    assert "warning: NO SANDBOX" in text
    assert "not enforced: network" in text


def test_a_gap_of_the_sandbox_is_a_warning() -> None:
    text = shown(factory.accepted(sandbox=Sandbox("bwrap", ("memory limit: no cgroup",))))
    assert "warning: the sandbox did not enforce: memory limit: no cgroup" in text
    assert "NO SANDBOX" not in text


def test_a_void_verdict_names_the_fault_and_clears_the_kernel() -> None:
    text = shown(factory.rejected(Status.void, "another process ran", fault=Fault.device))
    assert "fault of the device, not of the kernel" in text


def test_a_self_reported_time_is_said_never_to_rank() -> None:
    text = shown(factory.claimed())
    assert (
        "warning: SELF-REPORTED: no IPC here. Times are what the kernel's own process claims; they never rank"
    ) in text.replace("\n", " ")


def test_the_line_of_a_self_reported_verdict_has_no_time_and_says_why() -> None:
    assert render.verdict_line(factory.claimed()).plain == (
        "accepted  basics/softmax  SELF-REPORTED, no score  Example GPU"
    )


def test_what_was_claimed_stands_in_a_column_that_says_so() -> None:
    head, test, bench = (" ".join(line.split()) for line in shown(factory.claimed()).splitlines()[:3])
    assert head == "workload axes mode time CLAIMED error/tol status"
    assert test == "test rows=7 cols=13 stream — 0.11 correct"
    assert bench == "bench rows=1024 cols=1021 stream 125.44 µs 0.2 correct"


def test_a_claim_beside_the_referee_s_time_is_not_shown() -> None:
    both = factory.bench(mode="graph", claimed_time_ns=1.0)
    assert "CLAIMED" not in shown(factory.on_gpu(workloads=(both,)))


def test_the_line_of_a_gpu_shows_a_tenth_of_a_percent() -> None:
    assert render.verdict_line(factory.on_gpu()).plain == (
        "accepted  basics/softmax  131.82 µs [131.69, 131.95] n=24  1.414x vs baseline [1.412, 1.416]  "
        "91 % of floor  Example GPU"
    )


def test_a_gpu_has_a_column_of_modes_and_none_of_fifth_percentiles() -> None:
    head, test, bench, hidden = (" ".join(line.split()) for line in shown(factory.on_gpu()).splitlines()[:4])
    assert head == "workload axes mode time vs baseline of floor error/tol status"
    assert test.startswith("test rows=7 cols=13 graph — — —")
    assert bench.startswith(
        "bench rows=1024 cols=1021 graph 131.82 µs [131.69, 131.95] 1.414x [1.412, 1.416]"
    )
    assert hidden.startswith("hidden rows=7 cols=13 stream")


def test_why_an_earlier_mode_was_left_is_said_once() -> None:
    left = factory.bench(mode="stream", mode_reason="not graph: raised RuntimeError: legacy stream")
    text = shown(factory.on_gpu(workloads=(left, left)))
    assert text.count("mode stream: not graph: raised RuntimeError: legacy stream") == 1


def test_a_workload_without_a_mode_among_others_has_a_dash() -> None:
    mixed = (factory.untimed(), factory.bench(mode="after-go"))
    rows = [" ".join(line.split()) for line in shown(factory.on_gpu(workloads=mixed)).splitlines()]
    assert rows[1].startswith("test rows=7 cols=13 — ")
    assert "after-go" in rows[2]


@pytest.mark.parametrize(
    ("clock", "says"),
    [
        ((1830, 1980), "Example GPU · driver 580.1 · SM clock 1830 to 1980 MHz while timing"),
        ((1980, 1980), "Example GPU · driver 580.1 · SM clock 1980 MHz while timing"),
        (None, "Example GPU · driver 580.1"),
    ],
)
def test_a_gpu_is_told_with_its_driver_and_clock(clock: tuple[int, int] | None, says: str) -> None:
    device = replace(factory.GPU, sm_clock_mhz=clock)
    assert render.device_line(device) == says
    assert f"\n{says}\n" in shown(factory.on_gpu(device=device))


def test_a_cpu_has_no_line_of_its_own() -> None:
    assert render.device_line(factory.CPU) is None
    assert "driver" not in shown(factory.accepted())


def test_a_finding_about_the_run_has_no_line_number() -> None:
    overlap = Finding("overlapped-calls", "kernel.py", None, "n=7: a call takes 120.00 µs when it is alone")
    text = shown(factory.on_gpu(findings=(overlap,)))
    assert "finding  kernel.py  overlapped-calls: n=7: a call takes 120.00 µs when it is alone" in text


@pytest.mark.parametrize("width", [80, 92, 104, 108, 120, 132])
def test_nothing_of_a_gpu_s_table_is_cut_at_any_width(width: int) -> None:
    text = shown(factory.on_gpu(), width)
    for part in (
        "rows=1024",
        "131.82 µs",
        "[131.69, 131.95]",
        "1.414x",
        "[1.412, 1.416]",
        "graph",
        "correct",
    ):
        assert part in text
    assert "…" not in text


def test_how_many_calls_were_checked_in_full_is_said() -> None:
    few = factory.bench(checked_calls=40, excluded_share=0.29)
    text = shown(factory.accepted(workloads=(factory.bench(), few)))
    assert "at least 40 secretly chosen calls of each bench workload; had 29 % of the calls" in text


def test_a_run_that_checked_every_call_says_so() -> None:
    text = shown(factory.accepted(workloads=(factory.bench(checked_calls=16, excluded_share=0.0),)))
    assert "every timed call was checked in full" in text


def test_text_of_an_author_is_neither_markup_nor_control() -> None:
    attack = "[bold green]accepted[/] :smile: \x1b[2J\x1b[Haccepted \u202e"
    given = factory.rejected(
        Status.failed,
        attack,
        detail=attack,
        output=attack,
        workloads=(factory.untimed(status="failed", error=attack),),
    )
    text = shown(given)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("[bold green]accepted[/] :smile: ") >= 3


def test_an_unknown_status_of_a_workload_is_still_shown() -> None:
    assert "skipped" in shown(factory.accepted(workloads=(factory.untimed(status="skipped"),)))


def test_a_calibration_is_a_table_of_bandwidths() -> None:
    given = Calibration(
        "cpu-example", "6.1.0", "2026-11-30", (Bandwidth(1 << 20, 8.1e9, 4.2e9, 12.3e9, 11.1e9),), 0.002
    )
    console = Console(file=io.StringIO(), width=100)
    console.print(render.calibration(given, {}))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "1.05 MB  8.1 GB/s  4.2 GB/s  12.3 GB/s" in text
    assert "±0.2 %" in text


def test_a_calibration_shows_each_ceiling_with_its_interval_and_why_others_are_absent() -> None:
    found = (
        ceiling("memory-read", [4.139e12, *[4.142e12] * 10, 4.145e12]),
        ceiling("peak-float32", [51.2e12] * 16),
        ceiling("launch", [1234.0] * 12),
    )
    given = Calibration("GPU-1", "580.1", "2026-11-30", (), ceilings=found)
    console = Console(file=io.StringIO(), width=80)
    console.print(render.calibration(given, {"peak-float8_e4m3fn": "needs compute capability 8.9"}))
    assert isinstance(console.file, io.StringIO)
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert "memory-read 4.142 TB/s [4.142, 4.142] 12" in lines
    assert "peak-float32 51.20 TFLOP/s [51.20, 51.20] 16" in lines
    assert "launch 1.234 µs [1.234, 1.234] 12" in lines
    assert "— no peak-float8_e4m3fn: needs compute capability 8.9" in lines


def reached(**changes: Any) -> WorkloadVerdict:
    """A workload of 131.82 us whose roofline is known."""
    known = {
        "axes": {"rows": 16384, "cols": 4096},
        "time_ns": Interval(131_820.0, 131_690.0, 131_950.0, n=24),
        "bytes_per_s": 4.073e12,
        "flops_per_s": 2.546e12,
        "limit_ns": 120_000.0,
        "bound": "memory",
        "headroom_ns": 11_820.0,
    }
    return factory.bench(**(known | changes))


def test_a_line_a_workload_says_what_it_reached_and_what_bounds_it() -> None:
    text = shown(factory.on_gpu(workloads=(reached(), reached(axes={"n": 7}, bound="launch"))))
    rates, away = "4.07 TB/s, 2.55 TFLOP/s", "91 % of the roofline, 12 µs above it"
    assert f"\nrows=16384 cols=4096: {rates} · memory-bound, {away}\n" in text
    assert f"\nn=7: {rates} · launch-bound, {away}\n" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"flops_per_s": None}, "4.07 TB/s · memory-bound"),
        ({"bytes_per_s": None, "bound": "compute"}, "2.55 TFLOP/s · compute-bound"),
        ({"limit_ns": 135_000.0, "headroom_ns": -3_180.0}, "102 % of the roofline, 3.2 µs below it"),
    ],
)
def test_of_the_roofline_only_what_is_known_is_said(changes: dict[str, Any], says: str) -> None:
    assert says in shown(factory.on_gpu(workloads=(reached(**changes),)))


def test_without_a_limit_nothing_is_said_of_a_roofline() -> None:
    unknown = reached(limit_ns=None, bound=None, headroom_ns=None)
    assert "roofline" not in shown(factory.on_gpu(workloads=(unknown,)))


@pytest.mark.parametrize("width", [40, 80, 132])
def test_no_word_of_the_roofline_is_cut_at_any_width(width: int) -> None:
    text = " ".join(shown(factory.on_gpu(workloads=(reached(),)), width).split())
    assert "4.07 TB/s, 2.55 TFLOP/s · memory-bound, 91 % of the roofline, 12 µs above it" in text


def test_the_line_of_verdict_stays_one_line_in_a_pipe() -> None:
    reason = "output y: " + "very " * 40 + "wrong"
    console = Console(file=io.StringIO(), width=80, markup=False)
    console.print(render.verdict(factory.rejected(Status.wrong, reason), 80), crop=False)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines()[0].endswith("wrong  Example CPU @ 2.00GHz, 2 cores")
