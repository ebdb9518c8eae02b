"""What a command line points at."""

from pathlib import Path

import pytest

from hotlap.cli.target import Target, directive_line, directives, resolve
from hotlap.errors import UsageError


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("#! hotlap problem basics/softmax\n", {"problem": "basics/softmax"}),
        ("//! hotlap problem basics/softmax\r\n", {"problem": "basics/softmax"}),
        ("#!/usr/bin/env python\n# mine\n\n#! hotlap device cpu\n", {"device": "cpu"}),
        ("#!POPCORN leaderboard vectoradd\n#!POPCORN gpus T4\n", {"problem": "vectoradd"}),
        ("#! hotlap problem /home/ada/my problems/p\n", {"problem": "/home/ada/my problems/p"}),
        ("#! hotlap problem first\n#! hotlap problem second\n", {"problem": "first"}),
        ("import torch\n#! hotlap problem late\n", {}),
        ("# hotlap problem no-bang\n", {}),
        ("#! hotlap colour red\n", {}),
        ("", {}),
    ],
)
def test_directives_are_read_from_the_leading_comments(source: str, found: dict[str, str]) -> None:
    assert directives(source) == found


@pytest.mark.parametrize("suffix", [".py", ".cpp", ".cu"])
def test_the_line_that_init_writes_is_the_line_that_run_reads(suffix: str) -> None:
    assert directives(directive_line("basics/sort", suffix)) == {"problem": "basics/sort"}


def test_a_file_alone_names_its_problem(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("#! hotlap problem basics/sort\n#! hotlap device cuda:1\n")
    assert resolve(str(kernel), None) == Target("basics/sort", kernel, "cuda:1")


def test_the_problem_on_the_command_line_wins(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("#! hotlap problem basics/sort\n")
    assert resolve("basics/softmax", kernel) == Target("basics/softmax", kernel)


def test_a_file_without_a_problem_says_which_line_to_add(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cpp"
    kernel.write_text("int x;\n")
    with pytest.raises(UsageError, match="//! hotlap problem NAME"):
        resolve(str(kernel), None)


def test_a_problem_without_a_file_says_how_to_start_one() -> None:
    with pytest.raises(UsageError, match="hotlap init basics/softmax"):
        resolve("basics/softmax", None)


@pytest.mark.parametrize("name", ["absent.py", "."])
def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="Name a source file"):
        resolve("basics/softmax", tmp_path / name)


def test_a_binary_file_is_left_to_the_verdict(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_bytes(b"\xff\xfe\x00#! hotlap problem x")
    assert resolve("basics/softmax", kernel).problem == "basics/softmax"
