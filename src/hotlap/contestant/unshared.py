"""Run a GPU kernel where device memory cannot be shared: inputs and outputs go through the host's memory.

The referee checks the answers; the time is what this process says, so it never ranks.
"""

import statistics
from collections.abc import Sequence
from typing import Any

from hotlap.contestant import results

WARM_UP_CALLS, CLAIMED_CALLS = 3, 30


class Mirror:
    """A buffer of the referee's and its copy on the GPU, slot by slot."""

    def __init__(self, mapping: Any, torch: Any, slots: int):
        self.host = [mapping.tensor(torch, i) for i in range(slots)]
        self.device = [torch.empty_like(host, device="cuda") for host in self.host]

    def slot(self, index: int) -> int:
        return int(self.device[index].data_ptr())

    def tensor(self, torch: Any, index: int) -> Any:
        return self.device[index]


class Unshared:
    """A kernel behind mirrors: to the referee it writes into host memory, whatever its own style is."""

    def __init__(self, kernel: Any, torch: Any):
        self.kernel, self.torch, self.style = kernel, torch, kernel.style
        self.results: Sequence[Any] = ()

    def prepare(self, axes: dict[str, int], call: bytes = b"") -> None:
        self.kernel.prepare(axes, call)

    def attach(self, inputs: Sequence[Any], outputs: Sequence[Any], slots: int) -> None:
        self.inputs = [m and Mirror(m, self.torch, slots) for m in inputs]
        self.outputs = [Mirror(m, self.torch, slots) for m in outputs]
        self.kernel.attach(self.inputs, self.outputs, slots)

    def ready(self, scalars: Sequence[Sequence[float]]) -> None:
        self.kernel.ready(scalars)

    def run(self, calls: int) -> None:
        for mirror in filter(None, self.inputs):
            for call in range(calls):
                mirror.device[call].copy_(mirror.host[call])
        self.kernel.run(calls)
        for call in range(calls):
            for mirror, value in zip(self.outputs, self._answers(call), strict=True):
                mirror.host[call].copy_(value)
        self.torch.cuda.synchronize()

    def _answers(self, call: int) -> Sequence[Any]:
        if self.style != "returns":
            return [mirror.device[call] for mirror in self.outputs]
        return results.arrays(self.kernel.results[call])

    def claim(self) -> dict[str, Any]:
        """Median nanoseconds of a call by this process's own events, on the inputs of the last round."""
        events = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(CLAIMED_CALLS)]
        for _ in range(WARM_UP_CALLS):
            self.kernel.run(1)
        for begin, end in events:
            begin.record()
            self.kernel.run(1)
            end.record()
        self.torch.cuda.synchronize()
        return {
            "op": "claimed",
            "time_ns": statistics.median(begin.elapsed_time(end) * 1e6 for begin, end in events),
        }

    def pointers(self) -> list[int]:
        return []

    def returned(self) -> list[list[dict[str, Any]]]:
        return []
