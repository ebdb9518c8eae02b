import sys
from pathlib import Path

import pytest
import torch

from hotlap.errors import DeviceError, ProblemError
from hotlap.model import Problem
from hotlap.problems.native import load
from hotlap.problems.reference import (
    Reference,
    compute_reference,
    hidden_axes,
    load_reference,
    make_inputs,
)
from tests.problems.folders import TOML, Rng, write_problem

AXES = {"rows": 5, "cols": 3}
MADE = 'rng.normal((axes["rows"], axes["heads"] * axes["cols"]))'


def loaded(
    tmp_path: Path, *replacements: tuple[str, str], files: dict[str, str] | None = None
) -> tuple[Problem, Reference]:
    problem = load(write_problem(tmp_path, *replacements, files=files))
    return problem, load_reference(problem)


# --- loading


def test_a_reference_has_the_functions_that_the_file_defines(tmp_path: Path) -> None:
    _, reference = loaded(tmp_path)
    assert reference.reference(torch.ones(2), 3.0).tolist() == [3.0, 3.0]
    assert list(reference.baselines) == ["baseline"]
    assert reference.hidden is not None
    assert (reference.check, reference.tolerance) == (None, None)


def test_baselines_are_every_variant_in_order_of_definition(tmp_path: Path) -> None:
    more = "def baseline_z(x, alpha): ...\n\n\ndef baseline_a(x, alpha): ...\n\n\ndef hidden("
    _, reference = loaded(tmp_path, ("def hidden(", more))
    assert list(reference.baselines) == ["baseline", "baseline_z", "baseline_a"]


def test_a_reference_without_a_baseline_has_none(tmp_path: Path) -> None:
    assert loaded(tmp_path, ("def baseline(", "def other("))[1].baselines == {}


def test_two_problems_may_have_helpers_of_one_name(tmp_path: Path) -> None:
    importing = ("import torch\n", "import torch\nimport helper_of_scale as helper\n")
    using = ("alpha * x", "helper.FACTOR * x")
    references = [
        loaded(tmp_path / str(factor), importing, using, files={"helper_of_scale.py": f"FACTOR = {factor}"})[
            1
        ]
        for factor in (2, 3)
    ]
    assert [reference.reference(1, 0) for reference in references] == [2, 3]
    assert "helper_of_scale" not in sys.modules


def test_a_local_package_can_be_imported_with_its_parts(tmp_path: Path) -> None:
    files = {"kit/__init__.py": "from .part import TWO", "kit/part.py": "from kit import deep\nTWO = 2"}
    files["kit/deep.py"] = ""
    _, reference = loaded(
        tmp_path,
        ("import torch\n", "import torch\nimport kit\nfrom kit.part import TWO\n"),
        ("alpha * x", "(kit.TWO + TWO) * x"),
        files=files,
    )
    assert reference.reference(1, 0) == 4


def test_loading_leaves_the_import_system_and_the_folder_as_they_were(tmp_path: Path) -> None:
    folder = write_problem(
        tmp_path, ("import torch\n", "import torch, helper_left\n"), files={"helper_left.py": ""}
    )
    before = list(sys.path), list(sys.meta_path), sorted(folder.rglob("*"))
    load_reference(load(folder))
    assert (list(sys.path), list(sys.meta_path), sorted(folder.rglob("*"))) == before


def test_only_modules_that_reference_py_imports_are_found_in_its_folder(tmp_path: Path) -> None:
    importing = ("import torch\n", "import torch, importlib\nimportlib.import_module('not_seen')\n")
    problem = load(write_problem(tmp_path, importing, files={"not_seen.py": ""}))
    with pytest.raises(ProblemError, match="ModuleNotFoundError: No module named 'not_seen'"):
        load_reference(problem)


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("1 / 0", ["reference.py:1: loading it: raised ZeroDivisionError: division by zero"]),
        ("raise SystemExit(3)", ["raised SystemExit: 3"]),
        ("import hotlap_no_such_module", ["raised ModuleNotFoundError", "hotlap_no_such_module"]),
        ("import helper_that_raises", ["helper_that_raises.py:2: loading it: raised ValueError: no"]),
    ],
)
def test_an_exception_while_loading_is_a_fault_of_the_problem(
    tmp_path: Path, line: str, pieces: list[str]
) -> None:
    files = {"helper_that_raises.py": "\nraise ValueError('no')\n"}
    problem = load(write_problem(tmp_path, ("import torch\n", f"{line}\n"), files=files))
    with pytest.raises(ProblemError) as caught:
        load_reference(problem)
    for piece in pieces:
        assert piece in str(caught.value)


