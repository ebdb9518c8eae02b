"""The texts of KernelBot's contract: case files that an eval script reads, result lines that it writes."""

from collections.abc import Iterable, Mapping
from typing import Any

from hotlap.text import clean


def case_file(cases: Iterable[Mapping[str, Any]]) -> str:
    """A line a case, `key: value; key: value`. Values go through str(): True becomes the word "True"."""
    return "".join("; ".join(f"{key}: {value}" for key, value in case.items()) + "\n" for case in cases)


def result_lines(written: bytes, is_whole: bool) -> dict[str, str]:
    """Keys and values of result lines, split at the first colon; of a key that comes twice, the last.

    is_whole: whether the writer came to its end. If not, the last line may lack digits of its number, and is
    left out unless it was ended.
    """
    if not is_whole:
        written = written[: written.rfind(b"\n") + 1]
    found = {}
    for line in clean(written.decode(errors="replace")).split("\n"):
        key, _, value = line.partition(":")
        if key.strip() or value.strip():
            found[key.strip()] = value.strip()
    return found
