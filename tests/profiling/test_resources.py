"""What the CUDA compiler gave each kernel."""

from pathlib import Path

import pytest

from hotlap.profiling.resources import demangled, holds_device_code, parse
from tests.profiling.captured import text


def test_every_kernel_has_its_registers_and_memory() -> None:
    found = parse(text("resource_usage.txt"), "kernel.so")
    assert len(found) == 10
    assert (found[0].registers, found[0].stack_bytes, found[0].shared_bytes, found[0].local_bytes) == (
        *(49, 0, 1280),
        0,
    )


def test_a_text_without_kernels_gives_none() -> None:
    assert parse("Resource usage:\n Common:\n  GLOBAL:0\n", "kernel.so") == []


def test_names_are_as_their_author_wrote_them() -> None:
    names = demangled([one.name for one in parse(text("resource_usage.txt"), "kernel.so")])
    assert names[0].endswith("row_a_block<512, 8>")


def test_names_that_are_none_stay_as_they_are() -> None:
    assert demangled(["softmax_kernel", "-x"]) == ["softmax_kernel", "-x"]
    assert demangled([]) == []


@pytest.mark.parametrize(
    ("name", "data", "holds"),
    [
        ("kernel.cubin", b"\x7fELF", True),
        ("load_inline.so", b"\x7fELF .text .nv_fatbin", True),
        ("__triton_launcher.so", b"\x7fELF .text", False),
        ("kernel.ptx", b".nv_fatbin", False),
    ],
)
def test_only_what_holds_device_code_is_disassembled(
    tmp_path: Path, name: str, data: bytes, holds: bool
) -> None:
    (tmp_path / name).write_bytes(data)
    assert holds_device_code(tmp_path / name) is holds
