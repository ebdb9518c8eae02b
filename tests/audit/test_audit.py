"""Each fault of a problem is found, and a problem without one is sound."""

from pathlib import Path
from typing import Any

import pytest

from hotlap.audit.audit import audit_problem
from hotlap.audit.report import AuditFinding, ProblemAudit, Severity, Soundness
from hotlap.errors import ProblemError
from hotlap.problems.find import bundled, find
from tests.audit.problems import write_tiny
from tests.formats.kernelbot_folder import write_folder

GB = 10**9
RELU = "def reference(x):\n    return torch.relu(x)\n"
DRAWN = "import torch\n\n\ndef make_inputs(axes, rng, device):\n    return (rng.normal((axes['n'],)),)\n\n\n"
SUM = "def reference(x, w):\n    return x + w\n"


def audited(
    tmp_path: Path, reference: str, memory: int = GB, seconds: float = 20.0, **rest: Any
) -> ProblemAudit:
    return audit_problem(find(str(write_tiny(tmp_path, reference, **rest))), memory, seconds)


def found(audit: ProblemAudit, check: str, words: str = "") -> AuditFinding:
    """The finding of a check, of those that say these words the first."""
    matching = [f for f in audit.findings if f.check == check and words in f.fact]
    assert matching, [(f.check, f.fact) for f in audit.findings]
    return matching[0]


def faults(audit: ProblemAudit) -> list[str]:
    return [f"{f.check}: {f.fact}" for f in audit.findings if f.severity is not Severity.note]


@pytest.mark.parametrize("reference", [RELU, "def reference(x):\n    return torch.exp(x) * 2\n"])
def test_a_problem_without_a_fault_is_sound(reference: str, tmp_path: Path) -> None:
    audit = audited(tmp_path, reference)
    assert (audit.verdict, faults(audit), audit.not_audited) == (Soundness.sound, [], ())
    assert audit.audited == ({"n": 7}, {"n": 1000})


def test_two_inputs_that_both_matter_are_sound(tmp_path: Path) -> None:
    audit = audited(tmp_path, SUM, inputs=("x", "w"))
    assert (audit.verdict, faults(audit)) == (Soundness.sound, [])


@pytest.mark.parametrize("problem", bundled(), ids=lambda problem: problem.name)
def test_every_bundled_problem_is_sound(problem: Any) -> None:
    audit = audit_problem(problem, 4 * GB, 60.0)
    assert (audit.verdict, faults(audit), audit.not_audited) == (Soundness.sound, [], ())


# --- broken: what takes no work passes -------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("def reference(x):\n    return torch.relu(x - 100)\n", "zeros"),
        ("def reference(x):\n    return torch.ones_like(x)\n", "ones"),
        ("def reference(x):\n    return torch.full_like(x, 0.3)\n", "the same number everywhere"),
        (
            "def reference(x):\n    return torch.arange(len(x), device=x.device) + 0 * x\n",
            "the answer to other inputs",
        ),
        (
            "def reference(x):\n    return x.sum().sign().abs() * torch.full_like(x, 3.0)\n",
            "its first element",
        ),
    ],
)
def test_an_answer_that_takes_no_work_breaks_a_problem(reference: str, says: str, tmp_path: Path) -> None:
    audit = audited(tmp_path, reference)
    assert audit.verdict is Soundness.broken
    finding = found(audit, "trivial output", says)
    assert finding.severity is Severity.broken
    assert {"n": 1000} in finding.workloads


def test_zeros_below_the_tolerance_break_a_problem(tmp_path: Path) -> None:
    softmax = "def reference(x):\n    return torch.softmax(x, dim=0)\n"
    audit = audited(tmp_path, softmax, rtol="0.01", atol="0.1", sizes=(7, 1001))
    assert audit.verdict is Soundness.broken
    assert found(audit, "trivial output", "zeros").numbers["error_over_tolerance"] < 1


def test_a_mean_that_is_the_same_in_every_call_breaks_a_problem(tmp_path: Path) -> None:
    mean = "def reference(x):\n    return x.mean().reshape(1)\n"
    audit = audited(tmp_path, mean, shape="[1]", atol="0.2", cost="4*n", sizes=(7, 50001))
    assert audit.verdict is Soundness.broken
    assert found(audit, "constant output").numbers == {"constant_share": 1.0}


