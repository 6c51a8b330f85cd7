"""Fast dispatch: the cheapest Python callable for a captured operator.

Calling an operator overload costs a microsecond more than PyTorch's functions and methods, which parse their
arguments in C++. Those in the lists below take the operator's arguments unchanged, in order, and reach the
same overload with the same values: tests/unit/runtime/graph/test_fast_dispatch.py checks what each of them
dispatches. All other operators are called by overload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.runtime.tensor.backend.torch_private import (
    PRIVATE_OPERATORS,
    describe_operator,
    kernel_of,
    torch_functions,
    torch_methods,
    torch_nn_functions,
)

from .capture import CapturedCall, Slot

__all__ = ["AS_FUNCTIONS", "AS_METHODS", "AS_NN", "VARARG_SIZE_OPS", "fastest_callable"]

# torch.NAME without a Python frame.
AS_FUNCTIONS = frozenset(
    (
        "abs", "add", "addcdiv", "addcmul", "addmm", "amax", "amin", "baddbmm", "bmm", "cat", "ceil", "clamp",
        "clone", "convolution", "cos", "div", "embedding", "eq", "erf", "exp", "expm1", "floor", "gather", "ge",
        "gt", "le", "lerp", "log", "log1p", "logical_and", "logical_not", "logical_or", "lt", "masked_fill",
        "matmul", "maximum", "mean", "minimum", "mkldnn_rnn_layer", "mm", "mul", "native_batch_norm",
        "native_layer_norm", "ne", "neg", "ones_like", "permute", "pow", "reciprocal", "relu", "rsqrt", "rsub",
        "scatter_add", "select", "sigmoid", "sign", "sin", "sqrt", "squeeze", "stack", "sub", "sum", "t",
        "tanh", "transpose", "tril", "triu", "unsqueeze", "where", "zeros_like",
    )
) | PRIVATE_OPERATORS["functions"]  # fmt: skip
# torch.nn.functional.NAME, likewise.
AS_NN = frozenset(
    ["avg_pool2d", "gelu", "hardswish", "leaky_relu", "max_pool2d_with_indices", "mse_loss", "silu"]
)
# tensor.NAME; all in-place operators are methods too.
AS_METHODS = frozenset(["expand", "view"])
# Methods that parse sizes faster as separate arguments than as a list.
VARARG_SIZE_OPS = frozenset({"view"})
# The Python methods of these take other arguments than the operator.
_BY_OVERLOAD = frozenset({"random_", "index_put_", "normal_", "uniform_", "bernoulli_", "resize_", "set_"})


def fastest_callable(call: CapturedCall) -> tuple[Callable[..., Any], bool]:
    """The callable, and whether its list of sizes is passed as separate arguments."""
    operator = describe_operator(call.func).name
    namespace, _, name = operator.partition("::")
    function = None
    if namespace == "aten":
        if name in AS_FUNCTIONS:
            function = getattr(torch_functions, name, None)
        elif name in AS_NN:
            function = getattr(torch_nn_functions, name, None)
        elif name in AS_METHODS or _inplace_method(call, name):
            function = getattr(torch_methods, name, None)
            if function is not None and name in VARARG_SIZE_OPS:
                if isinstance(call.args[1], list):
                    return function, bool(call.args[1])
                function = None  # a reinterpretation of the bits: `view.dtype`
    return (function or kernel_of(call.func)), False


def _inplace_method(call: CapturedCall, name: str) -> bool:
    return (
        name.endswith("_")
        and not name.startswith("_")
        and name not in _BY_OVERLOAD
        and bool(call.args)
        and isinstance(call.args[0], Slot)
    )
