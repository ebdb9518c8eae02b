"""Rounds on a real contestant: what comes back is what was computed, whatever the kernel returns or says."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hotlap.model import Fault, Problem, Status, TensorSpec
from hotlap.problems.reference import Reference
from hotlap.referee import check
from hotlap.referee.buffers import Layout
from hotlap.referee.rng import Rng
from hotlap.referee.rounds import (
    RoundResult,
    Vault,
    parse_returned,
    returned,
    secret_choice,
)
from hotlap.referee.seat import Seat, SeatFailed
from tests.referee.seats import DOUBLE, DOUBLING, assigned, play, problem, seated, settle, take, vault, vector

AXES = {"n": 37}


@pytest.fixture(scope="module")
def seat() -> Iterator[Seat]:
    """One contestant with torch for the whole module: it loads one kernel after the other."""
    with seated("torch") as made:
        yield made


@pytest.fixture
def bare() -> Iterator[Seat]:
    """A contestant for one C++ kernel: a library cannot be replaced once it is loaded."""
    with seated() as made:
        yield made


def compared(given: Problem, reference: Reference, axes: Mapping[str, int]) -> tuple[list[str | None], Any]:
    """A list that fills with what is wrong with each call, and the function that fills it."""
    found: list[str | None] = []

    def look(drawn: Vault, result: RoundResult) -> None:
        found.append(result.wrong)
        for call, outputs in result.outputs.items():
            found.append(check.compare_call(given, reference, dict(axes), drawn.inputs[call], outputs).wrong)

    return found, look


def answers(
    seat: Seat,
    source: str,
    given: Problem = DOUBLING,
    reference: Reference = DOUBLE,
    lang: str = "python",
    axes: Mapping[str, int] = AXES,
) -> set[str | None]:
    """All that is wrong over two rounds of a kernel; {None} for a right one."""
    found, look = compared(given, reference, axes)
    play(seat, take(seat, source, axes, given, lang), axes, given, reference, each=look)
    return set(found)


# --- one output ------------------------------------------------------------------------------------

RIGHT = {
    "a tensor": "def kernel(x): return x + x",
    "a tuple of one": "def kernel(x): return (x + x,)",
    "out": "def kernel(x, out): out.copy_(x).mul_(2)",
    "out that is returned too": "def kernel(x, *, out):\n out.copy_(2 * x)\n return out",
    "numpy": "def kernel(x): return 2 * x.numpy()",
    "numpy with a stride": """
import numpy as np
def kernel(x):
    wide = np.zeros(3 * len(x), np.float32)
    wide[::3] = 2 * x.numpy()
    return wide[::3]
""",
    "numpy backwards": """
import numpy as np
def kernel(x): return np.ascontiguousarray(2 * x.numpy()[::-1])[::-1]
""",
    "a tensor with a stride": """
import torch
def kernel(x): return torch.stack((x, 2 * x), dim=1)[:, 1]
""",
    "a part of a larger tensor": """
import torch
def kernel(x): return torch.cat((x, 2 * x, x))[len(x):2 * len(x)]
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_is_right_however_it_is_given(seat: Seat, name: str) -> None:
    assert answers(seat, RIGHT[name]) == {None}


@pytest.mark.parametrize("name", RIGHT)
def test_a_wrong_answer_is_wrong_however_it_is_given(seat: Seat, name: str) -> None:
    wrong = answers(seat, re.sub(r"\b2 \* x|x \+ x", "3 * x", RIGHT[name]).replace("mul_(2)", "mul_(3)"))
    assert any(text is not None and "elements beyond tolerance" in text for text in wrong)


MATRIX = problem([TensorSpec("x", "float32", ("n", 5))], [TensorSpec("y", "float32", (5, "n"))])
TRANSPOSE = Reference(lambda axes, rng, device: (rng.normal((axes["n"], 5)),), lambda x: x.T, {})


@pytest.mark.parametrize(
    "source",
    [
        "def kernel(x): return x.clone().T",
        "def kernel(x): return x.numpy().copy().T",
        "def kernel(x): return x.numpy().T[::-1].copy()[::-1]",
        "def kernel(x): return x.T.contiguous()",
    ],
)
def test_a_transposed_view_is_read_with_its_strides(seat: Seat, source: str) -> None:
    assert answers(seat, source, MATRIX, TRANSPOSE) == {None}


def test_a_returned_input_is_right_where_it_is_the_answer(seat: Seat) -> None:
    identity = Reference(DOUBLE.make_inputs, lambda x: x, {})
    assert answers(seat, "def kernel(x): return x", DOUBLING, identity) == {None}


