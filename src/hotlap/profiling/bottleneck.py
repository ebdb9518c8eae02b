"""What holds a kernel up: pure rules from what the profilers counted to one name, its evidence and a hint.

On a GPU, in this order: an idle GPU is the host's doing (host or launch); a unit that is busy for 60 % of
the kernel's time or more is the limit (memory or compute: the share that NVIDIA's own rules use); if none is,
warps wait (latency). On a CPU: bytes, page faults, then whose instructions or samples they are.
"""

from collections.abc import Mapping, Sequence

from hotlap.profiling.callgrind import LIBRARY
from hotlap.profiling.report import Bottleneck, CpuProfile, KernelCounters, Timeline
from hotlap.text import ABSENT, percent, si, time

BUSY_SHARE = 0.6
IDLE_SHARE = 0.5
FAULT_NS, FAULT_SHARE = (
    250.0,
    0.3,
)  # what a page fault costs at least; the share of a call that is worth a word
LIBRARY_SHARE = 0.5
NOTABLE = 0.1  # defects below this share are not worth a line
LANES = 32
LITTLE_OCCUPANCY = 0.5
SHORT_CALL_NS = 20_000.0

WAITS_FOR = {
    "long_scoreboard": "data from memory",
    "short_scoreboard": "shared memory or special functions",
    "barrier": "other warps at a barrier",
    "membar": "a memory fence",
    "lg_throttle": "the full queue of global loads and stores",
    "mio_throttle": "the full queue of shared memory and special functions",
    "tex_throttle": "the full queue of textures",
    "math_pipe_throttle": "a busy arithmetic unit",
    "gmma": "the tensor cores",
    "warpgroup_arrive": "the other warps of a warp group",
    "wait": "the fixed latency of the instruction before",
    "no_instruction": "code to be fetched",
    "branch_resolving": "branches",
    "dispatch_stall": "the dispatcher",
    "drain": "their last stores to drain",
    "imc_miss": "constants",
    "sleeping": "the end of a sleep",
    "misc": "other things",
}
PIPE_HINTS = {
    "tensor cores": "the tensor cores are the limit; a narrower type, or less padding, is what is left",
    "XU (exp, log, roots, conversions)": "use fewer exp, log and conversions: exp2 with a folded factor",
    "LSU (loads and stores)": "load and store wider (float4), and keep values in registers",
    "FP64": "is float64 needed? it has the smallest peak",
    "FMA (float32)": "do less float32 arithmetic, or use tensor cores where the tolerance allows",
    "ALU (integers, comparisons)": "move index arithmetic out of loops; 32-bit indices are cheaper",
}


# --- GPU -------------------------------------------------------------------------------------------


def of_gpu(
    launches: Sequence[KernelCounters], timeline: Timeline | None, bytes_moved: int | None
) -> Bottleneck:
    """From counters of the launches of one call and a timeline, either of which may be absent."""
    if timeline is not None and timeline.idle_share is not None and timeline.idle_share >= IDLE_SHARE:
        return _idle_gpu(timeline, timeline.idle_share)
    timed = [launch for launch in launches if launch.time_ns]
    if not timed:
        return _without_counters(timeline, bytes_moved)
    longest = max(timed, key=lambda launch: launch.time_ns or 0.0)
    return _of_kernel(longest, bytes_moved if len(timed) == 1 else None)


def _idle_gpu(timeline: Timeline, idle: float) -> Bottleneck:
    count, waits = timeline.kernels_per_call or 0.0, (timeline.waits or 0.0) + (timeline.transfers or 0.0)
    evidence = (
        f"a call takes {time(timeline.wall_ns)} here, and kernels run for {time(timeline.kernel_ns)} of it: "
        f"{percent(idle)} idle",
        f"{count:.3g} kernels, {timeline.transfers or 0:.3g} copies and {timeline.waits or 0:.3g} waits of "
        "the host a call",
    )
    if waits >= 1:
        return Bottleneck(
            "host",
            f"the GPU idles {percent(idle)} of the time while the host waits for it or copies",
            evidence,
            "leave out .item(), .cpu(), nonzero, synchronize and copies between host and GPU within a call",
        )
    return Bottleneck(
        "launch",
        f"the GPU idles {percent(idle)} of the time: launching takes longer than the kernels run",
        evidence,
        "make fewer, larger kernels; where `hotlap run` says mode graph, launches cost less than here",
    )


