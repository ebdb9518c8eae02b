"""The docs name everything that a reader may meet: nothing is added to the code alone."""

import re
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
import typer

from hotlap import model
from hotlap.cli.main import app
from hotlap.referee.limits import Limits

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LISTING = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)  # where `kernel[grid](a, b)` is no link
PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

# Dataclasses whose fields reach a reader through a verdict.
VERDICT_NOUNS = (
    *(model.Verdict, model.WorkloadVerdict, model.Score, model.Interval, model.SubmissionInfo),
    *(model.Device, model.Sandbox, model.Finding, model.Timing),
)


@cache
def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def verbs() -> list[str]:
    command = typer.main.get_command(app)
    return sorted(command.list_commands(typer.Context(command)))


@pytest.mark.parametrize(
    "value", [v.value for enum in (model.Status, model.Fault, model.Trust, model.Kind) for v in enum]
)
def test_every_value_that_a_verdict_may_hold_is_explained(value: str) -> None:
    assert f"`{value}`" in page("verdict.md")


@pytest.mark.parametrize("status", [status.value for status in model.Status])
def test_every_status_has_a_row_with_its_exit_code(status: str) -> None:
    assert re.search(rf"^\| `{status}` \|.*\| [0-3] \|$", page("verdict.md"), re.MULTILINE)


@pytest.mark.parametrize(
    "name", [f"{noun.__name__}.{f.name}" for noun in VERDICT_NOUNS for f in fields(noun)]
)
def test_every_field_of_a_verdict_is_explained(name: str) -> None:
    assert f"`{name.rpartition('.')[2]}`" in page("verdict.md")


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_has_a_heading(verb: str) -> None:
    assert f"\n## hotlap {verb}\n" in page("cli.md")


def test_no_heading_names_a_verb_that_does_not_exist() -> None:
    assert sorted(re.findall(r"^## hotlap (\w+)$", page("cli.md"), re.MULTILINE)) == verbs()


def quantity(limit: str, value: float) -> str:
    if limit.endswith("_bytes"):
        return f"{value / 2**30:g} GiB" if value >= 2**30 else f"{value / 2**20:g} MiB"
    return f"{value:g} s" if limit.endswith("_s") else f"{value:g}"


@pytest.mark.parametrize("limit", [f.name for f in fields(Limits)])
def test_every_limit_is_stated_with_its_value(limit: str) -> None:
    assert f"| `{limit}` | {quantity(limit, getattr(Limits(), limit))} |" in page("sandbox.md")


def test_every_page_of_a_noun_is_linked_from_the_words() -> None:
    nouns = {path.name for path in DOCS.glob("*.md")} - {"words.md", "LOG.md", "cli.md", "testing.md"}
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", page("words.md")))
    assert nouns <= linked


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_every_local_link_leads_somewhere(path: Path) -> None:
    text = LISTING.sub("", (ROOT / path).read_text(encoding="utf-8"))
    targets = [t for t in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in t]
    assert [t for t in targets if not (ROOT / path.parent / t).exists()] == []


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((DOCS / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