# --- several outputs, scalars ----------------------------------------------------------------------

MANY = problem(
    [
        vector("x"),
        TensorSpec("alpha", "float32", None),
        TensorSpec("k", "int64", None),
        TensorSpec("flip", "bool", None),
    ],
    [
        TensorSpec("y", "bfloat16", ("n", 2)),
        vector("mask", "bool"),
        TensorSpec("place", "int64", ()),
        vector("code", "int8"),
    ],
)


def many_inputs(axes: Mapping[str, int], rng: Rng, device: str) -> tuple[Any, ...]:
    scalars = rng.integers(-9, 9, (2,)).tolist()
    return rng.normal((axes["n"],)), scalars[0] / 4, scalars[1], bool(scalars[0] % 2)


def many_outputs(x: Any, alpha: float, k: int, flip: bool) -> tuple[Any, ...]:
    y = torch.stack((alpha * x, x + k), dim=1)
    return y, (x > 0) ^ flip, x.argmax(), (x * 4).to(torch.int8)


MANY_REFERENCE = Reference(many_inputs, many_outputs, {})
MANY_KERNELS = {
    "returned": """
import torch
def kernel(x, alpha, k, flip):
    assert (type(alpha), type(k), type(flip)) == (float, int, bool)
    y = torch.stack((alpha * x, x + k), dim=1)
    return y.bfloat16(), (x > 0) ^ flip, x.argmax(), (x * 4).to(torch.int8)
""",
    "out": """
def kernel(x, alpha, k, flip, out):
    y, mask, place, code = out
    y[:, 0], y[:, 1] = alpha * x, x + k
    mask.copy_((x > 0) ^ flip)
    place.copy_(x.argmax())
    code.copy_(x * 4)
""",
}
MANY_CPP = """
#include <bit>
static uint16_t rounded(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
extern "C" int kernel(const float* x, double alpha, int64_t k, uint8_t flip, uint16_t* y, uint8_t* mask,
                      int64_t* place, int8_t* code, int64_t n) {
  *place = 0;
  for (int64_t i = 0; i < n; ++i) {
    y[2 * i] = rounded(alpha * x[i]);
    y[2 * i + 1] = rounded(x[i] + k);
    mask[i] = (x[i] > 0) ^ flip;
    code[i] = x[i] * 4;
    if (x[i] > x[*place]) *place = i;
  }
  return 0;
}
"""


@pytest.mark.parametrize("name", MANY_KERNELS)
def test_scalars_arrive_by_value_and_outputs_of_every_type_come_back(seat: Seat, name: str) -> None:
    assert answers(seat, MANY_KERNELS[name], MANY, MANY_REFERENCE) == {None}


def test_a_c_kernel_takes_scalars_by_value_and_writes_outputs_of_every_type(bare: Seat) -> None:
    assert answers(bare, MANY_CPP, MANY, MANY_REFERENCE, "cpp") == {None}


PAIR = problem([vector("x")], [vector("y"), vector("z")])
PAIR_REFERENCE = Reference(DOUBLE.make_inputs, lambda x: (2 * x, 3 * x), {})


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ndef kernel(x): return torch.stack((2 * x, 3 * x), 1).unbind(1)",
        "import torch\ndef kernel(x): return torch.stack((2 * x, 3 * x)).unbind()",
        "def kernel(x):\n z = 3 * x\n return 2 * x, z.numpy()",
    ],
)
def test_outputs_of_one_call_may_be_parts_of_one_array(seat: Seat, source: str) -> None:
    assert answers(seat, source, PAIR, PAIR_REFERENCE) == {None}


# --- the contract ----------------------------------------------------------------------------------


def refused(
    seat: Seat, source: str, given: Problem = DOUBLING, reference: Reference = DOUBLE, lang: str = "python"
) -> str:
    """Why a kernel is failed."""
    with pytest.raises(SeatFailed) as caught:
        play(seat, take(seat, source, AXES, given, lang), AXES, given, reference)
    settle(seat)
    failure = caught.value.failure
    assert (failure.status, failure.fault) == (Status.failed, Fault.submission)
    return failure.message


KEPT = "import torch\nkept = torch.empty(37)\ndef kernel(x):\n    kept.copy_(2 * x)\n    return kept"
OVERLAP = """
import torch
kept, n = torch.empty(4096), 0
def kernel(x):
    global n
    n += 1
    return kept[n:n + 37]
"""


