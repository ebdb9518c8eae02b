"""A KernelBot problem folder of our own making, as small as one can be, with anything replaced."""

from pathlib import Path

TASK = """\
# name: own-add
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "eval.py"}
lang: "py"
description: Add two matrices.
config:
  main: "eval.py"
tests:
  - {"size": 7, "seed": 4242}
  - {"size": 32, "seed": 1}
benchmarks:
  - {"size": 16, "seed": 3}
  - {"size": 64, "seed": 2}
"""

REFERENCE = """\
import torch
from task import SCALE, input_t
from utils import compare


def ref_kernel(data):
    a, b, out = data
    out[...] = a + SCALE * b
    return out


def generate_input(size, seed):
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    a = torch.randn(size, size, device="cuda", generator=gen)
    b = torch.randn((size, size), generator=gen, device=torch.device("cuda:0"))
    torch.cuda.synchronize()
    return a, b, torch.empty(size, size, device="cuda")


def check_implementation(data, output):
    return compare(output, ref_kernel(data))
"""

UTILS = """\
import torch


def compare(output, expected):
    good = output.shape == expected.shape and torch.allclose(output, expected)
    return bool(good), "" if good else "differs from the reference"
"""

FILES = {
    "task.py": "SCALE = 2.0\ninput_t = tuple\n",
    "reference.py": REFERENCE,
    "eval.py": "raise SystemExit\n",
}


def write_folder(
    tmp_path: Path,
    *replacements: tuple[str, str],
    task: tuple[tuple[str, str], ...] = (),
    files: dict[str, str] | None = None,
) -> Path:
    """suite/add below tmp_path, and suite/utils.py. replacements are made in reference.py, those of `task` in
    task.yml; `files` are written beside."""
    folder = tmp_path / "suite" / "add"
    folder.mkdir(parents=True)
    (folder.parent / "utils.py").write_text(UTILS)
    text = TASK
    for old, new in task:
        assert old in text, f"{old!r} is not in task.yml"
        text = text.replace(old, new)
    (folder / "task.yml").write_text(text)
    reference = REFERENCE
    for old, new in replacements:
        assert old in reference, f"{old!r} is not in reference.py"
        reference = reference.replace(old, new)
    for name, content in (FILES | {"reference.py": reference} | (files or {})).items():
        (folder / name).write_text(content)
    return folder
