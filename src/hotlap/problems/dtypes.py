"""The element types of tensors that a problem may name, without torch."""

from typing import NamedTuple


class DType(NamedTuple):
    """Size of one element in bytes, and machine epsilon; None for integers and bool, which must be equal."""

    itemsize: int
    eps: float | None


DTYPES = {
    "float64": DType(8, 2.0**-52),
    "float32": DType(4, 2.0**-23),
    "float16": DType(2, 2.0**-10),
    "bfloat16": DType(2, 2.0**-7),
    "int8": DType(1, None),
    "int16": DType(2, None),
    "int32": DType(4, None),
    "int64": DType(8, None),
    "uint8": DType(1, None),
    "bool": DType(1, None),
    "float8_e4m3fn": DType(1, 2.0**-3),
    "float8_e5m2": DType(1, 2.0**-2),
}


def is_float(dtype: str) -> bool:
    """Whether values of this dtype are compared with a tolerance."""
    return DTYPES[dtype].eps is not None
