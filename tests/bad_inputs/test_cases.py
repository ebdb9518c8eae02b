"""The table of bad input is complete and readable before anything is judged with it."""

import re
import tomllib

import pytest

from hotlap.model import Status
from tests.bad_inputs.cases import CASES, KERNELS, PROBLEM_CASES, PROBLEMS, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_has_bytes_to_submit(case: Case) -> None:
    assert case.source is not None or (KERNELS / case.file).is_file()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_gives_a_reason_exactly_where_it_is_not_accepted(case: Case) -> None:
    assert (case.reason is None) == (case.status is Status.accepted)
    assert (case.fault is None) == (case.status is Status.accepted)
    re.compile(case.reason or "")


def test_case_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_every_kernel_file_is_used() -> None:
    used = {case.file for case in CASES if case.source is None} | {"right.py"}
    assert used == {path.name for path in KERNELS.iterdir() if path.is_file()}


def test_every_problem_folder_is_used_and_complete() -> None:
    assert {case.path for case in PROBLEM_CASES} == set(PROBLEMS.iterdir())
    for case in PROBLEM_CASES:
        tomllib.loads((case.path / "problem.toml").read_text())
        assert (case.path / "reference.py").is_file()
        assert (case.path / "statement.md").is_file()
