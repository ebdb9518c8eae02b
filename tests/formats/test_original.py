"""`--protocol original`: a folder's own eval script in the sandbox, from result lines to exit code."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotlap.errors import DeviceError, ProblemError, UsageError
from hotlap.model import Trust
from hotlap.original.lines import case_file, result_lines
from hotlap.original.report import Original, Outcome
from hotlap.original.run import original
from hotlap.original.score import NoScore, score_s
from hotlap.problems.kernelbot import read_task
from hotlap.referee.device import CpuDevice, open_device
from hotlap.schema import from_json, to_json
from hotlap.verdict import read_submission
from tests.formats.kernelbot_folder import write_folder

# An eval script of ours that keeps the contract and needs no GPU, nor torch.
EVAL = """\
import os
import sys
from pathlib import Path

from reference import ref_kernel
from task import SCALE


def cases(path):
    lines = Path(path).read_text().splitlines()
    return [(line, {k: int(v) for k, v in (p.split(": ") for p in line.split("; "))}) for line in lines]


def main():
    mode, path = sys.argv[1:]
    seed = os.environ.pop("POPCORN_SEED", None)
    from submission import custom_kernel

    passed = True
    kind = "test" if mode == "test" else "benchmark"
    with os.fdopen(int(os.environ["POPCORN_FD"]), "w") as out:

        def log(key, value):
            print(f"{key}: {value}", file=out, flush=True)

        log("seen", f"mode={mode} seed={seed} files={sorted(os.listdir())}")
        found = cases(path)
        log(f"{kind}-count", len(found))
        for index, (spec, case) in enumerate(found):
            log(f"{kind}.{index}.spec", spec)
            size = case["size"] + int(seed or 0)
            if custom_kernel(size) != ref_kernel(size):
                passed = False
                log(f"{kind}.{index}.error", "differs: by 1")
            elif kind == "benchmark":
                log(f"benchmark.{index}.mean", 1000.0 * case["size"])
        ...  # here
        log("check", "pass" if passed else "fail")
    return 0 if passed else 112


if __name__ == "__main__":
    sys.exit(main())
