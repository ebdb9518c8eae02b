"""What calls returned: the arrays in it, where they are and how they lie."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hotlap.contestant import wire

MOST_LAYOUTS = 4


def arrays(result: Any) -> list[Any]:
    """The arrays of one result from left to right, out of tuples, lists and dicts. Numbers, strings and None
    beside them are passed over; a result of nothing else is its own only entry."""
    return list(_arrays(result)) or [result]


def _arrays(result: Any) -> Iterator[Any]:
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, tuple | list):
        for one in result:
            yield from _arrays(one)
    elif not (result is None or isinstance(result, bool | int | float | str)):
        yield result


def pointers(results: Sequence[Any]) -> list[int]:
    """Where the arrays are, call by call and output by output; [] where they are not arrays, or not as many
    in each call: `layouts` says what they are."""
    if not results:
        return []
    first = results[0]
    try:
        if not isinstance(first, tuple) or len(first) == 1:
            where = address_reader(first[0] if isinstance(first, tuple) else first)
            return [where(r[0] if isinstance(r, tuple) else r) for r in results]
        readers = [address_reader(r) for r in first]
        return [where(r) for result in results for where, r in zip(readers, result, strict=True)]
    except (AttributeError, TypeError, ValueError, IndexError, RuntimeError):
        return []


def layouts(results: Sequence[Any]) -> list[list[dict[str, Any]]]:
    """The distinct layouts of what the calls returned, each a list with one entry an output."""
    distinct: list[list[dict[str, Any]]] = []
    for result in results[: wire.MAX_CALLS]:
        one = [layout(r) for r in result] if isinstance(result, tuple) else [layout(result)]
        if one not in distinct and len(distinct) < MOST_LAYOUTS:
            distinct.append(one[: 2 * wire.MAX_OUTPUTS])
    return distinct


def address_reader(value: Any) -> Callable[[Any], int]:
    if hasattr(value, "data_ptr"):
        return type(value).data_ptr  # type: ignore[no-any-return]
    if hasattr(value, "__cuda_array_interface__"):
        return lambda array: int(array.__cuda_array_interface__["data"][0])
    return lambda array: int(array.__array_interface__["data"][0])


def layout(value: Any) -> dict[str, Any]:
    """dtype, shape and strides (in bytes) of one returned array; only `type` for anything else."""
    name = type(value).__name__
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        size = value.element_size()
        return {
            "type": name,
            "dtype": str(value.dtype).removeprefix("torch."),
            "device": str(value.device),
            "shape": list(value.shape),
            "strides": [s * size for s in value.stride()],
        }
    for device, attribute in (("cuda:0", "__cuda_array_interface__"), ("cpu", "__array_interface__")):
        if isinstance(getattr(value, attribute, None), dict):
            return {
                "type": name,
                "dtype": str(value.dtype),
                "device": device,
                "shape": list(value.shape),
                "strides": list(value.strides),
            }
    return {"type": name}
