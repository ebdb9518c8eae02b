"""Starters."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hotlap.cli.init import directive_name, starter, write
from hotlap.cli.main import app
from hotlap.errors import UsageError
from hotlap.problems.find import bundled, find
from hotlap.verdict import read_submission
from tests.cli import factory


@pytest.mark.parametrize(
    ("lang", "file", "first_line"),
    [
        ("python", "kernel.py", "#! hotlap problem basics/vectoradd"),
        ("cpp", "kernel.cpp", "//! hotlap problem basics/vectoradd"),
        ("triton", "kernel.py", "#! hotlap problem basics/vectoradd"),
        ("cuda", "kernel.cu", "//! hotlap problem basics/vectoradd"),
    ],
)
def test_init_writes_a_starter_that_names_its_problem_and_the_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str, file: str, first_line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["init", "basics/vectoradd", "--lang", lang])
    assert result.exit_code == 0
    assert (tmp_path / "vectoradd" / file).read_text().splitlines()[0] == first_line
    assert "# Vector addition" in (tmp_path / "vectoradd" / "statement.md").read_text()
    assert f"hotlap run vectoradd/{file}" in result.stdout


def test_init_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "statement.md").write_text("mine")
    with pytest.raises(UsageError, match=r"statement\.md: exists, and init never overwrites"):
        write(tmp_path, {"kernel.py": "theirs", "statement.md": "theirs"})
    assert (tmp_path / "statement.md").read_text() == "mine"
    assert not (tmp_path / "kernel.py").exists()


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "file" / "below", {"kernel.py": ""})


def test_a_missing_starter_says_which_there_are(tmp_path: Path) -> None:
    (tmp_path / "starter").mkdir()
    (tmp_path / "starter" / "kernel.py").write_text("")
    with pytest.raises(UsageError, match=r"has no starter kernel\.cpp; it has kernel\.py"):
        starter(factory.problem(tmp_path), "kernel.cpp", "basics/softmax")


def test_a_starter_that_names_its_problem_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "starter").mkdir()
    source = "#! hotlap problem basics/softmax\nx = 1\n"
    (tmp_path / "starter" / "kernel.py").write_text(source)
    assert starter(factory.problem(tmp_path), "kernel.py", "basics/softmax") == source


def test_a_problem_of_ones_own_is_named_by_its_folder(tmp_path: Path) -> None:
    assert directive_name(factory.problem(tmp_path)) == str(tmp_path)
    assert directive_name(find("basics/vectoradd")) == "basics/vectoradd"


@pytest.mark.parametrize(
    ("lang", "read_as"), [("python", "python"), ("cpp", "cpp"), ("triton", "triton"), ("cuda", "cu")]
)
def test_a_written_starter_is_of_the_language_that_was_asked_for(
    tmp_path: Path, lang: str, read_as: str
) -> None:
    assert CliRunner().invoke(app, ["init", "basics/sort", str(tmp_path), "--lang", lang]).exit_code == 0
    (kernel,) = tmp_path.glob("kernel.*")
    assert read_submission(kernel).lang == read_as


def test_every_bundled_problem_has_every_starter() -> None:
    for problem in bundled():
        for file in ("kernel.py", "kernel.cpp", "kernel_triton.py", "kernel.cu"):
            assert starter(problem, file, "x/y").count("\n") > 1
