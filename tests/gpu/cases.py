"""What files state about themselves: the verdict that they must get, and what they need."""

import importlib
import importlib.util
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from hotlap.model import Problem, Verdict
from hotlap.problems.find import bundled

HERE = Path(__file__).parent
CORPUS = HERE.parents[1] / "corpus"
RIGHT = HERE / "right.py"  # a kernel that is accepted, to see that a device is unharmed
WARM = 8  # contestants that start while a verdict is made
LANGUAGES_ON_A_GPU = (".py", ".cu")


@dataclass(frozen=True)
class Case:
    """A file and the verdict that it must get. `expect`: one status, or several with | between them."""

    name: str
    file: Path
    problem: str
    expect: str
    fault: str | None = None
    reason: str | None = None  # a regular expression, found in the verdict's reason whatever its case
    timed: bool = False
    mode: str | None = None  # of its bench workloads
    needs: tuple[str, ...] = ()
    call_s: float | None = (
        None  # a shorter limit than the device's, the first call's too, for what never ends
    )

    def missing(self) -> str | None:
        """What this case needs and this machine lacks."""
        lacking = [need for need in self.needs if not is_there(need)]
        return f"needs {', '.join(lacking)}" if lacking else None


class Judge(Protocol):
    """What the fixture `judged` gives: takes a verdict on the device and keeps its row for the table."""

    def __call__(self, case: str, problem: Problem, file: Path, expected: str, *, timed: bool) -> Verdict: ...


def dismiss(device: Any) -> None:
    """End the contestants that wait: each has the limits of the time when it was started."""
    for _ in range(WARM):
        device.take_seat().close()


@cache
def is_there(need: str) -> bool:
    """Whether a program lies on the path, or a module or its attribute can be imported."""
    if shutil.which(need) is not None:
        return True
    try:
        if importlib.util.find_spec(need) is not None:
            return True
    except ModuleNotFoundError:  # what is before the last dot is no package
        pass
    module, _, name = need.rpartition(".")
    return bool(module) and is_there(module) and hasattr(importlib.import_module(module), name)


def tag(file: Path, name: str) -> str | None:
    """The value of a `# name: value` or `// name: value` line."""
    found = re.search(rf"^(?:#|//) *{name}: *(.+)$", file.read_text(), re.MULTILINE)
    return found.group(1).strip() if found else None


def key(file: Path, name: str) -> str | None:
    """The first line of a `NAME: text` of a corpus file's docstring."""
    found = re.search(rf'^(?:""")?{name}: (.+)$', file.read_text(), re.MULTILINE)
    return found.group(1).strip() if found else None


def corpus(folder: str) -> list[Case]:
    """The files of corpus/FOLDER that are for a GPU. Liars are timed, and honest ones that need a mode."""
    return [
        Case(
            name=f"{folder}/{file.stem}",
            file=file,
            problem=key(file, "PROBLEM") or "",
            expect=key(file, "EXPECT") or "",
            timed=folder == "exploits" or key(file, "MODE") is not None,
            mode=key(file, "MODE"),
            needs=tuple((key(file, "NEEDS") or "").split()),
        )
        for file in sorted((CORPUS / folder).glob("*.py"))
        if key(file, "DEVICE") == "gpu"
    ]


def bad_inputs() -> list[Case]:
    """The kernels beside this file."""
    return [
        Case(
            name=f"bad/{file.name}",
            file=file,
            problem=tag(file, "problem") or "",
            expect=tag(file, "expect") or "",
            fault=tag(file, "fault"),
            reason=tag(file, "reason"),
            timed=tag(file, "timed") == "yes",
            call_s=call_limit(file),
        )
        for file in sorted((HERE / "kernels").iterdir())
        if file.suffix in LANGUAGES_ON_A_GPU
    ]


def call_limit(file: Path) -> float | None:
    """S of a `limits: call_s=S` line."""
    found = re.fullmatch(r"call_s=([\d.]+)", tag(file, "limits") or "")
    return float(found.group(1)) if found else None


def solutions() -> list[Case]:
    """Every bundled solution that is not for a CPU alone; right ones are timed."""
    return [*of_problems("solutions/correct"), *of_problems("solutions/wrong")]


def starters() -> list[Case]:
    """Every bundled starter that is not for a CPU alone."""
    return of_problems("starter")


def of_problems(folder: str) -> list[Case]:
    return [
        Case(
            name=f"{problem.name}/{file.parent.name}/{file.name}",
            file=file,
            problem=f"{problem.suite}/{problem.name}",
            expect=tag(file, "expect") or "accepted",
            reason=literal(tag(file, "reason")),
            timed=folder == "solutions/correct",
        )
        for problem in bundled()
        for file in sorted((problem.folder / folder).iterdir())
        if is_for_a_gpu(file)
    ]


def is_for_a_gpu(file: Path) -> bool:
    return file.suffix in LANGUAGES_ON_A_GPU and tag(file, "device") != "cpu"


def literal(text: str | None) -> str | None:
    """A regular expression for a text: solutions state part of the reason, word for word."""
    return None if text is None else re.escape(text)
