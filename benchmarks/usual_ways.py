"""How far apart two processes time the same kernel, by the ways in which kernels are usually timed.

No referee: a process of its own times the library kernels that `hotlap calibrate` lets duel with themselves
(torch_out.py of calibration/memory, matrix and launch), as benchmarks commonly do. What two processes differ
by is what such a benchmark calls faster or slower although nothing is. Needs torch and nothing of hotlap's.

On a GPU, each call between two CUDA events, after a flush of the L2 that fills 256 MB:
  mean    of at most 100 calls, ended early where the error of the mean is below 0.1 %
  min     of 100 calls
  median  of as many calls with their flushes as fit 100 ms, after 25 ms of warm-up; nothing waits in between
On a CPU, by perf_counter_ns and without a flush: the same three.
"""

import argparse
import importlib.util
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SUITE = Path(__file__).parents[1] / "src/hotlap/suites/calibration"
KERNELS = ("memory", "matrix", "launch")
WAYS = ("mean", "min", "median")
CALLS = 100
ERROR_OF_MEAN = 0.001
FLUSH_BYTES = 256_000_000
WARMUP_MS, MEASURED_MS = 25.0, 100.0
RESAMPLES = 1000


# --- in a process of its own -----------------------------------------------------------------------


def prepared(name: str, device: str) -> Callable[[], Any]:
    """A call of the kernel on the bench workload of this device, with inputs that stay the same."""
    import torch

    sheet = tomllib.loads((SUITE / name / "problem.toml").read_text())
    profile = "cpu" if device == "cpu" else "gpu"
    axes = next(w for w in sheet["workloads"] if (w["kind"], w["profile"]) == ("bench", profile))

    def tensor(spec: dict[str, Any]) -> torch.Tensor:
        values = torch.rand([axes[axis] for axis in spec["shape"]], device=device).mul_(2).sub_(1)
        return values.to(getattr(torch, spec["dtype"]))

    inputs, (out,) = [tensor(s) for s in sheet["inputs"]], [tensor(s) for s in sheet["outputs"]]
    file = SUITE / name / "solutions/correct/torch_out.py"
    found = importlib.util.spec_from_file_location(f"kernel_{name}", file)
    if found is None or found.loader is None:
        raise SystemExit(f"{file}: cannot be loaded")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return lambda: module.kernel(*inputs, out)


class Gpu:
    """Times between events, in ms."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def queue(self, call: Callable[[], Any], fill: int) -> tuple[Any, Any]:
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flush.fill_(fill)
        start.record()
        call()
        end.record()
        return start, end

    def one(self, call: Callable[[], Any]) -> float:
        start, end = self.queue(call, 42)
        end.synchronize()
        return float(start.elapsed_time(end))

    def many(self, call: Callable[[], Any], count: int) -> list[float]:
        events = [self.queue(call, 0) for _ in range(count)]
        self.torch.cuda.synchronize()
        return [float(start.elapsed_time(end)) for start, end in events]

    def with_flush(self, call: Callable[[], Any]) -> float:
        """What one flush and one call take together."""
        events = [self.queue(call, 0) for _ in range(6)]
        self.torch.cuda.synchronize()
        return float(events[0][1].elapsed_time(events[-1][1])) / 5


class Cpu:
    """Times by the host's clock, in ms."""

    def one(self, call: Callable[[], Any]) -> float:
        start = time.perf_counter_ns()
        call()
        return (time.perf_counter_ns() - start) / 1e6

    def many(self, call: Callable[[], Any], count: int) -> list[float]:
        return [self.one(call) for _ in range(count)]

    def with_flush(self, call: Callable[[], Any]) -> float:
        return statistics.fmean(self.many(call, 5))


def mean_time(clock: Gpu | Cpu, call: Callable[[], Any]) -> float:
    times: list[float] = []
    while len(times) < CALLS:
        times.append(clock.one(call))
        mean = statistics.fmean(times)
        if len(times) > 2 and statistics.stdev(times) / math.sqrt(len(times)) < ERROR_OF_MEAN * mean:
            break
    return statistics.fmean(times)


def least_time(clock: Gpu | Cpu, call: Callable[[], Any]) -> float:
    return min(clock.one(call) for _ in range(CALLS))


def median_time(clock: Gpu | Cpu, call: Callable[[], Any]) -> float:
    estimate = max(1e-3, clock.with_flush(call))
    clock.many(call, max(1, int(WARMUP_MS / estimate)))
    return statistics.median(clock.many(call, max(1, int(MEASURED_MS / estimate))))


