"""A profile in about fifteen lines of plain words: what an agent and a person read alike. Pure."""

from collections.abc import Sequence

from hotlap.profiling.callgrind import LIBRARY
from hotlap.profiling.report import CpuProfile, KernelResources, Profile, SanitizerReport, Timeline
from hotlap.text import axes, percent, si, time

MOST_KERNELS = 3
NAME_CHARS = 60
NOTABLE_SHARE = 0.01


def summary(profile: Profile) -> list[str]:
    """The lines, without the artefacts: what limits the kernel, the evidence, what could not be seen."""
    name = profile.problem.partition("@")[0]
    where = profile.device.name
    lines = [f"profile  {name}  {profile.submission.file}  {axes(profile.axes)}  {where}"]
    if profile.failure is not None:
        lines.append(f"failed   in {profile.failure.phase}: the kernel {profile.failure.message}")
    elif profile.status not in (None, "accepted"):
        lines.append(f"{profile.status}: its answers are not right, so what follows may be of no use")
    found = profile.bottleneck
    if profile.failure is None:
        lines.append(f"bottleneck  {found.kind}: {found.headline}")
    lines += [f"  {line}" for line in found.evidence]
    if profile.cpu is not None:
        lines += _cpu_lines(profile.cpu, profile.timeline)
    elif profile.timeline is not None:
        lines += _timeline_lines(profile.timeline)
    lines += _resource_lines(_that_ran(profile.resources, profile.timeline))
    lines += [_sanitizer_line(report) for report in profile.sanitizer]
    if found.hint:
        lines.append(f"try  {found.hint}")
    lines += [f"not seen  {line}" for line in profile.missing]
    lines += [f"note  {line}" for line in profile.notes]
    return lines


def artefacts(profile: Profile) -> list[str]:
    """Where the raw files are and how to look at each."""
    if not profile.files:
        return []
    width = max(map(len, profile.files))
    return [
        f"files in {profile.folder}",
        *(f"  {name:<{width}}  {how}" for name, how in profile.files.items()),
    ]


def _cpu_lines(cpu: CpuProfile, timeline: Timeline | None) -> list[str]:
    lines = [f"  a call: {time(cpu.wall_ns)} under this profiler (only `hotlap run` gives times that count)"]
    if cpu.lines:
        total = cpu.split_of or "time"
        lines.append(f"hot lines, of the {total}")
        lines += [
            f"  {percent(hot.share):>5}  {hot.file}:{hot.line}" + (f"  {hot.text[:70]}" if hot.text else "")
            for hot in cpu.lines
        ]
    if cpu.split:
        parts = ", ".join(f"{owner} {percent(share)}" for owner, share in list(cpu.split.items())[:4])
        whose = "whose Python code ran" if cpu.split_of == "time" else "whose code"
        lines.append(f"{whose}, of the {cpu.split_of}: {parts}")
    called = [f for f in cpu.functions if f.library != LIBRARY]
    if called:
        named = ", ".join(f"{f.name} in {f.library} {percent(f.share)}" for f in called)
        lines.append(f"library functions: {named}")
    if timeline is not None and timeline.ops:
        ops = [f"{op.name} {percent(op.share)}" for op in timeline.ops[:3] if op.share >= NOTABLE_SHARE]
        lines += [f"torch operations, of a call: {', '.join(ops)}"] if ops else []
    return lines


def _timeline_lines(timeline: Timeline) -> list[str]:
    if not timeline.kernels:
        return []
    others = {"copies": timeline.transfers, "fills": timeline.fills, "waits": timeline.waits}
    lines = [
        f"timeline  {timeline.kernels_per_call:.3g} kernels a call, {time(timeline.kernel_ns)} of "
        f"{time(timeline.wall_ns)} (idle {percent(timeline.idle_share)}); "
        + ", ".join(f"{what} {count or 0:.3g}" for what, count in others.items())
    ]
    for kernel in timeline.kernels[:MOST_KERNELS]:
        lines.append(
            f"  {percent(kernel.share):>5}  {_short(kernel.name)}  {kernel.launches_per_call:.3g} x "
            f"{time(kernel.mean_ns)}"
        )
    return lines


def _that_ran(resources: Sequence[KernelResources], timeline: Timeline | None) -> Sequence[KernelResources]:
    """Of all that was compiled, as by an autotuner, what the timeline shows; all if it shows none of it."""
    seen = [(k.registers, k.name) for k in timeline.kernels] if timeline else []
    ran = [r for r in resources if any(r.registers == n and _identifier(r.name) in name for n, name in seen)]
    return ran or resources


def _identifier(name: str) -> str:
    """`row_a_block` of `void (anonymous namespace)::row_a_block<512, 8>`."""
    plain = name.replace("(anonymous namespace)::", "").partition("<")[0].partition("(")[0]
    return plain.split()[-1].rpartition("::")[2] if plain.split() else name


def _resource_lines(resources: Sequence[KernelResources]) -> list[str]:
    """The compiler's word on the kernels that need most."""
    ordered = sorted(resources, key=lambda r: (-(r.stack_bytes + r.local_bytes), -r.registers))
    lines = []
    for one in ordered[:2]:
        spills = one.stack_bytes + one.local_bytes
        stack = f"{si(spills, 'B')} of stack: spills or local arrays" if spills else "no spills"
        needs = f"{one.registers} registers, {si(one.shared_bytes, 'B')} shared, {stack}"
        lines.append(f"compiler  {_short(one.name)}: {needs}")
    if len(ordered) > 2:
        lines[-1] += f"; {len(ordered) - 2} more kernels"
    return lines


def _sanitizer_line(report: SanitizerReport) -> str:
    where = f"on {axes(report.axes)}"
    if not report.errors:
        return f"{report.tool}  nothing found {where}"
    count = f"{report.errors} error{'s' if report.errors > 1 else ''}"
    place = f" at {report.place}" if report.place else ""
    kernel = f" in {_short(report.kernel)}" if report.kernel else ""
    return f"{report.tool}  {count} {where}; the first{kernel}{place}: {report.first or ''}"


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1]}…"
