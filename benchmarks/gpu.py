"""How true and how costly the GPU's referee is: c, known lengths, both clocks, a round's parts, the sandbox.

Needs a GPU and half a minute.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from common import arguments, own_home, spread

from hotlap.model import Kind, Problem, Verdict
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.problems.find import find
from hotlap.referee import sandbox
from hotlap.referee.case import Case, Tally, account, draw
from hotlap.referee.clock_cuda import empty_round
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import open_device
from hotlap.referee.loading import load
from hotlap.referee.rng import new_master_key
from hotlap.referee.rounds import RoundResult
from hotlap.verdict import read_submission, verdict

BASICS = Path(__file__).parents[1] / "src/hotlap/suites/basics"
SPIN = Path(__file__).parents[1] / "tests/gpu/spin"
KNOWN_NS = (0, 20_000, 200_000, 2_000_000)
CHECKED_CALLS = 22  # of a round: 270 over 12 rounds


def one_workload(name: str, folder: Path) -> Problem:
    """A bundled problem cut down to its first bench workload on a GPU."""
    problem = find(f"basics/{name}")
    shutil.copytree(problem.folder, folder / name)
    sheet = folder / name / "problem.toml"
    head, *workloads = sheet.read_text().split("[[workloads]]")
    mine = [w for w in workloads if 'profile = "gpu"' in w]
    kept = [next(w for w in mine if f'"{kind}"' in w) for kind in ("test", "bench")]
    sheet.write_text("[[workloads]]".join([head, *kept]))
    return find(str(folder / name))


def constant(device: CudaDevice, rounds: int) -> dict[str, Any]:
    """c, and rounds of one kernel of known length, in µs beyond that length."""
    null = device.null_seat()
    return {
        f"{known_ns / 1e3:g} us": spread(
            [(empty_round(null, device.stamps, known_ns) - known_ns) / 1e3 for _ in range(rounds)]
        )
        for known_ns in KNOWN_NS
    }


def both_clocks(device: CudaDevice, folder: Path) -> list[dict[str, float]]:
    """The spin kernel by the referee and by events in another process: µs a call, and sd over rounds in %."""
    given = verdict(find(str(SPIN)), read_submission(SPIN / "kernel.cu"), device)
    timed = [w for w in given.workloads if w.kind is Kind.bench and w.time_ns is not None]
    arch = f"-arch={device.arch}"
    library = folder / "spin.so"
    build = ["nvcc", "-shared", "-Xcompiler", "-fPIC", arch, "-o", str(library), str(SPIN / "kernel.cu")]
    subprocess.run(build, check=True)
    rounds = [f"{(w.axes or {})['us']}:{w.calls_per_round}" for w in timed]
    command = [sys.executable, str(SPIN / "by_events.py"), str(library), *rounds]
    events = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return [
        {
            "us": (w.axes or {})["us"],
            "calls": w.calls_per_round or 0,
            "referee_us": w.time_ns.estimate / 1e3,
            "events_us": median / 1e3,
            "difference_percent": (w.time_ns.estimate / median - 1) * 100,
            "events_sd_percent": sd / median * 100,
        }
        for w, (median, sd) in zip(timed, events, strict=True)
        if w.time_ns is not None
    ]


def compare_alone(
    device: CudaDevice, case: Case, axes: dict[str, int], vault: Any, result: RoundResult
) -> float:
    """The fused comparison of a round's calls without the references, in ms, truths at hand."""
    pairs = [
        (outputs[0], references.compute_reference(case.reference, case.problem, vault.inputs[call], axes)[0])
        for call, outputs in result.outputs.items()
    ]
    device.gpu.synchronize()
    start = time.perf_counter()
    for out, truth in pairs:
        device.compare("y", out, truth, 1e-3, 0.0)
    return (time.perf_counter() - start) * 1e3


def round_cost(device: CudaDevice, problem: Problem, file: Path, rounds: int) -> dict[str, Any]:
    """Where the wall time of a round goes, in ms: drawing, the round itself, comparing its calls."""
    submission = read_submission(file)
    seat = device.take_seat()
    before = device.free_bytes()
    try:
        seat.await_start()
        style = load(seat, problem, submission)
        context = before - device.free_bytes()
        reference = references.load_reference(problem)
        case = Case(problem, submission, device, reference, new_master_key(), seat=seat, style=style)
        workload = next(w for w in problem.workloads if w.kind is Kind.bench)
        axes = shapes.all_axes(problem, workload.axes)
        calls = 24
        work = device.assignment(problem, axes, seat, style, calls)
        work.round(draw(case, 0, 0, axes, 1), [0], 64, 20)
        work.mode = "graph"
        work.capture(calls)
        rows = []
        for number in range(3, 3 + rounds):
            marks = [time.perf_counter()]
            vault = draw(case, 0, number, axes, calls)
            device.gpu.synchronize()
            marks.append(time.perf_counter())
            result = work.round(vault, range(CHECKED_CALLS), 1366, 20)
            marks.append(time.perf_counter())
            account(case, axes, vault, result, Tally(), number)
            marks.append(time.perf_counter())
            rows.append([(b - a) * 1e3 for a, b in pairwise(marks)] + [result.time_ns / 1e6])
        fused_ms = compare_alone(device, case, axes, vault, result)
        names = ("draw_ms", "round_ms", "compare_ms", "timed_ms")
        parts = {
            name: statistics.median(column)
            for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }
        work.close()
        parts |= {"fused_compare_ms": fused_ms}
        return parts | {"calls": calls, "compared": CHECKED_CALLS, "context_mb": context / 1e6}
    finally:
        seat.close()


def time_us(given: Verdict) -> str:
    """The first bench workload's time with its interval."""
    time_ns = next(w.time_ns for w in given.workloads if w.kind is Kind.bench)
    if time_ns is None:
        return given.reason or "no time"
    middle, low, high = (ns / 1e3 for ns in (time_ns.estimate, time_ns.ci_low, time_ns.ci_high))
    return f"{middle:.2f} [{low:.2f}, {high:.2f}] n={time_ns.n}"


def main() -> None:
    options = arguments(__doc__, rounds=60)
    found: dict[str, Any] = {}
    with own_home(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        softmax = one_workload("softmax", folder)
        kernel = BASICS / "softmax/solutions/correct/triton_rows.py"
        with open_device("cuda:0", warm=4) as device:
            if not isinstance(device, CudaDevice):
                raise SystemExit(f"needs a GPU that can be refereed: {device.trust_reason}")
            found["device"] = f"{device.info.name}, driver {device.info.driver}"
            found["c, and known lengths: us beyond them"] = constant(device, options.rounds)
            found["spin by both clocks"] = both_clocks(device, folder)
            found["a round of softmax"] = round_cost(
                device, softmax, BASICS / "softmax/solutions/correct/torch_out.py", 12
            )
            found["softmax in bubblewrap, us"] = [
                time_us(verdict(softmax, read_submission(kernel), device)) for _ in range(2)
            ]
        sandbox.find_bubblewrap.cache_clear()
        sandbox.find_bubblewrap = lambda: (None, "left out by the benchmark")  # type: ignore[assignment]
        with open_device("cuda:0", warm=3) as device:
            found["softmax without, us"] = [
                time_us(verdict(softmax, read_submission(kernel), device)) for _ in range(2)
            ]
    print(json.dumps(found, indent=None if options.json else 1, default=str))


if __name__ == "__main__":
    main()
