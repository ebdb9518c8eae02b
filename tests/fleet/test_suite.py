"""Which problems a suite has, and which files answer them."""

import shutil
from pathlib import Path

import pytest

import hotlap
from hotlap.errors import UsageError
from hotlap.fleet.suite import problems_of, samples_of, suite_name
from hotlap.model import Problem
from tests.cli.factory import problem as made

BASICS = Path(hotlap.__file__).parent / "suites" / "basics"


def problems(*names: str) -> list[Problem]:
    return [made(Path(), suite=name.partition("/")[0], name=name.partition("/")[2]) for name in names]


def files(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("def kernel(): ...\n")
    return folder


def found(suite: list[Problem], folder: Path, most: int | None = None) -> list[tuple[str, str, str]]:
    samples = samples_of(suite, folder, most).samples
    return [(s.problem.name, s.name, str(s.path.relative_to(folder))) for s in samples]


# --- problems --------------------------------------------------------------------------------------


def test_a_bundled_suite_has_its_problems() -> None:
    assert [p.name for p in problems_of("basics")] == ["matmul", "softmax", "sort", "vectoradd"]


@pytest.mark.parametrize("below", ["", "one/"])
def test_a_folder_of_problems_is_a_suite(tmp_path: Path, below: str) -> None:
    for name in ("sort", "softmax"):
        shutil.copytree(BASICS / name, tmp_path / below / name)
    assert [p.name for p in problems_of(str(tmp_path))] == ["softmax", "sort"]
    assert suite_name(str(tmp_path)) == tmp_path.name


def test_one_problem_is_a_suite() -> None:
    assert [p.name for p in problems_of(str(BASICS / "sort"))] == ["sort"]


def test_an_unknown_suite_says_where_to_look() -> None:
    with pytest.raises(UsageError, match="did you mean basics"):
        problems_of("basic")


def test_a_folder_without_problems_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"folders with problem\.toml or task\.yml"):
        problems_of(str(tmp_path))


# --- samples ---------------------------------------------------------------------------------------


def test_a_folder_a_problem(tmp_path: Path) -> None:
    files(tmp_path, "softmax/10.py", "softmax/2.cpp", "sort/mine.cu")
    assert found(problems("basics/softmax", "basics/sort"), tmp_path) == [
        ("softmax", "2", "softmax/2.cpp"),
        ("softmax", "10", "softmax/10.py"),
        ("sort", "mine", "sort/mine.cu"),
    ]


def test_a_file_a_sample_belongs_to_the_longest_name_that_fits(tmp_path: Path) -> None:
    files(tmp_path, "softmax_0.py", "softmax_backward_0.py", "softmax_backward_two_words.py")
    assert found(problems("a/softmax", "a/softmax_backward"), tmp_path) == [
        ("softmax", "0", "softmax_0.py"),
        ("softmax_backward", "0", "softmax_backward_0.py"),
        ("softmax_backward", "two_words", "softmax_backward_two_words.py"),
    ]


def test_names_of_kernelbench_say_level_and_number(tmp_path: Path) -> None:
    suite = problems("level1/3_Batched", "level2/3_Gemm", "level2/12_Conv")
    files(
        tmp_path,
        "level_2_problem_12_sample_0_kernel.py",
        "level_1_problem_3_sample_1_kernel.py",
        "level_2_problem_4_sample_0_kernel.py",
    )
    assert [(name, sample) for name, sample, _ in found(suite, tmp_path)] == [
        ("3_Batched", "1"),
        ("12_Conv", "0"),
    ]
    assert [path.name for path in samples_of(suite, tmp_path).strays] == [
        "level_2_problem_4_sample_0_kernel.py"
    ]


def test_problems_without_numbers_are_counted_from_one(tmp_path: Path) -> None:
    files(tmp_path, "level_1_problem_2_sample_0_kernel.py")
    assert [name for name, _, _ in found(problems("basics/softmax", "basics/sort"), tmp_path)] == ["sort"]


def test_problems_of_the_same_name_are_called_by_their_suite(tmp_path: Path) -> None:
    suite = problems("a/softmax", "b/softmax")
    files(tmp_path, "a.softmax/0.py", "b.softmax_1.py", "softmax_2.py")
    assert [(s.problem.suite, s.name) for s in samples_of(suite, tmp_path).samples] == [
        ("a", "0"),
        ("b", "1"),
    ]
    assert [path.name for path in samples_of(suite, tmp_path).strays] == ["softmax_2.py"]


def test_files_that_differ_in_their_ending_alone_are_called_by_it(tmp_path: Path) -> None:
    files(tmp_path, "sort/fast.py", "sort/fast.cpp", "sort/slow.py")
    assert [name for _, name, _ in found(problems("a/sort"), tmp_path)] == ["fast.cpp", "fast.py", "slow"]


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    files(tmp_path, "sort/0.py", "a.sort/0.py")
    with pytest.raises(UsageError, match=r"two files are sample 0\.py of sort"):
        samples_of(problems("a/sort"), tmp_path)


def test_the_first_samples_are_taken(tmp_path: Path) -> None:
    files(tmp_path, "sort/0.py", "sort/1.py", "sort/10.py", "sort/2.py")
    assert [name for _, name, _ in found(problems("a/sort"), tmp_path, 3)] == ["0", "1", "2"]


def test_what_is_no_kernel_is_no_stray(tmp_path: Path) -> None:
    files(tmp_path, "sort_0.py", "notes.md", "other_0.py")
    assert [path.name for path in samples_of(problems("a/sort"), tmp_path).strays] == ["other_0.py"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("absent", "no such folder"), ("file", "is not a folder"), ("empty", "0 kernels, none")],
)
def test_a_folder_without_samples_says_what_is_allowed(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=rf"{said}.*level_L_problem_P_sample_S_kernel"):
        samples_of(problems("a/sort"), tmp_path / name)
