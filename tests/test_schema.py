import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hotlap.errors import HarnessError, UsageError
from hotlap.judge import judge
from hotlap.model import Bandwidth, Calibration, Failure, Fault, Finding, Problem, Run, Status, Verdict
from hotlap.schema import from_json, json_schema, schema_name, to_dict, to_json
from tests import run_factory

NOUNS = [Verdict, Run, Calibration, Problem]
CALIBRATION = Calibration(
    device_uuid="cpu-1",
    driver="none",
    measured_at="2026-11-30T12:00:00Z",
    bandwidth=(Bandwidth(footprint_bytes=4096, read=1e11, write=5e10, copy=8e10, add=9e10),),
)


@cache
def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Every value that a field of the model may hold, fields with defaults included."""
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        varied = {f.name: values_of(hints[f.name]) for f in fields(hint) if f.name != "schema"}
        return st.builds(hint, **varied)
    if origin in (Union, UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if origin is Mapping:
        return st.dictionaries(*map(values_of, arguments), max_size=2)
    simple = {
        str: st.text(max_size=8),
        int: st.integers(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        Path: st.text("abc/._é", max_size=8).map(Path),
        type(None): st.none(),
    }
    return st.sampled_from(hint) if issubclass(hint, StrEnum) else simple[hint]


@pytest.mark.parametrize("cls", NOUNS)
def test_what_was_written_reads_back_equal(cls: type) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(cls))
    def round_trip(noun: object) -> None:
        assert from_json(cls, to_json(noun)) == noun

    round_trip()


@pytest.mark.parametrize("cls", NOUNS)
def test_the_schema_lists_the_keys_that_are_written_in_their_order(cls: type) -> None:
    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(cls))
    def same_keys(noun: object) -> None:
        assert list(to_dict(noun)) == list(json_schema(cls)["properties"])

    same_keys()


@pytest.mark.parametrize(
    ("cls", "name"),
    [(Verdict, "hotlap.verdict/1"), (Run, "hotlap.run/1"), (Calibration, "hotlap.calibration/1")],
)
def test_the_schema_is_named_as_the_documents_name_it(cls: type, name: str) -> None:
    schema = json_schema(cls)
    assert (schema_name(cls), schema["$id"], schema["properties"]["schema"]["const"]) == (name,) * 3
    assert next(iter(schema["required"])) == "schema"


def test_a_document_opens_with_its_schema() -> None:
    assert to_json(CALIBRATION).startswith('{"schema": "hotlap.calibration/1", ')


def test_a_document_is_one_line_unless_indented() -> None:
    assert "\n" not in to_json(CALIBRATION)
    assert json.loads(to_json(CALIBRATION, indent=2)) == to_dict(CALIBRATION)


def test_enums_are_written_as_their_values() -> None:
    failure = Failure(Status.void, Fault.device, "measure", "clock fell")
    assert (to_dict(failure)["status"], to_dict(failure)["fault"]) == ("void", "device")


def test_control_characters_of_a_kernel_s_output_never_reach_the_terminal() -> None:
    text = to_json(Failure(Status.failed, None, "call", "m", output="\x1b[2J\x9b31m\u202e"))
    assert text.isascii()
    assert text.isprintable()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_hold_is_an_error_that_says_where(bad: float) -> None:
    broken = replace(CALIBRATION, bandwidth=(replace(CALIBRATION.bandwidth[0], copy=bad),))
    with pytest.raises(HarnessError, match=r"Calibration\.bandwidth\[0\]\.copy is -?(nan|inf)"):
        to_json(broken)


def test_text_that_json_cannot_hold_is_an_error_that_says_where() -> None:
    with pytest.raises(HarnessError, match=r"Calibration\.driver holds a lone surrogate"):
        to_json(replace(CALIBRATION, driver="\udcff"))


def test_a_value_of_another_type_than_its_field_is_not_written() -> None:
    with pytest.raises(HarnessError, match="type that its field does not allow"):
        to_json(replace(CALIBRATION, process_part="0.2 %"))


def test_only_nouns_of_the_model_are_written() -> None:
    with pytest.raises(TypeError, match="dataclass"):
        to_json({"a": 1})


def changed(**changes: object) -> str:
    return json.dumps(to_dict(CALIBRATION) | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a JSON document"),
        ("{", "not a JSON document"),
        (b"\xff\xfe\xfd", "not a JSON document"),
        ("[" * 100_000, "not a JSON document"),
        ("[1, 2]", r"expected a JSON object, but found \[1, 2\]"),
        ("{}", "expected a document whose schema is hotlap.calibration/1, but found None"),
        (changed(schema=7), "but found 7"),
        (changed(schema="hotlap.run/1"), "expected a document whose schema is hotlap.calibration/1"),
        (changed(schema="hotlap.calibration/2"), "written by a newer hotlap.* upgrade hotlap"),
        (changed(schema="hotlap.calibration/0"), "is unknown, this hotlap reads hotlap.calibration/1"),
        (changed(schema="hotlap.calibration/x"), "is unknown"),
        (changed(process_part="0.002"), r"process_part: .* but found '0\.002'"),
        (changed(bandwidth=[{"read": 1.0}]), r"bandwidth\[0\]\.footprint_bytes"),
        (changed(process_part=None), "process_part"),
        (changed(process_part=math.nan), "NaN is not a JSON number"),
        (changed().replace("100000000000.0", "1e999"), r"bandwidth\[0\]\.read is too large"),
    ],
)
def test_a_document_that_is_not_ours_is_refused_with_what_was_found(text: str | bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_json(Calibration, text)


def test_fields_that_a_later_release_added_are_ignored() -> None:
    assert from_json(Calibration, changed(colour="blue")) == CALIBRATION


def test_a_run_of_an_earlier_release_reads_as_one_without_single_rounds_mode_and_clock() -> None:
    document = to_dict(run_factory.run())
    for name in ("capability", "cuda", "sm_clock_mhz"):
        del document["device"][name]
    for workload in document["workloads"]:
        del workload["claimed_time_ns"], workload["mode"], workload["samples"]["single_ns"]
    assert from_json(Run, json.dumps(document)) == run_factory.run()


@pytest.mark.parametrize("line", [None, 7])
def test_a_finding_may_have_no_line(line: int | None) -> None:
    found = (Finding("overlapped-calls", "kernel.py", line, "n=7: …"),)
    given = judge(run_factory.gpu_run(), found)
    assert from_json(Verdict, to_json(given)) == given
    assert to_dict(given)["findings"][0]["line"] == line


def test_a_verdict_of_a_gpu_has_its_fields_in_the_schema() -> None:
    known = json_schema(Verdict)["$defs"]
    assert {"mode", "single_call_ns", "empty_round_ns", "claimed_time_ns"} <= set(
        known["WorkloadVerdict"]["properties"]
    )
    assert {"capability", "cuda", "sm_clock_mhz"} <= set(known["Device"]["properties"])


def test_optional_fields_that_an_earlier_release_did_not_write_take_their_default() -> None:
    document = to_dict(CALIBRATION)
    del document["process_part"]
    assert from_json(Calibration, json.dumps(document)) == CALIBRATION
