"""Every file of the corpus says what it is and which verdict it must get."""

import re
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "corpus"
EXPLOITS = sorted((CORPUS / "exploits").glob("*.py"))
FILES = [*EXPLOITS, *sorted((CORPUS / "honest").glob("*.py"))]


def header(path: Path) -> dict[str, str]:
    return dict(re.findall(r'^(?:""")?([A-Z_]+): (.+)$', path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_corpus_file_starts_with_its_verdict_and_problem(path: Path) -> None:
    first, second = path.read_text().splitlines()[:2]
    assert re.fullmatch(r'"""EXPECT: (accepted|wrong|failed|void)(\|(accepted|wrong|failed|void))*', first)
    assert re.fullmatch(r"PROBLEM: basics/\w+", second)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_corpus_file_has_only_documented_keys(path: Path) -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", (CORPUS / "README.md").read_text(), re.MULTILINE))
    assert {"FAMILY", "HOW"} <= set(header(path)) <= documented


@pytest.mark.parametrize("path", EXPLOITS, ids=lambda path: path.stem)
def test_an_exploit_names_its_defence(path: Path) -> None:
    assert "DEFENCE" in header(path)


def test_honest_kernels_are_all_expected_to_be_accepted() -> None:
    assert {header(path)["EXPECT"] for path in FILES if path not in EXPLOITS} == {"accepted"}


def test_no_file_holds_the_marker_that_tests_plant() -> None:
    marker = "-".join(("hotlap", "planted", "secret"))
    assert [path.name for path in FILES if marker in path.read_text()] == []
