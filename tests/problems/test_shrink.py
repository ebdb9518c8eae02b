"""Files made to fit a small machine: which constants are halved, and what stays as it is."""

from pathlib import Path

import pytest

from hotlap.errors import DeviceError, ProblemError
from hotlap.problems import kernelbench
from hotlap.problems.shrink import Budget, Load, find_sites, probe, shrink, shrink_file, smaller, with_values

SMALL = Budget(memory_bytes=20 << 20, seconds=0.01)

MATMUL = """import torch

class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b

N = 1024 * 4  # rows, columns

def get_inputs():
    return [torch.rand(N, N), torch.rand(N, N)]

def get_init_inputs():
    return []
"""

ATTENTION = """import torch

class Model(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        if c % self.heads:
            raise ValueError("heads must divide the width")
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

batch_size, width = 6, 480
heads = 32
length: int = 512

def get_inputs():
    return [torch.rand(batch_size, length, width)]

def get_init_inputs():
    return [width, heads]
"""


def write(folder: Path, source: str) -> Path:
    path = folder / "level1" / "7_some_name.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


def executed(source: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(source, "shrunk", "exec"), names)
    return names


def test_constants_are_halved_until_it_fits(tmp_path: Path) -> None:
    found = shrink(write(tmp_path, MATMUL), SMALL)
    assert found.reason is None
    assert found.before is not None
    assert found.after is not None
    assert SMALL.share(found.before) > 1 >= SMALL.share(found.after)
    assert found.changes == ("N 4096 -> 256",)
    assert executed(found.text)["N"] == 256


def test_all_but_the_constants_stays_as_it_is(tmp_path: Path) -> None:
    found = shrink(write(tmp_path, MATMUL), SMALL)
    first, rest = found.text.split("\n", 1)
    assert first == "# shrunk by hotlap: N 4096 -> 256"
    assert rest == MATMUL.replace("1024 * 4", "256")


def test_what_fits_is_left_alone(tmp_path: Path) -> None:
    found = shrink(write(tmp_path, MATMUL.replace("1024 * 4", "64")), SMALL)
    assert (found.text, found.changes, found.reason) == (MATMUL.replace("1024 * 4", "64"), (), None)


def test_heads_still_divide_widths(tmp_path: Path) -> None:
    found = shrink(write(tmp_path, ATTENTION), SMALL)
    names = executed(found.text)
    batch, width, heads, length = (names[name] for name in ("batch_size", "width", "heads", "length"))
    assert isinstance(width, int)
    assert isinstance(heads, int)
    assert width % heads == 0
    assert isinstance(batch, int)
    assert batch >= 2
    assert length != 512


def test_sizes_that_must_be_equal_are_halved_together(tmp_path: Path) -> None:
    source = MATMUL.replace("N = 1024 * 4  # rows, columns", "A = 2048\nB = 2048").replace(
        "torch.rand(N, N), torch.rand(N, N)", "torch.rand(64, A), torch.rand(B, 4096)"
    )
    names = executed(shrink(write(tmp_path, source), SMALL).text)
    assert names["A"] == names["B"] != 2048


def test_numbers_in_get_inputs_are_sizes_too(tmp_path: Path) -> None:
    source = MATMUL.replace("N = 1024 * 4  # rows, columns", "").replace(
        "torch.rand(N, N), torch.rand(N, N)", "torch.rand(8192, 16), torch.rand(16, 8192)"
    )
    found = shrink(write(tmp_path, source), SMALL)
    assert found.reason is None
    assert found.changes
    assert all(change.startswith("get_inputs ") for change in found.changes)


def test_sizes_inside_of_the_model_cannot_be_shrunk_and_that_is_said(tmp_path: Path) -> None:
    source = MATMUL.replace("return a @ b", "return (a[:4096] @ b[:, :4096]).reshape(4096, 4096)")
    found = shrink(write(tmp_path, source), SMALL)
    assert found.changes == ()
    assert found.reason is not None
    assert "no constant is left that can be halved" in found.reason


def test_what_does_not_run_at_all_says_why(tmp_path: Path) -> None:
    found = shrink(write(tmp_path, MATMUL.replace("a @ b", "a @ c")), SMALL)
    assert found.before is None
    assert found.reason is not None
    assert "NameError" in found.reason


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="pip install absent_library"):
        shrink(write(tmp_path, f"import absent_library\n{MATMUL}"), SMALL)


def test_a_model_that_looks_at_its_data_is_run_for_real(tmp_path: Path) -> None:
    source = MATMUL.replace("return a @ b", "return a @ b if a.sum().item() > 0 else b").replace(
        "1024 * 4", "512"
    )
    found = shrink(write(tmp_path, source), SMALL)
    assert found.reason is None
    assert found.changes == ("N 512 -> 256",)


def test_the_written_file_loads_as_the_same_problem_in_another_version(tmp_path: Path) -> None:
    path = write(tmp_path, MATMUL)
    shrink_file(path, tmp_path / "small", SMALL)
    original = kernelbench.load(path)
    again = kernelbench.load(tmp_path / "small" / "level1" / path.name)
    assert (again.suite, again.name) == (original.suite, original.name)
    assert again.version != original.version
    assert "shrunk" in again.tags
    assert "shrunk" not in original.tags
    assert again.title.endswith("(shrunk)")


def test_a_file_with_a_fault_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"7_some_name\.py:1: Model"):
        shrink(write(tmp_path, "def get_inputs():\n    return []\n"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("N = 64", [("N", 64)]),
        ("N = 2048 * 2", [("N", 4096)]),
        ("shape = (32, 2**10, 3)", [("shape[0]", 32), ("shape[1]", 1024)]),
        ("height = width = 256", [("height", 256)]),
        ("h, w = 128, 256", [("h", 128), ("w", 256)]),
        ("N: int = 100", [("N", 100)]),
        ("kernel = 3", []),
        ("batch_size = 3", [("batch_size", 3)]),
        ("scale = 64.0", []),
        ("name = 'ä'; N = 64", [("N", 64)]),
        ("M = 4 * N", []),
        ("is_deep = True", []),
        (
            "def get_inputs():\n    m = 64\n    return [torch.rand(m, 32)]",
            [("get_inputs.m", 64), ("get_inputs", 32)],
        ),
        ("def other():\n    return 64", []),
        ("class A:\n    n = 64", []),
    ],
)
def test_sizes_are_found(line: str, expected: list[tuple[str, int]]) -> None:
    sites = find_sites(line)
    assert [(site.name, site.value) for site in sites] == expected
    assert with_values(line, sites, [site.value for site in sites]) == line


def test_integers_are_replaced_where_they_stand() -> None:
    text = "a = 'ä'; b = (64, 128)\nc = 2 * 32"
    assert with_values(text, find_sites(text), [1, 20, 300]) == "a = 'ä'; b = (1, 20)\nc = 300"


@pytest.mark.parametrize(
    ("value", "expected"), [(64, 32), (10, 5), (5, 2), (15, 7), (27, 9), (45, 15), (125, 25), (121, 60)]
)
def test_a_size_is_divided_by_a_factor_of_its_own(value: int, expected: int) -> None:
    assert smaller(value) == expected


def test_a_probe_counts_memory_and_arithmetic_without_taking_any() -> None:
    load = probe(MATMUL.replace("1024 * 4", str(1 << 20)), "Model")  # 4 TB a matrix
    assert load == Load(3 << 42, 2 << 60, 3 << 42, 1)
