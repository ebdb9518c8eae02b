"""A tiny problem folder, y = alpha * x over rows of a constant width, and kernels of it."""

from pathlib import Path

TOML = """\
title = "Scaled rows"
tags = []
[axes]
n = "var"
width = 2
[[inputs]]
name = "x"
dtype = "float32"
shape = ["n", "width"]
[[inputs]]
name = "alpha"
dtype = "float32"
shape = "scalar"
[[outputs]]
name = "y"
dtype = "float32"
shape = ["n", "width"]
[tolerance]
rtol = "2*eps"
atol = "0"
[cost]
bytes = "16*n"
[[workloads]]
kind = "test"
profile = "cpu"
n = 5
[[workloads]]
kind = "bench"
profile = "cpu"
n = 20011
"""
REFERENCE = """\
def make_inputs(axes, rng, device):
    return rng.normal((axes["n"], axes["width"])), 1.0 + float(rng.integers(1, 9, (1,)))


def reference(x, alpha):
    return alpha * x


def baseline(x, alpha):
    return alpha * x


def hidden(axes, rng):
    return {"n": axes["n"] - int(rng.integers(0, 10000, (1,)))}
"""
KERNEL = "def kernel(x, alpha):\n    return alpha * x\n"
CPP = """
extern "C" int kernel(const float* x, double alpha, float* y, int64_t n) {
  for (int64_t i = 0; i < width * n; ++i) y[i] = float(alpha * x[i]) /* more */;
  return 0;
}
"""


def cpp(more: str = "") -> str:
    """A C++ kernel, right unless `more` is added to each element: it starts without torch, so in no time."""
    return CPP.replace("/* more */", more)


def write_scaled(root: Path, *replacements: tuple[str, str]) -> Path:
    """Write suite `demo`, problem `scaled` below root. Each replacement must hit TOML or reference."""
    toml, reference = TOML, REFERENCE
    for old, new in replacements:
        assert old in toml + reference, old
        toml, reference = toml.replace(old, new), reference.replace(old, new)
    folder = root / "demo" / "scaled"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.toml").write_text(toml)
    (folder / "reference.py").write_text(reference)
    (folder / "statement.md").write_text("Scale x.\n")
    return folder
