import json
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from hotlap.errors import ProblemError
from hotlap.problems.tree import dump, flatten, load, unflatten


@dataclass
class Config:
    size: int
    weight: torch.Tensor


def there_and_back(tree: Any) -> Any:
    data, tensors = dump(tree)
    return load(data, [tensor.clone() for tensor in tensors])


TREES = [
    torch.arange(6.0),
    (torch.ones(2, 3), torch.zeros(4, dtype=torch.int64)),
    {"a": [torch.ones(1), 2, "three", None], "b": (4.5, True)},
    (Config(3, torch.ones(2)), [torch.ones(2, dtype=torch.bfloat16)]),
    (torch.tensor(7.0), torch.empty(0, 4)),
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_a_tree_comes_back_as_it_was(tree: Any) -> None:
    # repr tells types, structure and values of these small tensors.
    assert repr(there_and_back(tree)) == repr(tree)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).view(2, 3).t(),
        torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1),
        torch.arange(8.0).view(1, 8, 1).transpose(0, 2),
    ],
)
def test_a_dense_tensor_keeps_its_strides_and_is_not_copied(tensor: torch.Tensor) -> None:
    data, (leaf,) = dump(tensor)
    assert leaf.is_contiguous()
    assert leaf.data_ptr() == tensor.data_ptr()
    again = load(data, [leaf.clone()])
    assert again.stride() == tensor.stride()
    assert torch.equal(again, tensor)


@pytest.mark.parametrize("tensor", [torch.arange(10.0)[::2], torch.ones(3, 1).expand(3, 4)])
def test_a_tensor_with_gaps_or_overlaps_becomes_contiguous(tensor: torch.Tensor) -> None:
    again = there_and_back(tensor)
    assert again.is_contiguous()
    assert torch.equal(again, tensor)


def test_the_same_tensor_twice_is_one_leaf() -> None:
    x = torch.ones(3)
    data, tensors = dump({"x": x, "again": [x]})
    assert len(tensors) == 1
    again = load(data, tensors)
    assert again["again"][0] is again["x"]


def test_what_is_loaded_lies_on_the_given_tensors() -> None:
    data, _ = dump((torch.ones(2),))
    place = torch.zeros(2)
    load(data, [place])[0].fill_(5)
    assert place.tolist() == [5, 5]


def test_a_parameter_stays_one() -> None:
    again = there_and_back(torch.nn.Linear(2, 2))
    assert isinstance(again.weight, torch.nn.Parameter)
    assert again(torch.ones(1, 2)).shape == (1, 2)


def test_tensors_of_another_device_stay_in_the_bytes() -> None:
    data, tensors = dump((torch.tensor([1, 2]),), device="cuda")
    assert tensors == []
    assert load(data, [])[0].tolist() == [1, 2]


def test_equal_trees_of_other_values_give_equal_bytes() -> None:
    first, second = (dump({"x": torch.rand(3), "n": 4})[0] for _ in range(2))
    assert first == second


def test_a_class_is_found_where_its_module_is_at_home() -> None:
    home = ModuleType("hotlap_test_here")
    exec("class Point:\n    def __init__(self, x): self.x = x", home.__dict__)
    data, tensors = dump(home.Point(torch.ones(1)), homes={"hotlap_test_here": "there"})
    there = ModuleType("there")
    there.Point = type("Point", (SimpleNamespace,), {})  # type: ignore[attr-defined]
    assert load(data, tensors, {"there": there}).x.tolist() == [1]


@pytest.mark.parametrize("tree", [lambda: 0, (i for i in range(3)), torch.ones(2).to_sparse()])
def test_what_cannot_travel_is_refused(tree: Any) -> None:
    with pytest.raises(ProblemError, match="allowed"):
        dump((tree,))


@pytest.mark.parametrize(
    "tree",
    [
        torch.ones(2),
        [torch.ones(1), (torch.zeros(2), None)],
        {"out": torch.ones(1), "n": 3, 2: "two"},
    ],
)
def test_a_result_is_put_together_from_its_shape(tree: Any) -> None:
    shape, tensors = flatten(tree)
    assert repr(unflatten(json.loads(json.dumps(shape)), tensors)) == repr(tree)


def test_a_result_of_something_else_is_refused() -> None:
    with pytest.raises(ProblemError, match="set"):
        flatten([{1, 2}])
