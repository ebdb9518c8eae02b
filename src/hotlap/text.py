"""Numbers and foreign text as a person reads them: units, digits, and no control characters.

Everything that an author wrote (output, tracebacks, file names, reasons that quote them) goes through
`clean` before it reaches a terminal, and is printed as `rich.text.Text` or escaped, so that it can neither
move the cursor, nor recolour a verdict, nor be read as markup.
"""

import unicodedata
from collections.abc import Mapping

ABSENT = "—"

_TIME_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_SI_PREFIXES = ("", "k", "M", "G", "T", "P")
_LINE_BREAKS = {"\n", "\t"}


def clean(text: str, *, one_line: bool = False) -> str:
    r"""`text` with every invisible character shown as an escape (`\x1b`, `‮`).

    Newlines and tabs stay, unless `one_line` asks for escapes of those too.
    """
    kept = frozenset() if one_line else _LINE_BREAKS
    return "".join(c if c in kept or not _is_hidden(c) else _escaped(c) for c in text)


def _is_hidden(char: str) -> bool:
    """Whether it is a control, a format character (bidi override, zero width), a surrogate, unassigned."""
    return not char.isprintable() and unicodedata.category(char) != "Zs"


def _escaped(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _decimals(value: float, digits: int) -> int:
    """Decimals that show `digits` significant digits of `value`, which is at least 1 in its unit."""
    whole = len(str(int(abs(value))))
    return max(0, digits - whole)


def _time_unit(ns: float) -> tuple[str, float]:
    # 999.96 µs would print as 1000.0 µs: choose the unit after rounding to the digits shown.
    return next(((unit, size) for unit, size in _TIME_UNITS if ns >= 0.99995 * size), _TIME_UNITS[-1])


def time(ns: float | None, digits: int = 4) -> str:
    """`312400.0` -> `312.4 µs`."""
    if ns is None:
        return ABSENT
    unit, size = _time_unit(abs(ns))
    return f"{ns / size:.{_decimals(ns / size, digits)}f} {unit}"


def time_bounds(ns: float, low: float, high: float, digits: int = 4) -> str:
    """The interval of a time in the unit and decimals of its estimate: `[311.8, 313.1]`."""
    _, size = _time_unit(abs(ns))
    decimals = _decimals(ns / size, digits)
    return f"[{low / size:.{decimals}f}, {high / size:.{decimals}f}]"


def _ratio_decimals(value: float, half_width: float | None) -> int:
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return 3 if half_width is not None and half_width < 0.005 and value < 10 else decimals


def speedup(value: float | None, bounds: tuple[float, float] | None = None) -> str:
    """`1.42x`, with a third decimal where the interval is narrow enough for it to mean something."""
    if value is None:
        return ABSENT
    return f"{value:.{_ratio_decimals(value, _half_width(bounds))}f}x"


def speedup_bounds(value: float, bounds: tuple[float, float]) -> str:
    """The interval of a speedup with the decimals of its estimate: `[1.40, 1.44]`."""
    decimals = _ratio_decimals(value, _half_width(bounds))
    return f"[{bounds[0]:.{decimals}f}, {bounds[1]:.{decimals}f}]"


def _half_width(bounds: tuple[float, float] | None) -> float | None:
    return None if bounds is None else (bounds[1] - bounds[0]) / 2


def percent(fraction: float | None) -> str:
    """`0.443` -> `44 %`; two digits below 10 %."""
    if fraction is None:
        return ABSENT
    value = 100 * fraction
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.2g} %"


def number(value: float | None) -> str:
    """Two significant digits: an error against its tolerance needs no more."""
    return ABSENT if value is None else f"{value:.2g}"


def si(value: float | None, unit: str) -> str:
    """`16777216, "B"` -> `16.8 MB` (powers of 1,000)."""
    if value is None:
        return ABSENT
    size, prefix = _si_prefix(value, 999.5)
    return f"{value / size:.3g} {prefix}{unit}"


def si_interval(value: float, low: float, high: float, unit: str) -> str:
    """Four digits of a value, and its interval with as many decimals: `4.142 TB/s [4.139, 4.145]`."""
    size, prefix = _si_prefix(value, 999.95)
    decimals = _decimals(value / size, 4)
    bounds = f"[{low / size:.{decimals}f}, {high / size:.{decimals}f}]"
    return f"{value / size:.{decimals}f} {prefix}{unit} {bounds}"


def _si_prefix(value: float, largest: float) -> tuple[float, str]:
    """The first prefix, with its size, in which the value is less than the largest that is shown."""
    sizes = ((1000.0**power, prefix) for power, prefix in enumerate(_SI_PREFIXES))
    return next(((s, p) for s, p in sizes if abs(value) < largest * s), (1e15, _SI_PREFIXES[-1]))


def seconds(value: float) -> str:
    return f"{value:.1f} s"


def axes(values: Mapping[str, int] | None) -> str:
    """`rows=4096 cols=4096`, or `hidden` where they are redacted."""
    if values is None:
        return "hidden"
    return " ".join(f"{clean(name, one_line=True)}={value}" for name, value in values.items())
