"""A call on a CPU: counters or instruction counts, hot lines, whose code it is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from hotlap.model import Calibration
from hotlap.problems import shapes
from hotlap.profiling import callgrind, perf, rebuild, sandboxed, tools
from hotlap.profiling.callgrind import Counted
from hotlap.profiling.findings import Findings
from hotlap.profiling.report import CpuProfile, HotFunction, HotLine
from hotlap.profiling.sandboxed import ALONE, Under
from hotlap.profiling.timeline import MOST_TRACE_BYTES, cpu_timeline, events
from hotlap.profiling.workbench import Outcome, Workbench
from hotlap.referee.case import Progress
from hotlap.referee.loading import is_compiled

K = TypeVar("K")

TIMED_S, COUNTED_S = 240.0, 300.0
TOP_LINES, TOP_FUNCTIONS = 3, 3
NOTABLE_SHARE = 0.01
MOST_ADDRESSES = 2000
TRACE, COUNTS = "trace.json", "perf.csv"


def profile_on_cpu(
    bench: Workbench, found: Findings, calibration: Calibration | None, progress: Progress
) -> None:
    """Find all that this machine's tools say of one call."""
    compiled = is_compiled(bench.submission)
    progress("timing, sampling", 0.2)
    outcome, counts = _timed(bench, found, ["timed"] if compiled else ["timed", "sampled", "traced"])
    calls, wall_ns = outcome.number("timed", "calls"), outcome.number("timed", "wall_ns")
    found.failure = outcome.failure
    if outcome.failure is not None or not calls or not wall_ns:
        return
    counted: Counted | None = None
    if compiled:
        progress("counting instructions", 0.5)
        counted = _counted(bench, found)
    else:
        _read_trace(outcome, found, wall_ns)
    instructions, cycles = counts.get("instructions"), counts.get("cycles")
    lines, functions, split, split_of = _whose(bench, outcome, counted)
    found.cpu = CpuProfile(
        calls=int(calls),
        wall_ns=wall_ns,
        busy_cores=outcome.number("timed", "busy_cores"),
        threads=_whole(outcome.number("timed", "threads")),
        cores=len(bench.cpus),
        page_faults=outcome.number("timed", "page_faults"),
        bytes_moved=shapes.cost(bench.problem, bench.axes)[0],
        bandwidth=bandwidth(calibration, bench.slots * bench.device.call_bytes(bench.problem, bench.axes)),
        instructions=_instructions(counts, calls, counted),
        counted_by="perf" if instructions else "callgrind" if counted else None,
        instructions_per_cycle=instructions / cycles if instructions and cycles else None,
        cache_misses=_a_call(counts.get("cache-misses"), calls),
        branch_misses=_a_call(counts.get("branch-misses"), calls),
        lines=lines,
        functions=functions,
        split=split,
        split_of=split_of,
    )


def bandwidth(calibration: Calibration | None, footprint_bytes: int) -> float | None:
    """The best bandwidth that this machine was seen to reach at the next smaller calibrated footprint."""
    rows = [b for b in calibration.bandwidth if b.footprint_bytes <= footprint_bytes] if calibration else []
    if not rows:
        return None
    row = max(rows, key=lambda b: b.footprint_bytes)
    return max(row.read, row.write, row.copy, row.add)


def _instructions(counts: Mapping[str, float], calls: float, counted: Counted | None) -> float | None:
    """Of one call: perf's, else callgrind's."""
    if "instructions" in counts:
        return counts["instructions"] / calls
    return None if counted is None else float(counted.instructions)


def _a_call(count: float | None, calls: float) -> float | None:
    return None if count is None else count / calls


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


# --- one tool each ---------------------------------------------------------------------------------


def _timed(bench: Workbench, found: Findings, tasks: list[str]) -> tuple[Outcome, Mapping[str, float]]:
    """The driver's own numbers, and perf's where it may count; without perf again if it stood in the way."""
    counts, under = bench.out / COUNTS, _perf(found, bench.out / COUNTS)
    outcome = bench.run(tasks, TIMED_S, [TRACE], under, controlled=under is not ALONE)
    if under is ALONE:
        return outcome, {}
    if not outcome.results and outcome.failure is not None:
        again = bench.run(tasks, TIMED_S, [TRACE])
        if again.failure is None:
            found.missing.append(f"perf broke off: {(outcome.printed.strip() or 'it said nothing')[-200:]}")
        return again, {}
    read = perf.parse(counts.read_text()) if counts.is_file() else {}
    if read and "instructions" not in read:
        found.missing.append("cycles, cache misses: perf finds no hardware counters (a virtual machine?)")
    if read:
        found.keep(counts, "what perf stat counted over all timed calls")
    return outcome, read


