"""A problem by its name among the bundled ones, or by the path of its folder or file."""

import difflib
import os
from importlib.resources import files
from pathlib import Path

from hotlap.errors import UsageError
from hotlap.model import Problem
from hotlap.problems import flashinfer, kernelbench, kernelbot, native

_LIST_COMMAND = "`hotlap problems` lists all"


def find(name_or_path: str) -> Problem:
    """The problem that `suite/name`, `suite/name@version` or a path names: a folder with problem.toml or
    task.yml, one of these files, a KernelBench file, or a flashinfer definition. `FOLDER@strict`: see
    `kernelbot.load`. `FILE.py@strict`, `@kb-v0`: the tolerance, see `kernelbench.load`.

    A bundled name wins over a folder of that name below the working directory; `./suite/name` is the folder.
    Raises UsageError when there is none, ProblemError when there is one with a fault.
    """
    name, _, version = name_or_path.partition("@")
    folder = _bundled_folders().get(name)
    if folder is not None:
        return _of_version(native.load(folder), version)
    path, _, variant = name_or_path.rpartition("@")
    if variant == kernelbot.STRICT and os.path.isfile(os.path.join(path, kernelbot.TASK)):
        return kernelbot.load(Path(path), strict=True)
    if variant in kernelbench.BOUNDS and path.endswith(".py") and kernelbench.recognises(Path(path)):
        return kernelbench.load(Path(path), tolerance=variant)
    if os.path.exists(name_or_path):
        found = _at(Path(name_or_path))
        if found is not None:
            return found
    raise UsageError(
        f"problem {name_or_path!r}: neither a bundled problem nor a folder with problem.toml or task.yml, "
        f"nor a KernelBench file, nor a flashinfer definition; {_suggestion(name, list(_bundled_folders()))}"
    )


def find_again(path: Path, problem_id: str) -> Problem:
    """The problem that an earlier run found at a path; what lies there may have changed since.

    Raises UsageError where there is none now, ProblemError when it has a fault.
    """
    found = find(str(path))
    variants = {kernelbot.CONTRACT: (kernelbot.STRICT,), kernelbench.CONTRACT: tuple(kernelbench.BOUNDS)}
    others = (find(f"{path}@{variant}") for variant in variants.get(found.contract, ()))
    return next((one for one in (found, *others) if one.id == problem_id), found)


def _at(path: Path) -> Problem | None:
    """The problem of a folder or a file; None for what is none."""
    folder = path.parent if path.name in ("problem.toml", kernelbot.TASK) and path.is_file() else path
    if (folder / kernelbot.TASK).is_file() and not (folder / "problem.toml").is_file():
        return kernelbot.load(folder)
    if folder.is_dir():
        return native.load(folder)
    if path.suffix == ".json" and flashinfer.recognises(path):
        return flashinfer.load(path)
    return kernelbench.load(path) if path.suffix == ".py" and kernelbench.recognises(path) else None


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
