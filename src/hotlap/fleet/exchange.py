"""KernelBench's files: its evaluation results and its baseline times, written and read.

`eval_results.json` holds, by problem number, a list of samples: sample_id, compiled, correctness, metadata,
runtime, runtime_stats; a baseline file holds mean, std, min, max, num_trials, hardware, device by level and
problem name. Times there are milliseconds, and -1 stands for none.

What is written keeps their meaning, with three things to know:
- `runtime` is the baseline's time over the paired speedup, so that their division gives back what was
  measured in pairs; the time of the sample itself stands beside it.
- A problem whose baseline was never timed (no sample was right) has `mean` null in the baseline file: left
  out, it would leave the denominator too.
- All of a row stands under `hotlap` in the metadata, and the header beside the file, so that what was written
  here is read back without loss.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap import schema
from hotlap.errors import UsageError
from hotlap.fleet.results import Estimate, SuiteHeader, SuiteRow, group_name
from hotlap.model import Fault, Status
from hotlap.stats.geomean import geomean

RESULTS = "eval_results.json"
HEADER = "hotlap_suite.json"  # beside it: what was to be judged, which theirs do not say
OURS = "hotlap"
NOT_TIMED = -1.0  # theirs
_NS = 1e6  # a millisecond


# --- out -------------------------------------------------------------------------------------------


def numbers(problems: Sequence[str]) -> dict[str, tuple[int, int]]:
    """(level, number) of each problem id, as KernelBench counts.

    The level is the number in the suite's name (level2), else its place among the suites; the number is what
    the problem's name begins with (12_Gemm), else its place in its suite, from 1.
    """
    found: dict[str, tuple[int, int]] = {}
    places: dict[str, int] = {}
    for problem in problems:
        suite = group_name(problem)
        places[suite] = places.get(suite, 0) + 1
        level = re.search(r"level[_-]?(\d+)", suite)
        number = re.match(r"(\d+)_", problem_name(problem))
        found[problem] = (
            int(level[1]) if level else list(places).index(suite) + 1,
            int(number[1]) if number else places[suite],
        )
    return found


def problem_name(problem: str) -> str:
    """The name in suite/name@version."""
    return problem.partition("/")[2].rpartition("@")[0] or problem.partition("/")[2]


def file_name(problem: str, number: int) -> str:
    """The file that KernelBench would keep this problem in: a number, a name, .py."""
    name = problem_name(problem).removesuffix(".py")
    return f"{name}.py" if re.match(r"\d+_", name) else f"{number}_{name}.py"


def eval_results(header: SuiteHeader, rows: Sequence[SuiteRow]) -> dict[int, dict[str, list[dict[str, Any]]]]:
    """Their results, a document a level. Samples are numbered by their names where those are numbers."""
    known = numbers(header.problems)
    first = header.baselines[0]
    means = _means_ms(header, rows, first)
    found: dict[int, dict[str, list[dict[str, Any]]]] = {level: {} for level, _ in known.values()}
    for problem, (level, number) in sorted(known.items(), key=lambda item: item[1]):
        mine = [row for row in rows if row.problem == problem]
        if mine:
            ids = _sample_ids(mine)
            found[level][str(number)] = [
                _result(row, ids[row.sample], means[problem], first, header) for row in mine
            ]
    return found


def _sample_ids(rows: Sequence[SuiteRow]) -> dict[str, int]:
    names = [row.sample for row in rows]
    if all(name.isdecimal() for name in names) and len({int(name) for name in names}) == len(names):
        return {name: int(name) for name in names}
    return {name: place for place, name in enumerate(names)}


def _result(
    row: SuiteRow, sample_id: int, mean_ms: float | None, baseline: str, header: SuiteHeader
) -> dict[str, Any]:
    is_correct = row.status is Status.accepted
    found = row.speedups.get(baseline)
    runtime = mean_ms / found.value if is_correct and found and mean_ms is not None else NOT_TIMED
    stats = {} if runtime == NOT_TIMED else _stats(runtime, row, found)
    metadata: dict[str, Any] = {"hardware": header.device.name if header.device else None}
    if row.reason:
        metadata["error"] = row.reason
    return {
        "sample_id": sample_id,
        "compiled": row.compiled,
        "correctness": is_correct,
        "metadata": metadata | {OURS: schema.to_dict(row)},
        "runtime": runtime,
        "runtime_stats": stats,
    }


def _stats(runtime: float, row: SuiteRow, found: Estimate | None) -> dict[str, Any]:
    """What we know of the time: its mean as above, and the ends of its interval under names of our own."""
    bounds = {}
    if found is not None and found.ci_low is not None and found.ci_high is not None:
        bounds = {
            "ci_low": runtime * found.value / found.ci_high,
            "ci_high": runtime * found.value / found.ci_low,
        }
    measured = {} if row.time_ns is None else {"measured": row.time_ns.value / _NS}
    return {"mean": runtime} | bounds | measured


def baseline_times(header: SuiteHeader, rows: Sequence[SuiteRow], baseline: str) -> dict[str, dict[str, Any]]:
    """Their baseline file for one of our baselines; every problem of the suite is in it."""
    known = numbers(header.problems)
    means = _means_ms(header, rows, baseline)
    found: dict[str, dict[str, Any]] = {}
    for problem, (level, number) in sorted(known.items(), key=lambda item: item[1]):
        found.setdefault(f"level{level}", {})[file_name(problem, number)] = {
            "mean": means[problem],
            "std": None,
            "min": None,
            "max": None,
            "num_trials": sum(baseline in row.baseline_ns for row in rows if row.problem == problem),
            "hardware": header.device.name if header.device else None,
            "device": header.device.kind if header.device else None,
        }
    return found


def _means_ms(header: SuiteHeader, rows: Sequence[SuiteRow], baseline: str) -> dict[str, float | None]:
    """Time of a baseline for each problem: as measured beside its samples, geometric mean."""
    times: dict[str, list[float]] = {problem: [] for problem in header.problems}
    for row in rows:
        if baseline in row.baseline_ns:
            times[row.problem].append(row.baseline_ns[baseline] / _NS)
    return {problem: geomean(found) if found else None for problem, found in times.items()}


def write(header: SuiteHeader, rows: Sequence[SuiteRow], folder: Path) -> list[Path]:
    """`levelN/eval_results.json` and `baseline_time_NAME.json` for each baseline. Raises OSError."""
    _refuse_twice(header.problems)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for level, results in eval_results(header, rows).items():
        path = folder / f"level{level}" / RESULTS
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results, indent=2, allow_nan=False), encoding="utf-8")
        written.append(path)
        mine = tuple(problem for problem, (its, _) in numbers(header.problems).items() if its == level)
        path.with_name(HEADER).write_text(schema.to_json(replace(header, problems=mine)), encoding="utf-8")
        written.append(path.with_name(HEADER))
    for name in header.baselines:
        path = folder / f"baseline_time_{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.json"
        path.write_text(json.dumps(baseline_times(header, rows, name), indent=2), encoding="utf-8")
        written.append(path)
    return written


def _refuse_twice(problems: Sequence[str]) -> None:
    """KernelBench keeps a problem by level and number alone. Raises UsageError."""
    seen: dict[tuple[int, int], str] = {}
    for problem, place in numbers(problems).items():
        if place in seen:
            raise UsageError(
                f"{seen[place]} and {problem} would both be problem {place[1]} of level {place[0]}; "
                "export one suite at a time"
            )
        seen[place] = problem


# --- in --------------------------------------------------------------------------------------------


def read(
    results: Path, times: Mapping[str, Path], level: int | None = None
) -> tuple[SuiteHeader, list[SuiteRow]]:
    """Header and rows of an eval_results.json, speedups against the baseline files in `times`, by name.

    level: which of the baseline files' levels it is about; needed where there are several. Without baseline
    files rows that hotlap wrote keep the speedups that they were written with; others have none. A problem
    that is in the results or in a baseline file counts, whichever it is. Raises UsageError.
    """
    samples = _results(results)
    found = {name: _level(path, level) for name, path in times.items()}
    told = _header(results)
    if told is not None:
        names = {number: problem for problem, (_, number) in numbers(told.problems).items()}
    else:
        names = _problem_names(samples, list(found.values()), level or 1)
    if unknown := [number for number in samples if number not in names]:
        raise UsageError(
            f"{results}: problem {unknown[0]} is not in {HEADER} beside it; remove that file, or mend it"
        )
    rows = [_row(names[number], number, sample, found) for number, mine in samples.items() for sample in mine]
    kept = list(dict.fromkeys(name for row in rows for name in row.speedups))
    if told is not None:
        return replace(told, baselines=tuple(times) or told.baselines), rows
    problems = tuple(names[number] for number in sorted(names))
    baselines = tuple(times) or tuple(kept) or ("none",)
    return SuiteHeader(results.resolve().parent.name, problems, baselines, None, None, None, None), rows


def times_name(path: Path) -> str:
    """How a baseline file is called: baseline_time_torch.json is `torch`."""
    return path.stem.removeprefix("baseline_time_")


def _header(results: Path) -> SuiteHeader | None:
    path = results.with_name(HEADER)
    return schema.from_json(SuiteHeader, path.read_text(encoding="utf-8")) if path.is_file() else None


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a file that KernelBench or hotlap wrote") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: not JSON ({error}); name a file that KernelBench or hotlap wrote"
        ) from None
    if not isinstance(document, dict):
        raise UsageError(
            f"{path}: expected an object by problem number or level, but found a {type(document).__name__}"
        )
    return document


def _results(path: Path) -> dict[int, list[dict[str, Any]]]:
    """Samples by problem number; older files hold one sample a problem without a list."""
    found = {}
    for key, value in _document(path).items():
        mine = value if isinstance(value, list) else [value]
        if not key.isdecimal() or not all(isinstance(one, dict) and "correctness" in one for one in mine):
            raise UsageError(
                f"{path}: {key!r}: expected a problem number with samples that have `correctness`; "
                "is this an eval_results.json?"
            )
        found[int(key)] = mine
    if not found:
        raise UsageError(f"{path}: holds no problem")
    return found


def _level(path: Path, level: int | None) -> dict[int, tuple[str, float | None]]:
    """(name, mean in ms) by problem number, of one level of a baseline file."""
    document = _document(path)
    wanted = f"level{level}" if level is not None else next(iter(document), "")
    if wanted not in document or (level is None and len(document) > 1):
        raise UsageError(f"{path}: holds {', '.join(document) or 'no level'}; say which with --level N")
    found: dict[int, tuple[str, float | None]] = {}
    for name, stats in document[wanted].items():
        number = re.match(r"(\d+)_", name)
        if number is None or not isinstance(stats, dict):
            raise UsageError(f"{path}: {wanted}: {name!r}: expected NUMBER_NAME.py with `mean`")
        found[int(number[1])] = (name.removesuffix(".py"), _positive(stats.get("mean")))
    return found


def _positive(value: object) -> float | None:
    """A time that is one; -1, null and NaN stand for none."""
    known = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return known if known is not None and 0 < known < math.inf else None


def _problem_names(
    samples: Mapping[int, Sequence[Mapping[str, Any]]],
    times: Sequence[Mapping[int, tuple[str, float | None]]],
    level: int,
) -> dict[int, str]:
    """Id of each problem that any of the files names: ours where hotlap wrote it, else levelN/NUMBER_NAME."""
    names: dict[int, str] = {}
    for file in times:
        names |= {number: f"level{level}/{name}" for number, (name, _) in file.items()}
    for number, mine in samples.items():
        ours = next((row.problem for one in mine if (row := _ours(one)) is not None), None)
        names[number] = ours or names.get(number, f"level{level}/{number}_")
    return names


def _ours(sample: Mapping[str, Any]) -> SuiteRow | None:
    metadata = sample.get("metadata")
    kept = metadata.get(OURS) if isinstance(metadata, dict) else None
    return schema.from_json(SuiteRow, json.dumps(kept)) if isinstance(kept, dict) else None


def _row(
    problem: str,
    number: int,
    sample: Mapping[str, Any],
    times: Mapping[str, Mapping[int, tuple[str, float | None]]],
) -> SuiteRow:
    kept = _ours(sample)
    runtime = _positive(sample.get("runtime")) if sample.get("correctness") is True else None
    means = {name: file[number][1] for name, file in times.items() if number in file}
    baseline_ns = {name: mean * _NS for name, mean in means.items() if mean is not None}
    speedups = {
        name: _ratio(kept, name, mean / runtime)
        for name, mean in means.items()
        if mean is not None and runtime is not None
    }
    if kept is not None:
        return replace(kept, speedups=speedups, baseline_ns=baseline_ns) if times else kept
    is_correct, compiled = sample.get("correctness") is True, sample.get("compiled") is True
    status = Status.accepted if is_correct else Status.wrong if compiled else Status.failed
    return SuiteRow(
        problem=problem,
        sample=str(sample.get("sample_id", 0)),
        file=None,
        sha256=None,
        lang=None,
        status=status,
        fault=None if is_correct else Fault.submission,
        reason=None if is_correct else "not correct" if compiled else "does not compile",
        compiled=compiled,
        time_ns=None if runtime is None else Estimate(runtime * _NS, None, None),
        speedups=speedups,
        baseline_ns=baseline_ns,
        no_speedup=None if speedups or not is_correct else "no time of the sample or of the baseline",
        attempts=1,
        runs=(),
        trust=None,
        seconds=None,
        started_at=None,
    )


def _ratio(kept: SuiteRow | None, baseline: str, ratio: float) -> Estimate:
    """Baseline over sample; with its interval where hotlap wrote that ratio itself."""
    known = kept.speedups.get(baseline) if kept else None
    if known is not None and math.isclose(known.value, ratio, rel_tol=1e-9):
        return known
    return Estimate(ratio, None, None)
