"""Memory of the referee and of its contestants, as PSS: shared pages are divided among those who map them.

Buffers that a referee shares with its contestants are shared memory (memfd), which the kernel counts apart.
What is left is the interpreter, torch, the vault and the checks. Target: under 500 MB beyond the buffers.
"""

import threading
import time
from pathlib import Path
from typing import Any

import common

from hotlap.problems.find import bundled
from hotlap.referee.device import open_device
from hotlap.verdict import read_submission, verdict

MB = 1e6
EVERY_S = 0.05


def pss(pid: int | str = "self") -> tuple[int, int]:
    """(bytes of PSS, those among them that are shared memory)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    fields = dict(line.split(":") for line in lines)
    total, shared = (int(fields[name].split()[0]) * 1024 for name in ("Pss", "Pss_Shmem"))
    return total, shared


class Peak:
    """The largest PSS beyond shared memory, and the largest shared memory, while the block runs."""

    def __enter__(self) -> "Peak":
        self.beyond = self.shared = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            total, shared = pss()
            self.beyond, self.shared = max(self.beyond, total - shared), max(self.shared, shared)


def measure() -> tuple[dict[str, Any], list[str]]:
    rows = []
    lines = [f"{'referee, MB':22}{'peak beyond buffers':>22}{'peak of buffers':>18}{'after the run':>16}"]
    contestants = {}
    with open_device() as device:
        for problem in bundled("basics"):
            with Peak() as peak:
                found = verdict(problem, read_submission(problem.folder / "starter/kernel.py"), device)
            after = pss()[0]
            rows.append(
                {
                    "problem": problem.id,
                    "status": found.status,
                    "peak_beyond_bytes": peak.beyond,
                    "peak_shared_pss_bytes": peak.shared,
                    "after_bytes": after,
                }
            )
            name = f"{problem.suite}/{problem.name}"
            lines.append(f"{name:22}{peak.beyond / MB:22.0f}{peak.shared / MB:18.0f}{after / MB:16.0f}")
        for imports in ("torch", "bare"):
            seat = device.take_seat(imports)
            seat.await_start()
            time.sleep(0.1)
            contestants[imports] = pss(seat.pid)[0]
            seat.close()
            lines.append(f"a waiting {imports} contestant: {contestants[imports] / MB:.0f} MB")
    return {"referee": rows, "contestant_bytes": contestants}, lines


if __name__ == "__main__":
    options = common.arguments(__doc__)
    common.report(__doc__, options.json, measure)
