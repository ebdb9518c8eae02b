"""Checks of the computation: can a stage of it be left out, does every weight matter?

The reference runs as it is, and torch calls us at each of its functions and modules. What runs outside of
torch is not seen; functions that only move or convert data are not looked at.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hotlap.audit.report import Severity
from hotlap.audit.seen import Scope, Seen, Skip
from hotlap.audit.trial import Trial, accepts, answers, in_output_dtypes
from hotlap.errors import ProblemError

STAGES, WEIGHTS = "stages matter", "weights matter"
TINY = 1e-3  # a constant of no more than that guards against dividing by 0; it is no stage
MOVES = frozenset(
    """
    __get__ __getitem__ __setitem__ alias as_strided as_tensor bfloat16 broadcast_to chunk clone contiguous
    copy_ cpu cuda detach detach_ double expand expand_as fill_ flatten float half movedim narrow permute
    ravel requires_grad_ reshape select split squeeze t tile to transpose type type_as unbind unflatten
    unsqueeze view view_as zero_
    """.split()  # noqa: SIM905
)
CONSTANT = frozenset(("add", "add_", "sub", "sub_", "clamp", "clamp_", "clamp_min", "clamp_min_"))


@dataclass(frozen=True)
class Stage:
    """One call of a torch function that gives floats: the how manyth of them, and what it is called."""

    index: int
    name: str
    keeps_shape: bool  # its first tensor could stand in its place
    is_guard: bool  # with a tiny constant, as `x + 1e-5`


def stages_matter(trial: Trial) -> Iterator[Seen | Skip]:
    """No stage can give its input, or zeros, instead of its result without the answer being wrong."""
    native = replace(trial, problem=replace(trial.problem, reference_dtype="native"))
    # In its own precision if it can: what keeps float32 from overflowing does nothing in float64.
    subject = native if _accepts(native, lambda function: function) else trial
    stages = list_stages(subject)
    for stage in stages:
        for how in ("its input", "zeros") if stage.keeps_shape else ("zeros",):
            if not trial.has_time:
                yield Skip(STAGES, f"call {stage.index + 1} of {len(stages)} and later: time was up")
                return
            called = f"{stage.name} (call {stage.index + 1} of {len(stages)} in the reference)"
            yield Seen(
                STAGES,
                f"{called} can be left out: with {how} in its place the answer stays within the tolerance",
                _accepts(subject, _without(stage.index, how)),
                Severity.note if stage.is_guard else Severity.weak,
                Scope.every,
            )


def weights_matter(trial: Trial) -> Iterator[Seen | Skip]:
    """Every parameter of the modules that the reference calls changes its answer beyond the tolerance."""
    names = list_weights(trial)
    for index, name in enumerate(names):
        if not trial.has_time:
            yield Skip(WEIGHTS, f"{len(names) - index} of {len(names)} parameters: time was up")
            return
        yield Seen(
            WEIGHTS,
            f"parameter {name} never matters: with other values the answer stays within the tolerance",
            _accepts(trial, _changing(name)),
            Severity.weak,
            Scope.every,
        )


def list_stages(trial: Trial) -> list[Stage]:
    """The stages of one call of the reference, in order. Raises ProblemError."""
    found: list[Stage] = []
    _run(trial, lambda function: _under(_stage_mode(None, "", found), function))
    return found


def list_weights(trial: Trial) -> list[str]:
    """The floating parameters of the modules that the reference calls, in order; with a number in front where
    there are several modules. Raises ProblemError."""
    weights = Weights(None)
    _run(trial, lambda function: _with_weights(function, weights))
    return list(dict.fromkeys(weights.names))


Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def _run(trial: Trial, wrap: Wrap) -> tuple[Any, ...]:
    changed = replace(trial.reference, reference=wrap(trial.reference.reference))
    return answers(trial.problem, changed, trial.axes, trial.first.inputs)


def _accepts(trial: Trial, wrap: Wrap) -> bool:
    """Whether the changed reference's answer is right; one that it cannot give is not."""
    try:
        outputs = in_output_dtypes(trial.problem, _run(trial, wrap))
    except ProblemError:
        return False
    return accepts(trial, trial.first, outputs)