def test_an_input_that_does_not_matter_breaks_a_problem(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x, w):\n    return 2 * x\n", inputs=("x", "w"))
    assert audit.verdict is Soundness.broken
    assert "input w does not matter" in found(audit, "inputs matter").fact


def test_a_reference_that_answers_differently_each_time_breaks_a_problem(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return x * torch.rand(())\n")
    assert audit.verdict is Soundness.broken
    assert "another answer" in found(audit, "repeatable").fact


def test_a_tolerance_that_honest_rounding_exceeds_breaks_a_problem(tmp_path: Path) -> None:
    steep = "def reference(x):\n    return torch.exp(20 * x)\n"
    audit = audited(tmp_path, steep, rtol='"eps"', atol="0")
    assert audit.verdict is Soundness.broken
    assert found(audit, "tolerance wide enough").numbers["honest_error_over_tolerance"] > 1


def test_a_right_answer_that_its_type_cannot_hold_breaks_a_problem(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return x / 3\n", rtol='"eps/100"', atol="0")
    assert audit.verdict is Soundness.broken
    assert "rejected" in found(audit, "right answer").fact


def test_a_reference_that_raises_breaks_a_problem(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    raise ValueError('no')\n")
    assert audit.verdict is Soundness.broken
    assert "ValueError: no" in found(audit, "runs").fact


def test_what_passes_by_the_problems_own_check_counts(tmp_path: Path) -> None:
    own = (
        "\n\ndef check(inputs, outputs):\n    return [] if outputs[0].abs().max() < 100 else ['too large']\n"
    )
    audit = audited(tmp_path, RELU + own)
    assert audit.verdict is Soundness.broken
    assert found(audit, "trivial output", "zeros")


# --- weak: less than the whole work passes ---------------------------------------------------------


def test_a_tolerance_that_lets_half_precision_through_is_weak(tmp_path: Path) -> None:
    audit = audited(tmp_path, RELU, rtol="0.05", atol="0.001")
    assert audit.verdict is Soundness.weak
    assert {f.fact.split()[1] for f in audit.findings if f.check == "tolerance narrow enough"} == {
        "tf32",
        "bfloat16",
        "float16",
    }


def test_tf32_may_pass_where_it_is_declared(tmp_path: Path) -> None:
    audit = audited(tmp_path, RELU, rtol="0.0006", atol="0.00001", top='precision = "tf32"')
    assert "tolerance narrow enough" not in [f.check for f in audit.findings if "tf32" in f.fact]


def test_a_copy_of_an_input_is_weak(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return x.clone()\n")
    assert (audit.verdict, found(audit, "trivial output").fact) == (
        Soundness.weak,
        "accepted: a copy of input x",
    )


def test_a_stage_that_does_nothing_is_weak(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return torch.clamp(torch.exp(x), min=0.0) * 2\n")
    assert audit.verdict is Soundness.weak
    assert found(audit, "stages matter").fact.startswith("clamp (call 2 of 3")


def test_work_that_is_thrown_away_is_weak(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    torch.exp(x).sum()\n    return 2 * x\n")
    assert audit.verdict is Soundness.weak
    assert "exp (call 1 of 3" in found(audit, "stages matter", "zeros").fact


def test_a_guard_against_dividing_by_zero_is_no_fault(tmp_path: Path) -> None:
    norm = "def reference(x):\n    return x / (x.square().mean() + 1e-12).sqrt()\n"
    audit = audited(tmp_path, norm)
    assert (audit.verdict, found(audit, "stages matter").severity) == (Soundness.sound, Severity.note)


def test_shifting_a_softmax_matters_where_inputs_are_large(tmp_path: Path) -> None:
    shifted = "def reference(x):\n    e = torch.exp(x - x.amax())\n    return e / e.sum()\n"
    assert faults(audited(tmp_path, shifted))
    large = DRAWN.replace("rng.normal((axes['n'],))", "rng.normal((axes['n'],)) + 200")
    assert faults(audited(tmp_path, shifted, drawn=large, rtol='"2000*eps"', atol="0")) == []


def test_a_weight_that_cancels_is_weak(tmp_path: Path) -> None:
    module = (
        "torch.manual_seed(0)\nlayer = torch.nn.Linear(1, 3).double()\n\n\n"
        "def reference(x):\n    h = layer(x[:, None])\n    return (h - h.mean(dim=0))[:, 0]\n"
    )
    audit = audited(tmp_path, module)
    assert audit.verdict is Soundness.weak
    assert found(audit, "weights matter").fact.startswith("parameter bias never matters")
    assert not [f for f in audit.findings if "parameter weight" in f.fact]


def test_an_output_that_is_the_same_along_an_axis_is_weak(tmp_path: Path) -> None:
    rows = "def reference(x):\n    return x[:, None].expand(-1, 3) * 2\n"
    audit = audited(tmp_path, rows, shape='["n", 3]', cost="16*n")
    assert audit.verdict is Soundness.weak
    assert "axis 1" in found(audit, "uniform output").fact


def test_an_answer_that_is_known_beforehand_for_the_most_part_is_weak(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return torch.relu(x - 3)\n", sizes=(7, 10007))
    assert audit.verdict is Soundness.weak
    assert 0.9 < found(audit, "constant output").numbers["constant_share"] < 1


def test_an_input_that_never_changes_is_weak(tmp_path: Path) -> None:
    drawn = "import torch\n\n\ndef make_inputs(axes, rng, device):\n"
    drawn += "    n = axes['n']\n    return rng.normal((n,)), torch.linspace(1, 2, n)\n\n\n"
    audit = audited(tmp_path, SUM, inputs=("x", "w"), drawn=drawn)
    assert audit.verdict is Soundness.weak
    assert "input w is the same in every call" in found(audit, "inputs change").fact


def test_infinities_are_weak(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return torch.where(x > 2, torch.inf, x * 2)\n")
    assert audit.verdict is Soundness.weak
    assert 0 < found(audit, "finite").numbers["share_not_finite"] < 0.1


def test_inputs_from_elsewhere_than_rng_are_weak(tmp_path: Path) -> None:
    drawn = DRAWN.replace("rng.normal((axes['n'],))", "torch.randn(axes['n'])")
    audit = audited(tmp_path, RELU, drawn=drawn)
    assert audit.verdict is Soundness.weak
    assert "make_inputs gives other inputs (x)" in found(audit, "repeatable").fact


@pytest.mark.parametrize(("sizes", "is_weak"), [((64, 1024), True), ((64, 1000), False), ((1, 1024), False)])
def test_sizes_that_every_tile_divides_are_weak(
    sizes: tuple[int, ...], is_weak: bool, tmp_path: Path
) -> None:
    drawn = DRAWN
    audit = audited(tmp_path, RELU, sizes=sizes, drawn=drawn)
    assert (audit.verdict is Soundness.weak) == is_weak
    assert ["n is always a multiple of" in f.fact for f in audit.findings if f.check == "odd sizes"] == [
        True
    ] * is_weak


@pytest.mark.parametrize(("cost", "verdict"), [("17*n", "weak"), ("3*n", "sound"), ("8*n", "sound")])
def test_more_bytes_than_there_are_is_weak(cost: str, verdict: str, tmp_path: Path) -> None:
    assert audited(tmp_path, RELU, cost=cost).verdict.value == verdict


# --- notes and limits ------------------------------------------------------------------------------


def test_a_test_that_says_little_is_a_note(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return torch.softmax(x, dim=0)\n", sizes=(1, 1001))
    assert (audit.verdict, found(audit, "trivial output", "ones").severity) == (
        Soundness.sound,
        Severity.note,
    )


def test_whole_numbers_in_floats_are_noted(tmp_path: Path) -> None:
    drawn = "import torch\n\n\ndef make_inputs(axes, rng, device):\n"
    drawn += "    return (rng.integers(0, 90000, (axes['n'],)).float(),)\n\n\n"
    audit = audited(tmp_path, "def reference(x):\n    return x / 7\n", drawn=drawn)
    assert "holds only whole numbers" in found(audit, "types", "input x").fact


def test_a_workload_that_needs_too_much_memory_is_not_audited(tmp_path: Path) -> None:
    audit = audited(tmp_path, RELU, memory=10**6, sizes=(7, 10**6))
    assert [(item.check, item.axes) for item in audit.not_audited] == [(None, {"n": 10**6})]
    assert "--memory" in audit.not_audited[0].reason


def test_a_reference_that_needs_too_much_memory_is_not_audited(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return x + torch.ones(10**9).sum()\n")
    assert audit.verdict is Soundness.not_audited
    assert audit.not_audited[0].reason.startswith("needs more memory than is allowed")


def test_what_there_is_no_time_for_is_not_audited(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef reference(x):\n    time.sleep(0.3)\n    return torch.relu(x)\n"
    audit = audited(tmp_path, slow, seconds=0.7)
    assert any("time" in item.reason for item in audit.not_audited)
    assert audit.seconds < 10


def test_a_reference_that_cannot_be_loaded_is_no_audit(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="ZeroDivisionError"):
        audited(tmp_path, "1 / 0\n\n\n" + RELU)


def test_an_audit_finds_the_same_again(tmp_path: Path) -> None:
    audit = audited(tmp_path, "def reference(x):\n    return torch.relu(x - 3)\n", sizes=(7, 10007))
    again = audited(tmp_path, "def reference(x):\n    return torch.relu(x - 3)\n", sizes=(7, 10007))
    assert (audit.findings, audit.measures) == (again.findings, again.measures)


# --- KernelBench files -----------------------------------------------------------------------------

MODEL = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(33, 17)
        self.norm = {norm}

    def forward(self, x):
        return {forward}


def get_inputs():
    return [torch.rand(129, 33)]


def get_init_inputs():
    return []
"""


def audited_model(tmp_path: Path, forward: str, norm: str = "None") -> ProblemAudit:
    file = tmp_path / "1_Tiny.py"
    file.write_text(MODEL.replace("{forward}", forward).replace("{norm}", norm))
    return audit_problem(find(str(file)), GB, 20.0)


def test_a_kernelbench_file_is_audited(tmp_path: Path) -> None:
    audit = audited_model(tmp_path, "self.linear(30 * x).sin()")
    assert (audit.verdict, faults(audit), audit.audited) == (Soundness.sound, [], ({"case": 0},))
    assert "weights matter" in audit.checks


def test_a_kernelbench_file_that_answers_zero_is_broken(tmp_path: Path) -> None:
    audit = audited_model(tmp_path, "torch.relu(self.linear(x) - 100)")
    assert audit.verdict is Soundness.broken
    assert found(audit, "trivial output", "zeros")
    assert found(audit, "weights matter", "parameter linear.weight")


def test_a_bias_before_a_batch_norm_never_matters(tmp_path: Path) -> None:
    audit = audited_model(tmp_path, "self.norm(self.linear(x))", "torch.nn.BatchNorm1d(17)")
    (fact,) = [finding.fact for finding in audit.findings if finding.check == "weights matter"]
    assert fact.startswith("parameter linear.bias never matters")


def test_a_weight_that_is_never_used_does_not_matter(tmp_path: Path) -> None:
    audit = audited_model(tmp_path, "self.linear(x)", "torch.nn.BatchNorm1d(17)")
    facts = [finding.fact for finding in audit.findings if finding.check == "weights matter"]
    assert [fact.split()[1] for fact in facts] == ["norm.weight", "norm.bias"]


# --- docs ------------------------------------------------------------------------------------------


def test_every_check_and_verdict_is_explained(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
    checks = audited_model(tmp_path, "self.linear(x)").checks
    assert len(checks) > 12
    for word in (*checks, *Soundness, *Severity):
        assert f"`{word}`" in page, word


def test_memory_for_answers_that_a_kernelbot_folder_hands_over_is_no_input_without_effect(
    tmp_path: Path,
) -> None:
    made = audit_problem(find(str(write_folder(tmp_path))), 4 * GB, 20.0)
    assert [finding.check for finding in made.findings if finding.check.startswith("inputs")] == []
    assert "trivial output" in made.checks
