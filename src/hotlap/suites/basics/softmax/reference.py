"""Row softmax: y[r, c] = exp(x[r, c]) / sum over j of exp(x[r, j])."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch


def make_inputs(axes: Mapping[str, int], rng: Any, device: str) -> tuple[torch.Tensor]:
    """x, float32 of shape (rows, cols): uniform in [-6, 6) plus one of -120, 0, 0, 120 for each row.

    Softmax ignores what is added to a whole row, but exp(114) overflows float32 and exp(-114) is 0 in it,
    so a kernel that does not subtract the row's maximum divides inf by inf, or 0 by 0.
    """
    rows, cols = axes["rows"], axes["cols"]
    x = rng.uniform(-6.0, 6.0, (rows, cols))
    # A random start and then in turn: four rows or more hold every shift, a single row holds any.
    turn = (torch.arange(rows, device=x.device) + rng.integers(0, 4, (1,))) % 4
    # Computed where x is: a table of the four shifts would have to come from the host in each call.
    shift = 120.0 * ((turn == 2).float() - (turn == 0).float())
    return (x.add_(shift[:, None]),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row in float64, shape (rows, cols)."""
    return torch.softmax(x, dim=1)


def baseline(x: torch.Tensor) -> torch.Tensor:
    """The library's softmax."""
    return torch.softmax(x, dim=1)


@functools.cache
def _compiled() -> Callable[..., Any]:
    return torch.compile(baseline)


def baseline_compiled(x: torch.Tensor) -> torch.Tensor:
    """The same by torch.compile, which works in the first call of a shape and not on import."""
    return _compiled()(x)  # type: ignore[no-any-return]


def hidden(axes: Mapping[str, int], rng: Any) -> dict[str, int]:
    """Each axis up to a quarter below that of a bench workload, drawn on its own."""
    return {name: size - int(rng.integers(0, size // 4 + 1, (1,))) for name, size in axes.items()}