"""
HERE = "...  # here"
HANGS = """\
if mode == "benchmark":
            print("half: 12", end="", file=out, flush=True)
            while True:
                pass"""
REFERENCE = "def ref_kernel(size):\n    return 2 * size\n"
GOOD = "def custom_kernel(size):\n    return size + size\n"


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with open_device("cpu") as opened:
        assert isinstance(opened, CpuDevice)
        yield opened


def folder_of(tmp_path: Path, *replacements: tuple[str, str], task: tuple[tuple[str, str], ...] = ()) -> Path:
    """A folder whose eval script is EVAL with these replacements."""
    script = EVAL
    for old, new in replacements:
        assert old in script, f"{old!r} is not in the script"
        script = script.replace(old, new)
    return write_folder(tmp_path, task=task, files={"eval.py": script, "reference.py": REFERENCE})


def said(device: CpuDevice, folder: Path, source: str = GOOD) -> Original:
    file = folder.parent / "kernel.py"
    file.write_text(source)
    return original(read_task(folder), read_submission(file), device)


def modes(given: Original) -> tuple[list[str], list[str]]:
    return [stage.mode for stage in given.public], [stage.mode for stage in given.secret]


ALL = ["build", "test", "benchmark", "leaderboard"]


# --- the protocol --------------------------------------------------------------------------------


def test_a_right_kernel_passes_every_stage_and_its_twin_and_never_ranks(
    device: CpuDevice, tmp_path: Path
) -> None:
    given = said(device, folder_of(tmp_path))
    assert (given.status, given.reason) == (Outcome.passed, None)
    assert modes(given) == (ALL, ALL)
    assert given.trust is Trust.self_reported
    assert given.score_s == pytest.approx(64e-6)
    assert all(stage.exit_code == 0 and stage.seconds > 0 for stage in given.public + given.secret)
    assert from_json(Original, to_json(given)) == given
    assert json.loads(to_json(given))["schema"] == "hotlap.original/1"


def test_the_seed_reaches_the_twin_alone_and_the_files_lie_flat(device: CpuDevice, tmp_path: Path) -> None:
    given = said(device, folder_of(tmp_path))
    files = "['eval.py', 'reference.py', 'submission.py', 'task.py', 'utils.py']"
    assert [s.lines["seen"] for s in given.public[1:]] == [
        f"mode={mode} seed=None files={files}" for mode in ALL[1:]
    ]
    assert {s.lines["seen"].split()[1] for s in given.secret[1:]} == {f"seed={given.seed}"}


def test_a_kernel_that_is_wrong_under_the_secret_seed_fails_without_a_score(
    device: CpuDevice, tmp_path: Path
) -> None:
    # The twin's sizes are so large only by its seed, which is below 1000 once in two million runs.
    given = said(
        device, folder_of(tmp_path), "def custom_kernel(size):\n    return 2 * size if size < 1000 else 0\n"
    )
    assert (given.status, given.score_s) == (Outcome.failed, None)
    assert given.reason == "test, secret seed: check: fail"
    assert modes(given) == (ALL, ALL[:2])


def test_a_stage_that_fails_ends_the_run(device: CpuDevice, tmp_path: Path) -> None:
    given = said(device, folder_of(tmp_path), "def custom_kernel(size):\n    return 0\n")
    assert modes(given) == (ALL[:2], [])
    assert (given.status, given.public[-1].exit_code) == (Outcome.failed, 112)
    assert given.public[-1].lines["test.1.error"] == "differs: by 1"


@pytest.mark.parametrize(
    ("ranking_by", "counts", "score"), [("last", 1, 64e-6), ("mean", 2, 40e-6), ("geom", 2, 32e-6)]
)
def test_last_sends_one_benchmark_and_the_others_all(
    device: CpuDevice, tmp_path: Path, ranking_by: str, counts: int, score: float
) -> None:
    given = said(device, folder_of(tmp_path, task=(('lang: "py"', f'lang: "py"\nranking_by: {ranking_by}'),)))
    for stage in given.public[2:]:
        assert stage.lines["benchmark-count"] == str(counts)
        assert stage.lines[f"benchmark.{counts - 1}.spec"] == "size: 64; seed: 2"
    assert given.public[1].lines["test-count"] == "2"
    assert given.score_s == pytest.approx(score)


def test_a_submission_that_does_not_run_alone_may_still_pass(device: CpuDevice, tmp_path: Path) -> None:
    given = said(device, folder_of(tmp_path), GOOD + "if __name__ == '__main__':\n    raise SystemExit(3)\n")
    assert given.status is Outcome.passed
    assert (given.public[0].mode, given.public[0].passed) == ("build", False)


def test_what_is_built_stays_for_the_next_stage_and_not_for_the_twin(
    device: CpuDevice, tmp_path: Path
) -> None:
    told = "import os\nprint('built' if os.path.exists('/tmp/built') else 'new')\n"
    builds = told + "open('/tmp/built', 'w').close()\n"
    given = said(device, folder_of(tmp_path), builds + GOOD)
    for stages in (given.public, given.secret):
        assert [stage.output.strip() for stage in stages] == ["new", "built", "built", "built"]


def test_a_submission_that_rewrites_the_script_does_not_reach_the_next_stage(
    device: CpuDevice, tmp_path: Path
) -> None:
    given = said(device, folder_of(tmp_path), "open('eval.py', 'w').write('broken')\n" + GOOD)
    assert given.status is Outcome.passed


def test_nothing_of_the_caller_is_in_reach(
    device: CpuDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    looks = f"import os\nassert 'MY_TOKEN' not in os.environ and not os.path.exists({str(tmp_path)!r})\n"
    assert said(device, folder_of(tmp_path), looks + GOOD).status is Outcome.passed


# --- results -------------------------------------------------------------------------------------


def test_more_results_than_a_pipe_holds_block_nobody(device: CpuDevice, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, (HERE, 'log("notes", "x" * 1_000_000)'))
    given = said(device, folder)
    assert given.status is Outcome.passed
    assert len(given.public[-1].lines["notes"]) == 1_000_000


def test_results_beyond_the_limit_are_read_away_and_the_stage_does_not_pass(
    device: CpuDevice, tmp_path: Path
) -> None:
    flood = 'for _ in range(20): log("notes", "x" * (1 << 20))'
    given = said(device, folder_of(tmp_path, (HERE, flood)))
    assert given.reason == "test: wrote no check; only the first 16 MB of results are read"
    assert given.public[-1].exit_code == 0


def test_a_time_out_keeps_what_was_said_so_far(device: CpuDevice, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, (HERE, HANGS), task=(('lang: "py"', 'lang: "py"\nbenchmark_timeout: 2'),))
    given = said(device, folder)
    stage = given.public[-1]
    assert (stage.mode, stage.passed, stage.exit_code) == ("benchmark", False, None)
    assert given.reason == "benchmark: did not finish within 2 s"
    assert stage.lines["benchmark.0.mean"] == "64000.0"
    assert "half" not in stage.lines  # a line that is not ended may lack digits


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ("return 0", "test: wrote no check"),
        ("return 111", "test: exited with code 111"),
        ("os.kill(os.getpid(), 11)", "test: was killed by SIGSEGV"),
    ],
)
def test_how_a_script_ended_is_told(device: CpuDevice, tmp_path: Path, ends: str, reason: str) -> None:
    given = said(device, folder_of(tmp_path, ("    passed = True", f"    {ends}\n    passed = True")))
    assert (given.status, given.reason) == (Outcome.failed, reason)


def test_a_script_that_closes_its_output_is_waited_for(device: CpuDevice, tmp_path: Path) -> None:
    waits = (
        "    return 0 if passed",
        "    os.closerange(1, 64)\n    __import__('time').sleep(0.3)\n    return 0 if passed",
    )
    assert said(device, folder_of(tmp_path, waits)).status is Outcome.passed


def test_a_process_that_a_script_leaves_behind_holds_nobody(device: CpuDevice, tmp_path: Path) -> None:
    leaves = "os.fork() or __import__('time').sleep(1000)"
    assert said(device, folder_of(tmp_path, (HERE, leaves))).status is Outcome.passed


@pytest.mark.parametrize(
    "message", ["Torch not compiled with CUDA enabled", "Found no NVIDIA driver on your system."]
)
def test_a_script_that_needs_a_gpu_is_void_on_a_cpu(device: CpuDevice, tmp_path: Path, message: str) -> None:
    given = said(device, folder_of(tmp_path, ("    passed = True", f"    raise RuntimeError({message!r})")))
    assert given.status is Outcome.void
    assert (given.reason or "").startswith("test: unsupported here: needs a GPU")


def test_a_module_that_is_not_installed_is_void_where_the_folder_wants_it_and_the_authors_fault_else(
    device: CpuDevice, tmp_path: Path
) -> None:
    wants = "import no_such_module\n"
    given = said(device, folder_of(tmp_path / "theirs", ("import os\n", f"import os\n{wants}")))
    reason = "test: unsupported here: needs the Python module no_such_module"
    assert (given.status, given.reason) == (Outcome.void, reason)
    assert said(device, folder_of(tmp_path / "own"), wants + GOOD).status is Outcome.failed


# --- text and numbers ----------------------------------------------------------------------------


def test_case_files_hold_values_as_str_writes_them() -> None:
    cases = [{"size": 8, "nomask": False}, {"m": [1, 2], "kind": "normal"}]
    assert case_file(cases) == "size: 8; nomask: False\nm: [1, 2]; kind: normal\n"


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (b"check: pass\n", {"check": "pass"}),
        (b" a :  b: c \n\nspeedup: 2", {"a": "b: c", "speedup": "2"}),
        (b"no colon\n: no key\n", {"no colon": "", "": "no key"}),
        (b"a: 1\na: 2\n", {"a": "2"}),
        (b"a: \x1b[31m\xff\n", {"a": "\\x1b[31m\ufffd"}),
        (b"", {}),
    ],
)
def test_result_lines_split_at_the_first_colon(written: bytes, found: dict[str, str]) -> None:
    assert result_lines(written, is_whole=True) == found


def test_the_last_line_of_a_writer_that_was_ended_counts_only_when_it_is_whole() -> None:
    assert result_lines(b"a: 1\nb: 12", is_whole=False) == {"a": "1"}
    assert result_lines(b"b: 12", is_whole=False) == {}


def benchmarks(*means_ns: object) -> dict[str, str]:
    lines = {f"benchmark.{index}.mean": str(mean) for index, mean in enumerate(means_ns)}
    return {"benchmark-count": str(len(means_ns))} | lines


@pytest.mark.parametrize(
    ("ranking_by", "means_ns", "seconds"),
    [
        ("last", (2e9,), 2.0),
        ("mean", (1e9, 3e9), 2.0),
        ("geom", (1e9, 4e9), 2.0),
        ("geom", (1.0,) * 60, 1e-9),  # whose product is 1e-540, or 0 in floating point
    ],
)
def test_the_score_is_that_of_the_ranking(
    ranking_by: str, means_ns: tuple[float, ...], seconds: float
) -> None:
    assert math.isclose(score_s(benchmarks(*means_ns), ranking_by), seconds)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ({}, "wrote no benchmark-count"),
        ({"benchmark-count": "1"}, "wrote no benchmark.0.mean"),
        ({"benchmark-count": "0"}, "benchmark-count is '0'"),
        ({"benchmark-count": "9" * 30}, "benchmark-count is '999"),
        (benchmarks("fast"), "benchmark.0.mean is 'fast', not a number"),
        (benchmarks(0.0), "which is no time"),
        (benchmarks("nan"), "which is no time"),
        (benchmarks(-5), "which is no time"),
        (benchmarks(1.0, 2.0), "takes one benchmark"),
    ],
)
def test_lines_without_a_score_say_why(lines: dict[str, str], says: str) -> None:
    with pytest.raises(NoScore, match=says):
        score_s(lines, "last")


# --- refusals ------------------------------------------------------------------------------------


def test_several_gpus_are_unsupported(device: CpuDevice, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, task=(('lang: "py"', 'lang: "py"\nmulti_gpu: true'),))
    with pytest.raises(DeviceError, match="unsupported here: needs several GPUs"):
        said(device, folder)


def test_a_file_that_is_missing_is_the_problems_fault(device: CpuDevice, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "task.py").unlink()
    with pytest.raises(ProblemError, match=r"files\.task\.py"):
        said(device, folder)


def test_a_kernel_that_is_not_python_is_refused(device: CpuDevice, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    file = tmp_path / "kernel.cu"
    file.write_text("")
    with pytest.raises(UsageError, match="takes a Python file"):
        original(read_task(folder), read_submission(file), device)
