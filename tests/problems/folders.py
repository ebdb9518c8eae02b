"""Small valid problem folders for tests to break, and a stand-in for the referee's rng."""

from pathlib import Path

import torch

TOML = """\
title = "Scaled copy"
tags = ["memory-bound"]
[axes]
rows = "var"
cols = "var"
heads = 2
[[inputs]]
name = "x"
dtype = "float32"
shape = ["rows", "2*cols"]
[[inputs]]
name = "alpha"
dtype = "float32"
shape = "scalar"
[[outputs]]
name = "y"
dtype = "float32"
shape = ["rows", "2*cols"]
[tolerance]
rtol = "8*eps"
atol = 0
[cost]
bytes = "16*rows*cols"
flops = "2*rows*cols"
[[workloads]]
kind = "bench"
profile = "cpu"
rows = 8
cols = 16
[[workloads]]
kind = "test"
profile = "cpu"
rows = 1
cols = 3
"""

REFERENCE = """\
import torch


def make_inputs(axes, rng, device):
    return rng.normal((axes["rows"], axes["heads"] * axes["cols"])), 3.0


def reference(x, alpha):
    return alpha * x


def baseline(x, alpha):
    return alpha * x


def hidden(axes, rng):
    return {name: size - 1 for name, size in axes.items()}
"""


def write_problem(
    root: Path,
    *replacements: tuple[str, str],
    toml: str = TOML,
    reference: str = REFERENCE,
    files: dict[str, str] | None = None,
) -> Path:
    """Write suite `demo`, problem `scale` below root. Each replacement must hit the TOML or the reference."""
    for old, new in replacements:
        assert old in toml + reference, old
        toml, reference = toml.replace(old, new, 1), reference.replace(old, new, 1)
    folder = root / "demo" / "scale"
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"problem.toml": toml, "reference.py": reference, "statement.md": "Scale x by alpha.\n"}
    for name, text in (texts | (files or {})).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


class Rng:
    """As the referee's rng, drawn from torch: enough for make_inputs and hidden."""

    def __init__(self, seed: int = 0) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, shape: tuple[int, ...], dtype: str = "float32") -> torch.Tensor:
        return torch.randn(shape, generator=self._generator).to(getattr(torch, dtype))

    def integers(self, low: int, high: int, shape: tuple[int, ...], dtype: str = "int64") -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self._generator).to(getattr(torch, dtype))
