"""A call on a GPU: timeline, counters, what the compiler gave its kernels, and sanitizers where asked for."""

from dataclasses import replace
from pathlib import Path

from hotlap.profiling import counters, privilege, rebuild, resources, sandboxed, sanitizer, tools
from hotlap.profiling.findings import Findings
from hotlap.profiling.sandboxed import Under
from hotlap.profiling.timeline import MOST_TRACE_BYTES, events, gpu_timeline
from hotlap.profiling.tools import Tool
from hotlap.profiling.workbench import Outcome, Workbench
from hotlap.referee.case import Progress

TIMED_S, COUNTED_S, SANITIZED_S = 240.0, 480.0, 300.0
WARM_UP_BATCHES = 2  # autotuners and compilers are done by then
TRACE, COMPILED = "trace.json", "compiled/*"
MOST_DISASSEMBLED = 8
TRACED = Under(counters=True)  # CUPTI, which torch traces with, may ask for the same right as counters
ADMINISTRATOR_ONLY = (
    "counters: the driver keeps them for administrators (RmProfilingAdminOnly); as root they can be had with "
    "setpriv and bubblewrap, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
)


def profile_on_gpu(bench: Workbench, found: Findings, *, sass: bool, ptx: bool, progress: Progress) -> None:
    """Find all that this machine's tools say of one call; sass, ptx: also keep the kernels' code."""
    progress("timeline", 0.2)
    outcome = _timeline(bench, found)
    if outcome.failure is not None:
        found.failure = outcome.failure
        return
    progress("counters", 0.4)
    count(bench, found)
    progress("code", 0.8)
    built = [path for path in outcome.files if resources.holds_device_code(path)]
    if bench.submission.lang == "cu":
        library = bench.out / "kernel.so"
        library.write_bytes(bench.library)
        found.keep(library, "the built kernel, with line numbers: cuobjdump, nvdisasm")
        built = [library]
    elif any(path.suffix == ".ptx" for path in outcome.files):
        found.files["compiled/"] = "what Triton compiled: .ttgir, .ptx, .cubin"
    _read_code(bench, found, built, sass=sass, ptx=ptx)


def sanitize(bench: Workbench, found: Findings, progress: Progress) -> None:
    """Look for wrong accesses and races in one call of a small workload."""
    tool = tools.find("compute-sanitizer")
    if isinstance(tool, str):
        found.missing.append(tool)
        return
    for name in sanitizer.TOOLS:
        progress(name, 0.9)
        log = f"{name}.txt"
        outcome = bench.run(["called"], SANITIZED_S, [log], sanitizer.under(tool, name))
        path = outcome.file(log)
        text = "" if path is None else path.read_text(errors="replace")
        report = sanitizer.parse(text, name, bench.axes)
        if report is None:
            said = outcome.failure.message if outcome.failure else "it came to no end"
            found.missing.append(f"{name}: {said}{_last_line(outcome)}")
            continue
        found.sanitizer.append(report)
        found.keep(path, f"all that {name} said")


def _timeline(bench: Workbench, found: Findings) -> Outcome:
    tasks = ["timed", "traced"] + (["kept"] if bench.submission.lang != "cu" else [])
    outcome = bench.run(tasks, TIMED_S, [TRACE, COMPILED], TRACED)
    path, calls = outcome.file(TRACE), outcome.number("traced", "calls")
    if path is not None and calls and path.stat().st_size <= MOST_TRACE_BYTES:
        seen = events(path.read_bytes())
        found.timeline = gpu_timeline(seen, int(calls), outcome.number("timed", "wall_ns"))
        found.keep(path, "torch's timeline: open it at https://ui.perfetto.dev")
        if not found.timeline.kernels and outcome.failure is None:
            found.missing.append("timeline: torch's profiler saw no kernel (does CUPTI work here?)")
    return outcome


def _last_line(outcome: Outcome) -> str:
    last = (outcome.printed.strip().splitlines() or [""])[-1]
    return f" ({last[:160]})" if last else ""


# --- counters --------------------------------------------------------------------------------------