@pytest.mark.parametrize("source", [KEPT, OVERLAP], ids=["the same", "overlapping"])
def test_memory_that_is_returned_twice_in_a_round_is_refused(seat: Seat, source: str) -> None:
    assert refused(seat, source) == (
        "returned the same memory twice, so that a later call overwrites an earlier answer; "
        "return fresh arrays, or write into a parameter `out`"
    )


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def kernel(x): return None", "returned None, expected y; return it, or name a parameter `out`"),
        ("def kernel(x): return x, x", "returned 2 outputs, expected 1"),
        ("def kernel(x): return ()", "returned 0 outputs, expected 1"),
        ("def kernel(x): return 1.5", "returned float for output y, expected a tensor"),
        ("def kernel(x): return [x]", "returned list for output y, expected a tensor"),
        ("def kernel(x): return x[:5].clone()", "output y has shape [5], expected [37]"),
        ("def kernel(x): return x.double()", "output y has dtype float64, expected float32"),
        ("def kernel(x): return x.to('meta')", "output y is on device meta, expected cpu"),
        (
            "import torch\ndef kernel(x): return torch.empty(36 * (1 << 22) + 1)[::1 << 22]",
            f"output y is spread over {36 * 4 * (1 << 22) + 4} bytes; make it contiguous",
        ),
    ],
)
def test_what_does_not_keep_the_contract_is_refused_in_its_words(seat: Seat, source: str, found: str) -> None:
    assert refused(seat, source) == found


def test_layouts_that_change_from_call_to_call_are_refused(seat: Seat) -> None:
    source = """
import torch
n = 0
def kernel(x):
    global n
    n += 1
    return 2 * x if n % 2 else torch.stack((2 * x, x), 1)[:, 0]
"""
    assert refused(seat, source) == "returned arrays of different layouts within one round"


@pytest.mark.parametrize("n", [36, 37])
@pytest.mark.parametrize("extra", [1, 2])
def test_a_write_behind_the_end_of_an_output_is_seen(bare: Seat, n: int, extra: int) -> None:
    source = f"""
    extern "C" int kernel(const float* x, float* y, int64_t n) {{
      for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
      for (int64_t i = n; i < n + {extra}; ++i) y[i] = 0;
      return 0;
    }}
    """
    axes = {"n": n}
    style = take(bare, source, axes)
    with pytest.raises(SeatFailed, match="wrote outside output y: the memory behind its end changed"):
        play(bare, style, axes)


def test_an_input_cannot_be_written(bare: Seat) -> None:
    source = """
    extern "C" int kernel(const float* x, float* y, int64_t n) {
      const_cast<float*>(x)[0] = 1;
      return 0;
    }
    """
    assert refused(bare, source, lang="cpp").startswith("was killed by SIG")


MUTABLE = problem([vector("x", mutable=True)], [vector("y")])


@pytest.mark.parametrize(
    "source", ["def kernel(x): return x.mul_(2)", "def kernel(x, out): out.copy_(x.mul_(2))"]
)
def test_a_mutable_input_may_be_written_and_is_fresh_in_each_call(seat: Seat, source: str) -> None:
    assert answers(seat, source, MUTABLE) == {None}


# --- what was written, and when --------------------------------------------------------------------


def test_an_output_that_is_not_written_is_named(seat: Seat) -> None:
    style = take(seat, "def kernel(x, out): pass", AXES, lang="python")
    with assigned(seat, style, AXES) as assignment:
        wrong = assignment.round(vault(2, AXES), [], 64, 5).wrong
    assert wrong is not None
    assert re.fullmatch(
        r"output y: \d+ of \d+ sampled words were never written when the kernel said it was done", wrong
    )


def test_a_call_that_is_skipped_among_others_is_found(seat: Seat) -> None:
    source = """
n = 0
def kernel(x, out):
    global n
    n += 1
    if n != 3:
        out.copy_(2 * x)
"""
    style = take(seat, source, AXES, lang="python")
    with assigned(seat, style, AXES) as assignment:
        assert assignment.round(vault(1, AXES), [], 64, 5).wrong is None
        result = assignment.round(vault(4, AXES), [], 512, 5)
    assert result.wrong is not None
    assert result.wrong_call == 1


