"""`hotlap duel`: its line, its JSON, its exit codes."""

import json
from pathlib import Path

import pytest

from hotlap.cli.duel import line, parsed_margin, ranking, result
from hotlap.cli.main import dispatch
from hotlap.errors import UsageError
from hotlap.model import Duel, DuelWorkload, Outcome, SubmissionInfo, Trust
from hotlap.problems.find import find
from tests.cli.factory import accepted

SOLUTIONS = find("basics/softmax").folder / "solutions"
A, B = SOLUTIONS / "correct" / "torch_out.py", SOLUTIONS / "correct" / "vector_exp.cpp"


def record(verdict: Outcome, effect: float | None, ci: tuple[float, float] | None, **changes: object) -> Duel:
    infos = [SubmissionInfo("0", name, "python", None, None) for name in ("a.py", "b.py")]
    faster = None if verdict is not Outcome.decided or effect is None else "a" if effect > 0 else "b"
    fields = {
        "verdict": verdict,
        "faster": faster,
        "a": infos[0],
        "b": infos[1],
        "effect": effect,
        "ci": ci,
        "margin": 0.0005,
        "calibrated": True,
        "floor95": 0.0002,
        "tier": "duel",
        "level": 0.96,
        "pairs": 6,
        "pairs_in_all": 9,
        "gpu_s": 1.5,
        "total_s": 12.0,
        "workloads": (),
        "reason": None,
        "notes": (),
        "problem": "basics/softmax@1",
        "device": accepted().device,
        "trust": Trust.referee_host,
        "started_at": "2026-11-30T12:00:00+00:00",
        "hotlap_version": "0",
    }
    return Duel(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            record(Outcome.decided, 0.0123, (0.0119, 0.0127)),
            "decided  b.py is 1.24 % slower than a.py [1.20 %, 1.28 %]",
        ),
        (
            record(Outcome.decided, -0.0123, (-0.0127, -0.0119)),
            "decided  a.py is 1.24 % slower than b.py [1.20 %, 1.28 %]",
        ),
        (
            record(Outcome.equivalent, 0.0001, (-0.0002, 0.0003)),
            "equivalent  a.py and b.py take the same time within 0.05 %: "
            "b.py 0.010 % longer [-0.020 %, 0.030 %]",
        ),
        (
            record(Outcome.unresolved, 0.001, (-0.002, 0.004)),
            "unresolved  b.py takes 0.10 % longer than a.py [-0.20 %, 0.40 %], which may be nothing",
        ),
        (
            record(Outcome.void, None, None, reason="the GPU is in use"),
            "void  a.py and b.py were not compared  (the GPU is in use)",
        ),
    ],
)
def test_one_line_says_who_is_faster_by_how_much_and_how_sure(given: Duel, said: str) -> None:
    assert line(given).plain == said


def test_markup_in_a_name_is_shown_as_it_is() -> None:
    a = SubmissionInfo("0", "[red]a.py", "python", None, None)
    assert "[red]a.py" in line(record(Outcome.unresolved, None, None, a=a)).plain


def test_two_files_of_one_name_are_told_apart() -> None:
    a = SubmissionInfo("0", "k.py", "python", None, None)
    assert (
        "b (k.py) is 1.24 % slower than a (k.py)"
        in line(record(Outcome.decided, 0.0123, (0.0119, 0.0127), a=a, b=a)).plain
    )


def test_details_name_the_margin_the_floor_and_what_was_spent() -> None:
    workload = DuelWorkload({"n": 4}, Outcome.decided, "a", 0.01, (0.009, 0.011), 1000.0, 1010.0, 10)
    from hotlap.cli.console import stdout

    console = stdout()
    with console.capture() as capture:
        console.print(result(record(Outcome.decided, 0.01, (0.009, 0.011), workloads=(workload,))))
    text = capture.get()
    assert "n=4" in text
    assert "a is faster" in text
    assert (
        "tier duel · 6 pairs of processes (9 in all tiers) · 1.50 CPU-seconds timed · 12.0 s in all" in text
    )
    assert "margin 0.05 % · this machine's floor95 is 0.02 % (hotlap calibrate)" in text


@pytest.mark.parametrize(("given", "margin"), [("0.1%", 0.001), ("0.1 %", 0.001), (None, None)])
def test_a_margin_is_in_per_cent(given: str | None, margin: float | None) -> None:
    assert parsed_margin(given) == pytest.approx(margin) if margin else parsed_margin(given) is None


@pytest.mark.parametrize("given", ["", "%", "-1%", "0%", "0.1", "200%", "nan", "nan%", "fast"])
def test_another_margin_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(UsageError, match=r"give one such as 0\.1%"):
        parsed_margin(given)


def test_places_that_are_not_told_apart_are_shared() -> None:
    table = ranking(["a.py", "b.py", "c.py"], [(2, 3), (1, 1), (2, 3)])
    assert list(table.columns[0].cells) == ["1", "2-3", "2-3"]


# --- the command -----------------------------------------------------------------------------------


def test_identical_files_exit_with_0_and_one_json_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.py"
    copy.write_text(A.read_text())
    assert dispatch(["duel", "basics/softmax", str(A), str(copy), "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert (given["schema"], given["verdict"], given["faster"]) == ("hotlap.duel/1", "equivalent", None)


def test_a_wrong_kernel_exits_with_1_and_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = SOLUTIONS / "wrong" / "no_max.py"
    assert dispatch(["duel", "basics/softmax", str(A), str(wrong), "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == "wrong"
    assert "b (no_max.py) is not accepted" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([str(A)], "two kernels or more"),
        ([str(A), "nowhere.py"], "nowhere.py"),
        ([str(A), str(B), "--margin", "0.01%"], "too fine"),
        ([str(A), str(B), "--tier", "finale"], "finale"),
    ],
)
def test_usage_errors_exit_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(["duel", "basics/softmax", *arguments]) == 2
    assert message in capsys.readouterr().err
