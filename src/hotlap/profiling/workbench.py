"""One submission with the inputs of one workload: have the driver call it, under whatever tool looks on.

Inputs are drawn by the referee and handed over as files; the reference never leaves this process. Nothing
that comes back is believed: it explains, and it is read as data.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.errors import DeviceError
from hotlap.model import Failure, Fault, Problem, Status, Submission, TensorSpec
from hotlap.problems.reference import load_reference
from hotlap.profiling import sandboxed
from hotlap.profiling.sandboxed import ALONE, INSIDE_OUT, Under
from hotlap.referee import build, sandbox
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.device import Device
from hotlap.referee.loading import is_compiled
from hotlap.referee.rng import derive, new_master_key
from hotlap.referee.rounds import layout_of, raw_bytes
from hotlap.referee.seat import DETAIL_CHARS, MESSAGE_CHARS, printable

DRIVER = Path(__file__).parent / "driver.py"
INSIDE_DRIVER = "/hotlap/driver.py"
MOST_SLOTS, SLOT_BYTES = 8, 256 << 20
CONTROL = ("order", "answer")  # pipes in the folder of outputs: when a tool outside shall count


MOST = 1 << 63  # of a number that the kernel's process reports


@dataclass(frozen=True)
class Outcome:
    """What came of one process: results by task, why it broke off, what it printed, the files it left."""

    results: Mapping[str, Mapping[str, Any]]
    failure: Failure | None
    printed: str
    files: tuple[Path, ...]

    def number(self, task: str, key: str) -> float | None:
        """A number among a task's results; None where it is none."""
        found = self.results.get(task, {}).get(key)
        if not isinstance(found, int | float) or isinstance(found, bool) or not abs(found) < MOST:
            return None  # the kernel's process wrote it, and may have written anything
        return float(found)

    def counts(self, task: str, key: str) -> dict[str, int]:
        """A table of numbers of times among a task's results."""
        found = self.results.get(task, {}).get(key)
        items = found.items() if isinstance(found, dict) else ()
        return {str(name): n for name, n in items if isinstance(n, int) and 0 < n < MOST}

    def file(self, name: str) -> Path | None:
        """One of its files, by name."""
        return next((path for path in self.files if path.name == name), None)


