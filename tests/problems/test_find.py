from pathlib import Path

import pytest

from hotlap.errors import ProblemError, UsageError
from hotlap.problems import bundled, find
from tests.problems.folders import write_problem


def test_a_bundled_problem_is_found_by_its_name() -> None:
    assert find("basics/vectoradd").id.startswith("basics/vectoradd@")


def test_a_bundled_problem_is_found_by_its_id() -> None:
    problem = find("basics/vectoradd")
    assert find(problem.id) == problem


def test_another_version_than_the_bundled_one_is_refused_with_the_one_here() -> None:
    with pytest.raises(UsageError, match=r"found version .* here, not 000000000000; leave @0000"):
        find("basics/vectoradd@000000000000")


def test_a_bundled_name_wins_over_a_folder_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_problem(tmp_path)
    (tmp_path / "demo").rename(tmp_path / "basics")
    (tmp_path / "basics" / "scale").rename(tmp_path / "basics" / "vectoradd")
    monkeypatch.chdir(tmp_path)
    assert find("basics/vectoradd").folder != tmp_path / "basics" / "vectoradd"
    assert find("./basics/vectoradd").folder == tmp_path / "basics" / "vectoradd"


@pytest.mark.parametrize("tail", ["", "/", "/problem.toml"])
def test_a_problem_is_found_by_its_path(tmp_path: Path, tail: str) -> None:
    assert find(f"{write_problem(tmp_path)}{tail}").name == "scale"


def test_the_working_directory_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_problem(tmp_path))
    assert find(".").id.startswith("demo/scale@")


def test_a_folder_without_a_problem_is_a_fault_of_the_problem(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"problem\.toml: no such file"):
        find(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("basics/vectorad", ["did you mean basics/vectoradd?", "`hotlap problems` lists all"]),
        ("vectoradd", ["did you mean basics/vectoradd?"]),
        ("zzz", ["`hotlap problems` lists all"]),
        ("", ["problem ''"]),
        ("a\0b", ["neither a bundled problem nor a folder"]),
        ("x" * 5000, ["neither a bundled problem nor a folder"]),
    ],
)
def test_an_unknown_problem_is_a_usage_error_with_close_matches(name: str, pieces: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        find(name)
    for piece in pieces:
        assert piece in str(caught.value)


def test_every_bundled_problem_loads_and_is_found_by_its_name() -> None:
    problems = bundled()
    assert problems == sorted(problems, key=lambda problem: (problem.suite, problem.name))
    assert [find(f"{problem.suite}/{problem.name}") for problem in problems] == problems


def test_bundled_of_a_suite_lists_only_its_problems() -> None:
    assert {problem.suite for problem in bundled("basics")} == {"basics"}


def test_an_unknown_suite_is_a_usage_error_with_close_matches() -> None:
    with pytest.raises(UsageError, match=r"suite 'basic': .* did you mean basics\?"):
        bundled("basic")
