"""What a suite run is about: the problems of a suite, and the files that answer them."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hotlap.errors import UsageError
from hotlap.fleet.exchange import numbers
from hotlap.model import Problem
from hotlap.problems import flashinfer, kernelbench, kernelbot
from hotlap.problems.find import bundled, find
from hotlap.verdict import LANGUAGES

FOLDER_MARKS = ("problem.toml", kernelbot.TASK)  # a folder with one of these is a problem
_KERNELBENCH_SAMPLE = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel")
_LAYOUTS = "PROBLEM/SAMPLE.py, PROBLEM_SAMPLE.py, level_L_problem_P_sample_S_kernel.py (or .cpp, .cu)"


@dataclass(frozen=True)
class Sample:
    """One answer to a problem. Its name is its file's, without what names the problem."""

    problem: Problem
    name: str
    path: Path


@dataclass(frozen=True)
class Found:
    """Samples in the order of problems and names, and files that belong to no problem."""

    samples: tuple[Sample, ...]
    strays: tuple[Path, ...]


def suite_name(suite: str) -> str:
    """How reports name a suite: the bundled name, or the folder's."""
    return Path(suite).resolve().name if Path(suite).exists() and not _is_bundled(suite) else suite


def problems_of(suite: str) -> list[Problem]:
    """The problems of a bundled suite, or of a path: a problem, a folder of problems, or one of such folders.

    In the order of their numbers and names. Raises UsageError where there is none, ProblemError for a fault.
    """
    if _is_bundled(suite):
        return bundled(suite)
    path = Path(suite)
    if not path.exists():
        return bundled(suite)  # raises, and says which suites there are
    found = [find(str(place)) for place in _places(path)]
    if not found:
        raise UsageError(
            f"suite {suite!r}: no problem in this folder; expected folders with {' or '.join(FOLDER_MARKS)}, "
            "KernelBench files or flashinfer definitions"
        )
    twice = [name for name, count in Counter(p.id.partition("@")[0] for p in found).items() if count > 1]
    if twice:
        raise UsageError(
            f"suite {suite!r}: two problems are called {twice[0]}; rename one, or run them apart"
        )
    return found


def _is_bundled(suite: str) -> bool:
    return any(problem.suite == suite for problem in bundled())


def _places(path: Path) -> list[Path]:
    """Where problems lie, at most two folders down (a benchmark, its levels)."""
    if _is_problem(path):
        return [path]
    inside = sorted(path.iterdir(), key=lambda p: natural(p.name)) if path.is_dir() else []
    here = [place for place in inside if _is_problem(place)]
    if here:
        return here
    return [
        place
        for folder in inside
        if folder.is_dir()
        for place in sorted(folder.iterdir(), key=lambda p: natural(p.name))
        if _is_problem(place)
    ]


def _is_problem(path: Path) -> bool:
    if path.is_dir():
        return any((path / mark).is_file() for mark in FOLDER_MARKS)
    if path.suffix == ".json":
        return flashinfer.recognises(path)
    return path.suffix == ".py" and kernelbench.recognises(path)


def natural(name: str) -> list[tuple[bool, int, str]]:
    """A key that puts 2 before 10, and numbers before words."""
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return [(False, int(part), "") if part.isdecimal() else (True, 0, part) for part in parts]


# --- samples ---------------------------------------------------------------------------------------


def samples_of(problems: Sequence[Problem], folder: Path, most: int | None = None) -> Found:
    """The files of a folder of solutions, by problem; the first `most` of each.

    A problem is named by its name, or as suite.name where two suites have the same. Raises UsageError where
    the folder is missing or no file answers any problem.
    """
    if not folder.is_dir():
        found = "is not a folder" if folder.exists() else "no such folder"
        raise UsageError(f"--solutions {folder}: {found}; allowed in it: {_LAYOUTS}")
    files = _kernels(folder)
    owned = {path: _owner(path, folder, problems) for path in files}
    samples = []
    for index, problem in enumerate(problems):
        mine = {
            path: name for path, owner in owned.items() if owner and owner[0] == index for name in owner[1:]
        }
        samples += _named(problem, {path: str(name) for path, name in mine.items()}, most)
    strays = tuple(path for path, owner in owned.items() if owner is None)
    if not samples:
        names = ", ".join(problem.name for problem in problems[:3])
        raise UsageError(
            f"--solutions {folder}: {len(files)} kernels, none of a problem of this suite ({names}, …); "
            f"allowed: {_LAYOUTS}"
        )
    return Found(tuple(samples), strays)


def _kernels(folder: Path) -> list[Path]:
    here = sorted(folder.iterdir())
    below = [path for inside in here if inside.is_dir() for path in sorted(inside.iterdir())]
    return [path for path in (*here, *below) if path.is_file() and path.suffix in LANGUAGES]


def _owner(path: Path, folder: Path, problems: Sequence[Problem]) -> tuple[int, str] | None:
    """Index of the problem that a file answers, and the sample's name."""
    names = _names(problems)
    if path.parent != folder:
        index = names.get(path.parent.name)
        return None if index is None else (index, path.stem)
    if numbered := _KERNELBENCH_SAMPLE.fullmatch(path.stem):
        wanted = (int(numbered[1]), int(numbered[2]))
        places = list(numbers([problem.id for problem in problems]).values())
        return (places.index(wanted), numbered[3]) if wanted in places else None
    fits = [name for name in names if path.stem.startswith(f"{name}_") and path.stem != f"{name}_"]
    if not fits:
        return None
    name = max(fits, key=len)  # softmax_backward_0 is no sample `backward_0` of softmax
    return names[name], path.stem[len(name) + 1 :]


def _names(problems: Sequence[Problem]) -> dict[str, int]:
    """What files may call a problem: its name where that is its own, suite.name always."""
    often = Counter(problem.name for problem in problems)
    names = {problem.name: i for i, problem in enumerate(problems) if often[problem.name] == 1}
    return names | {f"{problem.suite}.{problem.name}": i for i, problem in enumerate(problems)}


def _named(problem: Problem, files: dict[Path, str], most: int | None) -> list[Sample]:
    """Samples in natural order; those that would share a name are called by their whole file name."""
    often = Counter(files.values())
    named = {path: name if often[name] == 1 else path.name for path, name in files.items()}
    if len({*named.values()}) < len(named):
        twice = Counter(named.values()).most_common(1)[0][0]
        raise UsageError(f"two files are sample {twice} of {problem.name}; rename one")
    ordered = sorted(named, key=lambda path: natural(named[path]))
    return [Sample(problem, named[path], path) for path in ordered[:most]]
