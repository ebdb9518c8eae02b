"""The nouns of `hotlap.model` as JSON and back, and the JSON Schema of each. Used at the edges only.

Every document opens with its `schema`, `hotlap.NOUN/N`. N grows when a field goes away or changes its
meaning, and a reader refuses an N it does not know. A new optional field keeps N: readers ignore
fields that they do not know.

Defends against: numbers that JSON has no word for, text of another version read as if it were ours, and
control characters of a kernel's output reaching a terminal (the text is ASCII, the rest escaped).
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from hotlap.errors import HarnessError, UsageError
from hotlap.model import VERDICT_SCHEMA, Verdict

T = TypeVar("T")

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NAMES: dict[type, str] = {Verdict: VERDICT_SCHEMA}
_ADAPTERS: dict[type, TypeAdapter[Any]] = {}  # each costs milliseconds to build


def schema_name(cls: type) -> str:
    """What the `schema` key of such a document says: `hotlap.run/1` for `Run`."""
    return _NAMES.get(cls, f"hotlap.{cls.__name__.lower()}/1")


def to_dict(obj: object) -> dict[str, Any]:
    """A noun of the model as JSON types: `schema` first, enums and paths as strings, tuples as lists.

    Raises HarnessError where a number is NaN or infinite, or a text is not Unicode (a lone surrogate):
    what was not measured is None, beside a reason. Also where a value's type is not its field's.
    """
    cls = type(obj)
    if not is_dataclass(cls):
        raise TypeError(f"to_dict: needs a dataclass of hotlap.model, but got {cls.__name__}")
    for where, value in _leaves(obj):
        if isinstance(value, float) and not math.isfinite(value):
            raise HarnessError(
                f"{cls.__name__}{where} is {value}, which JSON cannot hold; "
                "what was not measured must be None"
            )
        if isinstance(value, str) and not _is_unicode(value):
            raise HarnessError(
                f"{cls.__name__}{where} holds a lone surrogate, which JSON cannot hold; "
                "decode such bytes with errors='backslashreplace'"
            )
    adapter: TypeAdapter[Any] = _adapter(cls)
    try:
        values: dict[str, Any] = adapter.dump_python(obj, mode="json", warnings="error")
    except PydanticSerializationError as error:
        raise HarnessError(
            f"{cls.__name__} holds a value of a type that its field does not allow: {error}"
        ) from None
    return {"schema": schema_name(cls)} | values


def to_json(obj: object, indent: int | None = None) -> str:
    """`to_dict` as ASCII text; on one line unless `indent` is given."""
    return json.dumps(to_dict(obj), indent=indent, allow_nan=False)


def from_json(cls: type[T], text: str | bytes) -> T:
    """The noun that `to_json` wrote. Types are checked strictly: "3" is not a number.

    Raises UsageError, saying where and what was found, when the text is not JSON, comes from another
    version of hotlap, or does not hold such a noun.
    """
    document = _parse(cls, text)
    _check_schema(cls, document.get("schema"))
    try:
        return _adapter(cls).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise UsageError(
            f"{schema_name(cls)}: {where.lstrip('.') or 'document'}: {first['msg']}, "
            f"but found {_short(first['input'])}; `hotlap schema` prints what is allowed"
        ) from None


def json_schema(cls: type) -> dict[str, Any]:
    """JSON Schema (2020-12) of what `to_json` writes for such a noun; `$id` is its schema name."""
    name = schema_name(cls)
    body = _adapter(cls).json_schema(mode="serialization")
    properties = {"schema": {"const": name, "type": "string"}}
    properties |= {key: value for key, value in body.pop("properties").items() if key != "schema"}
    required = ["schema", *(key for key in body.pop("required") if key != "schema")]
    return {"$schema": _DIALECT, "$id": name} | body | {"properties": properties, "required": required}


def _adapter(cls: type[T]) -> TypeAdapter[T]:
    if cls not in _ADAPTERS:
        _ADAPTERS[cls] = TypeAdapter(cls)
    return _ADAPTERS[cls]


def _parse(cls: type, text: str | bytes) -> dict[str, Any]:
    name = schema_name(cls)
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or nested without end
        raise UsageError(f"{name}: not a JSON document: {error}; expected what hotlap wrote") from None
    if not isinstance(document, dict):
        raise UsageError(f"{name}: expected a JSON object, but found {_short(document)}")
    for where, value in _leaves(document):
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{name}: {where.lstrip('.')} is too large for a number; expected a finite one")
    return document


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _check_schema(cls: type, found: object) -> None:
    expected = schema_name(cls)
    if found == expected:
        return
    noun, _, known = expected.rpartition("/")
    found_noun, _, version = found.rpartition("/") if isinstance(found, str) else ("", "", "")
    if found_noun != noun:
        raise UsageError(f"expected a document whose schema is {expected}, but found {_short(found)}")
    if version.isdecimal() and int(version) > int(known):
        raise UsageError(
            f"schema {found} was written by a newer hotlap, this one reads {expected}; upgrade hotlap"
        )
    raise UsageError(
        f"schema {_short(found)} is unknown, this hotlap reads {expected}; write the document again"
    )


def _leaves(value: object, where: str = "") -> Iterator[tuple[str, object]]:
    """(path, value) of everything in it that is not a container; keys of mappings too."""
    if is_dataclass(value):
        for field in fields(value):
            yield from _leaves(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield f"{where} key", key
            yield from _leaves(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{where}[{index}]")
    else:
        yield where, value


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