def test_a_failed_load_leaves_no_module_behind(tmp_path: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(ProblemError):
        loaded(tmp_path, ("import torch\n", "raise ValueError\n"))
    assert set(sys.modules) == before


def test_missing_torch_is_a_fault_of_the_device_with_the_install_line(tmp_path: Path) -> None:
    problem = load(
        write_problem(tmp_path, ("import torch", "raise ModuleNotFoundError('no torch', name='torch')"))
    )
    with pytest.raises(DeviceError, match="pip install torch"):
        load_reference(problem)


def test_a_name_of_ours_that_is_no_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"baseline_n: found 3; allowed: a function"):
        loaded(tmp_path, ("import torch\n", "import torch\nbaseline_n = 3\n"))


# --- make_inputs


def test_make_inputs_gives_valid_inputs_and_sees_constant_axes(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path)
    x, alpha = make_inputs(reference, problem, AXES, Rng(), "cpu")
    assert (x.shape, x.dtype, alpha) == ((5, 6), torch.float32, 3.0)


@pytest.mark.parametrize(
    ("old", "new", "pieces"),
    [
        (f"{MADE}, 3.0", MADE, ["found Tensor; allowed: a tuple"]),
        (f"{MADE}, 3.0", f"{MADE},", ["found 1 inputs; allowed: 2 (x, alpha)"]),
        (MADE, "rng.normal((2, 2))", ["input x: found shape (2, 2); allowed: (5, 6)"]),
        (MADE, f"{MADE}.double()", ["input x: found dtype float64; allowed: float32", "dtype='float32'"]),
        (MADE, f"{MADE}.t().contiguous().t()", ["input x: found strides", "call .contiguous()"]),
        (MADE, "torch.ones(5, 6).to_sparse()", ["input x: found strides"]),
        (MADE, "[1.0]", ["input x: found list; allowed: a torch tensor"]),
        (MADE, "torch.empty(5, 6, device='meta')", ["input x: found a tensor on meta; allowed: cpu"]),
        ("3.0", "3", ["input alpha: found int 3; allowed: a Python float"]),
        ("3.0", "torch.tensor(3.0)", ["input alpha: found Tensor", "convert it with float(...)"]),
        (MADE, "missing_name", ["reference.py:5: make_inputs for rows=5 cols=3: raised NameError"]),
    ],
)
def test_inputs_that_differ_from_the_spec_are_a_fault_of_the_problem(
    tmp_path: Path, old: str, new: str, pieces: list[str]
) -> None:
    problem, reference = loaded(tmp_path, (old, new))
    with pytest.raises(ProblemError) as caught:
        make_inputs(reference, problem, AXES, Rng(), "cpu")
    for piece in pieces:
        assert piece in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "value", "piece"),
    [
        ("int32", "True", "found bool True; allowed: a Python int"),
        ("int32", "2**63", "what int64_t holds"),
        ("bool", "1", "found int 1; allowed: a Python bool"),
    ],
)
def test_a_scalar_has_exactly_its_python_type(tmp_path: Path, dtype: str, value: str, piece: str) -> None:
    scalar = ('dtype = "float32"\nshape = "scalar"', f'dtype = "{dtype}"\nshape = "scalar"')
    problem, reference = loaded(tmp_path, scalar, ("3.0", value))
    with pytest.raises(ProblemError) as caught:
        make_inputs(reference, problem, AXES, Rng(), "cpu")
    assert piece in str(caught.value)


# --- compute_reference

INPUTS = (torch.arange(30, dtype=torch.float32).reshape(5, 6), 0.1)


def test_floating_inputs_reach_the_reference_in_float64(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path)
    (y,) = compute_reference(reference, problem, INPUTS)
    assert y.dtype == torch.float64
    assert torch.equal(y, 0.1 * INPUTS[0].double())


def test_a_native_reference_gets_its_inputs_as_they_are(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path, ("tags =", 'reference_dtype = "native"\ntags ='))
    assert compute_reference(reference, problem, INPUTS)[0].dtype == torch.float32


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"])
def test_narrow_floats_are_widened_too(tmp_path: Path, dtype: str) -> None:
    problem, reference = loaded(tmp_path, ('"float32"', f'"{dtype}"'))
    x = INPUTS[0].to(getattr(torch, dtype))
    assert compute_reference(reference, problem, (x, 2.0))[0].dtype == torch.float64


SECOND = ("[tolerance]", '[[outputs]]\nname = "i"\ndtype = "int64"\nshape = ["rows"]\n[tolerance]')


def test_outputs_come_in_the_order_of_the_spec(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path, SECOND, ("return alpha * x", "return [x, x.argmax(1)]"))
    y, i = compute_reference(reference, problem, INPUTS)
    assert y.shape == (5, 6)
    assert i.tolist() == [5] * 5