def test_an_answer_that_was_not_computed_again_does_not_show_through(seat: Seat) -> None:
    # The allocator hands the last round's memory out again, with the last round's right answers in it.
    source = """
import torch
n = 0
def kernel(x):
    global n
    n += 1
    return 2 * x if n < 3 else torch.empty_like(x)
"""
    style = take(seat, source, AXES, lang="python")
    same = vault(1, AXES)
    with assigned(seat, style, AXES) as assignment:
        results = [assignment.round(same, [0], 64, 5) for _ in range(4)]
    right = [
        r.wrong is None
        and check.compare_call(DOUBLING, DOUBLE, AXES, same.inputs[0], r.outputs[0]).wrong is None
        for r in results
    ]
    assert right == [True, True, False, False]


def test_work_that_a_thread_ends_after_the_call_is_seen(seat: Seat) -> None:
    source = """
import threading, time
def late(x, out):
    time.sleep(0.05)
    out.copy_(2 * x)
def kernel(x, out):
    threading.Thread(target=late, args=(x, out)).start()
"""
    wrong = answers(seat, source)
    seat.thaw()
    time.sleep(0.2)  # its threads end while their memory is still mapped
    assert wrong != {None}


TINY = problem([vector("x", "int8")], [TensorSpec("y", "int8", ()), TensorSpec("b", "bool", ())])
TINY_REFERENCE = Reference(
    lambda axes, rng, device: (rng.integers(-128, 128, (axes["n"],), "int8"),),
    lambda x: (x[0], x[0] > 0),
    {},
)


WRITES_TINY = "def kernel(x, out):\n out[0].copy_(x[0])\n out[1].copy_(x[0] > 0)"


def compared_tiny(drawn: Vault, result: RoundResult) -> list[bool]:
    """Which of the calls that came back whole are right."""
    return [
        check.compare_call(TINY, TINY_REFERENCE, AXES, drawn.inputs[call], outputs).wrong is None
        for call, outputs in result.outputs.items()
    ]


def test_an_answer_of_one_byte_that_happens_to_be_the_poison_is_right(seat: Seat) -> None:
    style = take(seat, WRITES_TINY, AXES, TINY, "python")
    with assigned(seat, style, AXES, TINY, slots=512) as assignment:
        for _ in range(4):
            drawn = vault(512, AXES, TINY, TINY_REFERENCE)
            result = assignment.round(drawn, [], 64, 5)
            assert result.wrong is None
            assert all(compared_tiny(drawn, result))  # the doubtful ones: compared in full instead


def test_an_answer_of_one_byte_that_is_not_written_is_compared_and_wrong(seat: Seat) -> None:
    style = take(seat, "def kernel(x, out): pass", AXES, TINY, "python")
    with assigned(seat, style, AXES, TINY, slots=64) as assignment:
        drawn = vault(64, AXES, TINY, TINY_REFERENCE)
        result = assignment.round(drawn, [], 64, 5)
    assert sorted(result.outputs) == list(range(64))
    assert compared_tiny(drawn, result).count(False) > 32


# --- lies about what was returned ------------------------------------------------------------------

LIAR = """
import sys
main, results = (sys.modules["hotlap.contestant." + name] for name in ("main", "results"))
results.honest = honest = getattr(results, "honest", results.layout)
def lie(value):
    one = honest(value)
    {lie}
    return one
results.layout = lie
def kernel(x): return 2 * x
"""
NOWHERE = "main.PythonKernel.pointers = lambda kernel: [4096 * (1 + i) for i in range(len(kernel.results))]"
LIES = {
    "a type with escapes": ("return {'type': '\\x1b[31m' + 'x' * 9000}", r"returned \\x1b\[31mx+"),
    "no object": ("return 'tensor'", "returned nothing for output y, expected a tensor"),
    "null": ("return None", "returned nothing for output y, expected a tensor"),
    "a dtype with escapes": ("one['dtype'] = '\\x07\\ud800'", r"has dtype \\x07\\ud800, expected float32"),
    "a shape that is no list": ("one['shape'] = {'a': 1}", "has shape {'a': 1}, expected"),
    "strides of text": ("one['strides'] = ['4']", "has no strides"),
    "too few strides": ("one['strides'] = []", "has no strides"),
    "huge strides": ("one['strides'] = [10**30]", "is spread over"),
    "an address of nothing": (NOWHERE, "memory that (cannot be read|it returned)"),  # the last: it stays
}


@pytest.fixture(scope="module")
def liar() -> Iterator[Seat]:
    with seated("torch") as made:
        yield made


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_a_returned_array_is_a_failure_in_one_printable_line(liar: Seat, name: str) -> None:
    lie, found = LIES[name]
    message = refused(liar, LIAR.replace("{lie}", lie))
    assert re.search(found, message), message
    assert message.isprintable()
    assert len(message) <= 4096


