"""`hotlap run --plot` and `--report`: refused before judging where they cannot be written, written after."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hotlap
from hotlap.cli.main import dispatch
from hotlap.cli.report import Papers, plan, stored_run, write
from hotlap.errors import UsageError
from hotlap.model import Status
from tests.cli import factory

STARTER = Path(hotlap.__file__).parent / "suites" / "basics" / "vectoradd" / "starter" / "kernel.cpp"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("plot", "papers"),
    [
        ("a.png", Papers(picture=Path("a.png"))),
        ("a.SVG", Papers(picture=Path("a.SVG"))),
        (".", Papers(prefix="./")),
        ("softmax", Papers(prefix="softmax-")),
        ("softmax.v2", Papers(prefix="softmax.v2-")),
    ],
)
def test_the_path_says_what_is_drawn(plot: str, papers: Papers) -> None:
    assert plan(plot, None) == papers


def test_a_folder_holds_the_charts_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert plan("out", None) == plan("out/", None) == Papers(prefix="out/")


def test_a_page_and_pictures_may_be_asked_for_together() -> None:
    assert plan("a.png", Path("a.html")) == Papers(picture=Path("a.png"), page=Path("a.html"))
    assert plan(None, None) == Papers()


@pytest.mark.parametrize(
    ("plot", "page", "message"),
    [
        ("nowhere/a.png", None, "there is no such folder"),
        ("nowhere/", None, "there is no such folder"),
        ("nowhere/softmax", None, "there is no such folder"),
        ("file/a.png", None, "is not a folder"),
        ("a.pdf", None, "ending .pdf is not known. Allowed: .png, .svg"),
        ("folder.png", None, "is a folder"),
        (None, "nowhere/a.html", "there is no such folder"),
        (None, "folder.html", "is a folder"),
        (None, "a.png", "a page ends in .html"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_before_judging(
    plot: str | None, page: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").touch()
    Path("folder.png").mkdir()
    Path("folder.html").mkdir()
    wanted = [*(["--plot", plot] if plot else []), *(["--report", page] if page else [])]
    assert dispatch(["run", "basics/vectoradd", str(STARTER), *wanted]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(UsageError, match="cannot be written"):
        plan("closed/a.png", None)


@pytest.mark.parametrize("option", [["--plot", "a.png"], ["--report", "a.html"]])
def test_without_matplotlib_the_install_line_is_given_before_judging(option: list[str]) -> None:
    code = (
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'matplotlib' else find(name, *more)\n"
        "from hotlap.cli.main import main; main()"
    )
    command = [sys.executable, "-c", code, "run", "basics/vectoradd", str(STARTER), *option]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "pip install 'hotlap[plots]'" in done.stderr
    assert done.stdout == ""


def test_a_run_draws_and_reports_and_keeps_stdout_for_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = dispatch(
        ["run", "basics/vectoradd", str(STARTER), "--plot", "add", "--report", "add.html", "--json"]
    )
    out, err = capsys.readouterr()
    assert code == 0, err
    given = json.loads(out)
    page = Path("add.html").read_text(encoding="utf-8")
    assert given["run"] in page
    assert "kernel.cpp" in page
    assert page.count("<svg") == 6
    names = {"add.html"} | {
        f"add-{name}{suffix}"
        for name in ("roofline", "intervals", "distribution")
        for suffix in (".png", ".svg", ".csv")
    }
    assert {path.name for path in Path().iterdir()} == names
    assert {line.removeprefix("wrote ") for line in err.splitlines() if line.startswith("wrote ")} == names


def test_a_verdict_without_times_gets_a_page_and_says_why_there_is_no_chart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    verdict = factory.rejected(Status.wrong, "y[0] is 1", workloads=(factory.untimed(status="wrong"),))
    write(plan("a.png", Path("a.html")), verdict)
    err = capsys.readouterr().err
    assert "no chart of roofline, intervals, distribution: the run is wrong" in err
    assert "wrote a.html" in err
    assert not Path("a.png").exists()


def test_a_run_that_is_not_stored_is_no_failure() -> None:
    assert stored_run(factory.accepted()) is None


def test_a_file_that_cannot_be_written_after_all_is_named() -> None:
    papers = plan(None, Path("a.html"))
    Path("a.html").mkdir()
    with pytest.raises(UsageError, match=r"a\.html: cannot be written"):
        write(papers, factory.accepted())
