"""What of a GPU's ceilings needs no GPU: which arithmetic there is, what is multiplied, settings of torch."""

import pytest
import torch

from hotlap.referee.ceilings_cuda import ARITHMETIC, lacking, product, tf32_allowed


@pytest.mark.parametrize(
    ("capability", "missing"),
    [
        ("7.5", {"tf32": "8.0", "bfloat16": "8.0", "float8_e4m3fn": "8.9"}),
        ("8.6", {"float8_e4m3fn": "8.9"}),
        ("8.9", {}),
        ("9.0", {}),
        ("10.0", {}),
    ],
)
def test_arithmetic_that_a_gpu_lacks_is_told_with_what_it_needs(
    capability: str, missing: dict[str, str]
) -> None:
    found = {name: reason for name in ARITHMETIC if (reason := lacking(name, capability)) is not None}
    assert found == {
        name: f"needs compute capability {least}, this GPU has {capability}"
        for name, least in missing.items()
    }


def test_arithmetic_that_torch_lacks_is_told() -> None:
    assert lacking("float2", "9.0") == f"torch {torch.__version__} has no float2"


@pytest.mark.parametrize("arithmetic", ARITHMETIC)
def test_a_product_is_one_of_square_matrices(arithmetic: str) -> None:
    made = product(torch.device("cpu"), arithmetic, 32)()
    assert made.shape == (32, 32)
    assert made.float().abs().sum() > 0


@pytest.mark.parametrize("before", [False, True])
def test_tf32_is_allowed_only_within_and_then_as_before(before: bool) -> None:
    settings = torch.backends.cuda.matmul
    kept = settings.allow_tf32
    settings.allow_tf32 = before
    try:
        for allowed in (True, False):
            with tf32_allowed(allowed):
                assert settings.allow_tf32 is allowed
            assert settings.allow_tf32 is before
    finally:
        settings.allow_tf32 = kept