def _without_counters(timeline: Timeline | None, bytes_moved: int | None) -> Bottleneck:
    if timeline is None or not timeline.kernel_ns:
        return Bottleneck("unknown", "no profiler saw a kernel of a call", ())
    evidence = [f"kernels run for {time(timeline.kernel_ns)} of a call"]
    if bytes_moved:
        rate = si(1e9 * bytes_moved / timeline.kernel_ns, "B/s")
        evidence.append(f"the problem's {si(bytes_moved, 'B')} in that time are {rate}")
    return Bottleneck(
        "unknown", "the GPU is busy, but without counters nobody sees with what", tuple(evidence)
    )


def _of_kernel(kernel: KernelCounters, bytes_moved: int | None) -> Bottleneck:
    level, memory = _memory_level(kernel)
    compute = kernel.compute_share or 0.0
    evidence = tuple(
        line
        for line in (
            _throughputs(kernel),
            _traffic(kernel, bytes_moved),
            _stall_line(kernel.stalls),
            _occupancy_line(kernel),
            _defects(kernel),
        )
        if line
    )
    if max(memory, compute) < BUSY_SHARE:
        return Bottleneck("latency", _latency_headline(kernel), evidence, _latency_hint(kernel))
    if memory >= compute:
        headline = f"{level} at {percent(memory)} of its peak"
        return Bottleneck("memory", headline, evidence, _memory_hint(kernel, level, bytes_moved))
    pipe, busy = _busiest(kernel)
    headline = f"{pipe} at {percent(busy)} of the peak"
    hint = PIPE_HINTS.get(
        pipe, "do the same with fewer instructions: wider loads, fewer conversions and tests"
    )
    return Bottleneck("compute", headline, evidence, hint)


def _memory_level(kernel: KernelCounters) -> tuple[str, float]:
    """The level that is nearest to its peak; DRAM before caches that are hardly busier."""
    dram, l2, l1 = kernel.dram_share or 0.0, kernel.l2_share or 0.0, kernel.l1_share or 0.0
    highest = max(dram, l2, l1)
    if dram >= 0.9 * highest:
        return "DRAM", dram
    return ("the L2 cache", l2) if l2 >= l1 else ("the L1 cache and shared memory", l1)


def _busiest(kernel: KernelCounters) -> tuple[str, float]:
    issue = kernel.issue_share or 0.0
    pipe, busy = max(kernel.pipes.items(), key=lambda item: item[1], default=("", 0.0))
    if busy >= issue:
        return pipe, busy
    return "the issue of instructions", issue


def _throughputs(kernel: KernelCounters) -> str:
    rate = ""
    if kernel.time_ns and kernel.dram_read_bytes is not None and kernel.dram_write_bytes is not None:
        moved = kernel.dram_read_bytes + kernel.dram_write_bytes
        rate = f" ({si(1e9 * moved / kernel.time_ns, 'B/s')})"
    pipe, busy = _busiest(kernel)
    return (
        f"of its peak: DRAM {percent(kernel.dram_share)}{rate}, L2 {percent(kernel.l2_share)}, "
        f"L1 {percent(kernel.l1_share)}, {pipe} {percent(busy)}"
    )


def _traffic(kernel: KernelCounters, bytes_moved: int | None) -> str | None:
    if kernel.dram_read_bytes is None or kernel.dram_write_bytes is None:
        return None
    needed = f"; the problem needs {si(bytes_moved, 'B')} in all" if bytes_moved else ""
    return (
        f"DRAM: {si(kernel.dram_read_bytes, 'B')} read, {si(kernel.dram_write_bytes, 'B')} written{needed}; "
        f"hits: L2 {percent(kernel.l2_hit_share)}, L1 {percent(kernel.l1_hit_share)}"
    )