def _perf(found: Findings, counts: Path) -> Under:
    tool = tools.find("perf")
    refusal = tool if isinstance(tool, str) else perf.refusal(tool)
    if refusal is not None or isinstance(tool, str):
        found.missing.append(str(refusal))
        return ALONE
    return perf.under(tool, counts)


def _counted(bench: Workbench, found: Findings) -> Counted | None:
    """Every instruction of one call, from a library that was built for it."""
    tool = tools.find("valgrind")
    if isinstance(tool, str):
        found.missing.append(tool)
        return None
    flags = callgrind.flags()
    library = rebuild.rebuilt(bench.problem, bench.submission, bench.device.limits, flags)
    if isinstance(library, str):
        found.missing.append(f"callgrind: {library}")
        return None
    bench.place(library)
    outcome = bench.run(["called"], COUNTED_S, [callgrind.OUTPUT], callgrind.under(tool))
    path = outcome.file(callgrind.OUTPUT)
    if outcome.failure is not None or path is None:
        unknown = callgrind.UNKNOWN_INSTRUCTION in outcome.printed
        said = outcome.failure.message if outcome.failure else "it left no file"
        found.missing.append(f"callgrind: {'an instruction that it does not know' if unknown else said}")
        return None
    found.keep(path, "instructions by line: callgrind_annotate, or kcachegrind")
    found.notes.append(f"callgrind counts one call of a build with {' '.join(flags)}, on one thread")
    return _with_lines(bench, library, callgrind.parse(path.read_text(errors="replace")))


def _with_lines(bench: Workbench, library: bytes, counted: Counted) -> Counted:
    """With inlined code counted where the author's file uses it, where addr2line is there."""
    given = bench.out / "counted.so"
    given.write_bytes(library)
    hot = sorted(counted.addresses, key=lambda address: -counted.addresses[address])[:MOST_ADDRESSES]
    page = sandboxed.to_file(callgrind.locator(hot), (), given, "lines.txt", bench.out)
    given.unlink()
    if isinstance(page, str):
        return counted
    lines = callgrind.located(counted, page.read_text(errors="replace"), Path(bench.submission.file).name)
    page.unlink()
    return replace(counted, lines=lines)


def _read_trace(outcome: Outcome, found: Findings, wall_ns: float) -> None:
    path, calls = outcome.file(TRACE), outcome.number("traced", "calls")
    if path is None or not calls or path.stat().st_size > MOST_TRACE_BYTES:
        return
    found.timeline = cpu_timeline(events(path.read_bytes()), int(calls), wall_ns)
    found.keep(path, "torch's timeline: open it at https://ui.perfetto.dev")


# --- hot lines, whose code -------------------------------------------------------------------------

_Whose = tuple[tuple[HotLine, ...], tuple[HotFunction, ...], dict[str, float] | None, str | None]


def _whose(bench: Workbench, outcome: Outcome, counted: Counted | None) -> _Whose:
    """Hot lines, hot functions, and the split between the author and libraries, from whatever there is."""
    source = bench.submission.source.splitlines()
    name = Path(bench.submission.file).name
    if counted is not None:
        total = counted.instructions or 1
        functions = [HotFunction(f, lib, n / total) for (f, lib), n in _top(counted.functions)]
        split: dict[str, float] = {}
        for (_, library), n in counted.functions.items():
            owner = "author" if library == callgrind.LIBRARY else library
            split[owner] = split.get(owner, 0.0) + n / total
        lines = hot_lines(counted.lines, total, name, source)
        return lines, tuple(functions[:TOP_FUNCTIONS]), _sorted(split), "instructions"
    sampled = {
        (name, int(line)): n for line, n in outcome.counts("sampled", "lines").items() if line.isdecimal()
    }
    places = outcome.counts("sampled", "places")
    if not sampled:
        return (), (), None, None
    total = sum(places.values()) or 1
    split = {place: n / total for place, n in places.items()}
    return hot_lines(sampled, sum(sampled.values()), name, source), (), _sorted(split), "time"


def hot_lines(
    counts: Mapping[tuple[str, int], int], total: int, name: str, source: Sequence[str]
) -> tuple[HotLine, ...]:
    """The lines with the largest notable shares; the author's with their text."""

    def text(file: str, line: int) -> str:
        if file != name:
            return "(inlined from there)"
        return source[line - 1].strip() if 0 < line <= len(source) else ""

    top = [item for item in _top(counts)[:TOP_LINES] if item[1] >= NOTABLE_SHARE * total]
    return tuple(HotLine(file, line, n / total, text(file, line) or None) for (file, line), n in top)


def _top(counts: Mapping[K, int]) -> list[tuple[K, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])


def _sorted(split: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(split.items(), key=lambda item: -item[1]))
