"""A contestant's rounds on a GPU: map the referee's device memory, queue calls behind its flag.

A round in mode graph or stream: queue wait(GO), the calls and write(DONE), then say "queued" and where the
returned tensors are; nothing has run yet. In mode after-go the calls are made once GO is there, for kernels
that look at their data from the host. Nothing that is said here is believed.
"""

import contextlib
import gc
from collections.abc import Sequence
from typing import Any

from hotlap.contestant import wire
from hotlap.contestant.cuda import Cuda

ANSWER_S = 5.0  # how long to wait for the referee's answer; without it DONE comes all the same


class DeviceMapping:
    """One buffer of the referee's in device memory: `slots` copies of an array, `stride` bytes apart."""

    def __init__(self, cuda: Cuda, spec: dict[str, Any]):
        self.spec, self.bytes, self._cuda = spec, spec["bytes"], cuda
        self.address = cuda.open(spec["handle"])

    def slot(self, index: int) -> int:
        return self.address + index * int(self.spec["stride"])

    def tensor(self, torch: Any, index: int) -> Any:
        dtype = getattr(torch, self.spec["dtype"])
        elements = self.spec["elements"]
        raw = torch.as_tensor(DeviceBytes(self.slot(index), max(1, elements) * dtype.itemsize), device="cuda")
        return raw.view(dtype)[:elements].view(self.spec["shape"])

    def close(self) -> None:
        self._cuda.close(self.address)


class DeviceBytes:
    """Raw device memory, for whoever speaks the CUDA array interface; nobody owns it."""

    def __init__(self, address: int, size: int):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


class GpuRounds:
    """What a contestant keeps between rounds on a GPU: the flags, the buffers, the captured graphs."""

    def __init__(self, channel: wire.Channel, torch: Any):
        self.channel, self.torch = channel, torch
        self.inputs: Sequence[DeviceMapping | None] = ()
        self.outputs: Sequence[DeviceMapping] = ()
        self.graphs: dict[int, tuple[Any, Any]] = {}

    def open_flags(self, handle: str) -> dict[str, Any]:
        """Make the context and map the flags: while a contestant only waits, it leaves the GPU alone."""
        if self.torch is not None:
            self.torch.zeros(1, device="cuda")
        self.cuda = Cuda()
        self.flags = self.cuda.open(handle)
        return {"op": "opened"}

    def attach(
        self, kernel: Any, inputs: list[dict[str, Any] | None], outputs: list[dict[str, Any]], slots: int
    ) -> dict[str, Any]:
        """Map a workload's buffers in place of the last one's."""
        self.graphs = {}
        kernel.results = []
        for mapping in (*self.inputs, *self.outputs):
            if mapping is not None:
                mapping.close()
        self.inputs = [None if spec is None else DeviceMapping(self.cuda, spec) for spec in inputs]
        self.outputs = [DeviceMapping(self.cuda, spec) for spec in outputs]
        kernel.attach(self.inputs, self.outputs, slots)
        return {"op": "attached"}

    def capture(self, kernel: Any, calls: int) -> dict[str, Any]:
        """Record the calls as a graph: addresses stay, contents change from round to round."""
        torch = self.torch
        kernel.ready([])
        graph = torch.cuda.CUDAGraph()
        # The author's streams join this one or are not in the graph, and then the answers are wrong.
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            kernel.run(calls)
        torch.cuda.synchronize()
        self.graphs[calls] = graph, kernel.results
        kernel.results = []
        return {"op": "captured"}

    def round(
        self,
        kernel: Any,
        number: int,
        calls: int,
        scalars: list[list[float]],
        mode: str,
        handicap_ns: int = 0,
    ) -> dict[str, Any]:
        """Queue a round's calls. handicap_ns: a wait behind them, so they take longer by a known part."""
        go, done = self.flags + wire.GO, self.flags + wire.DONE
        kernel.ready(scalars)
        gc.collect(0)
        gc.disable()  # a collection between two launches would be noise, for everybody
        try:
            if mode == "after-go":
                self._after_go(kernel, number, calls)
            else:
                self.cuda.await_flag(go, number)
                # Waiting and writing need no switch to this process, nor do copies; every round begins with
                # one kernel, so that all pay for the switch that is taken off.
                self.cuda.spin(0 if calls else int(scalars[0][0]))
                if mode == "graph":
                    graph, kernel.results = self.graphs[calls]
                    graph.replay()
                else:
                    kernel.run(calls)
                if handicap_ns:
                    self.cuda.spin(handicap_ns)
                self.cuda.write_flag(done, number)
                self.channel.send(op="queued", number=number, **self._described(kernel))
            self.cuda.synchronize()
        finally:
            gc.enable()
        return {"op": "finished", "number": number}

    def _after_go(self, kernel: Any, number: int, calls: int) -> None:
        self.cuda.await_flag(self.flags + wire.GO, number)
        self.channel.send(op="queued", number=number)
        self.cuda.synchronize()
        self.cuda.spin(0)
        kernel.run(calls)
        if kernel.style == "returns":
            # The referee must know where to look before it may see DONE; it answers when it does.
            self.channel.send(op="placed", number=number, **self._described(kernel))
            with contextlib.suppress(wire.PeerSilent):
                self.channel.receive(ANSWER_S)
        self.cuda.write_flag(self.flags + wire.DONE, number)

    def _described(self, kernel: Any) -> dict[str, Any]:
        """What the calls returned and where it is: for each call and output, a block and an offset in it."""
        returned = kernel.returned()
        blocks: list[dict[str, Any]] = []
        places: list[list[int]] = []
        known: dict[int, int] = {}
        for pointer in kernel.pointers():
            block, base = self._block(pointer)
            if base not in known:
                known[base] = len(blocks)
                blocks.append(block)
            places.append([known[base], pointer - base])
        return {"returned": returned, "blocks": blocks, "places": places}

    def _block(self, pointer: int) -> tuple[dict[str, Any], int]:
        for index, mapping in enumerate(self.inputs):
            if mapping is not None and mapping.address <= pointer < mapping.address + mapping.bytes:
                return {"input": index}, mapping.address
        exported = self.cuda.export(pointer)
        if exported is None:
            return {"unshared": True}, pointer
        return {"handle": exported[0]}, exported[1]
