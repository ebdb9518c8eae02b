"""`hotlap question`: one markdown file that experts can answer, and that tells nothing it must not."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap.cli.main import dispatch
from hotlap.cli.question import (
    brief,
    commands,
    facts,
    fenced,
    machine,
    markdown,
    quoted,
    read_verdict,
    without_paths,
)
from hotlap.cli.target import Target
from hotlap.errors import UsageError
from hotlap.model import Kind, Status, Submission
from hotlap.runs import home
from hotlap.schema import to_json
from tests.cli.factory import GPU, accepted, problem, rejected, untimed
from tests.profiling.test_summary import on_gpu
from tests.referee.scaled import cpp, write_scaled

SOURCE = "def kernel(x, scale):\n    return x\n"
SUBMISSION = Submission("kernel.py", SOURCE, "python", "ab" * 32)
HEADINGS = ["What I tried and what I expect", "Problem", "Kernel: kernel.py", "Verdict", "Profile", "Machine"]


def written(tmp_path: Path, source: str = SOURCE, **changes: object) -> str:
    return markdown(
        problem(tmp_path),
        replace(SUBMISSION, source=source),
        accepted(**changes),
        on_gpu(),
        ["hotlap run basics/softmax kernel.py"],
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("kernel.py", "basics/softmax kernel.py --device"),
        ("a $(touch x) `y`.py", "basics/softmax 'a $(touch x) `y`.py' --device"),
        ("-v.py", "basics/softmax ./-v.py --device"),
    ],
)
def test_commands_to_reproduce_it_quote_the_files_name(tmp_path: Path, name: str, shown: str) -> None:
    target = Target("basics/softmax", tmp_path / name)
    given = commands(target, problem(tmp_path), accepted())
    assert shown in given[-1]
    assert not any(line.startswith("pip") for line in given)


# --- the document ----------------------------------------------------------------------------------


def test_it_has_everything_that_experts_ask_for(tmp_path: Path) -> None:
    text = written(tmp_path)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [*HEADINGS, "Reproduce"]
    assert SOURCE.strip() in text
    assert "basics/softmax@3f2a9c1b77de" in text
    assert "bottleneck  memory: DRAM at 90 % of its peak" in text
    assert "speedup over the baseline: 1.42x" in text
    assert "hotlap run basics/softmax kernel.py" in text


def test_hidden_workloads_are_redacted(tmp_path: Path) -> None:
    secret = untimed(Kind.hidden, axes={"rows": 31337, "cols": 4242}, error_over_tolerance=0.7654)
    text = written(tmp_path, workloads=(secret,))
    assert not re.search("31337|4242|0.77", text)
    assert "hidden" in text


def test_nothing_names_this_machines_home_or_data(tmp_path: Path) -> None:
    lost = f"{Path.home()}/secret-project/kernel.py and {home()}/runs/01JD.json"
    text = written(tmp_path, detail=lost, output=lost)
    assert str(home()) not in text
    assert str(Path.home()) not in text
    assert "~/secret-project/kernel.py" in text


@pytest.mark.parametrize("source", ["```\nx\n```", "`````\n", "a ```` b", "no fence"])
def test_no_source_can_close_its_block(source: str) -> None:
    first, *body, last = fenced(source, "python").splitlines()
    assert first == f"{last}python"
    assert set(last) == {"`"}
    assert len(last) >= 3
    assert all(last not in line for line in body)


def test_escapes_in_a_source_reach_nobodys_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in written(tmp_path, source="x = '\x1b[31m'\n")


def test_a_kernel_without_a_score_tells_why(tmp_path: Path) -> None:
    text = "\n".join(facts(rejected(Status.wrong, "y differs")))
    assert "status: wrong: y differs" in text
    assert "no score: the run is wrong" in text


def test_a_kernel_that_fails_is_not_profiled(tmp_path: Path) -> None:
    text = markdown(problem(tmp_path), SUBMISSION, rejected(Status.failed, "raised"), None, [])
    assert "Not profiled: the kernel fails." in text


def test_a_gpu_has_its_capability_and_cuda() -> None:
    assert any("compute capability 9.0, CUDA 13.0" in line for line in machine(GPU, "0.1.0"))


def test_a_statement_is_cut_between_paragraphs_and_keeps_no_empty_heading() -> None:
    statement = "# Title\n\nFirst.\n\n## Next\n\n" + "x" * 2000
    assert brief(statement) == "First.\n\n…"
    assert brief("# Title\n\nShort.") == "Short."
    assert brief("") == ""


def test_a_quotation_keeps_its_lines() -> None:
    assert quoted("a\n\nb") == "> a\n>\n> b"


@pytest.mark.parametrize("text", ["", "rootless /rooted/x", "see /homeless"])
def test_paths_of_others_stay(text: str) -> None:
    assert without_paths(text) == text


# --- the command -----------------------------------------------------------------------------------


def test_a_verdict_of_another_file_or_problem_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(to_json(accepted()))
    given = problem(tmp_path)
    assert read_verdict(path, given, SUBMISSION) == accepted()
    with pytest.raises(UsageError, match="leave --verdict out"):
        read_verdict(path, given, replace(SUBMISSION, sha256="cd" * 32))
    with pytest.raises(UsageError, match="leave --verdict out"):
        read_verdict(path, replace(given, version="other"), SUBMISSION)


@pytest.mark.parametrize("content", ["", "{}", '{"schema": "hotlap.duel/1"}'])
def test_a_file_that_is_no_verdict_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"hotlap\.verdict/1"):
        read_verdict(path, problem(tmp_path), SUBMISSION)


def test_a_question_is_asked_with_a_verdict_that_is_there_already(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, kernel = str(write_scaled(tmp_path)), tmp_path / "kernel.cpp"
    kernel.write_text(cpp())
    dispatch(["check", folder, str(kernel), "--json"])
    (tmp_path / "verdict.json").write_text(capsys.readouterr().out)
    out = tmp_path / "question.md"
    arguments = ["question", folder, str(kernel), "--verdict", str(tmp_path / "verdict.json")]
    assert dispatch([*arguments, "--out", str(out), "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert (given["schema"], given["file"]) == ("hotlap.question/1", str(out))
    assert given["markdown"] == out.read_text()
    assert "status: accepted" in out.read_text()
    assert dispatch([*arguments, "--out", str(out)]) == 2
    assert "exists and is not overwritten" in capsys.readouterr().err


def test_a_verdict_that_cannot_be_read_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, kernel = str(write_scaled(tmp_path)), tmp_path / "kernel.cpp"
    kernel.write_text(cpp())
    arguments = ["question", folder, str(kernel), "--verdict", str(tmp_path / "absent.json"), "--out", "-"]
    assert dispatch(arguments) == 2
    assert "absent.json: cannot be read" in capsys.readouterr().err
