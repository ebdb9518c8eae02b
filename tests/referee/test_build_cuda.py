"""CUDA to a library, on machines with or without a GPU: what is exported, and whose fault a failure is."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hotlap.errors import DeviceError
from hotlap.model import Problem, Submission, TensorSpec
from hotlap.problems.dtypes import DTYPES
from hotlap.referee import build, sandbox
from hotlap.referee.limits import Limits
from tests.referee.seats import DOUBLING, problem, vector


def has_nvcc() -> bool:
    try:
        build.cuda_compiler()
    except DeviceError:
        return False
    return True


needs_nvcc = pytest.mark.skipif(not has_nvcc(), reason="needs nvcc")
needs_bubblewrap = pytest.mark.skipif(sandbox.kind() != "bwrap", reason="needs bubblewrap")

ARCH = "sm_90"
LIMITS = Limits()
CACHED = (build.compiler, build.cuda_compiler, build.host_compiler, build._toolkit, build.try_cuda)
SOURCE = """
__global__ void twice(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" int kernel(const float* x, float* y, int64_t n, cudaStream_t stream) {
  twice<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
"""
HEAD = 'extern "C" int kernel(const float* x, float* y, int64_t n, cudaStream_t stream)'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hotlap" / "build"


@pytest.fixture
def compilers(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Lets a test choose the compilers; the choice is looked for anew, before and after."""
    for found in CACHED:
        found.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    for found in CACHED:
        found.cache_clear()


def built(
    source: str = SOURCE,
    given: Problem = DOUBLING,
    limits: Limits = LIMITS,
    arch: str = ARCH,
    file: str = "kernel.cu",
) -> build.Built:
    return build.build(given, Submission(file, source, "cu", "", None), limits, arch)


def message(source: str, **choices: object) -> str:
    """Why a source that must fail does."""
    failure = built(source, **choices).failure  # type: ignore[arg-type]
    assert failure is not None
    assert failure.phase == "build"
    assert not re.search(r"/source|/ours|/tmp|tmpxft", f"{failure.message}{failure.detail}")
    return failure.message


def symbols(library: bytes, folder: Path) -> list[str]:
    """What a library exports."""
    file = folder / "kernel.so"
    file.write_bytes(library)
    done = subprocess.run(
        ["nm", "-D", "--defined-only", str(file)], capture_output=True, text=True, check=True
    )
    return [line.split()[2] for line in done.stdout.splitlines()]


def architectures(library: bytes) -> set[bytes]:
    """The options that ptxas noted in a library for each architecture that it holds code for."""
    return set(re.findall(rb"-arch (sm_\w+)", library))


# --- a library -------------------------------------------------------------------------------------


@needs_nvcc
def test_a_kernel_becomes_a_library_that_exports_the_calls_and_nothing_of_the_runtime(tmp_path: Path) -> None:
    library = built().library
    assert library is not None
    assert library.startswith(b"\x7fELF")
    exported = symbols(library, tmp_path)
    assert {"kernel", "hotlap_calls", "hotlap_error_name"} <= set(exported)
    # A runtime of its own that others could see would be mixed up with torch's.
    assert not [name for name in exported if name.startswith("cuda")]
    assert architectures(library) == {b"sm_90"}


@needs_nvcc
def test_prepare_is_exported_where_the_author_wrote_it(tmp_path: Path) -> None:
    library = built(SOURCE + 'extern "C" int prepare(int64_t n) { return n < 0; }').library
    assert library is not None
    assert "prepare" in symbols(library, tmp_path)


@needs_nvcc
def test_every_dtype_has_its_cuda_type_without_an_include() -> None:
    every = [vector(f"x_{dtype}", dtype) for dtype in DTYPES]
    scalars = [TensorSpec(f"s_{dtype}", dtype, None) for dtype in DTYPES]
    given = problem([*every, *scalars], [vector("y", "bfloat16")])
    prototype = build.prototype.c_prototype(given, "cu").removesuffix(";")
    result = built(f"{prototype} {{ *y = __nv_bfloat16(); return x_float8_e4m3fn == nullptr; }}", given)
    assert result.failure is None


def test_headers_of_types_that_a_problem_does_not_use_are_not_included() -> None:
    half = problem([vector("x", "float16"), TensorSpec("s", "bfloat16", None)], [vector("y")])
    assert "cuda_" not in build.header(DOUBLING, "cu").replace("cuda_runtime.h", "")
    assert "cuda_fp16.h" in build.header(half, "cu")
    assert "cuda_bf16.h" not in build.header(half, "cu")


@needs_nvcc
def test_constant_axes_are_macros_whose_names_cuda_s_headers_may_use_too() -> None:
    given = problem([vector("x")], [vector("y")], {"n": None, "width": 4, "size": 5, "a": 6})
    assert built(f"static_assert(width == 4 && size == 5 && a == 6);\n{SOURCE}", given).failure is None


@needs_nvcc
def test_scalars_are_passed_by_value() -> None:
    given = problem([vector("x"), TensorSpec("alpha", "float32", None)], [vector("y")])
    head = HEAD.replace("const float* x,", "const float* x, double alpha,")
    assert built(f"{head} {{ return alpha == 0; }}", given).failure is None


# --- the cache -------------------------------------------------------------------------------------


@needs_nvcc
def test_the_same_source_is_built_once_for_each_architecture(cache: Path) -> None:
    first, again = built(), built(limits=replace(LIMITS, build_s=0.0))
    assert first.library is not None
    assert again.library == first.library
    assert built(arch="sm_80").library != first.library
    assert len(list(cache.iterdir())) == 2


# --- the architecture ------------------------------------------------------------------------------


@needs_nvcc
def test_a_directive_asks_for_the_variant_of_the_device_s_architecture() -> None:
    source = """// A comment may stand before it.
//! hotlap problem demo/memory
//! hotlap arch sm_90a
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error not sm_90a
#endif
"""
    library = built(source + SOURCE).library
    assert library is not None
    assert architectures(library) == {b"sm_90a"}


@needs_nvcc
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            "sm_100a",
            "kernel.cu(2): wrong architecture: compiled for sm_100a, the device is sm_90; "
            "remove the line, or ask for sm_90a",
        ),
        ("sm_80", "kernel.cu(2): wrong architecture: compiled for sm_80, the device is sm_90; "),
        ("hopper", "kernel.cu(2): no architecture: hopper; allowed: sm_90, sm_90a"),
    ],
)
def test_another_architecture_is_the_author_s_fault(asked: str, expected: str) -> None:
    assert message(f"\n//! hotlap arch {asked}\n{SOURCE}").startswith(expected)


