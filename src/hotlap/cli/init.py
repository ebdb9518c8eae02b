"""`hotlap init`: a kernel to start from, which passes as it is."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import hotlap
from hotlap.cli import console, options
from hotlap.cli.options import short_name
from hotlap.cli.target import directive_line, directives
from hotlap.errors import ProblemError, UsageError
from hotlap.model import Problem
from hotlap.text import clean

EPILOG = options.examples(
    "hotlap init basics/softmax                    writes softmax/kernel.py and softmax/statement.md",
    "hotlap init basics/softmax fast --lang cpp    writes fast/kernel.cpp and fast/statement.md",
    "hotlap init basics/softmax gpu --lang cuda    writes gpu/kernel.cu and gpu/statement.md",
)


class Language(StrEnum):
    """Languages with starters."""

    python = "python"
    cpp = "cpp"
    triton = "triton"
    cuda = "cuda"


# The starter of a language. It is written as kernel.* with the same ending.
_STARTERS = {
    Language.python: "kernel.py",
    Language.cpp: "kernel.cpp",
    Language.triton: "kernel_triton.py",
    Language.cuda: "kernel.cu",
}


def init(
    problem: options.ProblemName,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Where. Default: ./NAME", show_default=False)
    ] = None,
    lang: Annotated[Language, typer.Option("--lang", help="Language of the starter.")] = Language.python,
    json: options.JsonFlag = False,
) -> None:
    """Write a starter that passes, and the statement, into a folder. Never overwrites."""
    from hotlap.problems.find import find

    found = find(problem)
    target = folder or Path(found.name)
    name = directive_name(found)
    file = f"kernel{Path(_STARTERS[lang]).suffix}"
    files = {
        file: starter(found, _STARTERS[lang], name),
        "statement.md": found.statement.rstrip("\n") + "\n",
    }
    write(target, files)
    kernel = target / file
    if json:
        written = [str(target / file) for file in files]
        console.print_json({"problem": found.id, "folder": str(target), "files": written})
        return
    print(next_steps(target, kernel, name, needs_gpu=lang in (Language.triton, Language.cuda)))


def directive_name(problem: Problem) -> str:
    """How a written file names its problem: `suite/name` where bundled, else the full path of its folder."""
    is_bundled = Path(hotlap.__file__).parent / "suites" in problem.folder.parents
    return short_name(problem) if is_bundled else str(problem.folder.resolve())


def starter(problem: Problem, file: str, name: str) -> str:
    """The text of a starter, its first line naming the problem. Raises UsageError when there is none."""
    if problem.contract != "kernel":
        raise UsageError(
            f"{short_name(problem)} comes in another format, which has no starters of ours. "
            f"`hotlap show {name} --prototype` prints what to define"
        )
    path = problem.folder / "starter" / file
    try:
        source = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        present = sorted(p.name for p in path.parent.glob("kernel*.*")) if path.parent.is_dir() else []
        raise UsageError(
            f"{short_name(problem)} has no starter {file}; it has {', '.join(present) or 'none'}. "
            f"`hotlap show {short_name(problem)} --prototype` prints what to implement"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"{path}: cannot be read: {error}") from error
    line = directive_line(name, path.suffix)
    return source if directives(source).get("problem") == name else f"{line}\n{source}"


def write(folder: Path, files: dict[str, str]) -> None:
    """Create `folder` and its files. Raises UsageError where one exists, or cannot be written."""
    present = [str(folder / name) for name in files if (folder / name).exists()]
    if present:
        raise UsageError(f"{', '.join(present)}: exists, and init never overwrites. Name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            # "x": a file that appeared since the look above is not overwritten either.
            with (folder / name).open("x", encoding="utf-8") as stream:
                stream.write(text)
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{folder}: cannot be written: {why}. Name another folder") from error


def next_steps(folder: Path, kernel: Path, name: str, needs_gpu: bool) -> str:
    """What to do after init, as commands to copy."""
    where = " (on a GPU)" if needs_gpu else ""
    return clean(
        f"wrote {kernel} and {folder / 'statement.md'}\n\n"
        f"next:  hotlap check {kernel}    is it right?\n"
        f"       hotlap run {kernel}      how fast is it?{where}\n"
        f"       hotlap show {name}"
    )
