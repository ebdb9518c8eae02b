"""What reference.py and its local imports say, read with `ast` and never run."""

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hotlap.errors import ProblemError

REFERENCE = "reference.py"
REQUIRED = ("make_inputs", "reference")
_SIGNATURES = {"make_inputs": "make_inputs(axes, rng, device)", "reference": "reference(*inputs)"}


@dataclass(frozen=True)
class Source:
    """Every file that decides what a problem computes.

    `defined`: names bound at the top of reference.py. `local_modules`: top-level modules of the folder
    that it imports, directly or through each other. `files`: path relative to the folder -> its bytes.
    """

    defined: frozenset[str]
    local_modules: frozenset[str]
    files: Mapping[str, bytes]


def read_source(folder: Path) -> Source:
    """Read reference.py and follow its imports of modules in `folder`.

    A local package counts whole; imports by computed names are not seen. Raises ProblemError when
    reference.py is missing, a file does not parse, a required function is missing, or an import could
    not work or would be ambiguous.
    """
    path = folder / REFERENCE
    if not path.is_file():
        raise ProblemError(f"{path}: no such file; write it with {' and '.join(_SIGNATURES.values())}")
    files: dict[str, bytes] = {}
    modules: set[str] = set()
    pending = [path]
    while pending:
        file = pending.pop()
        files[file.relative_to(folder).as_posix()] = content = _read(file)
        for name in _local_imports(_parse(file, content), file, folder) - modules:
            modules.add(name)
            pending += _module_files(folder, name)
    return Source(_defined(path, files[REFERENCE]), frozenset(modules), files)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ProblemError(f"{file}: cannot be read ({error.strerror}); correct its permissions") from None


def _parse(file: Path, content: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again when the file runs, with its own filters
            return ast.parse(content, filename=str(file))
    except SyntaxError as error:
        raise ProblemError(f"{file}:{error.lineno or 1}: {error.msg}; correct the syntax") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise ProblemError(f"{file}: is not Python source ({error}); correct it") from None


def _defined(file: Path, content: bytes) -> frozenset[str]:
    names = frozenset(name for node in _parse(file, content).body for name in bound_names(node))
    for required in REQUIRED:
        if required not in names:
            raise ProblemError(
                f"{file}: {required}: not defined at the top level; "
                f"found {', '.join(sorted(names)) or 'nothing'}; define {_SIGNATURES[required]}"
            )
    return names


def bound_names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds at the top level."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)


def _local_imports(tree: ast.Module, file: Path, folder: Path) -> set[str]:
    inside_functions = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    found = set()
    for node in ast.walk(tree):
        for name in _imported(node, file, folder):
            if not _module_files(folder, name):
                continue
            _check_import(name, node, file, is_late=id(node) in inside_functions)
            found.add(name)
    return found


def _imported(node: ast.AST, file: Path, folder: Path) -> list[str]:
    """Top-level modules that one node imports, local or not."""
    match node:
        case ast.Import(names=aliases):
            return [alias.name.partition(".")[0] for alias in aliases]
        case ast.ImportFrom(level=0, module=str(module)):
            return [module.partition(".")[0]]
        case ast.ImportFrom(lineno=line) if file.parent == folder:
            raise ProblemError(
                f"{file}:{line}: found a relative import; allowed: absolute ones; "
                "write `import helper` for helper.py in the same folder"
            )
    return []  # a relative import inside a local package: the package counts whole


def _check_import(name: str, node: ast.AST, file: Path, is_late: bool) -> None:
    where = f"{file}:{getattr(node, 'lineno', 1)}"
    if name in sys.stdlib_module_names or name in ("torch", "numpy", "scipy", "triton", "hotlap"):
        raise ProblemError(
            f"{where}: found import {name}, which is a file here and a library; rename the file {name}.py"
        )
    if is_late:
        raise ProblemError(
            f"{where}: found import {name} inside a function; the folder can only be imported from "
            "while reference.py loads; move the import to the top of the file"
        )


def _module_files(folder: Path, name: str) -> list[Path]:
    """The source of one module of the folder: one file, a whole package, or nothing if it is not local."""
    if (folder / name / "__init__.py").is_file():
        return sorted((folder / name).rglob("*.py"))
    file = folder / f"{name}.py"
    return [file] if file.is_file() else []
