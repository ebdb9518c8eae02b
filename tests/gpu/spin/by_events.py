"""The spin kernel timed by CUDA events, with no referee: `by_events.py LIBRARY US:CALLS ...`.

Prints one JSON list: median and standard deviation over rounds of a call's time in ns, for each US:CALLS. A
round is one replay of a graph of so many calls, as the referee has them launched.
"""

import ctypes
import json
import statistics
import sys
from typing import Any

import torch

ROUNDS = 25
WARM_UP = 3
SLEEP_CYCLES = 2_000_000  # about a millisecond
COLD = torch.ones(1 << 26, device="cuda")  # to fill the L2 with


def event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def round_ns(graph: Any) -> float:
    """Time of one replay between two events, in ns."""
    begin, end = event(), event()
    COLD.sum()
    # The host's time for the launch is hidden: else the first event is over before the graph is there.
    torch.cuda._sleep(SLEEP_CYCLES)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e6


def call_ns(kernel: Any, us: int, calls: int) -> tuple[float, float]:
    # Buffers of each call's own, and cold, as under the referee.
    x, y = torch.ones(calls, us, device="cuda"), torch.empty(calls, us, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = torch.cuda.current_stream().cuda_stream
        for call in range(calls):
            code = kernel(
                *map(ctypes.c_void_p, (x[call].data_ptr(), y[call].data_ptr())),
                ctypes.c_int64(us),
                ctypes.c_void_p(stream),
            )
            if code:
                raise RuntimeError(f"kernel returned {code}")
    times = [round_ns(graph) for _ in range(WARM_UP + ROUNDS)]
    counted = times[WARM_UP:]
    return statistics.median(counted) / calls, statistics.stdev(counted) / calls


def main(library: str, *rounds: str) -> None:
    kernel = ctypes.CDLL(library).kernel
    pairs = [map(int, one.split(":")) for one in rounds]
    print(json.dumps([call_ns(kernel, us, calls) for us, calls in pairs]))


if __name__ == "__main__":
    main(*sys.argv[1:])
