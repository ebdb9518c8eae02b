"""KernelBench's files: what is written keeps its meaning, what is read gives the same table."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from hotlap.errors import UsageError
from hotlap.fleet import exchange
from hotlap.fleet.results import Estimate, SuiteHeader, SuiteRow, report
from hotlap.model import Status
from tests.fleet.factory import header, rejected, row

LEVEL1 = ("level1/1_Square_@a", "level1/2_Standard@b", "level1/3_Batched@c", "level1/10_Relu@d")
PROTOCOL = {"sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats"}


def some_rows() -> list[SuiteRow]:
    return [
        row(LEVEL1[0], "0", 2.0, baseline_ns={"default": 200_000.0}),
        rejected(LEVEL1[0], "1"),
        rejected(LEVEL1[1], "0", Status.failed, compiled=False, reason="does not compile"),
        rejected(LEVEL1[2], "0", Status.void),
    ]


def written(folder: Path, given: SuiteHeader, rows: list[SuiteRow]) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): json.loads(path.read_text())
        for path in exchange.write(given, rows, folder)
    }


def test_results_are_by_number_with_what_their_scripts_read(tmp_path: Path) -> None:
    results = written(tmp_path, header(*LEVEL1), some_rows())["level1/eval_results.json"]
    assert list(results) == ["1", "2", "3"]
    assert all(set(sample) == PROTOCOL for samples in results.values() for sample in samples)
    first = results["1"][0]
    assert (first["sample_id"], first["compiled"], first["correctness"]) == (0, True, True)
    assert (results["2"][0]["compiled"], results["2"][0]["correctness"], results["2"][0]["runtime"]) == (
        False,
        False,
        -1.0,
    )
    assert results["2"][0]["metadata"]["error"] == "does not compile"


def test_times_are_milliseconds_whose_ratio_is_the_paired_speedup(tmp_path: Path) -> None:
    files = written(tmp_path, header(*LEVEL1), some_rows())
    baseline = files["baseline_time_default.json"]["level1"]["1_Square_.py"]
    assert baseline["mean"] == pytest.approx(0.2)
    assert baseline["mean"] / files["level1/eval_results.json"]["1"][0]["runtime"] == pytest.approx(2.0)


def test_every_problem_is_in_the_baseline_file_though_its_time_is_unknown(tmp_path: Path) -> None:
    times = written(tmp_path, header(*LEVEL1), some_rows())["baseline_time_default.json"]["level1"]
    assert list(times) == ["1_Square_.py", "2_Standard.py", "3_Batched.py", "10_Relu.py"]
    assert times["10_Relu.py"]["mean"] is None


def test_problems_without_numbers_are_counted_and_samples_without_too(tmp_path: Path) -> None:
    given = header("basics/softmax@1", "basics/sort@2", "llm/rope@3")
    rows = [row("basics/sort@2", "fast"), row("basics/sort@2", "slow"), row("llm/rope@3", "7")]
    files = written(tmp_path, given, rows)
    assert [s["sample_id"] for s in files["level1/eval_results.json"]["2"]] == [0, 1]
    assert [s["sample_id"] for s in files["level2/eval_results.json"]["1"]] == [7]
    assert list(files["baseline_time_default.json"]["level1"]) == ["1_softmax.py", "2_sort.py"]


def test_two_problems_of_one_number_are_refused(tmp_path: Path) -> None:
    given = header("level1/1_a@x", "level1/1_b@x")
    with pytest.raises(UsageError, match="would both be problem 1 of level 1"):
        exchange.write(given, [], tmp_path)


@pytest.mark.parametrize("with_times", [False, True])
def test_what_was_written_gives_the_same_table_again(tmp_path: Path, with_times: bool) -> None:
    rows = some_rows()
    exchange.write(header(*LEVEL1), rows, tmp_path)
    times = {"default": tmp_path / "baseline_time_default.json"} if with_times else {}
    read = exchange.read(tmp_path / "level1" / exchange.RESULTS, times)
    before, after = report(header(*LEVEL1), rows), report(*read)
    assert after.groups == before.groups
    assert after.notes == before.notes


def test_the_run_comes_back_row_by_row(tmp_path: Path) -> None:
    exchange.write(header(*LEVEL1), some_rows(), tmp_path)
    assert exchange.read(tmp_path / "level1" / exchange.RESULTS, {}) == (header(*LEVEL1), some_rows())


def theirs(tmp_path: Path, samples: dict[str, Any], times: dict[str, Any]) -> tuple[Path, Path]:
    results, baseline = tmp_path / "eval_results.json", tmp_path / "baseline_time_torch.json"
    results.write_text(json.dumps(samples))
    baseline.write_text(json.dumps(times))
    return results, baseline


def sample(correct: bool = True, runtime: float = 1.0, **changes: Any) -> dict[str, Any]:
    made = {"sample_id": 0, "compiled": True, "correctness": correct, "metadata": {}, "runtime": runtime}
    return made | {"runtime_stats": {"mean": runtime, "std": 0.01}} | changes


def test_their_files_give_a_table_of_every_problem_in_either(tmp_path: Path) -> None:
    samples = {
        "1": [sample(runtime=1.0)],
        "2": [sample(runtime=2.0)],
        "3": [sample(False, -1.0, compiled=False)],
        "5": [sample(False, -1.0)],
    }
    times = {
        "level1": {f"{n}_P.py": {"mean": 2.0} for n in (1, 2, 3, 4)},
        "level2": {"1_P.py": {"mean": 9.0}},
    }
    results, baseline = theirs(tmp_path, samples, times)
    given, rows = exchange.read(results, {exchange.times_name(baseline): baseline}, 1)
    table = report(given, rows, [0.0, 1.0, 1.5]).groups[0]
    assert (table.problems, table.wrong, table.failed, table.missing) == (5, 1, 1, 1)
    assert [one.share and one.share.share for one in table.against[0].fast_p] == [2 / 5, 1 / 5, 1 / 5]
    assert [one.sure for one in table.against[0].fast_p][1] is None
    assert rows[0].speedups == {"torch": Estimate(2.0, None, None)}


def test_a_sample_without_a_time_is_correct_and_has_no_speedup(tmp_path: Path) -> None:
    results, baseline = theirs(tmp_path, {"1": sample(runtime=-1.0)}, {"level1": {"1_P.py": {"mean": 2.0}}})
    _, rows = exchange.read(results, {"torch": baseline})
    assert (rows[0].status, rows[0].speedups, rows[0].time_ns) == (Status.accepted, {}, None)


@pytest.mark.parametrize("mean", [None, -1.0, 0, math.inf, math.nan, "fast", True])
def test_a_mean_that_is_no_time_is_none(tmp_path: Path, mean: object) -> None:
    results, baseline = theirs(tmp_path, {"1": [sample()]}, {"level1": {"1_P.py": {"mean": mean}}})
    assert exchange.read(results, {"torch": baseline})[1][0].speedups == {}


@pytest.mark.parametrize(
    ("samples", "times", "said"),
    [
        ([], {}, "expected an object"),
        ({}, {}, "holds no problem"),
        ({"level1": {}}, {}, "'level1': expected a problem number"),
        ({"1": [{"runtime": 1}]}, {}, "'1': expected a problem number with samples"),
        ({"1": [sample()]}, {"level1": {}, "level2": {}}, "holds level1, level2; say which with --level N"),
        ({"1": [sample()]}, {}, "holds no level"),
        ({"1": [sample()]}, {"level1": {"Relu.py": {}}}, "'Relu.py': expected NUMBER_NAME.py"),
    ],
)
def test_a_file_of_another_kind_says_what_was_expected(
    tmp_path: Path, samples: Any, times: Any, said: str
) -> None:
    results, baseline = theirs(tmp_path, samples, times)
    with pytest.raises(UsageError, match=said):
        exchange.read(results, {"torch": baseline})


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "eval_results.json").write_text("{")
    with pytest.raises(UsageError, match="not JSON"):
        exchange.read(tmp_path / "eval_results.json", {})
