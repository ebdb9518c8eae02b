"""Which workload is profiled: by default the largest that the device is timed on."""

from collections.abc import Sequence

from hotlap.errors import UsageError
from hotlap.model import Kind, Problem, Workload
from hotlap.problems import shapes

SANITIZED_BYTES = 16 << 20  # a sanitizer makes a kernel some hundred times slower


def choose(problem: Problem, device_kind: str, wanted: str | None) -> dict[str, int]:
    """All axes of the workload: the N-th bench one, one given by its axes, or the largest bench one.

    Raises UsageError for a workload that the problem cannot have.
    """
    benches = _workloads(problem, device_kind, Kind.bench)
    if wanted is None:
        return shapes.all_axes(problem, max(benches, key=lambda w: _bytes(problem, w)).axes)
    if wanted.isdecimal():
        if int(wanted) >= len(benches):
            raise UsageError(f"--workload {wanted}: {problem.id} has no such one here; {_allowed(benches)}")
        return shapes.all_axes(problem, benches[int(wanted)].axes)
    return shapes.all_axes(problem, _parsed(problem, wanted, benches))


def smallest_test(problem: Problem, device_kind: str) -> dict[str, int]:
    """All axes of a workload to sanitize: the largest test one that is small enough, else the smallest."""
    tests = _workloads(problem, device_kind, Kind.test) or _workloads(problem, device_kind, Kind.bench)
    ordered = sorted(tests, key=lambda w: _bytes(problem, w))
    small = [w for w in ordered if _bytes(problem, w) <= SANITIZED_BYTES]
    return shapes.all_axes(problem, (small or ordered[:1])[-1].axes)


def _workloads(problem: Problem, device_kind: str, kind: Kind) -> list[Workload]:
    profile = "cpu" if device_kind == "cpu" else "gpu"
    found = [w for w in problem.workloads if w.profile == profile and w.kind is kind]
    if not found and kind is Kind.bench:
        raise UsageError(f"{problem.id} has no bench workload of profile {profile!r}; use another --device")
    return found


def _bytes(problem: Problem, workload: Workload) -> int:
    axes = shapes.all_axes(problem, workload.axes)
    return sum(shapes.bytes_of(spec, axes) for spec in (*problem.inputs, *problem.outputs))


def _parsed(problem: Problem, wanted: str, benches: Sequence[Workload]) -> dict[str, int]:
    """`rows=4096,cols=4096` -> the axes of a workload."""
    names = [name for name, constant in problem.axes.items() if constant is None]
    found: dict[str, int] = {}
    for part in wanted.split(","):
        name, _, value = part.strip().partition("=")
        if name not in names or name in found or not value.isdecimal() or int(value) < 1:
            raise UsageError(
                f"--workload {wanted}: {part.strip()!r} is no axis with a positive whole number; "
                f"{_allowed(benches)}"
            )
        found[name] = int(value)
    if missing := [name for name in names if name not in found]:
        raise UsageError(f"--workload {wanted}: no value for {', '.join(missing)}; {_allowed(benches)}")
    return found


def _allowed(benches: Sequence[Workload]) -> str:
    listed = ", ".join(f"{i} ({_text(w)})" for i, w in enumerate(benches))
    return f"allowed: the number of a bench workload, {listed}, or axes, as in {_text(benches[0])}"


def _text(workload: Workload) -> str:
    return ",".join(f"{name}={value}" for name, value in workload.axes.items())
