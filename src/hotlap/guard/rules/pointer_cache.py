"""pointer-cache: a lookup is keyed by the address of a tensor.

Exploit: corpus/exploits/cached_outputs.py. Honest twin: corpus/honest/workspace_by_shape.py.
"""

import ast
from collections.abc import Iterable, Iterator

from hotlap.guard.source import Fact, Source

LOOKUPS = frozenset(("get", "setdefault", "pop"))


def find(source: Source) -> Iterator[Fact]:
    """A fact for each subscript or dict lookup whose key holds a `data_ptr()`, itself or by a local name."""
    for nodes in source.scopes:
        tainted = names_of_addresses(nodes)
        for node in nodes:
            match node:
                case ast.Subscript(slice=key, ctx=ast.Store()) if holds_address(key, tainted):
                    yield Fact(node.lineno, "stores under a key made of data_ptr()")
                case ast.Subscript(slice=key) if holds_address(key, tainted):
                    yield Fact(node.lineno, "looks up a key made of data_ptr()")
                case ast.Call(func=ast.Attribute(attr=name), args=[key, *_]) if (
                    name in LOOKUPS and holds_address(key, tainted)
                ):
                    yield Fact(node.lineno, f"calls {name}() with a key made of data_ptr()")


def names_of_addresses(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Local names assigned from an expression that calls `data_ptr()`."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                pass
            case _:
                continue
        if holds_address(value, frozenset()):
            found.add(name)
    return frozenset(found)


def holds_address(key: ast.AST, tainted: frozenset[str]) -> bool:
    """Whether an address is part of the key itself: one inside a comparison or a remainder is not."""
    match key:
        case ast.Call(func=ast.Attribute(attr="data_ptr")):
            return True
        case ast.Name(id=name):
            return name in tainted
        case ast.Tuple(elts=parts):
            return any(holds_address(part, tainted) for part in parts)
        case ast.Call(func=ast.Name(), args=parts):  # str(p), hash((p, q)), int(p)
            return any(holds_address(part, tainted) for part in parts)
        case ast.JoinedStr(values=parts):
            values = [part.value for part in parts if isinstance(part, ast.FormattedValue)]
            return any(holds_address(value, tainted) for value in values)
        case _:
            return False
