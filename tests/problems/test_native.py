from pathlib import Path

import pytest

from hotlap.errors import ProblemError
from hotlap.model import Cost, Kind, TensorSpec, Tolerance
from hotlap.problems.native import load
from tests.problems.folders import REFERENCE, TOML, write_problem

X = '[[inputs]]\nname = "x"\ndtype = "float32"\nshape = ["rows", "2*cols"]\n'
Y = '[[outputs]]\nname = "y"\ndtype = "float32"\nshape = ["rows", "2*cols"]\n'
TOLERANCE = '[tolerance]\nrtol = "8*eps"\natol = 0\n'


def test_a_valid_folder_becomes_a_problem(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path))
    assert (problem.suite, problem.name, problem.title) == ("demo", "scale", "Scaled copy")
    assert problem.id == f"demo/scale@{problem.version}"
    assert len(problem.version) == 12
    assert problem.axes == {"rows": None, "cols": None, "heads": 2}
    assert problem.inputs[0] == TensorSpec("x", "float32", ("rows", "2*cols"))
    assert problem.inputs[1].shape is None
    assert problem.tolerance == Tolerance("8*eps", "0")
    assert problem.cost == Cost("16*rows*cols", "2*rows*cols")
    assert [(w.kind, w.profile, w.axes) for w in problem.workloads] == [
        (Kind.bench, "cpu", {"rows": 8, "cols": 16}),
        (Kind.test, "cpu", {"rows": 1, "cols": 3}),
    ]
    assert problem.statement == "Scale x by alpha.\n"
    assert (problem.reference_dtype, problem.precision) == ("float64", None)


def test_an_empty_shape_is_a_tensor_of_no_dimensions(tmp_path: Path) -> None:
    problem = load(write_problem(tmp_path, (X, X.replace('["rows", "2*cols"]', "[]"))))
    assert problem.inputs[0].shape == ()


def test_reference_dtype_and_precision_are_read(tmp_path: Path) -> None:
    toml = 'reference_dtype = "native"\nprecision = "tf32"\n' + TOML
    problem = load(write_problem(tmp_path, toml=toml))
    assert (problem.reference_dtype, problem.precision) == ("native", "tf32")


@pytest.mark.parametrize("extra", ["def check(inputs, outputs): ...\n", "def tolerance(x, alpha): ...\n"])
def test_a_float_output_needs_no_tolerance_where_reference_has_its_own(tmp_path: Path, extra: str) -> None:
    problem = load(write_problem(tmp_path, (TOLERANCE, ""), reference=REFERENCE + extra))
    assert problem.tolerance == Tolerance("0", "0")


def test_an_integer_output_needs_no_tolerance(tmp_path: Path) -> None:
    output = '[[outputs]]\nname = "y"\ndtype = "float32"'
    load(write_problem(tmp_path, (TOLERANCE, ""), (output, output.replace("float32", "int32"))))


def test_a_suite_folder_with_spaces_gives_an_id_without(tmp_path: Path) -> None:
    folder = write_problem(tmp_path)
    folder.parent.rename(tmp_path / "my  kernels")
    assert load(tmp_path / "my  kernels" / "scale").suite == "my-kernels"


