"""Access to PyTorch's private interfaces, with a fallback for each. No other file uses them.

``LOWEST`` lists each name with the lowest tested release that has it. A release without one of them uses the
fallback: slower, or without the feature that needs it, never with a different result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from millrace._src.core.errors import OperationError

__all__ = [
    "LOWEST",
    "PRIVATE_OPERATORS",
    "DispatchMode",
    "OperatorInfo",
    "is_in_bad_fork",
    "below_autograd",
    "ctc_forward",
    "describe_operator",
    "elastic_classes",
    "foreach",
    "torch_functions",
    "is_view",
    "kernel_of",
    "torch_methods",
    "torch_nn_functions",
    "operator_overload",
    "operator_schema",
    "out_of_memory",
    "release",
    "run_backward",
    "schema_text",
    "sample_standard_gamma",
    "block_cuda_init",
    "storage_key",
    "tensor_version",
]

# The first two numbers of the release in use.
release = tuple(int(part) for part in torch.__version__.split(".")[:2])

# Private name -> the lowest release that has it. tests/unit/runtime/tensor/test_private.py compares the table
# with this file and with the release in use, and calls every fallback.
LOWEST = {
    "torch._C._VariableFunctions": "2.6",
    "torch._C._nn": "2.6",
    "torch._C.TensorBase": "2.6",
    "torch._C._AutoDispatchBelowAutograd": "2.6",
    "torch.OutOfMemoryError": "2.6",
    "torch.ops.aten._ctc_loss.Tensor": "2.6",
    "torch._standard_gamma": "2.6",
    "torch.utils._python_dispatch.TorchDispatchMode": "2.6",
    "torch.autograd.Variable._execution_engine.run_backward": "2.6",
    "torch._foreach_add": "2.6",
    "torch.cuda._is_in_bad_fork": "2.6",
    "torch.cuda._lazy_init": "2.6",
    "torch.Tensor._version": "2.6",
    "torch.Tensor._is_view": "2.6",
    "torch.ops.aten.add.Tensor._schema": "2.6",
    "torch.ops.aten.add.Tensor._op": "2.6",
    "torch._ops.OpOverload": "2.6",
    "torch.UntypedStorage._cdata": "2.6",
    "torch.distributed.elastic.rendezvous.dynamic_rendezvous._BackendRendezvousStateHolder": "2.11",
    "torch.distributed.elastic.rendezvous.dynamic_rendezvous._NodeDesc": "2.11",
    "torch.distributed.elastic.rendezvous.dynamic_rendezvous._RendezvousState": "2.11",
}
# Private operators that graph capture treats in a special way. A release without one of them does not capture it.
PRIVATE_OPERATORS = {
    # a replay calls these as functions
    "functions": frozenset(
        (
            "_adaptive_avg_pool2d", "_log_softmax", "_log_softmax_backward_data", "_native_batch_norm_legit",
            "_softmax", "_softmax_backward_data", "_foreach_add", "_foreach_add_", "_foreach_addcdiv_",
            "_foreach_addcmul_", "_foreach_div", "_foreach_div_", "_foreach_lerp_", "_foreach_mul",
            "_foreach_mul_", "_foreach_sqrt", "_foreach_sub", "_foreach_sub_",
        )
    ),
    # reads the value of a tensor
    "values": frozenset({"aten::_local_scalar_dense"}),
    # the shape of the result depends on values
    "shapes": frozenset({"aten::_unique2"}),
    # may return a view
    "views": frozenset({"aten::_unsafe_view"}),
    # batch normalisation, in training mode or not
    "batch_norm": frozenset({"aten::_native_batch_norm_legit"}),
}  # fmt: skip

# The functions behind torch.add and its like, without a Python frame between.
torch_functions: Any = getattr(torch._C, "_VariableFunctions", torch)

# The functions behind torch.nn.functional; None if there are none.
torch_nn_functions: Any = getattr(torch._C, "_nn", None)

# The out-of-memory error of the allocator, a RuntimeError in every release. Before 2.5 it is in torch.cuda only.
out_of_memory: type[BaseException] = getattr(
    torch, "OutOfMemoryError", getattr(torch.cuda, "OutOfMemoryError", MemoryError)
)

# The methods of tensors as the C code has them.
torch_methods: Any = getattr(torch._C, "TensorBase", torch.Tensor)

# Disables autograd history inside; the gradient mode is unchanged, since some kernels read it.
below_autograd: Any = getattr(torch._C, "_AutoDispatchBelowAutograd", torch.no_grad)


def _ctc_without_alpha(*args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    logs, targets, inputs, lengths, blank, zero_infinity = args
    losses = torch.nn.functional.ctc_loss(logs, targets, inputs, lengths, blank, "none", zero_infinity)
    return losses, losses.new_empty(0)


# CTC loss with the forward variables; lengths stay tensors, so that a capture holds no values of them.
ctc_forward: Any = getattr(getattr(torch.ops.aten, "_ctc_loss", None), "Tensor", _ctc_without_alpha)


def sample_standard_gamma(alpha: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Samples of gamma distributions with rate 1; without the private function, from PyTorch's default
    generator.
    """
    samples: torch.Tensor
    if hasattr(torch, "_standard_gamma"):
        samples = torch._standard_gamma(alpha, generator=generator)
    else:
        samples = torch.distributions.Gamma(alpha, 1.0).rsample()
    return samples


