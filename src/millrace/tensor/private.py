"""The only door to PyTorch's private names, with a fall-back for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "DispatchMode",
    "bad_fork",
    "below_autograd",
    "ctc_forward",
    "foreach",
    "functions",
    "methods",
    "nn_functions",
    "out_of_memory",
    "run_backward",
    "standard_gamma",
    "stop_cuda",
]

# The functions behind torch.add and its like, without a Python frame between.
functions: Any = getattr(torch._C, "_VariableFunctions", torch)

# Those behind torch.nn.functional; None where there are none.
nn_functions: Any = getattr(torch._C, "_nn", None)

# What the allocator raises; a RuntimeError in every release.
out_of_memory: type[BaseException] = getattr(torch, "OutOfMemoryError", MemoryError)

# The methods of tensors as the C code has them.
methods: Any = getattr(torch._C, "TensorBase", torch.Tensor)

# Calls inside it remember nothing for a backward; the mode of gradients stays as it is, since some kernels ask for it.
below_autograd: Any = getattr(torch._C, "_AutoDispatchBelowAutograd", torch.no_grad)


def _ctc_without_alpha(*args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    logs, targets, inputs, lengths, blank, zero_infinity = args
    losses = torch.nn.functional.ctc_loss(logs, targets, inputs, lengths, blank, "none", zero_infinity)
    return losses, losses.new_empty(0)


# The loss of sequences with the forward variables; lengths stay tensors, so that a recording holds no values of them.
ctc_forward: Any = getattr(getattr(torch.ops.aten, "_ctc_loss", None), "Tensor", _ctc_without_alpha)


def standard_gamma(alpha: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Numbers of gamma distributions with rate 1; without the private function, from PyTorch's own generator."""
    made: torch.Tensor
    if hasattr(torch, "_standard_gamma"):
        made = torch._standard_gamma(alpha, generator=generator)
    else:
        made = torch.distributions.Gamma(alpha, 1.0).rsample()
    return made


class DispatchMode(TorchDispatchMode):
    """Sees every operation inside of it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first use imports torch._dynamo, which takes a second


def _public_grad(
    outputs: tuple[torch.Tensor, ...],
    inputs: tuple[torch.Tensor, ...],
    starts: tuple[torch.Tensor, ...],
    keep: bool,
) -> tuple[torch.Tensor | None, ...]:
    return torch.autograd.grad(outputs, inputs, starts, create_graph=keep, allow_unused=True)


def _backward() -> Callable[..., tuple[torch.Tensor | None, ...]]:
    engine = getattr(getattr(torch.autograd.Variable, "_execution_engine", None), "run_backward", None)
    if engine is None:
        return _public_grad

    def run_backward(outputs: Any, inputs: Any, starts: Any, keep: bool) -> Any:
        return engine(outputs, starts, keep, keep, inputs, True, False)

    return run_backward


# Gradients of outputs, weighted by `starts`, for inputs; None for one that had no part. torch.autograd.grad does this
# after checks of its own, for which its first call imports sympy and what leans on it: a second or more.
run_backward = _backward()


class _Foreach:
    """One call for a whole list of tensors: ``foreach.mul_(params, 0.9)``; without PyTorch's own, one call for each."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] | None = getattr(torch, f"_foreach_{name}", None)
        if found is None:
            found = _one_by_one(getattr(torch.Tensor, name))
        setattr(self, name, found)
        return found


def _one_by_one(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(tensors: list[torch.Tensor], *args: Any, **kwargs: Any) -> list[torch.Tensor]:
        made = []
        for number, tensor in enumerate(tensors):
            each = (arg[number] if isinstance(arg, (list, tuple)) else arg for arg in args)
            made.append(method(tensor, *each, **kwargs))
        return made

    return call


foreach: Any = _Foreach()


def bad_fork() -> bool:
    """Whether this process was forked from one that had used the GPU."""
    found: Callable[[], bool] = getattr(torch.cuda, "_is_in_bad_fork", lambda: False)
    return found()


def stop_cuda(refuse: Callable[[], None]) -> None:
    """Have the first use of the GPU call this instead of the driver."""
    torch.cuda._lazy_init = refuse