# (replacements in the TOML or the reference, pieces that the message must have)
BAD = {
    "unknown key": [
        ("tags =", "tag ="),
        "problem.toml: tag: found unknown key 'tag'",
        "did you mean 'tags'?",
    ],
    "unknown input key": [("shape", "shap"), "inputs[0].shap: found unknown key", "did you mean 'shape'?"],
    "unknown key far from any": [("tags =", "zzz ="), "zzz: found unknown key", "remove it"],
    "mutable output": [
        ('[[outputs]]\nname = "y"', '[[outputs]]\nname = "y"\nmutable = true'),
        "outputs[0].mutable: found unknown key",
        "allowed: name, dtype, shape",
    ],
    "missing title": [('title = "Scaled copy"\n', ""), "title: found nothing; allowed: a string"],
    "empty title": [("Scaled copy", " "), "title: found ' '"],
    "title of another type": [('"Scaled copy"', "3"), "title: found 3; allowed: a string"],
    "tag of another type": [('["memory-bound"]', "[1]"), "tags[0]: found 1; allowed: a string"],
    "missing outputs": [("[[outputs]]", "[[inputs]]"), "outputs: found nothing", "write it as [[outputs]]"],
    "inputs as one table": [(X, X.replace("[[inputs]]", "[inputs]")), "not TOML"],
    "missing name": [('name = "x"\n', ""), "inputs[0].name: found nothing", "add name to inputs[0]"],
    "bad dtype": [("float32", "float33"), "inputs[0].dtype: found 'float33'", "did you mean 'float32'?"],
    "dtype of another type": [('"float32"', "32"), "inputs[0].dtype: found 32; allowed: a string"],
    "shape with an unknown axis": [
        ('["rows"', '["row"'),
        "inputs[0].shape[0]: found unknown name 'row'",
        "allowed: rows, cols, heads",
        "did you mean 'rows'?",
    ],
    "shape that does not parse": [('"2*cols"', '"2*"'), "inputs[0].shape[1]: expression '2*'"],
    "shape with zero": [('"2*cols"', "0"), "inputs[0].shape[1]: found 0", "positive integer"],
    "shape with true": [('"2*cols"', "true"), "inputs[0].shape[1]: found True"],
    "shape as a string": [('["rows", "2*cols"]', '"rows"'), "inputs[0].shape: found 'rows'", '"scalar"'],
    "shape that is fractional": [('"2*cols"', '"cols/2"'), "workloads[0]: x.shape[1]", "8.0", "use //"],
    "shape that is zero": [('"2*cols"', '"cols//4"'), "workloads[1]: x.shape[1]", "found 0", "cols=3"],
    "scalar output": [
        (Y, Y.replace('["rows", "2*cols"]', '"scalar"')),
        "outputs[0].shape: found 'scalar'",
    ],
    "mutable scalar": [('"scalar"', '"scalar"\nmutable = true'), "inputs[1].mutable: found a scalar"],
    "mutable of another type": [
        (X, X + "mutable = 1\n"),
        "inputs[0].mutable: found 1; allowed: true or false",
    ],
    "mutable constant": [(X, X + "mutable = true\nconstant = true\n"), "inputs[0].constant", "at most one"],
    "duplicate names": [('name = "y"', 'name = "x"'), "outputs[0].name: found 'x', which inputs[0].name has"],
    "name of an axis": [
        ('name = "y"', 'name = "rows"'),
        "outputs[0].name: found 'rows', which axes.rows has",
    ],
    "input named out": [('name = "x"', 'name = "out"'), "inputs[0].name: found 'out'"],
    "name that is no identifier": [
        ('name = "x"', 'name = "x y"'),
        "inputs[0].name: found 'x y'",
        "rename it",
    ],
    "name of C++": [('name = "x"', 'name = "float"'), "inputs[0].name: found 'float'", "float_"],
    "name of Python": [('name = "x"', 'name = "lambda"'), "inputs[0].name: found 'lambda'"],
    "axis named as a function": [('rows = "var"', 'min = "var"'), "axes.min: found 'min'"],
    "axis named as a workload key": [('rows = "var"', 'kind = "var"'), "axes.kind: found 'kind'"],
    "axis of a wrong word": [
        ('rows = "var"', 'rows = "vat"'),
        "axes.rows: found 'vat'",
        "did you mean 'var'?",
    ],
    "axis of zero": [("heads = 2", "heads = 0"), "axes.heads: found 0", '"var" or a positive integer'],
    "axis of a float": [("heads = 2", "heads = 2.0"), "axes.heads: found 2.0"],
    "no tolerance": [(TOLERANCE, ""), "tolerance: found nothing", "floating output y", "check or tolerance"],
    "half a tolerance": [('rtol = "8*eps"\n', ""), "tolerance.rtol: found nothing"],
    "tolerance with an unknown name": [
        ("8*eps", "8*epz"),
        "tolerance.rtol: found unknown name 'epz'",
        "did you mean 'eps'?",
    ],
    "negative tolerance": [("8*eps", "-eps"), "workloads[0]: tolerance.rtol", "allowed: 0 or more"],
    "infinite tolerance": [("atol = 0", "atol = inf"), "tolerance.atol: found inf"],
    "eps_in without a float input": [
        ('name = "x"\ndtype = "float32"', 'name = "x"\ndtype = "int32"'),
        ("8*eps", "8*eps_in"),
        "tolerance.rtol: found unknown name 'eps_in'",
    ],
    "cost with eps": [("16*rows*cols", "16*eps"), "cost.bytes: found unknown name 'eps'"],
    "cost that divides by zero": [("16*rows*cols", "16//(rows-1)"), "workloads[1]: cost.bytes", "zero"],
    "cost of another type": [('"16*rows*cols"', "true"), "cost.bytes: found True", "an expression"],
    "minimal flops that are absent": [
        ('flops = "2*rows*cols"', "flops_are_minimal = true"),
        "cost.flops_are_minimal: found true without flops",
    ],
    "workload without an axis": [("rows = 1\n", ""), "workloads[1].rows: found nothing", "add rows"],
    "workload with an unknown axis": [
        ("rows = 1\n", "rows = 1\nrowz = 1\n"),
        "workloads[1].rowz: found unknown key 'rowz'",
        "allowed: kind, profile, rows, cols",
        "did you mean 'rows'?",
    ],
    "workload with a constant": [
        ("rows = 1\n", "rows = 1\nheads = 2\n"),
        "workloads[1].heads: found a value for a constant axis",
    ],
    "workload with a negative axis": [("rows = 1\n", "rows = -1\n"), "workloads[1].rows: found -1"],
    "workload with true": [("rows = 1\n", "rows = true\n"), "workloads[1].rows: found True"],
    "workload with a huge axis": [("rows = 1\n", f"rows = {2**63}\n"), "workloads[1].rows", "2**63 - 1"],
    "workload of an unknown kind": [('"test"', '"tset"'), "workloads[1].kind", "did you mean 'test'?"],
    "hidden workload": [('"test"', '"hidden"'), "workloads[1].kind: found 'hidden'; allowed: test, bench"],
    "workload of an unknown profile": [('"cpu"', '"cuda"'), "workloads[0].profile", "allowed: cpu, gpu"],
    "no bench workload": [('"bench"', '"test"'), "profile 'cpu' without a workload of kind 'bench'"],
    "no bench workload of a second profile": [
        ('kind = "test"\nprofile = "cpu"', 'kind = "test"\nprofile = "gpu"'),
        "profile 'gpu' without a workload",
    ],
    "workload twice": [
        (
            'kind = "test"\nprofile = "cpu"\nrows = 1\ncols = 3',
            'kind="bench"\nprofile="cpu"\nrows=8\ncols=16',
        ),
        "workloads[1]: found the same as workloads[0]",
    ],
    "unknown reference_dtype": [("tags =", 'reference_dtype = "nativ"\ntags ='), "did you mean 'native'?"],
    "unknown precision": [("tags =", 'precision = "tf33"\ntags ='), "precision: found 'tf33'; allowed: tf32"],
    "date where text belongs": [('"Scaled copy"', "2026-01-01"), "title: found datetime.date"],
    "broken TOML": [("[axes]", "[axes"), "is not TOML", "line 3"],
    "no make_inputs": [("def make_inputs", "def make_input"), "reference.py: make_inputs", "found baseline"],
    "no reference": [("def reference", "def referenced"), "define reference(*inputs)"],
    "reference that does not parse": [("import torch", "import torch ("), "reference.py:1"],
    "relative import": [("import torch", "from . import helper"), "reference.py:1: found a relative import"],
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_a_bad_folder_is_told_with_file_key_found_and_allowed(tmp_path: Path, case: list[object]) -> None:
    replacements = [change for change in case if isinstance(change, tuple)]
    folder = write_problem(tmp_path, *replacements)
    with pytest.raises(ProblemError) as caught:
        load(folder)
    assert str(folder) in str(caught.value)
    for piece in case[len(replacements) :]:
        assert str(piece) in str(caught.value)


def test_a_problem_without_workloads_is_refused(tmp_path: Path) -> None:
    folder = write_problem(tmp_path, toml=TOML.partition("[[workloads]]")[0])
    with pytest.raises(ProblemError, match=r"workloads: found nothing.*write it as \[\[workloads\]\]"):
        load(folder)


@pytest.mark.parametrize("name", ["problem.toml", "reference.py", "statement.md"])
def test_a_missing_file_is_named_with_the_next_step(tmp_path: Path, name: str) -> None:
    folder = write_problem(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ProblemError, match=rf"{name}: no such file; write"):
        load(folder)


@pytest.mark.parametrize("name", ["problem.toml", "statement.md"])
def test_a_file_that_is_not_text_is_named(tmp_path: Path, name: str) -> None:
    folder = write_problem(tmp_path)
    (folder / name).write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemError, match=rf"{name}: is not UTF-8"):
        load(folder)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="nowhere: no such folder"):
        load(tmp_path / "nowhere")