_OVERLOAD: Any = getattr(getattr(torch, "_ops", None), "OpOverload", ())


def operator_overload(name: str) -> Any:
    """The operator ``aten::name.overload`` of the installed PyTorch; None where it has none.

    Only names of a committed table may be passed, never a name from a file: this looks attributes up.
    """
    base, _, overload = name.removeprefix("aten::").partition(".")
    operator = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
    return operator if isinstance(operator, _OVERLOAD) and schema_text(operator) else None


def schema_text(operator: Any) -> str:
    """The declaration of an operator, ``aten::add.Tensor(Tensor self, ...) -> Tensor``; "" where it has none."""
    return str(getattr(operator, "_schema", ""))


def storage_key(tensor: torch.Tensor) -> int:
    """A key of a live storage, also for meta tensors, which have no address."""
    storage = tensor.untyped_storage()
    return int(getattr(storage, "_cdata", id(storage)))


class _NoDispatchMode:
    """Replacement for TorchDispatchMode in releases without it: raises an error on entry."""

    def __enter__(self) -> Any:
        raise OperationError(
            f"{type(self).__name__}: expected a PyTorch with TorchDispatchMode, got {torch.__version__}. Install a "
            "release of the tested range (see millrace version)."
        )

    def __exit__(self, *exc: object) -> None:
        return None


def _dispatch_mode() -> Any:
    try:
        from torch.utils._python_dispatch import TorchDispatchMode
    except ImportError:
        return _NoDispatchMode
    return TorchDispatchMode


_Mode: Any = _dispatch_mode()


class DispatchMode(_Mode):
    """Intercepts every operation inside the block."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first use imports torch._dynamo, which takes a second


class OperatorInfo(NamedTuple):
    """Properties of an operator that graph capture and checkpoints need."""

    name: str  # "aten::add"
    overload: str  # "Tensor", "" for the default one
    is_mutable: bool
    # per argument: its name, and whether the operator writes to it
    arguments: tuple[tuple[str, bool], ...] | None


_operator_cache: dict[Any, OperatorInfo] = {}


def operator_schema(func: Any) -> Any:
    """The schema of an operator: arguments with defaults, and which results share memory with which arguments."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        raise OperationError(
            f"{func}: expected a PyTorch whose operators have schemas, got {torch.__version__}. Install a release of "
            "the tested range (see millrace version)."
        )
    return schema


