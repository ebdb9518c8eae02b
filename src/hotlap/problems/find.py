"""A problem by its name among the bundled ones, or by the path of its folder."""

import difflib
import os
from importlib.resources import files
from pathlib import Path

from hotlap.errors import UsageError
from hotlap.model import Problem
from hotlap.problems import native

_LIST_COMMAND = "`hotlap problems` lists all"


def find(name_or_path: str) -> Problem:
    """The problem that `suite/name`, `suite/name@version` or a path to a folder (or its problem.toml) names.

    A bundled name wins over a folder of that name below the working directory; `./suite/name` is the folder.
    Raises UsageError when there is none, ProblemError when there is one with a fault.
    """
    name, _, version = name_or_path.partition("@")
    folder = _bundled_folders().get(name)
    if folder is not None:
        return _of_version(native.load(folder), version)
    if os.path.isdir(name_or_path):
        return native.load(Path(name_or_path))
    if os.path.basename(name_or_path) == "problem.toml" and os.path.isfile(name_or_path):
        return native.load(Path(name_or_path).parent)
    raise UsageError(
        f"problem {name_or_path!r}: neither a bundled problem nor a folder with problem.toml; "
        f"{_suggestion(name, list(_bundled_folders()))}"
    )


def bundled(suite: str | None = None) -> list[Problem]:
    """The problems that come with hotlap, of one suite or of all, in order of suite and name."""
    folders = _bundled_folders()
    suites = sorted({name.partition("/")[0] for name in folders})
    if suite is not None and suite not in suites:
        raise UsageError(f"suite {suite!r}: no bundled suite has this name; {_suggestion(suite, suites)}")
    return [
        native.load(folder) for name, folder in folders.items() if suite in (None, name.partition("/")[0])
    ]


def _bundled_folders() -> dict[str, Path]:
    root = Path(str(files("hotlap"))) / "suites"
    found = sorted(file.parent for file in root.glob("*/*/problem.toml"))
    return {f"{folder.parent.name}/{folder.name}": folder for folder in found}


def _of_version(problem: Problem, version: str) -> Problem:
    if version and version != problem.version:
        name = f"{problem.suite}/{problem.name}"
        raise UsageError(
            f"problem {name}: found version {problem.version} here, not {version}; "
            f"leave @{version} out to use it, or install the hotlap that has it"
        )
    return problem


def _suggestion(word: str, options: list[str]) -> str:
    by_name = [option for option in options if option.rpartition("/")[2] == word]
    close = by_name or difflib.get_close_matches(word, options, n=3, cutoff=0.75)
    return f"did you mean {' or '.join(close)}? {_LIST_COMMAND}" if close else _LIST_COMMAND
