"""The entry point that a submission must define, as text: what `hotlap show --prototype` prints."""

from collections.abc import Mapping
from typing import NamedTuple

from hotlap.model import Problem, TensorSpec
from hotlap.problems.dtypes import is_float


class CTypes(NamedTuple):
    """The element type of one dtype in a .cpp and in a .cu file."""

    cpp: str
    cu: str


_C_TYPES: Mapping[str, CTypes] = {
    "float64": CTypes("double", "double"),
    "float32": CTypes("float", "float"),
    "float16": CTypes("uint16_t", "__half"),
    "bfloat16": CTypes("uint16_t", "__nv_bfloat16"),
    "int8": CTypes("int8_t", "int8_t"),
    "int16": CTypes("int16_t", "int16_t"),
    "int32": CTypes("int32_t", "int32_t"),
    "int64": CTypes("int64_t", "int64_t"),
    "uint8": CTypes("uint8_t", "uint8_t"),
    "bool": CTypes("uint8_t", "uint8_t"),
    "float8_e4m3fn": CTypes("uint8_t", "__nv_fp8_e4m3"),
    "float8_e5m2": CTypes("uint8_t", "__nv_fp8_e5m2"),
}


_CUDA_HEADERS: Mapping[str, str] = {
    "float16": "cuda_fp16.h",
    "bfloat16": "cuda_bf16.h",
    "float8_e4m3fn": "cuda_fp8.h",
    "float8_e5m2": "cuda_fp8.h",
}


def c_types(dtype: str) -> CTypes:
    """The C types of a tensor's elements; .cpp sees the bits of types that C++ does not have."""
    return _C_TYPES[dtype]


def c_scalar(dtype: str) -> str:
    """The C type of a scalar, which travels by value."""
    if dtype == "bool":
        return "uint8_t"
    return "double" if is_float(dtype) else "int64_t"


def cuda_headers(problem: Problem) -> list[str]:
    """Headers of the types in the .cu prototype; only those, as each adds up to a second to a compile."""
    dtypes = [spec.dtype for spec in (*problem.inputs, *problem.outputs) if spec.shape is not None]
    return sorted({_CUDA_HEADERS[dtype] for dtype in dtypes if dtype in _CUDA_HEADERS})


def c_prototype(problem: Problem, lang: str = "cpp") -> str:
    """The C declaration of `kernel`, a parameter a line; `lang` is "cpp" or "cu" (types, and the stream).

    Without its last character it heads the definition. Constant axes are macros, named in a comment above.
    """
    if lang not in ("cpp", "cu"):
        raise ValueError(f"lang must be 'cpp' or 'cu', but got {lang!r}")
    parameters = [_c_parameter(spec, lang, is_const=not spec.mutable) for spec in problem.inputs]
    parameters += [_c_parameter(spec, lang, is_const=False) for spec in problem.outputs]
    parameters += [(f"int64_t {name}", "axis") for name, constant in problem.axes.items() if constant is None]
    if lang == "cu":
        parameters.append(("cudaStream_t stream", "launch here"))
    return "\n".join([*_constants(problem, "//"), 'extern "C" int kernel(', *_aligned(parameters), ");"])


def python_prototype(problem: Problem) -> str:
    """The head of a Python `kernel` that returns its outputs, a parameter a line; a body must follow."""
    lines = [f"    {spec.name}: {_python_type(spec)},  # {_described(spec)}" for spec in problem.inputs]
    results = ", ".join(["torch.Tensor"] * len(problem.outputs))
    returned = results if len(problem.outputs) == 1 else f"tuple[{results}]"
    comment = ", ".join(f"{spec.name} {_described(spec)}" for spec in problem.outputs)
    return "\n".join([*_constants(problem, "#"), "def kernel(", *lines, f") -> {returned}:  # {comment}"])


def _c_parameter(spec: TensorSpec, lang: str, is_const: bool) -> tuple[str, str]:
    if spec.shape is None:
        return f"{c_scalar(spec.dtype)} {spec.name}", _described(spec)
    element = c_types(spec.dtype).cu if lang == "cu" else c_types(spec.dtype).cpp
    return f"{'const ' if is_const else ''}{element}* {spec.name}", _described(spec)


def _aligned(parameters: list[tuple[str, str]]) -> list[str]:
    commas = [","] * (len(parameters) - 1) + [""]
    codes = [code + comma for (code, _), comma in zip(parameters, commas, strict=True)]
    width = max(map(len, codes))
    return [
        f"    {code:<{width}}  // {comment}" for code, (_, comment) in zip(codes, parameters, strict=True)
    ]


def _described(spec: TensorSpec) -> str:
    if spec.shape is None:
        return f"scalar {spec.dtype}"
    marks = [mark for mark, is_set in (("mutable", spec.mutable), ("constant", spec.constant)) if is_set]
    return " ".join([f"[{', '.join(map(str, spec.shape))}]", spec.dtype, *marks])


def _python_type(spec: TensorSpec) -> str:
    if spec.shape is not None:
        return "torch.Tensor"
    if spec.dtype == "bool":
        return "bool"
    return "float" if is_float(spec.dtype) else "int"


def _constants(problem: Problem, comment: str) -> list[str]:
    constants = [f"{name} = {value}" for name, value in problem.axes.items() if value is not None]
    how = "macros" if comment == "//" else "the same in every workload"
    return [f"{comment} constant axes ({how}): {', '.join(constants)}"] if constants else []
