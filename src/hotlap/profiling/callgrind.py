"""Instruction counts by valgrind's callgrind: every instruction of one call, by line and function.

The counts are of a build with line numbers, and without AVX-512, which valgrind does not know.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hotlap.profiling.sandboxed import Under
from hotlap.profiling.tools import Tool

OUTPUT = "callgrind.out"
LIBRARY = "kernel.so"  # what holds the author's code
UNKNOWN = "???"
LINE_NUMBERS = ("-g",)
WITHOUT_AVX512 = ("-march=x86-64-v3",)
UNKNOWN_INSTRUCTION = "Unrecognised instruction"


Line = tuple[str, int]


@dataclass(frozen=True)
class Counted:
    """Instructions of one call.

    functions: the own ones of each (function, library). addresses: those of each instruction of the author's
    library, with what it calls in other libraries; lines: the same by (file, line), where a line that was
    inlined from a header is the header's.
    """

    instructions: int
    functions: dict[tuple[str, str], int]
    addresses: dict[int, int]
    lines: dict[Line, int]


@dataclass(frozen=True)
class _Cost:
    """One row of a file: instructions at an address, or of what it calls in `callee`."""

    library: str
    function: str
    place: Line
    address: int
    instructions: int
    callee: str | None


def under(valgrind: Tool) -> Under:
    """How the driver runs under callgrind: it counts in `kernel` and whatever that calls."""
    options = (
        "--tool=callgrind",
        "--toggle-collect=kernel",
        f"--callgrind-out-file={{out}}/{OUTPUT}",
        "--compress-strings=no",
        "--compress-pos=no",
        "--dump-instr=yes",
        "--vgdb=no",
    )
    return Under(inner=(valgrind.path, *options), shown=valgrind.shown)


def flags() -> tuple[str, ...]:
    """What a library that is counted must be built with, after the usual flags."""
    try:
        has_avx512 = "avx512f" in Path("/proc/cpuinfo").read_text()
    except OSError:
        has_avx512 = False
    return LINE_NUMBERS + (WITHOUT_AVX512 if has_avx512 else ())


def parse(text: str) -> Counted:
    """What a callgrind output file counted; rows that are not of its format are passed over."""
    lines: Counter[Line] = Counter()
    addresses: Counter[int] = Counter()
    functions: Counter[tuple[str, str]] = Counter()
    for cost in _costs(text):
        if cost.callee is None:
            functions[cost.function, Path(cost.library).name] += cost.instructions
        is_the_authors = Path(cost.library).name == LIBRARY
        if is_the_authors and (cost.callee is None or Path(cost.callee).name != LIBRARY):
            lines[cost.place] += cost.instructions
            addresses[cost.address] += cost.instructions
    return Counted(sum(functions.values()), dict(functions), dict(addresses), dict(lines))


def _costs(text: str) -> Iterator[_Cost]:
    library = file = function = callee = UNKNOWN
    is_call = False
    for row in text.splitlines():
        key, is_setting, value = row.partition("=")
        if is_setting:
            library = value if key == "ob" else library
            file = value if key in ("fl", "fi", "fe") else file
            function = value if key == "fn" else function
            callee = value if key == "cob" else callee
            is_call = key == "calls"  # the next row is what the callee cost in all
        elif (found := _ROW.match(row)) is not None:
            called = (library if callee == UNKNOWN else callee) if is_call else None
            place = (Path(file).name, int(found[2]))
            yield _Cost(library, function, place, int(found[1], 16), int(found[3]), called)
            if is_call:
                callee, is_call = UNKNOWN, False


_ROW = re.compile(r"^(0x[0-9a-f]+) (\d+) (\d+)$", re.ASCII)


def locator(addresses: Iterable[int]) -> list[str]:
    """The command that names the source lines of addresses, those that they were inlined into included."""
    return ["addr2line", "-a", "-i", "-e", "{given}", *(hex(address) for address in addresses)]


def located(counted: Counted, printed: str, name: str) -> dict[Line, int]:
    """Instructions by line of the file `name`: what was inlined from elsewhere counts for the author's line.

    printed: what the command of `locator` printed.
    """
    lines: Counter[Line] = Counter()
    for block in re.split(r"^(?=0x)", printed, flags=re.MULTILINE):
        address = _ADDRESS.match(block)
        places = [_FRAME.match(frame) for frame in block.splitlines()[1:]]
        known = [(Path(place[1]).name, int(place[2])) for place in places if place]
        if address and known:
            own = next((place for place in known if place[0] == name), known[0])
            lines[own] += counted.addresses.get(int(address[1], 16), 0)
    return dict(lines)


_ADDRESS = re.compile(r"^(0x[0-9a-f]+)$", re.ASCII | re.MULTILINE)
_FRAME = re.compile(r"^(.+):(\d+)(?: \(discriminator \d+\))?$", re.ASCII)
