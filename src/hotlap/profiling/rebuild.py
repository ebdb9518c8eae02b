"""Build a compiled submission once more with other flags, for tools that need line numbers or PTX."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hotlap.model import Problem, Submission
from hotlap.referee import build
from hotlap.referee.limits import Limits


def rebuilt(
    problem: Problem, submission: Submission, limits: Limits, flags: Sequence[str], arch: str | None = None
) -> bytes | str:
    """The library, or one line on why there is none; `flags` come after the usual ones."""
    if submission.lang == "cu":
        target = build._architecture(submission, arch or "")
        if not isinstance(target, str):
            return target.message
        recipe = build._cuda_recipe(target, build.header(problem, "cu"), build.caller(problem, "cu"))
    else:
        recipe = build._cpp_recipe(problem)
    recipe = replace(recipe, command=(*recipe.command, *flags))
    output = build._run(recipe, Path(submission.file).name, submission.source, limits)
    return output.library or f"the kernel does not compile with {' '.join(flags)}"
