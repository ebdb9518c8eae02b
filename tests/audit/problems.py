"""Tiny problems of one input or two, with whatever reference, tolerance and workloads a test needs."""

from pathlib import Path

INPUT = """\
[[inputs]]
name = "{name}"
dtype = "{dtype}"
shape = ["n"]
"""
WORKLOAD = """\
[[workloads]]
kind = "{kind}"
profile = "cpu"
n = {n}
"""
TOML = """\
title = "Tiny"
tags = []
{top}
[axes]
n = "var"
{inputs}
[[outputs]]
name = "y"
dtype = "{out}"
shape = {shape}
[tolerance]
rtol = {rtol}
atol = {atol}
[cost]
bytes = "{cost}"
{workloads}
"""
DRAWN = """\
import torch


def make_inputs(axes, rng, device):
    return tuple(rng.normal((axes["n"],)).to({dtype}) for _ in range({count}))


def hidden(axes, rng):
    return {{"n": axes["n"] - int(rng.integers(0, 5, (1,)))}}


"""


def write_tiny(
    root: Path,
    reference: str,
    *,
    inputs: tuple[str, ...] = ("x",),
    dtype: str = "float32",
    out: str = "float32",
    shape: str = '["n"]',
    rtol: str = '"8*eps"',
    atol: str = '"8*eps"',
    cost: str | None = None,
    sizes: tuple[int, ...] = (7, 1000),
    top: str = "",
    drawn: str | None = None,
    name: str = "tiny",
) -> Path:
    """Write suite `demo`, problem `tiny` below root: sizes[-1] is its bench workload, others are tests."""
    folder = root / "demo" / name
    folder.mkdir(parents=True, exist_ok=True)
    kinds = ["test"] * (len(sizes) - 1) + ["bench"]
    toml = TOML.format(
        top=top,
        inputs="".join(INPUT.format(name=each, dtype=dtype) for each in inputs),
        out=out,
        shape=shape,
        rtol=rtol,
        atol=atol,
        cost=cost or f"{4 * (len(inputs) + 1)}*n",
        workloads="".join(WORKLOAD.format(kind=kind, n=n) for kind, n in zip(kinds, sizes, strict=True)),
    )
    head = drawn if drawn is not None else DRAWN.format(dtype=f"torch.{dtype}", count=len(inputs))
    (folder / "problem.toml").write_text(toml)
    (folder / "reference.py").write_text(head + reference)
    (folder / "statement.md").write_text("Compute y.\n")
    return folder
