"""Which workload is profiled."""

import pytest

from hotlap.errors import UsageError
from hotlap.problems.find import find
from hotlap.profiling.workload import choose, smallest_test

SOFTMAX = find("basics/softmax")


@pytest.mark.parametrize(
    ("device", "wanted", "axes"),
    [
        ("cpu", None, {"rows": 64, "cols": 4001}),
        ("cpu", "0", {"rows": 512, "cols": 256}),
        ("cpu", "rows=3,cols=5", {"rows": 3, "cols": 5}),
        ("cpu", "cols=5, rows=3", {"rows": 3, "cols": 5}),
    ],
)
def test_a_workload_is_the_largest_or_named_by_number_or_axes(
    device: str, wanted: str | None, axes: dict[str, int]
) -> None:
    assert choose(SOFTMAX, device, wanted) == axes


def test_a_gpu_has_larger_ones() -> None:
    axes = choose(SOFTMAX, "cuda", None)
    assert axes["rows"] * axes["cols"] > 1 << 20


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("2", "--workload 2: .* has no such one here; allowed: .* 0 .rows=512,cols=256., 1 "),
        ("rows=3", "no value for cols"),
        ("rows=3,cols=0", "'cols=0' is no axis with a positive whole number"),
        ("rows=3,cols=x", "'cols=x'"),
        ("rows=3,rows=4,cols=1", "'rows=4'"),
        ("n=4", "'n=4'"),
        ("", "''"),
        ("-1", "'-1'"),
    ],
)
def test_a_workload_that_cannot_be_is_a_usage_error_that_says_what_can(wanted: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        choose(SOFTMAX, "cpu", wanted)
    assert "allowed: " in str(raised.value)


def test_a_sanitizer_gets_a_test_workload_that_is_small() -> None:
    axes = smallest_test(SOFTMAX, "cuda")
    tests = [dict(w.axes) for w in SOFTMAX.workloads if w.kind == "test" and w.profile == "gpu"]
    assert axes in tests
