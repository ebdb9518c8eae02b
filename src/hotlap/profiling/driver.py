"""Runs inside the sandbox, under a profiler: loads a kernel as a contestant does and calls it.

python -I driver.py JOB, a JSON file; writes result.json and what the tasks leave to the job's `out` folder.
It imports the standard library, torch where the kernel needs it, and hotlap.contestant: nothing else of
hotlap is there. Nothing that it writes is believed; it explains, and no time in it counts.
"""

import contextlib
import importlib
import json
import os
import resource
import shutil
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

SAMPLE_S, SAMPLE_EVERY_S = 1.5, 0.001
TIME_S, FEWEST_BATCHES, MOST_BATCHES = 0.4, 3, 2000
WARM_UP_BATCHES = 3
TRACED_CALLS = 20
COMPILED = (".cubin", ".ptx", ".ttgir", ".so")
MOST_COMPILED = 64


class Case:
    """A loaded kernel with its buffers. `slots` calls, each on inputs of its own, are one batch."""

    def __init__(self, job: dict[str, Any]):
        self.job, self.phase = job, "load"
        self.slots: int = job["slots"]
        self.is_gpu: bool = job["device"] == "cuda"
        self.out = Path(job["out"])
        self.torch: Any = None
        contestant = importlib.import_module("hotlap.contestant.main")
        path, lang = Path(job["file"]), job["lang"]
        if lang != "cpp":
            self.torch = importlib.import_module("torch")
        if self.is_gpu:
            self.torch.zeros(1, device="cuda")
        if lang == "cpp":
            self.kernel = contestant.CompiledKernel(path, job["axes_names"])
        elif lang == "cu":
            self.kernel = contestant.CudaKernel(path, job["axes_names"], self.torch)
        else:
            self.kernel = contestant.PythonKernel(path, self.torch)
        self._mapping = contestant.Mapping

    def prepare(self) -> None:
        self.phase = "prepare"
        self.kernel.prepare(self.job["axes"])
        self.synchronize()  # what prepare broke on the device shows here, not in a call
        self.phase = "call"
        self._attach(self._mapping)

    def _attach(self, mapping: Any) -> None:
        """Map the inputs that the referee drew; those that a kernel may change are copies, made anew."""
        inputs: list[Any] = []
        self._restored: list[tuple[Any, Any]] = []
        for spec in self.job["inputs"]:
            if spec is None:
                inputs.append(None)
                continue
            drawn = mapping(os.open(spec["file"], os.O_RDONLY), spec | {"writable": False})
            own = mapping(_memory(spec), spec) if spec["writable"] else drawn
            if spec["writable"]:
                self._restored.append((own, drawn))
            inputs.append(own)
        outputs = [mapping(_memory(spec), spec) for spec in self.job["outputs"]]
        if self.is_gpu:
            mirror = importlib.import_module("hotlap.contestant.unshared").Mirror
            inputs = [m and mirror(m, self.torch, self.slots) for m in inputs]
            outputs = [mirror(m, self.torch, self.slots) for m in outputs]
        self._inputs = inputs
        self._fill()
        self.kernel.attach(inputs, outputs, self.slots)

    def _fill(self) -> None:
        """Give the inputs their values, again before each batch where the last one may have changed them."""
        for own, drawn in self._restored:
            _copy(drawn, own)
        if self.is_gpu:
            for mirror in filter(None, self._inputs):
                for device, host in zip(mirror.device, mirror.host, strict=True):
                    device.copy_(host)

    @property
    def restores(self) -> bool:
        """Whether inputs must be made anew before each batch."""
        return bool(self._restored)

    def ready(self) -> None:
        if self._restored:
            self._fill()
        self.kernel.ready(self.job["scalars"])

    def synchronize(self) -> None:
        if self.is_gpu:
            self.torch.cuda.synchronize()

    def batch(self) -> None:
        self.ready()
        self.kernel.run(self.slots)
        self.synchronize()

    def warm_up(self) -> None:
        for _ in range(WARM_UP_BATCHES):
            self.batch()


def _memory(spec: dict[str, Any]) -> int:
    """A descriptor of fresh shared memory for one buffer."""
    fd = os.memfd_create(spec["name"])
    os.ftruncate(fd, spec["bytes"])
    return fd


def _copy(source: Any, target: Any) -> None:
    import ctypes

    ctypes.memmove(target.address, source.address, source.bytes)


# --- tasks: each returns what it found ---------------------------------------------------------------