@pytest.mark.parametrize(
    ("result", "pieces"),
    [
        ("1 / 0", ["reference.py:9: reference: raised ZeroDivisionError"]),
        ("(x, x, x)", ["found 3 outputs; allowed: 2 (y, i)"]),
        ("x", ["found 1 outputs; allowed: 2"]),
        ("(x[:, :1], x.argmax(1))", ["output y: found shape (5, 1); allowed: (5, 6)"]),
        ("(x, x.argmax(0))", ["output i: found shape (6,); allowed: (5,)"]),
        ("(x, 3)", ["output i: found int; allowed: a torch tensor"]),
        ("(x, x[:, 0])", ["output i: found torch.float64 for an output of dtype int64"]),
    ],
)
def test_a_reference_that_breaks_its_spec_is_a_fault_of_the_problem(
    tmp_path: Path, result: str, pieces: list[str]
) -> None:
    problem, reference = loaded(tmp_path, SECOND, ("return alpha * x", f"return {result}"))
    with pytest.raises(ProblemError) as caught:
        compute_reference(reference, problem, INPUTS, AXES)
    for piece in pieces:
        assert piece in str(caught.value)


def test_a_wrong_shape_is_seen_without_axes_where_an_input_tells_them(tmp_path: Path) -> None:
    shape = (
        'name = "y"\ndtype = "float32"\nshape = ["rows", "2*cols"]',
        'name = "y"\ndtype = "float32"\nshape = ["rows"]',
    )
    problem, reference = loaded(tmp_path, shape)
    with pytest.raises(ProblemError, match=r"output y: found shape \(5, 6\); allowed: \(5,\)"):
        compute_reference(reference, problem, INPUTS)


def test_a_reference_that_writes_to_a_shared_input_is_refused(tmp_path: Path) -> None:
    native = ("tags =", 'reference_dtype = "native"\ntags =')
    problem, reference = loaded(tmp_path, native, ("return alpha * x", "return x.mul_(alpha)"))
    with pytest.raises(ProblemError, match=r"found a write to input x; .* clone it first"):
        compute_reference(reference, problem, (INPUTS[0].clone(), 2.0))


def test_a_reference_may_use_gradients_and_its_outputs_carry_none(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path, ("return alpha * x", "return alpha * x.requires_grad_()"))
    assert not compute_reference(reference, problem, INPUTS)[0].requires_grad


# --- hidden_axes


def test_hidden_workloads_are_drawn_around_the_bench_ones(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path)
    assert hidden_axes(reference, problem, Rng(), "cpu", n=2) == [{"rows": 7, "cols": 15}] * 2


def test_a_problem_without_hidden_has_no_hidden_workloads(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path, ("def hidden(", "def other("))
    assert hidden_axes(reference, problem, Rng(), "cpu") == []


def test_every_bench_workload_of_the_profile_takes_its_turn(tmp_path: Path) -> None:
    more = '[[workloads]]\nkind = "bench"\nprofile = "cpu"\nrows = 4\ncols = 4\n'
    more += '[[workloads]]\nkind = "bench"\nprofile = "gpu"\nrows = 90\ncols = 90\n'
    problem = load(write_problem(tmp_path, toml=TOML + more))
    drawn = hidden_axes(load_reference(problem), problem, Rng(), "cpu")
    assert [axes["rows"] for axes in drawn] == [7, 3, 7]


@pytest.mark.parametrize(
    ("returned", "pieces"),
    [
        ("axes['none']", ["reference.py:17: hidden for rows=8 cols=16: raised KeyError"]),
        ("3", ["found 3; allowed: a dict of exactly rows, cols"]),
        ("{'rows': 1}", ["allowed: a dict of exactly rows, cols"]),
        ("axes | {'heads': 2}", ["allowed: a dict of exactly rows, cols"]),
        ("axes | {'rows': 0}", ["rows: found 0; allowed: a positive int"]),
        ("axes | {'rows': rng.integers(1, 4, (1,))}", ["rows: found tensor", "convert it with int(...)"]),
        ("axes | {'rows': 9}", ["rows=9 cols=16, 576 input and output elements", "allowed: at most 512"]),
    ],
)
def test_a_bad_draw_is_a_fault_of_the_problem(tmp_path: Path, returned: str, pieces: list[str]) -> None:
    drawn = "{name: size - 1 for name, size in axes.items()}"
    problem, reference = loaded(tmp_path, (drawn, returned))
    with pytest.raises(ProblemError) as caught:
        hidden_axes(reference, problem, Rng(), "cpu")
    for piece in pieces:
        assert piece in str(caught.value)


def test_a_profile_without_bench_workloads_is_told(tmp_path: Path) -> None:
    problem, reference = loaded(tmp_path)
    with pytest.raises(ProblemError, match="found no bench workload of profile 'gpu'"):
        hidden_axes(reference, problem, Rng(), "gpu")


def test_hidden_cannot_change_the_workloads_of_the_problem(tmp_path: Path) -> None:
    problem, reference = loaded(
        tmp_path, ("def hidden(axes, rng):\n", "def hidden(axes, rng):\n    axes['rows'] -= 1\n")
    )
    hidden_axes(reference, problem, Rng(), "cpu")
    assert problem.workloads[0].axes == {"rows": 8, "cols": 16}