# --- torch's functions -----------------------------------------------------------------------------


def _without(index: int, how: str) -> Wrap:
    return lambda function: _under(_stage_mode(index, how, []), function)


def _under(mode: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*inputs: Any) -> Any:
        with mode:
            return function(*inputs)

    return called


def _stage_mode(target: int | None, how: str, found: list[Stage]) -> Any:
    """Lists the stages in `found`; the one numbered `target` gives its input or zeros instead."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = kwargs or {}
            first = _first_tensor((*args, *given.values()))
            name = getattr(function, "__name__", "")
            if first is None or name in MOVES or not torch.is_floating_point(first):
                return function(*args, **given)
            if len(found) == target and how == "its input":
                found.append(Stage(len(found), name, True, False))
                return first
            result = function(*args, **given)
            if not isinstance(result, torch.Tensor) or not result.is_floating_point():
                return result
            stage = Stage(
                len(found),
                name,
                result.shape == first.shape and result.dtype == first.dtype,
                name in CONSTANT and _is_tiny((*args[1:], *given.values())),
            )
            found.append(stage)
            return torch.zeros_like(result) if stage.index == target else result

    return Mode()


def _first_tensor(values: tuple[Any, ...]) -> Any:
    """The first tensor among arguments, in lists too (torch.cat); None without one."""
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, list | tuple) and (inner := _first_tensor(tuple(value))) is not None:
            return inner
    return None


def _is_tiny(values: tuple[Any, ...]) -> bool:
    """Whether all numbers are, and there are no tensors."""
    numbers = [value for value in values if value is not None]
    return bool(numbers) and all(isinstance(v, int | float) and 0 < abs(v) <= TINY for v in numbers)


# --- modules ---------------------------------------------------------------------------------------


class Weights:
    """Follows a reference through its modules; changes the parameter `target` while its module runs."""

    def __init__(self, target: str | None):
        self.names: list[str] = []
        self._target = target
        self._roots: list[int] = []
        self._depth = 0
        self._saved: list[tuple[Any, Any]] = []

    def enter(self, module: Any, args: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        if id(module) not in self._roots:
            self._roots.append(id(module))
        number = self._roots.index(id(module))
        for own_name, parameter in module.named_parameters():
            name = f"{number}.{own_name}" if number else own_name
            if parameter.is_floating_point():
                self.names.append(name)
            if name == self._target:
                self._change(parameter)

    def leave(self, module: Any, args: Any, output: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.restore()

    def restore(self) -> None:
        """Give back what was changed."""
        for parameter, values in self._saved:
            parameter.data.copy_(values)
        self._saved.clear()

    def _change(self, parameter: Any) -> None:
        import torch

        size = float(parameter.detach().abs().mean()) if parameter.numel() else 0.0
        noise = torch.rand(parameter.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        self._saved.append((parameter, parameter.detach().clone()))
        parameter.data.add_(((noise + 0.5) * (size or 1.0)).to(parameter.dtype))


def _changing(name: str) -> Wrap:
    return lambda function: _with_weights(function, Weights(name))


def _with_weights(function: Callable[..., Any], weights: Weights) -> Callable[..., Any]:
    def called(*inputs: Any) -> Any:
        with _module_hooks(weights):
            return function(*inputs)

    return called


@contextmanager
def _module_hooks(weights: Weights) -> Iterator[None]:
    """Have torch call us before and after every module that runs meanwhile."""
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    with ExitStack() as stack:
        stack.callback(weights.restore)
        stack.callback(register_module_forward_pre_hook(weights.enter).remove)
        stack.callback(register_module_forward_hook(weights.leave).remove)
        yield
