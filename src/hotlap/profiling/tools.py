"""Where the profilers of this machine are, and how to get those that are missing."""

import glob
import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from hotlap.referee import sandbox

NVIDIA = {
    "ncu": "it comes with the CUDA toolkit, or as Nsight Compute",
    "compute-sanitizer": "it comes with the CUDA toolkit",
    "cuobjdump": "it comes with the CUDA toolkit, and with Triton",
    "nvdisasm": "it comes with the CUDA toolkit, and with Triton",
}
OTHERS = {"perf": "apt-get install linux-perf", "valgrind": "apt-get install valgrind"}
# What is on the path may be a script that starts a program from here.
HOMES = {"ncu": "/opt/nvidia/nsight-compute", "compute-sanitizer": "/opt/nvidia/compute-sanitizer"}
PLACES = ("/usr/local/cuda/bin", "/opt/nvidia/nsight-compute/*", "/opt/nvidia/compute-sanitizer")


@dataclass(frozen=True)
class Tool:
    """An installed program. `shown`: folders that a sandbox must show for it, beyond what it shows anyway."""

    path: str
    shown: tuple[str, ...] = ()


def find(name: str) -> Tool | str:
    """The program called `name`, or one line on why it is not there."""
    for path in (shutil.which(name), *(_nvidia_places(name) if name in NVIDIA else ())):
        if path is not None and os.access(path, os.X_OK):
            return Tool(path, shown(path, HOMES.get(name)))
    hint = NVIDIA.get(name) or OTHERS[name]
    return f"{name} is not installed: {hint}"


def _nvidia_places(name: str) -> list[str]:
    homes = [f"{home}/bin" for key in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(key))]
    folders = [f for place in (*homes, *PLACES) for f in sorted(glob.glob(place), reverse=True)]
    triton = importlib.util.find_spec("triton")
    for folder in (triton.submodule_search_locations or ()) if triton else ():
        folders.append(f"{folder}/backends/nvidia/bin")
    return [f"{folder}/{name}" for folder in folders]


def shown(path: str, home: str | None) -> tuple[str, ...]:
    """Folders that a sandbox must show for a program beyond what it shows anyway.

    home: where its parts are, if it is there.
    """
    folders = {str(Path(path).parent), str(Path(path).resolve().parent)}
    if home is not None and Path(home).is_dir():
        folders |= {home, str(Path(home).resolve())}
    known = [Path("/usr"), Path("/bin"), *sandbox.prefixes()]
    return tuple(sorted(f for f in folders if not any(k == Path(f) or k in Path(f).parents for k in known)))