def timed(case: Case) -> dict[str, Any]:
    """Wall and processor time of a call, page faults and threads; counted by whoever holds the counters."""
    case.warm_up()
    # A GPU must have calls queued, or it waits for the host between them.
    repeats = -(-TRACED_CALLS // case.slots) if case.is_gpu and not case.restores else 1
    walls_ns: list[int] = []
    processor_s, faults, start = 0.0, 0, time.perf_counter()
    with counted(case.job.get("control")):
        while len(walls_ns) < FEWEST_BATCHES or (
            time.perf_counter() - start < TIME_S and len(walls_ns) < MOST_BATCHES
        ):
            case.ready()
            before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns()
            for _ in range(repeats):
                case.kernel.run(case.slots)
                case.kernel.ready(case.job["scalars"])  # frees what the calls returned
            case.synchronize()
            walls_ns.append(time.perf_counter_ns() - began)
            after = resource.getrusage(resource.RUSAGE_SELF)
            processor_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            faults += after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt
    calls = len(walls_ns) * repeats * case.slots
    return {
        "calls": calls,
        "wall_ns": statistics.median(walls_ns) / repeats / case.slots,
        "busy_cores": 1e9 * processor_s / sum(walls_ns),
        "page_faults": faults / calls,
        "threads": len(os.listdir("/proc/self/task")),
    }


@contextlib.contextmanager
def counted(control: list[str] | None) -> Iterator[None]:
    """Have the counters run within the block: perf, outside of the sandbox, waits at two pipes."""
    if control is None:
        yield
        return
    order, answer = os.open(control[0], os.O_WRONLY), os.open(control[1], os.O_RDONLY)
    os.write(order, b"enable\n")
    os.read(answer, 64)
    try:
        yield
    finally:
        os.write(order, b"disable\n")
        os.read(answer, 64)


def called(case: Case) -> dict[str, Any]:
    """One call in an NVTX range that profilers look for, after a warm-up where there is one."""
    for _ in range(case.job.get("warm_up", 0)):
        case.batch()
    case.ready()
    if case.is_gpu:
        case.torch.cuda.nvtx.range_push("hotlap")
    case.kernel.run(1)
    case.synchronize()
    if case.is_gpu:
        case.torch.cuda.nvtx.range_pop()
    return {"calls": 1}


def sampled(case: Case) -> dict[str, Any]:
    """Nanoseconds by line of the author's file, all that it calls included, and by whose Python code ran.

    A thread looks each ms; C code that keeps the interpreter's lock it sees only when that ends, so what such
    code took may count for the line after it. A signal would come late after every operator, lock or not.
    """
    main = threading.get_ident()
    lines: Counter[int] = Counter()
    places: Counter[str] = Counter()
    ended = threading.Event()

    def look() -> None:
        last_ns = time.perf_counter_ns()
        while not ended.wait(SAMPLE_EVERY_S):
            now_ns, found = time.perf_counter_ns(), _place(sys._current_frames().get(main), case.job["file"])
            if found is not None:
                lines[found[0]] += now_ns - last_ns
                places[found[1]] += now_ns - last_ns
            last_ns = now_ns

    case.warm_up()
    sampler = threading.Thread(target=look, daemon=True)
    sampler.start()
    end = time.monotonic() + SAMPLE_S
    while time.monotonic() < end:
        case.batch()
    ended.set()
    sampler.join()
    return {"lines": {str(line): n for line, n in lines.items()}, "places": dict(places)}


def _place(frame: FrameType | None, file: str) -> tuple[int, str] | None:
    """The author's line that a stack is in, and whose Python code runs: his own or a library's."""
    innermost = frame
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    if frame is None or innermost is None:
        return None
    return frame.f_lineno, "author" if innermost is frame else _library(innermost.f_code.co_filename)


def _library(file: str) -> str:
    _, found, rest = file.rpartition("-packages/")
    return rest.partition("/")[0] if found else Path(file).name


def traced(case: Case) -> dict[str, Any]:
    """torch's timeline of some calls, as a trace for a browser."""
    torch = case.torch
    if torch is None:
        return {"calls": 0}
    case.warm_up()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if case.is_gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    batches = max(1, TRACED_CALLS // case.slots)
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(batches):
            case.ready()
            with torch.profiler.record_function("hotlap"):
                case.kernel.run(case.slots)
            if case.restores:
                case.synchronize()
        case.synchronize()
    profiler.export_chrome_trace(str(case.out / "trace.json"))
    return {"calls": batches * case.slots}


def kept(case: Case) -> dict[str, Any]:
    """What compilers made of a Python kernel, out of their caches."""
    folder = case.out / "compiled"
    folder.mkdir(exist_ok=True)
    found = [
        path
        for cache in ("/tmp/triton", "/tmp/inductor", "/tmp/extensions")
        for path in sorted(Path(cache).rglob("*"))
        if path.suffix in COMPILED and path.is_file()
    ]
    for number, path in enumerate(found[:MOST_COMPILED]):
        shutil.copyfile(path, folder / f"{number}-{path.name}")
    return {"files": len(found)}


TASKS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "timed": timed,
    "called": called,
    "sampled": sampled,
    "traced": traced,
    "kept": kept,
}


def main(job: dict[str, Any]) -> None:
    """Load the kernel, do the job's tasks in order, write what they returned, or what the kernel raised."""
    sys.path[:0] = job["paths"]
    os.sched_setaffinity(0, job["cpus"])
    case: Case | None = None
    result: dict[str, Any] = {}
    try:
        case = Case(job)
        case.prepare()
        for task in job["tasks"]:
            result[task] = TASKS[task](case)
    except BaseException as error:  # the boundary: whatever the author's code raises is data
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        describe = importlib.import_module("hotlap.contestant.main").describe
        result["error"] = describe(error.with_traceback(trace), case.phase if case else "load")
    with open(f"{job['out']}/result.json", "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    with open(sys.argv[1]) as given:
        main(json.load(given))
