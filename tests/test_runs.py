"""Stored runs: for their owner alone, found by an id that sorts by time, the newest kept."""

import stat
import time
from pathlib import Path

import pytest

from hotlap import runs
from hotlap.errors import UsageError
from tests.run_factory import run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOTLAP_HOME", str(tmp_path / "store"))
    return tmp_path / "store"


def test_a_run_reads_back_as_it_was_saved(home: Path) -> None:
    saved = run(id=runs.new_id())
    assert runs.save(saved) == home / "runs" / f"{saved.id}.json"
    assert runs.load(saved.id) == saved


def test_only_the_owner_can_read_a_run(home: Path) -> None:
    path = runs.save(run())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]  # and no half-written file beside it


def test_saving_again_replaces(home: Path) -> None:
    runs.save(run(style="out"))
    runs.save(run(style="returns"))
    assert runs.load(run().id).style == "returns"


@pytest.mark.parametrize("unknown", ["01JD3W8Q4M", "", "../secret", "a/b", "*", "01JD3W8Q4N.json"])
def test_an_unknown_id_is_a_usage_error_that_names_the_folder(home: Path, unknown: str) -> None:
    runs.save(run())
    (home / "secret.json").write_text("{}")
    with pytest.raises(UsageError, match=str(home / "runs")):
        runs.load(unknown)


def test_a_damaged_file_is_a_usage_error(home: Path) -> None:
    runs.save(run()).write_text("{half")
    with pytest.raises(UsageError):
        runs.load(run().id)


def test_the_newest_500_are_kept(home: Path) -> None:
    folder = home / "runs"
    folder.mkdir(parents=True)
    for number in range(runs.KEPT + 3):
        (folder / f"00{number:024}.json").write_text("{}")
    newest = runs.save(run(id=runs.new_id()))
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == runs.KEPT == 500
    assert names[0] == f"00{4:024}.json"
    assert newest.name in names


def test_ids_sort_by_time_and_are_never_the_same() -> None:
    made = []
    for _ in range(20):
        made.append(runs.new_id())
        time.sleep(0.0015)
    assert made == sorted(made)
    many = {runs.new_id() for _ in range(2000)}
    assert len(many) == 2000


def test_an_id_is_26_letters_of_crockford_s_base_32() -> None:
    made = runs.new_id()
    assert len(made) == 26
    assert set(made) <= set(runs.CROCKFORD)
    milliseconds = sum(runs.CROCKFORD.index(c) * 32**i for i, c in enumerate(reversed(made))) >> 80
    assert abs(milliseconds / 1000 - time.time()) < 60


def test_the_store_is_under_hotlap_home_else_under_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOTLAP_HOME", "/somewhere/store")
    assert runs.home() == Path("/somewhere/store")
    monkeypatch.delenv("HOTLAP_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert runs.home() == Path("/data/hotlap")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/users/ada")
    assert runs.home() == Path("/users/ada/.local/share/hotlap")
