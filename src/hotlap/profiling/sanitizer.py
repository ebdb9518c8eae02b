"""What NVIDIA's compute-sanitizer prints of a run, read into a count and its first error."""

import re
from collections.abc import Mapping

from hotlap.profiling.report import SanitizerReport
from hotlap.profiling.sandboxed import Under
from hotlap.profiling.tools import Tool

TOOLS = ("memcheck", "racecheck")
PRINTED_ERRORS = "3"
FIRST_LINES = 5  # of an error: what, where, which thread, which address, what is next to it
_SUMMARY = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", re.MULTILINE)
_LINE = re.compile(r"^=+ ?(.*)$")
_PLACE = re.compile(r"\bat (.+?)(?:\+0x[0-9a-f]+)?(?: in (\S+:\d+))?(?: \[|$)")


def under(sanitizer: Tool, tool: str) -> Under:
    """How the driver runs under one of its tools; what it prints goes to a file, apart from the kernel's."""
    options = ("--tool", tool, "--print-limit", PRINTED_ERRORS, "--log-file", f"{{out}}/{tool}.txt")
    # Each tensor in an allocation of its own: within torch's blocks an access out of bounds is not seen.
    alone = ("/usr/bin/env", "PYTORCH_NO_CUDA_MEMORY_CACHING=1")
    return Under(inner=(*alone, sanitizer.path, *options), shown=sanitizer.shown, talks=True)


def parse(text: str, tool: str, axes: Mapping[str, int]) -> SanitizerReport | None:
    """Count, first error, and where it was; None where the tool came to no end, so that nothing is known."""
    summary = _SUMMARY.search(text)
    if summary is None:
        return None
    errors = int(summary[1] or summary[2])
    block = _first_error(text) if errors else []
    place = _PLACE.search(next((line for line in block if _PLACE.search(line)), "")) if block else None
    return SanitizerReport(
        tool=tool,
        axes=dict(axes),
        errors=errors,
        first=" ".join(block[:FIRST_LINES]) or None,
        kernel=place[1] if place else None,
        place=place[2] if place else None,
    )


def _first_error(text: str) -> list[str]:
    """The lines of the first error, without their margin: from after the banner to the next empty line."""
    block: list[str] = []
    for row in text.splitlines():
        found = _LINE.match(row)
        line = found[1].strip() if found else ""
        if line in ("COMPUTE-SANITIZER", "") or "SUMMARY" in line:
            if block:
                break
            continue
        if found:
            block.append(line)
    return block