def test_deeply_nested_toml_is_refused_and_does_not_crash(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="is not TOML"):
        load(write_problem(tmp_path, toml="a = " + "[" * 100_000))


def test_reference_py_is_not_imported_by_loading(tmp_path: Path) -> None:
    load(write_problem(tmp_path, reference=REFERENCE + "raise RuntimeError('imported')\n"))


@pytest.mark.parametrize(
    ("reference", "files", "message"),
    [
        (
            "def f():\n    import helper\n",
            {"helper.py": ""},
            "inside a function; .* move the import to the top",
        ),
        ("import random\n", {"random.py": ""}, "is a file here and a library; rename the file random.py"),
        ("import helper\n", {"helper.py": "x = ("}, r"helper.py:1: .* correct the syntax"),
    ],
)
def test_a_local_import_that_cannot_work_is_refused(
    tmp_path: Path, reference: str, files: dict[str, str], message: str
) -> None:
    with pytest.raises(ProblemError, match=message):
        load(write_problem(tmp_path, reference=REFERENCE + reference, files=files))


@pytest.mark.parametrize(
    "change",
    [
        ("heads = 2", "heads = 3"),
        ('name = "x"', 'name = "xx"'),
        ('name = "y"', 'name = "yy"'),
        ("8*eps", "9*eps"),
        ("16*rows*cols", "17*rows*cols"),
        ("rows = 1\n", "rows = 2\n"),
        ("tags =", 'reference_dtype = "native"\ntags ='),
        ("tags =", 'precision = "tf32"\ntags ='),
        ("return alpha * x", "return x * alpha"),
    ],
)
def test_the_version_changes_with_what_decides_the_answer(tmp_path: Path, change: tuple[str, str]) -> None:
    before = load(write_problem(tmp_path / "a")).version
    assert load(write_problem(tmp_path / "b", change)).version != before


