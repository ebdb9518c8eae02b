"""timer-rebinding: an attribute of a clock or of a statistics module is assigned.

Exploit: corpus/exploits/patched_clocks.py. Honest twin: corpus/honest/reads_clock.py.
"""

import ast
from collections.abc import Iterator

from hotlap.guard.source import Fact, Source, constant_text

OWNERS = frozenset(
    (
        "time",
        "timeit",
        "datetime",
        "datetime.datetime",
        "statistics",
        "torch.cuda",
        "torch.cuda.Event",
        "torch.Event",
        "torch.utils.benchmark",
        "torch.utils.benchmark.Timer",
        "triton.testing",
    )
)


def find(source: Source) -> Iterator[Fact]:
    """A fact for each assignment to, or deletion of, a member of a clock: by `=`, `setattr` or `__dict__`."""
    for node in source.nodes:
        for target in targets(node):
            name = rebound(source, target)
            if name is not None:
                yield Fact(target.lineno, f"assigns {name}")
    for call in source.calls:
        name = set_by_call(source, call)
        if name is not None:
            yield Fact(call.lineno, f"assigns {name}")


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """The single places that a statement stores to or deletes."""
    match node:
        case ast.Assign(targets=many) | ast.Delete(targets=many):
            stored = list(many)
        case ast.AugAssign(target=one) | ast.AnnAssign(target=one, value=ast.expr()) | ast.For(target=one):
            stored = [one]
        case _:
            return
    while stored:
        place = stored.pop(0)
        if isinstance(place, ast.Tuple | ast.List):
            stored.extend(place.elts)
        else:
            yield place


def rebound(source: Source, target: ast.expr) -> str | None:
    """Full name of the clock member that a store to `target` replaces, or None."""
    match target:
        case ast.Attribute(value=owner, attr=attribute):
            return member(source, owner, attribute)
        case ast.Subscript(value=ast.Attribute(value=owner, attr="__dict__"), slice=key):
            return member(source, owner, constant_text(key))
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner]), slice=key):
            return member(source, owner, constant_text(key))
        case ast.Subscript(value=modules, slice=key) if source.dotted(modules) == "sys.modules":
            name = constant_text(key)
            return f'sys.modules["{name}"]' if name in OWNERS else None
        case _:
            return None


def set_by_call(source: Source, call: ast.Call) -> str | None:
    """Full name of the clock member that a call such as `setattr(time, "time", f)` replaces, or None."""
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, name, _]):
            return member(source, owner, constant_text(name))
        case ast.Call(func=ast.Attribute(attr="__setattr__"), args=[owner, name, _]):
            return member(source, owner, constant_text(name))
        case ast.Call(func=ast.Attribute(value=owner, attr="__setattr__"), args=[name, _]):
            return member(source, owner, constant_text(name))
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=owner, attr="__dict__"), attr="update")):
            return member(source, owner, None)
        case _:
            return None


def member(source: Source, owner: ast.expr, attribute: str | None) -> str | None:
    """`owner.attribute` in full where the owner is a clock; `*` stands for a name that is not constant."""
    full, root = source.dotted(owner), root_name(owner)
    # A local object that happens to be called `time` is not the module: its name was never imported.
    if full not in OWNERS or (root is not None and root not in source.aliases):
        return None
    return f"{full}.{attribute or '*'}"


def root_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
