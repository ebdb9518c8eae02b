"""What the CUDA compiler gave each kernel, as `cuobjdump --dump-resource-usage` says of what it built."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hotlap.profiling.report import KernelResources

OPTION = "--dump-resource-usage"
DEVICE_CODE = b".nv_fatbin"  # the section of a host library that holds it; Triton's launchers have none
_FUNCTION = re.compile(r"^\s*Function (\S+):\s*$")
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def holds_device_code(path: Path) -> bool:
    """Whether a compiled file is for a GPU, or has a part that is."""
    return path.suffix == ".cubin" or (path.suffix == ".so" and DEVICE_CODE in path.read_bytes())


def parse(text: str, file: str) -> list[KernelResources]:
    """One entry a kernel, in the order of the text; names as the linker knows them."""
    found: list[KernelResources] = []
    name = None
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            name = function[1]
        elif name is not None and (usage := _USAGE.search(line)):
            registers, stack, shared, local = map(int, usage.groups())
            found.append(KernelResources(name, registers, stack, shared, local, file))
            name = None
    return found


def demangled(names: Sequence[str]) -> list[str]:
    """Names as their author wrote them, where c++filt is there; it reads names, never files."""
    program = shutil.which("c++filt")
    if program is None or not names:
        return list(names)
    done = subprocess.run(
        [program, "-p"], input="\n".join(names), capture_output=True, text=True, timeout=20, check=False
    )
    given = done.stdout.splitlines()
    return given if done.returncode == 0 and len(given) == len(names) else list(names)
