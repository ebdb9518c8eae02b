"""Parsed Python source with the names it imports, as the rules read it.

What this does: resolves import aliases, `getattr` with a constant name, `sys.modules["time"]` and joined
string constants, so that a rule can ask "which object is this?" of the text alone.
What it does not: run or trace anything. Source that wants to hide can; the referee does not depend on it.
"""

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

MAX_DEPTH = 40  # of nested expressions that are resolved; hostile source may nest without end

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Fact(NamedTuple):
    """What one line of the source says, in words that accuse nobody."""

    line: int
    text: str


@dataclass(frozen=True)
class Source:
    """A parsed module. `aliases` maps a local name to the dotted name that it was imported as."""

    tree: ast.Module
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

    def calls(self) -> Iterator[ast.Call]:
        """Every call of the module, outermost first."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def names(self) -> Iterator[tuple[int, str]]:
        """(line, word) of every attribute, name, import and constant string that is not a docstring."""
        docstrings = {id(node) for node in docstring_nodes(self.tree)}
        for node in ast.walk(self.tree):
            match node:
                case ast.Attribute(attr=word):
                    yield node.lineno, word
                case ast.Name(id=word):
                    yield node.lineno, self.aliases.get(word, word).rpartition(".")[2]
                case ast.ImportFrom(names=imported):
                    yield from ((node.lineno, alias.name) for alias in imported)
                case ast.Constant(value=str(word)) if id(node) not in docstrings:
                    yield node.lineno, word
                case ast.BinOp(op=ast.Add()):
                    yield node.lineno, constant_text(node) or ""

    def scopes(self) -> Iterator[tuple[ast.Module | FunctionNode, list[ast.AST]]]:
        """The module and every function, each with its own nodes: those not inside a function of its own."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        waiting: list[ast.Module | FunctionNode] = [self.tree]
        while waiting:
            scope = waiting.pop(0)
            own: list[ast.AST] = []
            unread = list(ast.iter_child_nodes(scope))
            while unread:
                node = unread.pop()
                if isinstance(node, functions):
                    waiting.append(node)
                else:
                    own.append(node)
                    unread.extend(ast.iter_child_nodes(node))
            yield scope, own


def parse(text: str) -> Source | None:
    """The parsed source, or None where it is not Python: the contestant will say why, with the line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in the author's file is not our news
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Source(tree, import_aliases(tree))


def import_aliases(tree: ast.Module) -> dict[str, str]:
    """Local name -> dotted name, for every import anywhere in the module and for `t = time` after it."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    aliases[alias.asname or first] = alias.name if alias.asname else first
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    aliases[alias.asname or alias.name] = f"{module}.{alias.name}"
    known = Source(tree, dict(aliases))
    for node in ast.walk(tree):
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


def docstring_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """The constants that are a module's, class's or function's docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str()) as text), *_]:
                    yield text
