"""`check`: how a replay is named, and what is told of it."""

from pathlib import Path

import pytest

from hotlap.cli.check import parse_replay, replay_summary, told
from hotlap.cli.main import dispatch
from hotlap.errors import UsageError


@pytest.mark.parametrize(("named", "parsed"), [("01JD", ("01JD", None)), ("01JD:2", ("01JD", 2))])
def test_a_replay_names_a_run_and_perhaps_a_workload(named: str, parsed: tuple[str, int | None]) -> None:
    assert parse_replay(named) == parsed


@pytest.mark.parametrize("named", ["", ":2", "01JD:", "01JD:two", "01JD:-1"])
def test_a_replay_that_names_neither_is_a_usage_error(named: str) -> None:
    with pytest.raises(UsageError, match="RUN:WORKLOAD"):
        parse_replay(named)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check"], "no kernel named"),
        (["check", "--replay", "01JD", "basics/sort"], "leave 'basics/sort' out"),
        (["check", "kernel.py", "--out", "here"], "--out belongs to --replay"),
        (["check", "basics/sort", "absent.py"], "absent.py"),
    ],
)
def test_a_check_that_cannot_be_made_says_why(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(("wrong", "says"), [(None, "right this time"), ("y differs", "wrong: y differs")])
def test_a_replay_tells_which_call_and_where_its_tensors_are(wrong: str | None, says: str) -> None:
    from hotlap.referee.replay import ReplayResult

    result = ReplayResult("01JD", "basics/sort@1", 2, {"n": 7}, 3, 4, wrong, (Path("replay/x.npy"),))
    assert says in told(result)
    assert "workload 2 (n=7), round 3, call 4" in told(result)
    assert "  replay/x.npy" in told(result)
    assert replay_summary(result)["files"] == ["replay/x.npy"]