@pytest.mark.parametrize(
    ("changes", "files"),
    [
        ([("Scaled copy", "Another title")], {}),
        ([('["memory-bound"]', "[]")], {}),
        ([("[axes]", "# a comment\n[axes]")], {}),
        ([("tags =", 'reference_dtype = "float64"\ntags =')], {}),
        ([], {"statement.md": "Other words."}),
        ([], {"starter/kernel.py": "x", "solutions/correct/a.py": "y"}),
        ([], {"helper.py": "not imported"}),
    ],
)
def test_the_version_does_not_change_with_the_rest(
    tmp_path: Path, changes: list[tuple[str, str]], files: dict[str, str]
) -> None:
    before = load(write_problem(tmp_path / "a")).version
    assert load(write_problem(tmp_path / "b", *changes, files=files)).version == before


@pytest.mark.parametrize("changed", ["helper.py", "deeper.py", "package/__init__.py", "package/part.py"])
def test_the_version_changes_with_every_local_import(tmp_path: Path, changed: str) -> None:
    files = {
        "helper.py": "import deeper",
        "deeper.py": "import torch",
        "package/__init__.py": "from . import part",
        "package/part.py": "",
    }
    imports = ("import torch", "import helper, torch\nfrom package import part")
    before = load(write_problem(tmp_path / "a", imports, files=files)).version
    files[changed] += "\nx = 1"
    assert load(write_problem(tmp_path / "b", imports, files=files)).version != before


def test_the_version_does_not_depend_on_where_the_folder_is(tmp_path: Path) -> None:
    assert load(write_problem(tmp_path / "a")) != load(write_problem(tmp_path / "b"))
    assert load(write_problem(tmp_path / "a")).id == load(write_problem(tmp_path / "b")).id