@needs_nvcc
def test_a_variant_that_does_not_exist_is_the_author_s_fault() -> None:
    found = message(f"//! hotlap arch sm_90z\n{SOURCE}")
    assert found.startswith("does not compile: nvcc fatal")
    assert "sm_90z" in found or "compute_90z" in found


@needs_nvcc
def test_a_directive_after_the_first_line_of_code_is_a_comment() -> None:
    assert built(f"{SOURCE}\n//! hotlap arch sm_100a\n").failure is None


def test_cuda_without_an_architecture_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"kernel.cu is CUDA: build needs the device's arch, such as 'sm_90'"
    ):
        build.build(DOUBLING, Submission("kernel.cu", SOURCE, "cu", "", None), LIMITS)


# --- failures of the author's ------------------------------------------------------------------------


@needs_nvcc
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", "kernel.cu defines no function `kernel`; see `hotlap show PROBLEM --prototype --lang cu`"),
        (
            "int kernel(const double*) { return 0; }",
            "kernel.cu defines no function `kernel`; see `hotlap show PROBLEM --prototype --lang cu`",
        ),
        ("\n\nint error = y;", 'does not compile: kernel.cu(3): error: identifier "y" is undefined'),
        (
            HEAD.replace("float* x", "double* x") + " { return 0; }",
            "; its parameters are not those of `hotlap show PROBLEM --prototype --lang cu`",
        ),
        ('#include "no_such.h"', "kernel.cu:1:10: fatal error: no_such.h: No such file or directory"),
        (
            f"""__global__ void k(float* y) {{
              __shared__ float s[1 << 20];
              s[threadIdx.x] = y[0], __syncthreads(), y[1] = s[threadIdx.x ^ 1];
            }}
            {HEAD} {{ return 0; }}""",
            "does not compile: ptxas error   : Entry function '_Z1kPf' uses too much shared data",
        ),
        (
            f'__global__ void k() {{ asm("bogus;"); }}\n{HEAD} {{ return 0; }}',
            "does not compile: ptxas kernel.ptx, line ",
        ),
        (
            f"#include <cuda.h>\n{HEAD} {{ return cuInit(0); }}",
            "undefined reference to `cuInit'",
        ),
    ],
)
def test_a_failure_says_what_is_wrong_in_the_author_s_file(source: str, expected: str) -> None:
    assert expected in message(source)


@needs_nvcc
def test_a_warning_about_a_thing_called_error_is_not_the_error() -> None:
    source = '#warning "error"\nint f() { int error; }\nint x = y;'
    assert message(source).startswith("does not compile: kernel.cu(3): error: ")


@needs_nvcc
@needs_bubblewrap
def test_a_file_of_the_machine_cannot_be_read_by_including_it() -> None:
    assert message('#include "/etc/passwd"').endswith("/etc/passwd: No such file or directory")


