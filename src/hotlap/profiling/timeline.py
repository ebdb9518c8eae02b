"""torch's timeline, a trace in Chrome's format, read into numbers a call.

The trace was written in the sandbox: events that are not as expected are passed over.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hotlap.profiling.report import KernelTime, OpTime, Timeline

MOST_TRACE_BYTES = 256 << 20
TOP_KERNELS, TOP_OPS = 5, 5
WAITS = ("Synchronize", "cudaMemcpy", "cuMemcpy")
NOT_WAITING = ("Async",)
OURS = "hotlap"


@dataclass(frozen=True)
class Event:
    """A span of a trace: what kind, when and how long (µs), on which thread or stream."""

    category: str
    name: str
    start_us: float
    duration_us: float
    track: str
    details: dict[str, Any]

    @property
    def end_us(self) -> float:
        return self.start_us + self.duration_us


def events(text: str | bytes) -> list[Event]:
    """The complete spans of a trace in order of time; empty for what is no trace."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return []
    listed = document.get("traceEvents") if isinstance(document, dict) else None
    found = [event for item in listed if (event := _event(item))] if isinstance(listed, list) else []
    return sorted(found, key=lambda event: (event.start_us, -event.duration_us))


def _event(item: Any) -> Event | None:
    if not isinstance(item, dict) or item.get("ph") != "X":
        return None
    details = item.get("args")
    try:
        return Event(
            category=str(item["cat"]),
            name=str(item["name"]),
            start_us=float(item["ts"]),
            duration_us=float(item["dur"]),
            track=f"{item.get('pid')}/{item.get('tid')}",
            details=details if isinstance(details, dict) else {},
        )
    except (KeyError, TypeError, ValueError):
        return None


def gpu_timeline(found: Sequence[Event], calls: int, wall_ns: float | None) -> Timeline:
    """Kernels, copies and waits a call. wall_ns: of a call without the profiler, for the idle share."""
    kernels = [event for event in found if event.category == "kernel"]
    busy_ns = 1e3 * _covered_us(kernels) / calls
    runtime = [event for event in found if event.category in ("cuda_runtime", "cuda_driver")]
    idle = None if not wall_ns or not kernels else max(0.0, 1.0 - busy_ns / wall_ns)
    return Timeline(
        calls=calls,
        wall_ns=wall_ns,
        kernel_ns=busy_ns if kernels else None,
        idle_share=idle,
        kernels_per_call=len(kernels) / calls,
        kernels=_kernel_times(kernels, calls),
        transfers=sum(event.category == "gpu_memcpy" for event in found) / calls,
        fills=sum(event.category == "gpu_memset" for event in found) / calls,
        waits=_waits(runtime, found) / calls,
    )


def _waits(runtime: Iterable[Event], found: Iterable[Event]) -> int:
    """Calls that hold the host up until the GPU is done, within the author's calls: ours come after."""
    spans = [event for event in found if event.category == "user_annotation" and event.name == OURS]
    return sum(
        any(span.start_us <= event.start_us <= span.end_us for span in spans)
        for event in runtime
        if any(word in event.name for word in WAITS) and not any(word in event.name for word in NOT_WAITING)
    )


def _covered_us(spans: Sequence[Event]) -> float:
    """Time in which at least one span was running; spans come in order of their starts."""
    covered, end = 0.0, float("-inf")
    for span in spans:
        covered += max(0.0, span.end_us - max(end, span.start_us))
        end = max(end, span.end_us)
    return covered


def _kernel_times(kernels: Sequence[Event], calls: int) -> tuple[KernelTime, ...]:
    by_name: dict[str, list[Event]] = defaultdict(list)
    for kernel in kernels:
        by_name[kernel.name].append(kernel)
    total_us = sum(kernel.duration_us for kernel in kernels) or 1.0
    times = [
        KernelTime(
            name=name,
            launches_per_call=len(launches) / calls,
            share=sum(launch.duration_us for launch in launches) / total_us,
            mean_ns=1e3 * sum(launch.duration_us for launch in launches) / len(launches),
            registers=_whole(launches[0].details.get("registers per thread")),
            occupancy=_share(launches[0].details.get("est. achieved occupancy %")),
        )
        for name, launches in by_name.items()
    ]
    return tuple(sorted(times, key=lambda time: -time.share)[:TOP_KERNELS])


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _share(value: object) -> float | None:
    return value / 100 if isinstance(value, int | float) and not isinstance(value, bool) else None


def cpu_timeline(found: Sequence[Event], calls: int, wall_ns: float | None) -> Timeline:
    """Operations of torch on the host, by their own time: what runs within another is taken off it."""
    spans = [event for event in found if event.category == "user_annotation" and event.name == OURS]
    total_us = sum(span.duration_us for span in spans)
    own_us: defaultdict[str, float] = defaultdict(float)
    times: Counter[str] = Counter()
    stacks: dict[str, list[Event]] = defaultdict(list)
    for event in found:
        if event.category != "cpu_op":
            continue
        stack = stacks[event.track]
        while stack and stack[-1].end_us <= event.start_us:
            stack.pop()
        if stack:
            own_us[stack[-1].name] -= event.duration_us
        stack.append(event)
        own_us[event.name] += event.duration_us
        times[event.name] += 1
    ops = [OpTime(name, times[name] / calls, us / total_us) for name, us in own_us.items() if total_us]
    return Timeline(calls, wall_ns, ops=tuple(sorted(ops, key=lambda op: -op.share)[:TOP_OPS]))
