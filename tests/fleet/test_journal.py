"""The journal: rows survive a kill, and rows of one table are of one kind."""

from dataclasses import replace
from pathlib import Path

import pytest

from hotlap.errors import UsageError
from hotlap.fleet import journal
from hotlap.fleet.results import SuiteHeader
from tests.fleet.factory import PROBLEMS, header, rejected, row
from tests.run_factory import CPU, GPU


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [row(PROBLEMS[0]), rejected(PROBLEMS[1], reason="n=7: größe \x1b[31m")]
    with journal.opened(tmp_path / "new" / "folder", header()) as book:
        for each in rows:
            book.append(each)
    assert journal.read(tmp_path / "new" / "folder") == (header(), rows)


def test_a_later_run_finds_the_rows_of_the_first(tmp_path: Path) -> None:
    with journal.opened(tmp_path, header()) as book:
        book.append(row())
    with journal.opened(tmp_path, replace(header(), started_at="later")) as book:
        assert (book.header, book.rows) == (header(), [row()])


@pytest.mark.parametrize("kept", range(0, 400, 37))
def test_a_line_that_was_cut_short_is_dropped(tmp_path: Path, kept: int) -> None:
    with journal.opened(tmp_path, header()) as book:
        book.append(row(sample="0"))
        whole = (tmp_path / journal.NAME).read_bytes()
        book.append(row(sample="1"))
    torn = (tmp_path / journal.NAME).read_bytes()[: len(whole) + kept]
    (tmp_path / journal.NAME).write_bytes(torn)
    assert [each.sample for each in journal.read(tmp_path)[1]] == ["0"]
    with journal.opened(tmp_path, header()) as book:
        book.append(row(sample="1"))
    assert [each.sample for each in journal.read(tmp_path)[1]] == ["0", "1"]


@pytest.mark.parametrize("content", [b"", b'{"schema": "hotlap.suiteh'])
def test_a_journal_whose_header_was_cut_short_begins_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / journal.NAME).write_bytes(content)
    with journal.opened(tmp_path, header()) as book:
        assert book.rows == []
    assert journal.read(tmp_path) == (header(), [])


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (header(*PROBLEMS[:3]), r"other problems or versions \(basics/vectoradd@4\)"),
        (header(*PROBLEMS[:3], "basics/vectoradd@5"), r"basics/vectoradd@4, basics/vectoradd@5"),
        (header(*reversed(PROBLEMS)), r"their order"),
        (header(hotlap_version="0.2.0"), r"hotlap_version 0\.1\.0, and this run has 0\.2\.0"),
        (header(baselines=("compiled",)), r"baselines \('default',\), and this run has \('compiled',\)"),
        (header(samples=4), r"samples None, and this run has 4"),
        (header(device=GPU), r"begun on .*Example CPU.*, and this device is .*Example GPU"),
        (header(device=replace(CPU, driver="6.9")), r"6\.1.*6\.9"),
    ],
)
def test_a_journal_of_another_kind_is_refused(tmp_path: Path, now: SuiteHeader, said: str) -> None:
    with journal.opened(tmp_path, header()) as book:
        book.append(row())
    with pytest.raises(UsageError, match=said), journal.opened(tmp_path, now):
        pass
    assert journal.read(tmp_path) == (header(), [row()])


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    with (
        journal.opened(tmp_path, header()),
        pytest.raises(UsageError, match="another process writes it"),
        journal.opened(tmp_path, header()),
    ):
        pass


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nonsense\n", "line 3: hotlap.suiterow/1: not a JSON document"),
        (
            b'{"schema": "hotlap.suiterow/2"}\n',
            "line 3: schema hotlap.suiterow/2 was written by a newer hotlap",
        ),
        (b'{"schema": "hotlap.suiterow/1"}\n', "line 3"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: bytes, said: str) -> None:
    with journal.opened(tmp_path, header()) as book:
        book.append(row())
    with (tmp_path / journal.NAME).open("ab") as file:
        file.write(line)
    with pytest.raises(UsageError, match=said):
        journal.read(tmp_path)


def test_a_sample_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with journal.opened(tmp_path, header()) as book:
        book.append(row())
        book.append(row())
    with pytest.raises(UsageError, match="line 3: basics/matmul@1, sample 0 is there twice"):
        journal.read(tmp_path)


def test_a_folder_without_a_journal_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name the folder that `hotlap suite run --out` wrote"):
        journal.read(tmp_path)


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written"), journal.opened(tmp_path / "out", header()):
        pass


@pytest.mark.parametrize(
    "content", [b"not ours", b"line 1\nline 2 without an end", b"{}\n", b'{"schema": "x"']
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    (tmp_path / journal.NAME).write_bytes(content)
    with pytest.raises(UsageError), journal.opened(tmp_path, header()):
        pass
    assert (tmp_path / journal.NAME).read_bytes() == content


def test_a_journal_is_a_file_and_not_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("line 1\nline 2")
    (tmp_path / journal.NAME).symlink_to(tmp_path / "precious.txt")
    with pytest.raises(UsageError), journal.opened(tmp_path, header()):
        pass
    assert (tmp_path / "precious.txt").read_text() == "line 1\nline 2"
