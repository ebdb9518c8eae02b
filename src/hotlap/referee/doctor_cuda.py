"""What a verdict on a GPU rests on: driver, bindings, torch, and what the referee's clock needs of a device.

Attributes are asked for and nothing is launched: the GPU may be timing somebody's kernel just now.
"""

import importlib.util
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hotlap.errors import HotlapError
from hotlap.referee import cuda
from hotlap.referee.probe import Probe

NODE, WSL_NODE = Path("/dev/nvidiactl"), Path("/dev/dxg")
UNLESS = "without it times on this GPU are self-reported and never rank"


@dataclass(frozen=True)
class Gpu:
    """What a device says of itself. `mps`: its contexts are shared through the Multi-Process Service."""

    name: str
    capability: str
    stream_memory_operations: bool
    ipc: bool
    mps: bool


def has_gpu(node: Path = NODE) -> bool:
    """Whether an NVIDIA driver has a GPU here; no library is loaded to find out."""
    return node.exists() or WSL_NODE.exists()


def gpu_probes(node: Path = NODE) -> list[Probe]:
    """Try all that refereeing a GPU takes; none of it is essential, since a CPU referees without."""
    if not has_gpu(node):
        return [Probe("GPU", False, "none found (only `cpu` can referee here)", None, False)]
    libraries = [
        _library("cuda-bindings", "cuda.bindings", "the referee's clock on a GPU"),
        _library("nvidia-ml-py", "pynvml", "seeing clocks and other users of the GPU"),
        _torch(),
    ]
    try:
        found = [_gpu(ordinal) for ordinal in range(int(cuda.called("cuDeviceGetCount")))]
    except HotlapError as error:
        fix = f"{cuda.NEEDS}, and the NVIDIA driver: `nvidia-smi` must list the GPU"
        return [Probe("GPU", False, str(error).partition(";")[0], fix, False), *libraries]
    return [*device_probes(found), *libraries]


def device_probes(gpus: Sequence[Gpu]) -> list[Probe]:
    """What the devices found can do: a fault names those that have it."""
    if not gpus:
        fix = "make a GPU visible: is CUDA_VISIBLE_DEVICES empty?"
        return [Probe("GPU", False, "the driver shows no device", fix, False)]
    names = ", ".join(f"cuda:{i} {gpu.name} ({gpu.capability})" for i, gpu in enumerate(gpus))
    return [
        Probe("GPU", True, names, None, False),
        _capability(
            "GPU stream memory operations",
            (gpu.stream_memory_operations for gpu in gpus),
            f"needs a newer GPU or driver; {UNLESS}",
        ),
        _capability(
            "GPU memory between processes",
            (gpu.ipc for gpu in gpus),
            f"needs Linux on the GPU itself, not WSL 2 nor a share of a GPU; {UNLESS}",
        ),
        _mps(gpus),
    ]


def _capability(name: str, supported: Iterable[bool], fix: str) -> Probe:
    lacking = _numbers(not has for has in supported)
    fact = f"not supported by {lacking}" if lacking else "supported"
    return Probe(name, not lacking, fact, fix if lacking else None, False)


def _mps(gpus: Sequence[Gpu]) -> Probe:
    sharing = _numbers(gpu.mps for gpu in gpus)
    if sharing:
        fact = f"on for {sharing}: kernels of two processes would run at once, so nothing is judged there"
        return Probe("GPU sharing (MPS)", False, fact, "echo quit | nvidia-cuda-mps-control", False)
    return Probe("GPU sharing (MPS)", True, "off: one process's kernels run at a time", None, False)


def _numbers(chosen: Iterable[bool]) -> str:
    return ", ".join(f"cuda:{i}" for i, is_chosen in enumerate(chosen) if is_chosen)


def _gpu(ordinal: int) -> Gpu:
    device = cuda.find(ordinal)
    major, minor = (cuda.attribute(f"COMPUTE_CAPABILITY_{part}", device) for part in ("MAJOR", "MINOR"))
    name: bytes = cuda.called("cuDeviceGetName", 256, device)
    return Gpu(
        name=name.partition(b"\0")[0].decode(errors="replace"),
        capability=f"{major}.{minor}",
        # Of 64 bits: the driver has no attribute for those of 32, which come with every driver of CUDA 12.
        stream_memory_operations=bool(cuda.attribute("CAN_USE_64_BIT_STREAM_MEM_OPS", device)),
        ipc=bool(cuda.attribute("IPC_EVENT_SUPPORTED", device)),
        mps=bool(cuda.attribute("MPS_ENABLED", device)) or mps_control().exists(),
    )


def mps_control() -> Path:
    """Where a running MPS daemon listens: every new context of this user would go through it."""
    return Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY") or "/tmp/nvidia-mps") / "control"


def _library(name: str, module: str, what: str) -> Probe:
    try:
        ok = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        ok = False
    fact = f"installed, for {what}" if ok else f"not installed; needed for {what}"
    return Probe(name, ok, fact, None if ok else cuda.NEEDS, False)


def _torch() -> Probe:
    name = "torch on the GPU"
    if importlib.util.find_spec("torch") is None:
        return Probe(name, False, "torch is not installed", "pip install torch", False)
    import torch

    if torch.version.cuda is None:
        fact = f"torch {torch.__version__} is built without CUDA"
        return Probe(name, False, fact, "install a torch that is built for CUDA", False)
    if not torch.cuda.is_available():
        fact = f"torch {torch.__version__} is built for CUDA {torch.version.cuda} and sees no GPU"
        fix = "install a driver that knows this CUDA: `nvidia-smi` shows the newest that it does"
        return Probe(name, False, fact, fix, False)
    return Probe(name, True, f"torch {torch.__version__} for CUDA {torch.version.cuda}", None, False)
