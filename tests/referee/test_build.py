"""C++ to a library: built once, called as the contract says, and a failure names the author's line."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import torch

from hotlap.errors import DeviceError
from hotlap.model import Problem, Submission, TensorSpec
from hotlap.problems.reference import Reference
from hotlap.referee import build
from hotlap.referee.limits import Limits
from hotlap.referee.seat import SeatFailed
from tests.referee.seats import DOUBLE, DOUBLING, LIMITS, play, problem, seated, take, vector

SOURCE = """
static bool is_prepared = false;
extern "C" int prepare(int64_t n) {
  is_prepared = n == 37;
  return 0;
}
extern "C" int kernel(const float* x, float* y, int64_t n) {
  if (!is_prepared) return 3;
  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  return 0;
}
"""
IN_NO_TIME = Limits(build_s=0.0)  # no compiler ends in this; only a library that is there already


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hotlap" / "build"


@pytest.fixture
def compilers(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Lets a test choose $CXX; the choice is looked for anew, before and after."""
    build.compiler.cache_clear()
    yield monkeypatch
    build.compiler.cache_clear()


def submission(source: str, file: str = "kernel.cpp") -> Submission:
    return Submission(file, source, "cpp", "", None)


def built(source: str = SOURCE, given: Problem = DOUBLING, limits: Limits = LIMITS) -> build.Built:
    return build.build(given, submission(source), limits)


# --- the cache -------------------------------------------------------------------------------------


def test_the_same_source_is_built_once() -> None:
    first = built()
    again = built(limits=IN_NO_TIME)
    assert first.library is not None
    assert again.library == first.library
    assert again.seconds < first.seconds


def test_another_source_or_other_constants_are_built_anew(cache: Path) -> None:
    wider = problem([vector("x")], [vector("y")], {"n": None, "width": 4})
    assert built().library is not None
    assert built(SOURCE + "\n// other\n", limits=IN_NO_TIME).library is None
    assert built(given=wider, limits=IN_NO_TIME).library is None
    assert len(list(cache.iterdir())) == 1


def test_other_flags_are_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert built().library is not None
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-DOTHER"))
    assert built(limits=IN_NO_TIME).library is None


def test_a_cache_that_cannot_be_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert built().library is not None


def test_a_build_that_failed_is_not_kept(cache: Path) -> None:
    assert built("int kernel() { return").failure is not None
    assert not cache.exists()


# --- the contract ----------------------------------------------------------------------------------


def test_prepare_is_called_before_the_first_call() -> None:
    with seated() as seat:
        assert play(seat, take(seat, SOURCE, {"n": 37}), {"n": 37}).wrong is None


def test_a_kernel_that_finds_itself_unprepared_fails_with_its_number() -> None:
    with seated() as seat, pytest.raises(SeatFailed, match="kernel returned 3; it must return 0"):
        play(seat, take(seat, SOURCE, {"n": 36}), {"n": 36})


def axes_problem(axes: Mapping[str, int | None]) -> Problem:
    return problem([TensorSpec("x", "int64", ("rows",))], [TensorSpec("y", "int64", (4,))], axes)


def test_var_axes_are_parameters_in_order_and_constants_are_macros() -> None:
    given = axes_problem({"rows": None, "width": 4, "cols": None, "heads": 2})
    axes = {"rows": 3, "cols": 5, "width": 4, "heads": 2}
    source = """
    static_assert(width == 4 && heads == 2);
    extern "C" int kernel(const int64_t* x, int64_t* y, int64_t rows, int64_t cols) {
      y[0] = rows, y[1] = cols, y[2] = width, y[3] = heads;
      return 0;
    }
    """
    reference = Reference(lambda a, rng, device: (rng.integers(0, 9, (a["rows"],)),), DOUBLE.reference, {})
    with seated() as seat:
        result = play(seat, take(seat, source, axes, given), axes, given, reference)
    assert [outputs[0].tolist() for outputs in result.outputs.values()] == [[3, 5, 4, 2]] * 3


def test_inputs_and_outputs_are_aligned_for_any_vector_unit() -> None:
    source = """
    extern "C" int kernel(const float* x, float* y, int64_t n) {
      for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
      return (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) % 256 ? 9 : 0;
    }
    """
    with seated() as seat:
        assert play(seat, take(seat, source, {"n": 7}), {"n": 7}).wrong is None


def test_the_threads_of_openmp_are_those_of_the_contestant_s_cores() -> None:
    source = """
    #include <omp.h>
    extern "C" int kernel(const float* x, float* y, int64_t n) {
      for (int64_t i = 0; i < n; ++i) y[i] = omp_get_max_threads();
      return 0;
    }
    """
    with seated() as seat:
        result = play(seat, take(seat, source, {"n": 2}), {"n": 2})
        (y,) = result.outputs[0]
        assert torch.equal(y, torch.full((2,), float(len(seat.cpus))))


# --- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "kernel.cpp defines no function `kernel`; see `hotlap show PROBLEM --prototype`"),
        ("\n\nint x = y;", "does not compile: kernel.cpp:3:9: error: "),
        ('extern "C" int kernel(const double*, float*, int64_t) { return 0; }', "kernel.cpp:1:"),
        ('#include "no_such.h"', "kernel.cpp:1:10: fatal error: no_such.h: No such file or directory"),
    ],
)
def test_a_failure_names_the_author_s_file_and_line(source: str, message: str) -> None:
    failure = built(source).failure
    assert failure is not None
    assert message in failure.message
    assert failure.phase == "build"
    assert "/source" not in f"{failure.message}{failure.detail}"


def test_a_compiler_that_does_not_end_is_stopped() -> None:
    failure = built("int x;", limits=IN_NO_TIME).failure
    assert failure is not None
    assert failure.message == "the compiler did not finish within 0 s"


def test_a_missing_compiler_is_the_device_s_fault(compilers: pytest.MonkeyPatch) -> None:
    compilers.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        DeviceError,
        match=r"no C\+\+ compiler: CXX=no-such-compiler does not run; install one .*or set CXX to its path",
    ):
        built()


def test_without_cxx_and_without_compilers_the_message_says_what_was_looked_for(
    compilers: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compilers.delenv("CXX", raising=False)
    compilers.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match=r"neither g\+\+ nor clang\+\+ was found"):
        built()


def test_cxx_chooses_the_compiler(compilers: pytest.MonkeyPatch) -> None:
    compilers.setenv("CXX", "g++")
    path, version = build.compiler()
    assert path.endswith("/g++")
    assert version