def count(bench: Workbench, found: Findings) -> None:
    """Have ncu count one call, in the range that the driver opens; what stands in the way is `missing`."""
    tool = tools.find("ncu")
    if isinstance(tool, str):
        found.missing.append(tool)
        return
    if privilege.counters_need_administrator() and not privilege.can_grant():
        found.missing.append(ADMINISTRATOR_ONLY)
        return
    outcome = bench.run(
        ["called"], COUNTED_S, [counters.REPORT], counters.under(tool), warm_up=WARM_UP_BATCHES
    )
    (bench.out / "ncu.txt").write_text(outcome.printed)
    report = outcome.file(counters.REPORT)
    if report is None:
        found.missing.append(_why_no_counters(outcome))
        found.keep(bench.out / "ncu.txt", "what ncu printed")
        return
    found.keep(report, "all counters: ncu-ui, or ncu -i")
    page = sandboxed.to_file(counters.reader(tool), tool.shown, report, "counters.csv", bench.out)
    if isinstance(page, str):
        found.missing.append(f"counters: {page}")
        return
    found.keep(page, "the counters as a table")
    found.kernels = counters.parse(page.read_text(errors="replace"))
    if not found.kernels:
        found.missing.append("counters: ncu saw no kernel in the range of one call")


def _why_no_counters(outcome: Outcome) -> str:
    if counters.DENIED in outcome.printed:
        return ADMINISTRATOR_ONLY
    lines = [line.strip() for line in outcome.printed.splitlines() if "ERROR" in line]
    if lines:
        return f"counters: {lines[0][:200]}"
    said = outcome.failure.message if outcome.failure else "it left no report"
    return f"counters: under ncu the kernel {said}{_last_line(outcome)}"


# --- code ------------------------------------------------------------------------------------------


def _read_code(bench: Workbench, found: Findings, built: list[Path], *, sass: bool, ptx: bool) -> None:
    """Registers, stack and shared memory of each kernel; its SASS and PTX where asked for."""
    tool = tools.find("cuobjdump")
    if isinstance(tool, str):
        found.missing.append(tool)
        return
    if not built:
        found.notes.append("no compiled code of the author's own: the kernels are a library's")
        return
    texts = _printed(bench, found, tool, [resources.OPTION], built)
    usage = [one for name, text in texts for one in resources.parse(text, name)]
    names = resources.demangled([one.name for one in usage])
    found.resources = tuple(replace(one, name=name) for one, name in zip(usage, names, strict=True))
    if sass:
        _keep_texts(bench, found, _printed(bench, found, tool, ["-sass"], built), "sass", "its machine code")
    if ptx:
        _keep_ptx(bench, found, tool, built)


def _printed(
    bench: Workbench, found: Findings, tool: Tool, options: list[str], built: list[Path]
) -> list[tuple[str, str]]:
    """What cuobjdump prints of each file."""
    texts = []
    for path in built[:MOST_DISASSEMBLED]:
        command = [tool.path, *options, "{given}"]
        page = sandboxed.to_file(command, tool.shown, path, "cuobjdump.txt", bench.out)
        if isinstance(page, str):
            found.missing.append(f"{path.name}: {page}")
            continue
        texts.append((path.name, page.read_text(errors="replace")))
        page.unlink()
    return texts


def _keep_texts(
    bench: Workbench, found: Findings, texts: list[tuple[str, str]], ending: str, how: str
) -> None:
    for name, text in texts:
        path = bench.out / f"{Path(name).stem}.{ending}"
        path.write_text(text)
        found.keep(path, how)


def _keep_ptx(bench: Workbench, found: Findings, tool: Tool, built: list[Path]) -> None:
    """PTX of what holds some; a .cu file is built again for it, since the usual build leaves it out."""
    if bench.submission.lang != "cu":
        libraries = [path for path in built if path.suffix == ".so"]
        _keep_texts(bench, found, _printed(bench, found, tool, ["-ptx"], libraries), "ptx", "its PTX")
        return
    virtual = (bench.device.arch or "").replace("sm_", "compute_")
    flags = [f"-gencode=arch={virtual},code={virtual}"]
    library = rebuild.rebuilt(bench.problem, bench.submission, bench.device.limits, flags, bench.device.arch)
    if isinstance(library, str):
        found.missing.append(f"PTX: {library}")
        return
    path = bench.out / "kernel-ptx.so"
    path.write_bytes(library)
    texts = [("kernel", text) for _, text in _printed(bench, found, tool, ["-ptx"], [path])]
    _keep_texts(bench, found, texts, "ptx", "its PTX")
    path.unlink()
