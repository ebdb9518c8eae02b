"""The calibration suite holds what `hotlap calibrate` relies on."""

import inspect

import pytest
import torch

from hotlap.model import Kind, Problem
from hotlap.problems.find import bundled
from hotlap.problems.reference import load_reference, make_inputs
from hotlap.referee.check import compare_call
from hotlap.referee.rng import Rng

KINDS = {"memory", "matrix", "launch"}
PROBLEMS = pytest.mark.parametrize("problem", bundled("calibration"), ids=lambda problem: problem.name)


def test_there_is_a_problem_of_each_kind() -> None:
    assert {problem.name for problem in bundled("calibration")} == KINDS


@PROBLEMS
@pytest.mark.parametrize("profile", ["cpu", "gpu"])
def test_each_kind_has_one_bench_workload_a_device(problem: Problem, profile: str) -> None:
    benches = [w for w in problem.workloads if w.kind is Kind.bench and w.profile == profile]
    assert len(benches) == 1


@PROBLEMS
def test_each_kind_has_a_library_call_that_writes_into_the_given_output(problem: Problem) -> None:
    scope: dict[str, object] = {}
    exec((problem.folder / "solutions/correct/torch_out.py").read_text(), scope)
    kernel = scope["kernel"]
    assert callable(kernel)
    assert "out" in inspect.signature(kernel).parameters


@pytest.mark.parametrize("k", [64, 512, 4096])
@pytest.mark.parametrize(
    ("sums", "is_right"),
    [("float32", True), ("float32 towards zero", True), ("bfloat16", False), ("float16", False)],
)
def test_matrix_sums_must_be_kept_in_float32(k: int, sums: str, is_right: bool) -> None:
    (problem,) = (p for p in bundled("calibration") if p.name == "matrix")
    reference = load_reference(problem)
    axes = {"m": 16, "k": k, "n": 64}
    a, b = make_inputs(reference, problem, axes, Rng(7), "cpu")
    total = torch.zeros(16, 64, dtype=torch.float32)
    for start in range(0, k, 16):  # as matrix units do: 16 products at a time
        exact = total.double() + a[:, start : start + 16].double() @ b[start : start + 16].double()
        total = exact.float()
        if sums == "float32 towards zero":
            total = torch.where(total.double().abs() > exact.abs(), total.nextafter(torch.zeros(())), total)
        elif sums != "float32":
            total = total.to(getattr(torch, sums)).float()
    wrong = compare_call(problem, reference, axes, (a, b), (total.bfloat16(),)).wrong
    assert (wrong is None) == is_right
