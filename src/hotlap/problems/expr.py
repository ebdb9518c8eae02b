"""Arithmetic in a problem's files (shapes, cost, tolerance): parsed with `ast`, never evaluated as Python.

Every size is bounded (text, depth, each intermediate value), so that no text can hang or exhaust memory.
"""

import ast
import functools
import math
import operator
import warnings
from collections.abc import Callable, Mapping

from hotlap.errors import ProblemError

Number = int | float

MAX_CHARS = 500
MAX_DEPTH = 64
MAX_BITS = 1000  # of an integer: below 2**1024, so that it always converts to a float

FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "sqrt": math.sqrt,
    "log2": math.log2,
    "min": min,
    "max": max,
}
ALLOWED = "names, numbers, + - * / // ** %, parentheses, sqrt(a) log2(a) min(a, b, ...) max(a, b, ...)"

_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def evaluate(text: str, names: Mapping[str, Number]) -> Number:
    """The value of an expression, always finite; int or float as Python's own arithmetic has it.

    Raises ProblemError for anything but arithmetic over `names`, and for a value undefined or too large.
    """
    return _value(_parse(text), text, names)


def names_in(text: str) -> set[str]:
    """The names that an expression needs, functions apart. Raises ProblemError if it is not an expression."""
    tree = _parse(text)
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions}


@functools.lru_cache(
    maxsize=1024
)  # inputs are drawn a thousand times a round, each with its shapes looked at
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_CHARS:
        raise ProblemError(
            f"expression {text[:40]!r}...: found {len(text)} characters; "
            f"allowed: at most {MAX_CHARS}; shorten it"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "1if" and the like: an error below, not a warning on stderr
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or "nested too deeply"
        raise _refusal(text, f"text that is not an expression ({reason})") from None
    _check(tree, text, depth=1)
    return tree


def _check(node: ast.AST, text: str, depth: int) -> None:
    """Refuse every node that is not arithmetic."""
    if depth > MAX_DEPTH:
        raise ProblemError(
            f"expression {text!r}: found nesting deeper than {MAX_DEPTH}; write it in a flatter way"
        )
    for child in _operands(node, text):
        _check(child, text, depth + 1)


def _operands(node: ast.AST, text: str) -> list[ast.expr]:
    """The sub-expressions of one node; ProblemError if the node itself is not allowed."""
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return []
        case ast.Name():
            return []
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return [operand]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            wanted = "one argument" if name in ("sqrt", "log2") else "two arguments or more"
            if (len(args) == 1) != (wanted == "one argument") or not args:
                raise ProblemError(
                    f"expression {text!r}: found {name} with {len(args)} arguments; allowed: {wanted}"
                )
            return args
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            raise _refusal(text, f"function {name!r}")
        case _:
            segment = ast.get_source_segment(text.strip(), node) or type(node).__name__
            raise _refusal(text, f"{segment!r} ({type(node).__name__})")


def _value(node: ast.expr, text: str, names: Mapping[str, Number]) -> Number:
    try:
        value = _apply(node, text, names)
    except (ArithmeticError, ValueError) as error:
        found = ast.unparse(node)
        raise ProblemError(
            f"expression {text!r}: {found} has no value ({error}) with {_given(names)}; correct it"
        ) from None
    is_number = isinstance(value, int | float)  # a fractional power of a negative number is complex
    if not is_number or (isinstance(value, float) and not math.isfinite(value)) or _too_long(value):
        raise ProblemError(
            f"expression {text!r}: {ast.unparse(node)} is not a finite real number below 2**{MAX_BITS} "
            f"with {_given(names)}; correct it"
        )
    return value


def _apply(node: ast.expr, text: str, names: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name not in names:
                raise ProblemError(
                    f"expression {text!r}: found name {name!r}; "
                    f"allowed: {', '.join(sorted(names)) or 'no names'}"
                )
            return names[name]
        case ast.UnaryOp(operand=operand):
            return -_value(operand, text, names)
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(arg, text, names) for arg in args))
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, text, names), _value(right, text, names)
            if isinstance(op, ast.Pow):
                _bound_power(a, b)
            return _OPERATORS[type(op)](a, b)
    raise TypeError(f"unreachable: _check lets no {type(node).__name__} through")


def _bound_power(base: Number, exponent: Number) -> None:
    """Refuse a huge integer power before Python spends hours on it."""
    if not (isinstance(base, int) and isinstance(exponent, int)):
        return
    # |base| >= 2**(bit_length - 1), so no power within the limit is refused.
    if (base.bit_length() - 1) * exponent > MAX_BITS:
        raise OverflowError(f"larger than 2**{MAX_BITS}")


def _too_long(value: Number) -> bool:
    return isinstance(value, int) and value.bit_length() > MAX_BITS


def _given(names: Mapping[str, Number]) -> str:
    return ", ".join(f"{name}={value}" for name, value in names.items()) or "no names"


def _refusal(text: str, found: str) -> ProblemError:
    return ProblemError(f"expression {text!r}: found {found}; allowed: {ALLOWED}")