@needs_nvcc
def test_a_template_without_end_is_killed_in_time() -> None:
    source = """
    template <int n, int m> struct Tree {
      static constexpr int value = Tree<n - 1, 2 * m>::value + Tree<n - 1, 2 * m + 1>::value;
    };
    template <int m> struct Tree<0, m> { static constexpr int value = m; };
    static_assert(Tree<26, 0>::value, "");
    """
    limits = replace(LIMITS, build_s=4.0)
    result = built(source, limits=limits)
    assert result.failure is not None
    assert result.failure.message == "the compiler did not finish within 4 s"
    assert result.seconds < 8


@needs_nvcc
def test_a_file_s_name_is_not_run_by_a_shell() -> None:
    assert message("int x = y;", file="a, b;$(c).cu").startswith("does not compile: a, b;$(c).cu(1): error: ")


# --- failures of the machine's -----------------------------------------------------------------------


@needs_nvcc
def test_a_device_that_nvcc_does_not_know_is_not_the_author_s_fault(compilers: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match=r"cannot compile a kernel for sm_20: nvcc fatal .*; set NVCC to"):
        built(arch="sm_20")


@needs_nvcc
def test_a_host_compiler_that_does_not_run_is_not_the_author_s_fault(compilers: pytest.MonkeyPatch) -> None:
    compilers.setenv("NVCC_CCBIN", "no-such-compiler")
    with pytest.raises(DeviceError, match="NVCC_CCBIN=no-such-compiler does not run; set it to the path"):
        built()


def test_a_missing_nvcc_is_the_device_s_fault(compilers: pytest.MonkeyPatch) -> None:
    compilers.setenv("NVCC", "no-such-nvcc")
    with pytest.raises(
        DeviceError,
        match=r"no CUDA compiler: NVCC=no-such-nvcc does not run; install the CUDA toolkit .*or set NVCC to",
    ):
        built()


def test_without_nvcc_the_message_says_where_it_was_looked_for(
    compilers: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in ("NVCC", *build.CUDA_HOMES):
        compilers.delenv(variable, raising=False)
    compilers.setenv("PATH", str(tmp_path))
    compilers.setattr(build, "CUDA_DEFAULT", str(tmp_path))
    with pytest.raises(DeviceError, match=r"nvcc is not on PATH, nor in the bin folder of \$CUDA_HOME or "):
        build.cuda_compiler()


@needs_nvcc
def test_cpp_needs_no_nvcc(compilers: pytest.MonkeyPatch) -> None:
    compilers.setenv("NVCC", "no-such-nvcc")
    source = 'extern "C" int kernel(const float*, float*, int64_t) { return 0; }'
    assert build.build(DOUBLING, Submission("kernel.cpp", source, "cpp", "", None), LIMITS).failure is None


# --- where nvcc is -----------------------------------------------------------------------------------


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """A toolkit in a folder that the sandbox does not show."""
    nvcc, _ = build._toolkit()
    folder, real = tmp_path / "toolkit", Path(nvcc).parent.parent
    (folder / "bin").mkdir(parents=True)
    for file in (real / "bin").iterdir():
        if file.name in ("nvcc", "nvcc.profile"):
            shutil.copy(file, folder / "bin")
        else:
            os.symlink(file, folder / "bin" / file.name)
    for part in build.TOOLKIT_PARTS:
        if part != "bin" and (real / part).exists():
            os.symlink(real / part, folder / part)
    return folder


@needs_nvcc
def test_a_toolkit_elsewhere_is_shown_to_the_compiler(toolkit: Path, compilers: pytest.MonkeyPatch) -> None:
    compilers.setenv("NVCC", str(toolkit / "bin" / "nvcc"))
    assert built().failure is None


@needs_nvcc
def test_cuda_home_is_looked_in_where_path_has_no_nvcc(toolkit: Path, compilers: pytest.MonkeyPatch) -> None:
    compilers.delenv("NVCC", raising=False)
    compilers.setenv("PATH", "/nowhere")
    compilers.setenv("CUDA_HOME", str(toolkit))
    path, version = build.cuda_compiler()
    assert path == str(toolkit / "bin" / "nvcc")
    assert "release" in version


@needs_nvcc
def test_an_nvcc_that_is_a_script_leads_to_its_toolkit(tmp_path: Path, compilers: pytest.MonkeyPatch) -> None:
    real, shown = build._toolkit()
    script = tmp_path / "nvcc"
    script.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    script.chmod(0o755)
    build._toolkit.cache_clear()
    build.cuda_compiler.cache_clear()
    compilers.setenv("NVCC", str(script))
    assert build._toolkit() == (real, shown)


@needs_nvcc
def test_the_toolkit_compiles_a_kernel_here() -> None:
    build.try_cuda(LIMITS, ARCH)