def _stall_line(stalls: Mapping[str, float]) -> str | None:
    top = [f"{WAITS_FOR.get(reason, reason)} {percent(share)}" for reason, share in list(stalls.items())[:3]]
    return f"warps wait for {', '.join(top)}" if top else None


def _occupancy_line(kernel: KernelCounters) -> str:
    line = f"occupancy {percent(kernel.occupancy)}"
    possible = kernel.occupancy_possible
    if possible is not None:
        line += f" of {percent(possible)} possible"
        if possible < 1 and kernel.occupancy_limits:
            line += f" (limited by {' and '.join(kernel.occupancy_limits)})"
    line += f"; {kernel.registers or ABSENT} registers, {si(kernel.shared_bytes, 'B')} shared memory"
    return line if kernel.waves is None else f"{line}, {kernel.waves:.3g} waves of blocks"


def _defects(kernel: KernelCounters) -> str | None:
    found = []
    if (kernel.excess_sectors_share or 0.0) >= NOTABLE:
        found.append(f"uncoalesced access: {percent(kernel.excess_sectors_share)} of the global traffic")
    if (kernel.excess_wavefronts_share or 0.0) >= NOTABLE:
        found.append(f"bank conflicts: {percent(kernel.excess_wavefronts_share)} of the shared traffic")
    if kernel.local_requests:
        found.append(f"spills or local arrays: {si(kernel.local_requests, '').strip()} requests")
    lanes = kernel.threads_per_instruction
    if lanes is not None and lanes < LANES * (1 - NOTABLE):
        found.append(f"divergence: {lanes:.3g} of {LANES} lanes work")
    return "; ".join(found) or None


def _memory_hint(kernel: KernelCounters, level: str, bytes_moved: int | None) -> str:
    if (kernel.excess_sectors_share or 0.0) >= NOTABLE:
        return "have neighbouring threads read neighbouring addresses: part of the traffic is not needed"
    if (kernel.excess_wavefronts_share or 0.0) >= NOTABLE:
        return "pad or swizzle the shared arrays: bank conflicts cost part of the time"
    if level != "DRAM":
        return f"{level} is the limit: reuse values in registers, load wider"
    moved = (kernel.dram_read_bytes or 0.0) + (kernel.dram_write_bytes or 0.0)
    if bytes_moved and moved > 1.2 * bytes_moved:
        return f"it moves {moved / bytes_moved:.2g} times what the problem needs: keep values between passes"
    return "it moves what the problem needs, near what the memory can: little is left to gain"


def _latency_headline(kernel: KernelCounters) -> str:
    if kernel.waves is not None and kernel.waves < 1:
        return f"no unit is busy: the grid {kernel.grid} fills {percent(kernel.waves)} of the GPU"
    reason, share = next(iter(kernel.stalls.items()), ("", 0.0))
    waits = f": warps wait for {WAITS_FOR.get(reason, reason)} ({percent(share)})" if reason else ""
    return f"no unit is busy{waits}"


def _latency_hint(kernel: KernelCounters) -> str:
    if kernel.waves is not None and kernel.waves < 1:
        return "split the work into more blocks, at least one for each multiprocessor"
    if kernel.occupancy_possible is not None and kernel.occupancy_possible < LITTLE_OCCUPANCY:
        what = " and ".join(kernel.occupancy_limits) or "its resources"
        return f"more warps would hide the waiting: {what} limit them; or give each thread independent work"
    return "give each thread more independent loads before their use, or overlap them (cp.async, pipelining)"


# --- CPU -------------------------------------------------------------------------------------------


