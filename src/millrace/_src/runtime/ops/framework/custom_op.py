"""Custom operations: Custom, PyFunc, functions with a custom backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.tensor.storage import as_torch_tensor, host_read_listeners, to_torch_dtype, wrap

__all__ = [
    "Custom",
    "HookBackward",
    "InsertGradientOf",
    "PyFunc",
    "replace_tensors",
    "call_with_custom_backward",
]


def call_with_custom_backward(
    forward: Callable[..., Any], backward: Callable[[tuple[Any, ...], Any, Any], Any], args: tuple[Any, ...]
) -> Any:
    """Call `forward`; its gradients are ``backward(args, result, gradient of the result)``, one per argument."""
    inputs = [arg._torch for arg in args if isinstance(arg, Tensor)]
    if not (torch.is_grad_enabled() and any(each.requires_grad for each in inputs)):
        return forward(*args)
    seen: dict[str, Any] = {}
    outputs = _CustomBackward.apply(forward, backward, args, seen, *inputs)
    results = iter(outputs if isinstance(outputs, tuple) else (outputs,))
    return replace_tensors(seen["result"], results)


def replace_tensors(template: Any, tensors: Any) -> Any:
    """Nested result with its tensors replaced, in order."""
    if isinstance(template, Tensor):
        return wrap(next(tensors))
    if isinstance(template, (tuple, list)):
        return type(template)(replace_tensors(part, tensors) for part in template)
    return template


def _collect_tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, Tensor):
        return [value._torch]
    return (
        [each for part in value for each in _collect_tensors(part)]
        if isinstance(value, (tuple, list))
        else []
    )


class _CustomBackward(torch.autograd.Function):
    """Autograd function: PyTorch sees the tensors, the custom functions see Millrace's values."""

    @staticmethod
    def forward(
        ctx: Any,
        forward: Any,
        backward: Any,
        args: tuple[Any, ...],
        seen: dict[str, Any],
        *inputs: torch.Tensor,
    ) -> Any:
        known = iter(inputs)
        arguments = tuple(wrap(next(known)) if isinstance(arg, Tensor) else arg for arg in args)
        result = forward(*arguments)
        seen["result"] = result
        outputs = tuple(
            each.view_as(each) if any(each is i for i in inputs) else each
            for each in _collect_tensors(result)
        )
        ctx.backward_of, ctx.args, ctx.seen = backward, args, seen
        ctx.save_for_backward(*inputs, *outputs)
        ctx.count = len(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        saved = ctx.saved_tensors
        inputs, results = iter(saved[: ctx.count]), iter(saved[ctx.count :])
        args = tuple(wrap(next(inputs)) if isinstance(arg, Tensor) else arg for arg in ctx.args)
        template = ctx.seen["result"]
        returned = ctx.backward_of(
            args, replace_tensors(template, results), replace_tensors(template, iter(gradients))
        )
        several = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        if len(several) < len(args):
            raise OperationError(
                "For custom function, grad size should lager than forward inputs, but got "
                f"{len(several)} vs {len(args)}: bprop must give one gradient for each input."
            )
        input_gradients = [
            None if gradient is None else as_torch_tensor(gradient).to(arg._torch.dtype)
            for arg, gradient in zip(args, several, strict=False)
            if isinstance(arg, Tensor)
        ]
        return (None, None, None, None, *input_gradients)


_TYPES = ("hybrid", "akg", "tbe", "aicpu", "aot", "pyfunc")


def _to_arrays(args: tuple[Any, ...]) -> list[Any]:
    return [arg.asnumpy() if isinstance(arg, Tensor) else arg for arg in args]


def _to_tensors(result: Any, dtypes: Any, device: torch.device) -> Any:
    """Results of a function on arrays, as tensors of the promised dtypes."""
    for listener in host_read_listeners:
        listener("what a function in Python computes")
    if isinstance(result, (tuple, list)):
        types = dtypes if isinstance(dtypes, (tuple, list)) else [dtypes] * len(result)
        return tuple(_to_tensors(part, dtype, device) for part, dtype in zip(result, types, strict=True))
    tensor = torch.from_numpy(np.array(result)).to(device)
    return wrap(tensor if dtypes is None else tensor.to(to_torch_dtype(dtypes)))


def _find_device(args: tuple[Any, ...]) -> torch.device:
    return next((arg._torch.device for arg in args if isinstance(arg, Tensor)), torch.device("cpu"))


@public("ops")
class Custom(Primitive):
    """Custom function on NumPy arrays as an operation (``func_type="pyfunc"``). `out_dtype` is the dtype of the
    result, or a function of the inputs' dtypes; `bprop(x, ..., out, dout)` returns the gradients. Kernels for other
    compilers (``hybrid``, ``aot``, ``tbe`` ...) are rejected.

    >>> double = Custom(lambda x: x * 2, out_shape=lambda x: x, out_dtype=lambda x: x, func_type="pyfunc")
    >>> double(Tensor([1.0, 2.0])).asnumpy().tolist()
    [2.0, 4.0]
    """

    def __init__(
        self,
        func: Any,
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "pyfunc",
        bprop: Callable[..., Any] | None = None,
        reg_info: Any = None,
    ) -> None:
        super().__init__("Custom")
        if not callable(func) and not isinstance(func, str):
            raise ArgumentTypeError(
                f"For 'Custom', 'func' must be of type function or str, but got {type(func)}"
            )
        if func_type not in _TYPES:
            raise ArgumentValueError(
                f"For 'Custom', 'func_type': {func_type}, 'func': {func}, 'func_type' must be one of {list(_TYPES)}, "
                f"but got {func_type}"
            )
        if func_type != "pyfunc" or isinstance(func, str):
            raise ArgumentValueError(
                f"For 'Custom', kernels of func_type {func_type!r} are compiled for another runtime: "
                'write the function on NumPy arrays and pass it with func_type="pyfunc".'
            )
        self.func, self.out_shape, self.out_dtype, self.bprop = func, out_shape, out_dtype, bprop

    def __call__(self, *args: Any) -> Any:
        return call_with_custom_backward(self._forward, self._backward, args)

    def _forward(self, *args: Any) -> Any:
        types = self.out_dtype
        if callable(types) and not hasattr(types, "python"):
            types = types(*(arg.dtype for arg in args if isinstance(arg, Tensor)))
        return _to_tensors(self.func(*_to_arrays(args)), types, _find_device(args))

    def _backward(self, args: tuple[Any, ...], out: Any, dout: Any) -> Any:
        if self.bprop is None:
            raise OperationError(
                "Illegal primitive Custom's bprop not defined: pass bprop=... to ops.Custom."
            )
        return self.bprop(*args, out, dout)


@public("ops")
class PyFunc(Primitive):
    """Function on NumPy arrays as an operation, with the dtypes and shapes of its inputs and outputs.

    >>> from millrace._src.core.values import dtype as mstype
    >>> PyFunc(lambda x: x + 1, [mstype.float32], [(2,)], [mstype.float32], [(2,)])(Tensor([1.0, 2.0]))[
    ...     0
    ... ].asnumpy().tolist()
    [2.0, 3.0]
    """

    def __init__(
        self, fn: Any, in_types: Any, in_shapes: Any, out_types: Any, out_shapes: Any, stateful: bool = True
    ) -> None:
        super().__init__("PyFunc")
        if not callable(fn):
            raise ArgumentTypeError(f"For 'PyFunc', 'fn' must be a function, but got {fn!r}.")
        self.fn, self.out_types = fn, tuple(out_types)

    def __call__(self, *args: Any) -> Any:
        returned = self.fn(*_to_arrays(args))
        several = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        return _to_tensors(several, self.out_types, _find_device(args))


@public("ops")
class HookBackward(Primitive):
    """Identity; in the backward pass ``hook_fn(gradients)`` gets the gradients and may replace them."""

    def __init__(self, hook_fn: Any, cell_id: str = "") -> None:
        super().__init__("HookBackward")
        if not callable(hook_fn):
            raise ArgumentTypeError(
                f"For 'HookBackward', the type of 'hook_fn' must be function, but got {type(hook_fn)}."
            )
        self.hook_fn = hook_fn

    def __call__(self, *args: Any) -> Any:
        return call_with_custom_backward(
            lambda *arguments: arguments[0] if len(arguments) == 1 else arguments, self._backward, args
        )

    def _backward(self, args: tuple[Any, ...], out: Any, dout: Any) -> Any:
        gradients = dout if isinstance(dout, tuple) else (dout,)
        replacement = self.hook_fn(gradients)
        return gradients if replacement is None else replacement


@public("ops")
class InsertGradientOf(Primitive):
    """Identity; in the backward pass the gradient becomes ``f(gradient)``."""

    def __init__(self, f: Any) -> None:
        super().__init__("InsertGradientOf")
        if not callable(f):
            raise ArgumentTypeError(f"For 'InsertGradientOf', 'f' must be a function, but got {f!r}.")
        self.f = f

    def __call__(self, x: Any) -> Any:
        return call_with_custom_backward(
            lambda argument: argument, lambda args, out, dout: (self.f(dout),), (x,)
        )
