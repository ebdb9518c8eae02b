import ast
import shutil
import subprocess
from pathlib import Path

import pytest

from hotlap.model import Problem, TensorSpec
from hotlap.problems.dtypes import DTYPES
from hotlap.problems.native import load
from hotlap.problems.prototype import c_prototype, c_types, python_prototype
from tests.problems.folders import write_problem


def test_the_c_prototype_has_a_parameter_a_line_with_its_meaning(tmp_path: Path) -> None:
    assert c_prototype(load(write_problem(tmp_path))) == (
        "// constant axes (macros): heads = 2\n"
        'extern "C" int kernel(\n'
        "    const float* x,  // [rows, 2*cols] float32\n"
        "    double alpha,    // scalar float32\n"
        "    float* y,        // [rows, 2*cols] float32\n"
        "    int64_t rows,    // axis\n"
        "    int64_t cols     // axis\n"
        ");"
    )


def test_a_cuda_prototype_ends_with_the_stream(tmp_path: Path) -> None:
    prototype = c_prototype(load(write_problem(tmp_path, ('"float32"', '"bfloat16"'))), lang="cu")
    assert "const __nv_bfloat16* x," in prototype
    assert prototype.splitlines()[-2].split() == ["cudaStream_t", "stream", "//", "launch", "here"]


def test_a_mutable_input_is_not_const(tmp_path: Path) -> None:
    prototype = c_prototype(load(write_problem(tmp_path, ('name = "x"', 'name = "x"\nmutable = true'))))
    assert "    float* x,      // [rows, 2*cols] float32 mutable\n" in prototype


@pytest.mark.parametrize(
    ("dtype", "c_type", "python_type"),
    [
        ("float64", "double", "float"),
        ("int8", "int64_t", "int"),
        ("uint8", "int64_t", "int"),
        ("bool", "uint8_t", "bool"),
    ],
)
def test_a_scalar_travels_by_value(tmp_path: Path, dtype: str, c_type: str, python_type: str) -> None:
    scalar = ('dtype = "float32"\nshape = "scalar"', f'dtype = "{dtype}"\nshape = "scalar"')
    problem = load(write_problem(tmp_path, scalar))
    assert f"    {c_type} alpha," in c_prototype(problem)
    assert f"    alpha: {python_type},  # scalar {dtype}\n" in python_prototype(problem)


def test_every_dtype_has_c_types() -> None:
    assert c_types("float16") == ("uint16_t", "__half")
    assert all(c_types(dtype).cpp.isidentifier() for dtype in DTYPES)


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lang must be 'cpp' or 'cu', but got 'python'"):
        c_prototype(load(write_problem(tmp_path)), lang="python")


@pytest.mark.parametrize("second", [False, True])
def test_the_python_prototype_and_a_body_are_python(tmp_path: Path, second: bool) -> None:
    output = '[[outputs]]\nname = "i"\ndtype = "int64"\nshape = ["rows"]\n[tolerance]'
    problem = load(write_problem(tmp_path, *([("[tolerance]", output)] if second else [])))
    function = ast.parse(python_prototype(problem) + "\n    ...\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert [argument.arg for argument in function.args.args] == ["x", "alpha"]
    assert function.returns is not None
    returned = "tuple[torch.Tensor, torch.Tensor]" if second else "torch.Tensor"
    assert ast.unparse(function.returns) == returned


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_c_prototype_of_every_dtype_compiles(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path))
    every = tuple(TensorSpec(f"x_{dtype}", dtype, ("rows",)) for dtype in DTYPES)
    scalars = tuple(TensorSpec(f"s_{dtype}", dtype, None) for dtype in DTYPES)
    fields = {name: getattr(problem, name) for name in Problem.__dataclass_fields__}
    prototype = c_prototype(Problem(**fields | {"inputs": every + scalars}))
    file = tmp_path / "kernel.cpp"
    file.write_text(f"#include <cstdint>\n{prototype}\n{prototype.removesuffix(';')} {{ return 0; }}\n")
    subprocess.run(["g++", "-Wall", "-Werror", "-fsyntax-only", str(file)], check=True)
