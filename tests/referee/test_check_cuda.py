"""What is wrong with an output on a GPU is said piece by piece, in the words of the whole."""

import pytest

torch = pytest.importorskip("torch")

from hotlap.referee import check, check_cuda  # noqa: E402


@pytest.mark.parametrize("bounded", [False, True], ids=["one bound", "a bound an element"])
@pytest.mark.parametrize("piece_elements", [1, 7, 30, 1000])
def test_pieces_say_what_the_whole_says(piece_elements: int, bounded: bool) -> None:
    truth = torch.linspace(-2, 2, 60, dtype=torch.float64).reshape(5, 12)
    out = truth.to(torch.float32)
    out[2, 5] += 1
    out[4, 0] = float("nan")
    atol = torch.full((5, 12), 1e-6, dtype=torch.float64) if bounded else 1e-6
    whole = check.compare_tensor("y", out, truth, 1e-6, atol)
    assert whole[0] is not None
    assert whole[0].startswith("output y: 2 of 60 elements beyond tolerance; first at y[2, 5]")
    assert check_cuda.explain("y", out, truth, 1e-6, atol, piece_elements) == whole