def of_cpu(cpu: CpuProfile, timeline: Timeline | None, is_compiled: bool) -> Bottleneck:
    """From one call on a CPU; `timeline` holds torch's operations where the kernel uses them."""
    evidence = tuple(
        line for line in (_bandwidth_line(cpu), _instruction_line(cpu), _thread_line(cpu)) if line
    )
    rate = _bandwidth_share(cpu)
    if rate is not None and rate >= BUSY_SHARE:
        headline = f"moving bytes, at {percent(rate)} of the best that this machine was seen to do"
        return Bottleneck(
            "memory", headline, evidence, "move fewer bytes: one pass over the data, no temporaries"
        )
    faults_ns = FAULT_NS * (cpu.page_faults or 0.0)
    if faults_ns >= FAULT_SHARE * cpu.wall_ns:
        headline = f"{cpu.page_faults:.0f} page faults a call: memory is taken from the system anew each time"
        return Bottleneck(
            "page-faults", headline, evidence, "write into `out`, and allocate temporaries in prepare"
        )
    return _of_code(cpu, timeline, is_compiled, evidence)


def _of_code(
    cpu: CpuProfile, timeline: Timeline | None, is_compiled: bool, evidence: tuple[str, ...]
) -> Bottleneck:
    op = next(iter(timeline.ops), None) if timeline else None
    if op is not None and op.share >= LIBRARY_SHARE:
        headline = f"{percent(op.share)} of a call is inside torch's {op.name}"
        hint = "the time is the library's: another operation, fewer passes, or a kernel of one's own"
        return Bottleneck("library", headline, evidence, hint)
    called = next((f for f in cpu.functions if f.library != LIBRARY), None)
    if is_compiled and called is not None and called.share >= LIBRARY_SHARE:
        headline = f"{percent(called.share)} of the instructions are in {called.name} of {called.library}"
        hint = "call it less often, or write an approximation within the tolerance that vectorizes"
        return Bottleneck("library", headline, evidence, hint)
    line = next(iter(cpu.lines), None)
    if not is_compiled and cpu.wall_ns < SHORT_CALL_NS:
        headline = f"a call of {time(cpu.wall_ns)} is mostly Python's own work: calls, views, checks"
        hint = "make fewer calls into libraries, or write it in C++"
        return Bottleneck("interpreter", headline, evidence, hint)
    if line is None:
        return Bottleneck("unknown", "no profiler saw what a call does", evidence)
    verb = "is" if cpu.split_of == "time" else "are"
    headline = f"{percent(line.share)} of the {cpu.split_of} {verb} in {line.file}:{line.line}"
    question = "does it vectorize, does it pass over the data once?"
    if not is_compiled:
        question = "what it calls allocates, or passes over the data, how often?"
    return Bottleneck("compute", headline, evidence, f"look at that line: {question}")


def _bandwidth_share(cpu: CpuProfile) -> float | None:
    if not cpu.bytes_moved or not cpu.bandwidth:
        return None
    return 1e9 * cpu.bytes_moved / cpu.wall_ns / cpu.bandwidth


def _bandwidth_line(cpu: CpuProfile) -> str | None:
    if not cpu.bytes_moved:
        return None
    line = f"memory: {si(cpu.bytes_moved, 'B')} a call is {si(1e9 * cpu.bytes_moved / cpu.wall_ns, 'B/s')}"
    share = _bandwidth_share(cpu)
    if share is None:
        return f"{line}; what this machine can: hotlap calibrate"
    return f"{line}, {percent(share)} of the calibrated {si(cpu.bandwidth, 'B/s')}"


def _instruction_line(cpu: CpuProfile) -> str | None:
    if cpu.instructions is None:
        return None
    line = f"instructions: {si(cpu.instructions, '').strip()} a call ({cpu.counted_by})"
    if cpu.instructions_per_cycle is not None:
        line += f", {cpu.instructions_per_cycle:.2f} a cycle"
    if cpu.cache_misses is not None:
        line += f"; cache misses {si(cpu.cache_misses, '').strip()}"
    if cpu.branch_misses is not None:
        line += f"; branch misses {si(cpu.branch_misses, '').strip()}"
    return line


def _thread_line(cpu: CpuProfile) -> str:
    cores = f"{cpu.cores} core{'s' if cpu.cores > 1 else ''}"
    busy = "" if cpu.busy_cores is None else f", {cpu.busy_cores:.2f} of them busy"
    faults = "" if cpu.page_faults is None else f"; page faults: {cpu.page_faults:.2g} a call"
    return f"threads: {cpu.threads or ABSENT} on {cores}{busy}{faults}"