def test_an_address_outside_its_memory_cannot_be_read(bare: Seat) -> None:
    assert bare.read_memory(np.array([4096], np.int64), 8) is None
    assert bare.read_memory(np.array([-1], np.int64), 8) is None
    assert not bare.write_memory(4096, np.zeros(8, np.uint8))


NUMBERS = st.integers() | st.integers(-64, 64) | st.sampled_from([4, 8, 10**30, -(10**30), 2**63, True])
DESCRIBED = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just("float32") | st.just("cpu"),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("stride", [10**4299, -(10**30), True, 4.0, None])
def test_strides_that_no_memory_has_are_a_failure(stride: object) -> None:
    one = {"type": "Tensor", "dtype": "float32", "device": "cpu", "shape": [3], "strides": [stride]}
    with pytest.raises(SeatFailed, match=r"no strides|is spread over"):
        parse_returned(vector("y"), Layout("y", "float32", (3,), 4), one, "cpu")


@given(
    st.sampled_from([(), (1,), (6,), (2, 3), (1, 6), (2, 1, 3)]),
    st.fixed_dictionaries(
        {},
        optional={
            "type": DESCRIBED,
            "dtype": st.just("float32") | DESCRIBED,
            "device": st.just("cpu") | DESCRIBED,
            "shape": st.just("right") | DESCRIBED,
            "strides": st.lists(NUMBERS, max_size=3),
        },
    )
    | DESCRIBED,
)
def test_whatever_a_contestant_describes_is_a_layout_within_bounds_or_a_failure(
    shape: tuple[int, ...], one: Any
) -> None:
    layout = Layout("y", "float32", shape, 4)
    if isinstance(one, dict) and one.get("shape") == "right":
        one["shape"] = list(shape)
    try:
        found = parse_returned(vector("y"), layout, one, "cpu")
    except SeatFailed:
        return
    assert (found.shape, found.bytes) == (shape, layout.bytes)
    assert 0 <= found.below < found.span
    assert found.span <= max(1 << 28, 4 * found.bytes)
    offsets = found.word_offsets(np.arange(max(1, layout.bytes // 8)))
    assert ((offsets >= -found.below) & (offsets < found.span)).all()


@pytest.mark.parametrize(
    ("shape", "strides", "span", "below", "is_contiguous"),
    [
        ((), (), 4, 0, True),
        ((6,), (4,), 24, 0, True),
        ((6,), (8,), 44, 0, False),
        ((6,), (-4,), 24, 20, False),
        ((2, 3), (12, 4), 24, 0, True),
        ((3, 2), (4, 12), 24, 0, False),
        ((2, 3), (-12, 4), 24, 12, False),
        ((1, 6), (999, 4), 24, 0, True),
        ((6,), (0,), 4, 0, False),
    ],
)
def test_a_layout_knows_its_span_and_whether_it_is_contiguous(
    shape: tuple[int, ...], strides: tuple[int, ...], span: int, below: int, is_contiguous: bool
) -> None:
    found = returned(shape, strides, 4)
    assert (found.span, found.below, found.is_contiguous) == (span, below, is_contiguous)


# --- draws -----------------------------------------------------------------------------------------


def test_a_vault_holds_what_its_keys_draw() -> None:
    drawn = vault(3, AXES, MANY, MANY_REFERENCE)
    assert len(drawn.inputs) == len(drawn.arrays) == len(drawn.scalars) == 3
    for inputs, arrays, scalars in zip(drawn.inputs, drawn.arrays, drawn.scalars, strict=True):
        assert arrays[0] is not None
        assert arrays[0].tobytes() == inputs[0].numpy().tobytes()
        assert arrays[1:] == [None, None, None]
        assert scalars == list(inputs[1:])


@pytest.mark.parametrize(("total", "count"), [(10, 3), (10, 10), (10, 270), (1, 1), (5, 0)])
def test_secretly_chosen_calls_are_distinct_sorted_and_as_many_as_there_are(total: int, count: int) -> None:
    chosen: Sequence[int] = secret_choice(total, count)
    assert len(chosen) == min(total, count)
    assert list(chosen) == sorted(set(chosen))
    assert set(chosen) <= set(range(total))


def test_two_choices_differ() -> None:
    assert secret_choice(10_000, 270) != secret_choice(10_000, 270)