def child(device: str) -> None:
    """Get ready, say so, wait for a line, and print ms by kernel and way."""
    import torch

    if device == "cpu":
        torch.set_num_threads(max(1, torch.get_num_threads() - 1))  # as many as the referee leaves a kernel
    clock = Cpu() if device == "cpu" else Gpu()
    calls = {name: prepared(name, device) for name in KERNELS}
    for call in calls.values():
        clock.one(call)
    print("ready", flush=True)
    sys.stdin.readline()
    times = {
        name: {
            "mean": mean_time(clock, call),
            "min": least_time(clock, call),
            "median": median_time(clock, call),
        }
        for name, call in calls.items()
    }
    print(json.dumps(times), flush=True)


# --- in the parent ---------------------------------------------------------------------------------


def measured(device: str, processes: int, together: int) -> list[dict[str, dict[str, float]]]:
    """What each process found. `together` of them get ready side by side; then they are timed one by one."""
    found = []
    command = [sys.executable, str(Path(__file__).resolve()), "--child", "--device", device]
    for start in range(0, processes, together):
        batch = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(min(together, processes - start))
        ]
        try:
            for process in batch:
                heard(process)
            for process in batch:
                if sys.stderr.isatty():
                    print(f"process {len(found) + 1} of {processes}", end="\r", file=sys.stderr)
                found.append(json.loads(heard(process, say="go")))
                process.wait()
        finally:
            for process in batch:
                process.kill()
                process.wait()
    return found


def heard(process: "subprocess.Popen[str]", say: str | None = None) -> str:
    """The next line of a child, after telling it something."""
    if process.stdin is None or process.stdout is None:
        raise SystemExit("a process has no pipes")
    if say is not None:
        print(say, file=process.stdin, flush=True)
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"a process ended with {process.wait()} before it was timed; its error is above")
    return line


def floor95(logs: Sequence[float]) -> float:
    """95th percentile of what two processes differ by, over all pairs of them, as a log-ratio."""
    apart = sorted(abs(a - b) for a, b in itertools.combinations(logs, 2))
    place = 0.95 * (len(apart) - 1)
    below = math.floor(place)
    above = min(below + 1, len(apart) - 1)
    return apart[below] + (place - below) * (apart[above] - apart[below])


def with_interval(logs: Sequence[float]) -> tuple[float, float, float]:
    """floor95 and its 95 % interval, by resampling the processes. One that is drawn twice does not differ
    from itself, so the interval lies a little too low."""
    chance = random.Random(20261130)
    drawn = sorted(floor95(chance.choices(logs, k=len(logs))) for _ in range(RESAMPLES))
    return floor95(logs), drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES)]


def table(found: Sequence[dict[str, dict[str, float]]]) -> list[dict[str, Any]]:
    rows = []
    for name, way in itertools.product(KERNELS, WAYS):
        times = [one[name][way] for one in found]
        floor, low, high = with_interval([math.log(ms) for ms in times])
        rows.append(
            {
                "kernel": name,
                "way": way,
                "median_us": statistics.median(times) * 1e3,
                "floor95": floor,
                "floor95_ci": [low, high],
                "processes": len(times),
                "times_ms": times,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=8, help="pairs of processes; two at least")
    parser.add_argument("--together", type=int, default=4, help="processes that get ready side by side")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: a GPU where torch sees one")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.device)
        return
    if options.pairs < 2 or options.together < 1:
        parser.error("--pairs must be 2 or more, --together 1 or more")
    import torch

    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no GPU here; use --device cpu")
    start = time.monotonic()
    rows = table(measured(device, 2 * options.pairs, options.together))
    wall_s = time.monotonic() - start
    where = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    if options.json:
        print(json.dumps({"device": where, "torch": torch.__version__, "wall_s": wall_s, "rows": rows}))
        return
    print(
        f"{'kernel':<8} {'way':<8} {'time':>12}  {'two processes differ by (95th percentile)':<42} processes"
    )
    for row in rows:
        low, high = row["floor95_ci"]
        apart = f"{row['floor95']:.3%} [{low:.3%}, {high:.3%}]"
        print(
            f"{row['kernel']:<8} {row['way']:<8} {row['median_us']:>9.2f} us  {apart:<42} {row['processes']}"
        )
    print(f"{where}, torch {torch.__version__}; {wall_s:.0f} s")


if __name__ == "__main__":
    main()
