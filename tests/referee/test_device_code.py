"""The referee's own GPU kernels: they compile for the architectures we name, and are those that we launch."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hotlap.referee import cuda

SOURCE = Path(cuda.__file__).with_name("device.cu")
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
needs_nvcc = pytest.mark.skipif(shutil.which(NVCC) is None, reason="needs nvcc")


def kernels() -> list[str]:
    """The names of device.cu, macros expanded."""
    text = SOURCE.read_text()
    plain = re.findall(r'^extern "C" __global__ void (\w+)\(', text, re.MULTILINE)
    return [*plain, *(f"compare_{name}" for name in re.findall(r"^COMPARE\((\w+),", text, re.MULTILINE))]


def test_every_kernel_has_one_name_and_is_one_that_is_launched() -> None:
    assert sorted(kernels()) == sorted(cuda.KERNELS)


def test_the_source_includes_nothing() -> None:
    assert "#include" not in SOURCE.read_text()  # NVRTC has no headers to give


@needs_nvcc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_device_code_compiles_to_exactly_its_kernels(arch: str, tmp_path: Path) -> None:
    binary = tmp_path / "device.cubin"
    command = [
        NVCC,
        "-cubin",
        f"-arch={arch}",
        "-std=c++17",
        "-Werror=all-warnings",
        "-o",
        str(binary),
        str(SOURCE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    entries = set(re.findall(rb"\.text\.(\w+)", binary.read_bytes()))
    assert entries == {name.encode() for name in cuda.KERNELS}
