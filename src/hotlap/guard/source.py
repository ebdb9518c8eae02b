"""Parsed Python source with the names it imports, as the rules read it.

What this does: resolves import aliases, `getattr` with a constant name, `sys.modules["time"]` and joined
string constants, so that a rule can ask "which object is this?" of the text alone.
What it does not: run or trace anything. Source that wants to hide can; the referee does not depend on it.
"""

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

MAX_DEPTH = 40  # of nested expressions that are resolved; hostile source may nest without end


class Fact(NamedTuple):
    """What one line of the source says, in words that accuse nobody."""

    line: int
    text: str


@dataclass(frozen=True)
class Source:
    """A parsed module. `aliases` maps a local name to the dotted name that it was imported as.

    `nodes` holds every node of the module, parents before children.
    """

    nodes: tuple[ast.AST, ...]
    aliases: Mapping[str, str]

    def dotted(self, node: ast.AST, depth: int = 0) -> str | None:
        """Full name of an expression: `torch.cuda.Event` for `E` after `from torch.cuda import Event as E`.

        Returns None where the text alone does not say.
        """
        if depth > MAX_DEPTH:
            return None
        match node:
            case ast.Name(id=name):
                return self.aliases.get(name, name)
            case ast.Attribute(value=owner, attr=attribute):
                return joined(self.dotted(owner, depth + 1), attribute)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_]):
                return joined(self.dotted(owner, depth + 1), constant_text(name))
            case ast.Call(func=ast.Name(id="__import__"), args=[name, *_]):
                return constant_text(name)
            case ast.Call(func=called, args=[name, *_]) if self.dotted(called, depth + 1) == (
                "importlib.import_module"
            ):
                return constant_text(name)
            case ast.Subscript(value=modules, slice=name) if self.dotted(modules, depth + 1) == "sys.modules":
                return constant_text(name)
            case _:
                return None

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """Every call of the module, outermost first."""
        return tuple(node for node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def docstrings(self) -> frozenset[ast.AST]:
        """The constants that are a module's, class's or function's docstring."""
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        bodies = [node.body for node in self.nodes if isinstance(node, documented)]
        firsts = [body[0] for body in bodies if body]
        return frozenset(first.value for first in firsts if isinstance(first, ast.Expr))

    @cached_property
    def words(self) -> tuple[tuple[int, str], ...]:
        """(line, word) of every attribute, name, import and constant string that is not a docstring."""
        return tuple(word for node in self.nodes for word in self.words_of(node))

    def words_of(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        match node:
            case ast.Attribute(attr=word):
                yield node.lineno, word
            case ast.Name(id=word):
                yield node.lineno, self.aliases.get(word, word).rpartition(".")[2]
            case ast.ImportFrom(names=imported):
                yield from ((node.lineno, alias.name) for alias in imported)
            case ast.Constant(value=str(word)) if node not in self.docstrings:
                yield node.lineno, word
            case ast.BinOp(op=ast.Add()):
                yield node.lineno, constant_text(node) or ""

    @cached_property
    def scopes(self) -> tuple[tuple[ast.AST, ...], ...]:
        """The nodes of the module and of every function, without those inside a function of its own."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        found: list[tuple[ast.AST, ...]] = []
        waiting: list[ast.AST] = [self.nodes[0]]
        while waiting:
            own: list[ast.AST] = []
            unread = list(ast.iter_child_nodes(waiting.pop()))
            while unread:
                node = unread.pop()
                if isinstance(node, functions):
                    waiting.append(node)
                else:
                    own.append(node)
                    unread.extend(ast.iter_child_nodes(node))
            found.append(tuple(own))
        return tuple(found)


def parse(text: str) -> Source | None:
    """The parsed source, or None where it is not Python: the contestant will say why, with the line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in the author's file is not our news
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = tuple(ast.walk(tree))
    return Source(nodes, import_aliases(nodes))


def import_aliases(nodes: tuple[ast.AST, ...]) -> dict[str, str]:
    """Local name -> dotted name, for every import anywhere in the module and for `t = time` after it."""
    aliases: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    aliases[alias.asname or first] = alias.name if alias.asname else first
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    aliases[alias.asname or alias.name] = f"{module}.{alias.name}"
    known = Source(nodes, dict(aliases))
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in aliases:
                full = known.dotted(value)
                if full is not None and full.partition(".")[0] in known.aliases:
                    aliases[name] = full
    return aliases


def joined(owner: str | None, attribute: str | None) -> str | None:
    return f"{owner}.{attribute}" if owner and attribute else None


def constant_text(node: ast.AST, depth: int = 0) -> str | None:
    """The value of a string expression; `*` stands for each part that is not constant. None for no string."""
    if depth > MAX_DEPTH:
        return None
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Constant(value=bytes(raw)):
            return raw.decode("latin-1")
        case ast.JoinedStr(values=parts):
            return "".join(constant_text(part, depth + 1) or "*" for part in parts)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            ends = constant_text(left, depth + 1), constant_text(right, depth + 1)
            return None if ends == (None, None) else "".join(end or "*" for end in ends)
        case _:
            return None