def elastic_classes() -> tuple[Any, Any, Any]:
    """The classes of PyTorch's dynamic rendezvous: state holder, node description, state."""
    try:
        from torch.distributed.elastic.rendezvous.dynamic_rendezvous import (
            _BackendRendezvousStateHolder,
            _NodeDesc,
            _RendezvousState,
        )
    except ImportError as error:
        raise OperationError(
            f"millrace run: expected a PyTorch with a dynamic rendezvous, got {torch.__version__}. Install a release "
            "of the tested range (see millrace version)."
        ) from error
    return _BackendRendezvousStateHolder, _NodeDesc, _RendezvousState


def describe_operator(func: Any) -> OperatorInfo:
    """Name, overload and arguments of an operator.

    Without a schema, the name determines what it writes to: ``add_`` to its first argument, ``add.out`` to
    any.

    >>> describe_operator(torch.ops.aten.add_.Tensor)[:3]
    ('aten::add_', 'Tensor', True)
    """
    known = _operator_cache.get(func)
    if known is None:
        schema = getattr(func, "_schema", None)
        known = _operator_cache[func] = (
            _operator_from_name(func) if schema is None else _operator_from_schema(schema)
        )
    return known


def _operator_from_schema(schema: Any) -> OperatorInfo:
    arguments = tuple(
        (each.name, each.alias_info is not None and bool(each.alias_info.is_write))
        for each in schema.arguments
    )
    return OperatorInfo(schema.name, schema.overload_name, bool(schema.is_mutable), arguments)


def _operator_from_name(func: Any) -> OperatorInfo:
    name, _, overload = str(func.name()).partition(".")
    return OperatorInfo(name, overload, name.endswith("_") or "out" in overload, None)


def kernel_of(func: Any) -> Any:
    """The callable behind an operator overload, without its Python frame."""
    return getattr(func, "_op", func)


_versions = 0


def tensor_version(tensor: torch.Tensor) -> int:
    """A number that changes when a tensor is modified; if PyTorch counts no versions, a number that always
    changes.
    """
    global _versions
    version: int | None = getattr(tensor, "_version", None)
    if version is None:
        _versions -= 1
        version = _versions
    return version


def is_view(tensor: torch.Tensor) -> bool:
    """Whether a tensor shares the storage of a larger one."""
    known: Callable[[], bool] | None = getattr(tensor, "_is_view", None)
    if known is None:
        return tensor.untyped_storage().nbytes() > tensor.numel() * tensor.element_size()
    return known()


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


# Gradients of outputs, weighted by `starts`, by inputs; None for one without influence. torch.autograd.grad adds
# checks, for which its first call imports sympy and its dependents: a second or more.
run_backward = _backward()


class _Foreach:
    """One call for a list of tensors: ``foreach.mul_(params, 0.9)``. Without PyTorch's foreach function, one
    call per tensor.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] | None = getattr(torch, f"_foreach_{name}", None)
        if function is None:
            function = _apply_to_each(getattr(torch.Tensor, name))
        setattr(self, name, function)
        return function


def _apply_to_each(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(tensors: list[torch.Tensor], *args: Any, **kwargs: Any) -> list[torch.Tensor]:
        results = []
        for index, tensor in enumerate(tensors):
            call_args = (arg[index] if isinstance(arg, (list, tuple)) else arg for arg in args)
            results.append(method(tensor, *call_args, **kwargs))
        return results

    return call


foreach: Any = _Foreach()


def is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had initialized CUDA."""
    check_bad_fork: Callable[[], bool] = getattr(torch.cuda, "_is_in_bad_fork", lambda: False)
    return check_bad_fork()


def block_cuda_init(refuse: Callable[[], None]) -> None:
    """Make CUDA initialization call `refuse`; without PyTorch's private function this has no effect."""
    if hasattr(torch.cuda, "_lazy_init"):
        torch.cuda._lazy_init = refuse