class Workbench:
    """A submission, ready to be run on one workload as often as there are tools. Close it.

    out: where the files of the tools are kept. library: what a compiled submission was built to.
    """

    def __init__(
        self,
        problem: Problem,
        submission: Submission,
        device: Device,
        axes: dict[str, int],
        out: Path,
        library: bytes = b"",
    ):
        self.problem, self.submission, self.device = problem, submission, device
        self.axes, self.out, self.library = axes, out, library
        self._staging = tempfile.TemporaryDirectory(prefix=".running-", dir=out)
        self._folder = Path(self._staging.name)
        self._in = self._folder / "in"
        self._in.mkdir(mode=0o755)
        self._runs = 0
        self._file = "kernel.so" if is_compiled(submission) else Path(submission.file).name
        try:
            self.slots = self._write_inputs()
            self.place(library or submission.source.encode())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the inputs and whatever else was only needed meanwhile."""
        sandboxed.remove(self._folder)
        self._staging.cleanup()

    def place(self, kernel: bytes) -> None:
        """Put the kernel where the driver finds it, in the place of the last."""
        self._write(self._file, kernel)

    def _write(self, name: str, data: bytes) -> None:
        path = self._in / name
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        path.chmod(0o555)

    # --- inputs

    def _write_inputs(self) -> int:
        """Draw inputs for a batch of calls and write each to a file; returns how many calls that is."""
        device, needed = self.device, self.device.call_bytes(self.problem, self.axes)
        budget = int(device.memory_share * device.free_bytes())
        if needed > budget:
            raise DeviceError(
                f"{self.problem.id} {self.axes}: one call needs {needed / 1e9:.1f} GB of buffers; allowed is "
                f"{device.memory_share:.0%} of the free memory, {budget / 1e9:.1f} GB; choose a smaller "
                "--workload"
            )
        slots = max(1, min(MOST_SLOTS, SLOT_BYTES // needed))
        master = new_master_key()
        keys = [derive(master, 0, 0, call) for call in range(slots)]
        vault: Any = device.draw_vault(self.problem, load_reference(self.problem), self.axes, keys)
        self._scalars = vault.scalars
        try:
            for index, spec in enumerate(self.problem.inputs):
                if spec.shape is not None:
                    self._write_input(index, spec, [call[index] for call in vault.inputs])
        except OSError as error:
            raise DeviceError(
                f"{self.out}: the inputs cannot be written ({error.strerror}); choose another --out"
            ) from None
        del vault
        device.free_bytes()  # a GPU's: what was drawn there goes back
        return slots

    def _write_input(self, index: int, spec: TensorSpec, values: Sequence[Any]) -> None:
        layout = layout_of(spec, self.axes)
        with open(self._in / f"{index}.bin", "wb") as file:
            for call, value in enumerate(values):
                file.seek(call * layout.stride)
                raw_bytes(value.cpu().contiguous()).tofile(file)
            file.truncate(len(values) * layout.stride)

    def _described(self, spec: TensorSpec, writable: bool) -> dict[str, Any]:
        """What the driver needs to know of one input or output."""
        layout = layout_of(spec, self.axes)
        sizes = {"stride": layout.stride, "bytes": layout.stride * self.slots}
        return layout.describe() | sizes | {"writable": writable}

    # --- run

    def run(
        self,
        tasks: Sequence[str],
        timeout_s: float,
        keeps: Sequence[str] = (),
        under: Under = ALONE,
        controlled: bool = False,
        **settings: Any,
    ) -> Outcome:
        """Have the driver do its tasks under a tool. keeps: names of the files that are moved to `out`.

        controlled: the driver tells a tool outside when to count, by two pipes.
        """
        inside = sandbox.kind() == "bwrap"
        self._runs += 1
        written = self._folder / f"out-{self._runs}"
        written.mkdir()
        written.chmod(0o777)  # for a process that is not even our user
        for pipe in CONTROL if controlled else ():
            os.mkfifo(written / pipe)
        given, out = (sandbox.INSIDE_SUBMISSION, INSIDE_OUT) if inside else (str(self._in), str(written))
        job = {
            "file": f"{given}/{self._file}",
            "lang": self.submission.lang if is_compiled(self.submission) else "python",
            "device": self.device.info.kind,
            "axes": self.axes,
            "axes_names": build.var_axes(self.problem),
            "slots": self.slots,
            "scalars": self._scalars,
            "inputs": [
                None if s.shape is None else self._described(s, s.mutable) | {"file": f"{given}/{i}.bin"}
                for i, s in enumerate(self.problem.inputs)
            ],
            "outputs": [self._described(s, writable=True) for s in self.problem.outputs],
            "out": out,
            "paths": [
                sandbox.INSIDE_PACKAGES if inside else str(sandbox.PACKAGE.parent),
                *sandbox.package_folders(),
            ],
            "cpus": list(self.cpus),
            "tasks": list(tasks),
            "control": [f"{out}/{pipe}" for pipe in CONTROL] if controlled else None,
            **settings,
        }
        self._write("job.json", json.dumps(job).encode())
        driver = INSIDE_DRIVER if inside else str(DRIVER)
        program = [sys.executable, "-I", driver, f"{given}/job.json"]
        binds = [
            ("--ro-bind", str(self._in), sandbox.INSIDE_SUBMISSION),
            ("--ro-bind", str(DRIVER), INSIDE_DRIVER),
            *([] if isinstance(self.device, CpuDevice) else self.device.access.binds()),
        ]
        limits = self.device.limits
        ended = sandboxed.run(program, binds, self._environment(), limits, timeout_s, written, under)
        found = sandboxed.results(written / "result.json")
        printed = self._authors(ended.printed)
        error = found.pop("error", None)
        failure = None
        if error is not None:
            failure = self._raised(error, printed)
        elif set(found) != set(tasks):
            failure = _failure("call", f"{ended.said(limits, timeout_s)} before its calls were made", printed)
        return Outcome(found, failure, printed, sandboxed.keep(written, self.out, keeps))

    @property
    def cpus(self) -> tuple[int, ...]:
        """The cores that the kernel may use."""
        return self.device.info.contestant_cpus or tuple(sorted(os.sched_getaffinity(0)))

    def _environment(self) -> dict[str, str]:
        variables = sandbox.environment(len(self.cpus))
        if not isinstance(self.device, CpuDevice):
            variables |= self.device.access.environment()
            variables["PATH"] = f"{variables.get('CUDA_HOME', '/usr/local/cuda')}/bin:{variables['PATH']}"
        return variables

    def _raised(self, error: Mapping[str, Any], printed: str) -> Failure:
        phase = error.get("phase")
        known = str(phase) if phase in ("load", "prepare", "call") else "call"
        detail = self._authors(str(error.get("traceback") or ""))[-DETAIL_CHARS:]
        return _failure(known, self._authors(str(error.get("message")))[:MESSAGE_CHARS], printed, detail)

    def _authors(self, text: str) -> str:
        """Text with the places of the sandbox taken off, so that it names the author's file."""
        for place in (f"{sandbox.INSIDE_SUBMISSION}/", f"{self._in}/"):
            text = text.replace(place, "")
        return printable(text)


def _failure(phase: str, message: str, printed: str, detail: str = "") -> Failure:
    return Failure(Status.failed, Fault.submission, phase, message, detail or None, printed or None)
