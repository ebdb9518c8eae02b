"""What one attempt of the doctor found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """One thing that was tried. `essential`: without it no kernel can be judged."""

    name: str
    ok: bool
    fact: str
    fix: str | None
    essential: bool
