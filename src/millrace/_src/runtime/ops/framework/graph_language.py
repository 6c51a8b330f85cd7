"""Helpers of MindSpore's graph language: typeof, hastype, tuple helpers, augmented assignment, ms_kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import export_names, public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive

from .composite import HyperMap

__all__ = [
    "Reusing",
    "array_to_scalar",
    "augassign_add",
    "augassign_div",
    "augassign_floordiv",
    "augassign_mul",
    "augassign_sub",
    "broadcast_gradient_args",
    "hastype",
    "is_sequence_value_unknown",
    "is_tensor_bool_cond",
    "iter_converter",
    "kernel",
    "ms_hasnext",
    "ms_kernel",
    "ms_next",
    "ones_like_for_grad",
    "reduced_shape",
    "tail",
    "typeof",
    "zip_operation",
]


@public("ops")
class Reusing(Primitive):
    """Identity; in MindSpore it marks a result that a graph may overwrite.

    >>> Reusing()(Tensor([1.0])).asnumpy().tolist()
    [1.0]
    """

    def __init__(self) -> None:
        super().__init__("Reusing")

    def __call__(self, x: Tensor) -> Tensor:
        return x


# --- types ------------------------------------------------------------------------------------------------------------

_NAMES: dict[type, str] = {
    str: "String",
    tuple: "Tuple",
    list: "List",
    dict: "Dictionary",
    type(None): "NoneType",
}


@public("ops")
def typeof(x: Any) -> Any:
    """Type of a value: a dtype for numbers, "Tensor[...]" and similar strings for other values.

    >>> typeof(1), typeof(Tensor([1.0]))
    (millrace.int64, 'Tensor[Float32]')
    """
    if isinstance(x, Tensor):
        return f"Tensor[{x.dtype}]"
    for python_type, name in ((bool, mstype.bool_), (int, mstype.int64), (float, mstype.float32)):
        if isinstance(x, python_type):
            return name
    return _NAMES.get(type(x), type(x).__name__)


@public("ops")
def hastype(x: Any, t: Any) -> bool:
    """Whether a value has a type that `typeof` names.

    >>> hastype(1, mstype.int64), hastype(Tensor([1.0]), mstype.float32)
    (True, False)
    """
    return bool(typeof(x) == t)


@public("ops")
def is_tensor_bool_cond(x: Any) -> bool:
    """Whether a value can be used as a condition: a tensor of one element.

    >>> is_tensor_bool_cond(Tensor(1.0)), is_tensor_bool_cond(Tensor([1.0, 2.0]))
    (True, False)
    """
    return isinstance(x, Tensor) and x.size == 1


# --- sequences --------------------------------------------------------------------------------------------------------


@public("ops")
def tail(sequence: tuple[Any, ...]) -> tuple[Any, ...]:
    """All elements of a tuple except the first.

    >>> tail((1, 2, 3))
    (2, 3)
    """
    if not isinstance(sequence, tuple):
        raise ArgumentTypeError(f"For 'tail', the argument must be a tuple, but got {sequence!r}.")
    return sequence[1:]


@public("ops")
def zip_operation(*sequences: Sequence[Any]) -> tuple[Any, ...]:
    """Zip sequences, as long as the shortest.

    >>> zip_operation((1, 2), (3, 4))
    ((1, 3), (2, 4))
    """
    return tuple(zip(*sequences, strict=False))


@public("ops")
def iter_converter(x: Any) -> Any:
    """Values that a loop iterates over: sequences and tensors unchanged, dictionaries by their keys.

    >>> iter_converter({"a": 1})
    ('a',)
    """
    return tuple(x) if isinstance(x, dict) else x


@public("ops")
def ms_hasnext(x: Sequence[Any]) -> bool:
    """Whether a sequence has elements left.

    >>> ms_hasnext((1,)), ms_hasnext(())
    (True, False)
    """
    return len(x) > 0


@public("ops")
def ms_next(x: Sequence[Any]) -> tuple[Any, Any]:
    """First element of a sequence, and the rest.

    >>> ms_next((1, 2, 3))
    (1, (2, 3))
    """
    if not ms_hasnext(x):
        raise ArgumentValueError("For 'ms_next', the sequence must not be empty. Check ms_hasnext first.")
    return x[0], x[1:]


@public("ops")
def reduced_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """Shape after axes (all by default) are reduced and kept with length 1.

    >>> reduced_shape((2, 3, 4), (0, 2)), reduced_shape((2, 3), ())
    ((1, 3, 1), (1, 1))
    """
    over = (axis,) if isinstance(axis, int) else tuple(axis) or tuple(range(len(shape)))
    if any(not -len(shape) <= each < len(shape) for each in over):
        raise ArgumentValueError(
            f"For 'reduced_shape', the axes of {shape} must be within it, but got {axis!r}."
        )
    gone = {each % len(shape) for each in over}
    return tuple(1 if axis_index in gone else length for axis_index, length in enumerate(shape))


@public("ops")
def broadcast_gradient_args(
    shape: tuple[int, ...], other: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Axes of a broadcast result over which the gradient of each operand is summed.

    >>> broadcast_gradient_args((2, 3), (1, 3))
    ((), (0,))
    """
    count = max(len(shape), len(other))
    left, right = (1,) * (count - len(shape)) + tuple(shape), (1,) * (count - len(other)) + tuple(other)
    if any(a != b and 1 not in (a, b) for a, b in zip(left, right, strict=True)):
        raise ArgumentValueError(f"For 'broadcast_gradient_args', {shape} and {other} do not broadcast.")
    both = list(zip(left, right, strict=True))
    return (
        tuple(axis for axis, (a, b) in enumerate(both) if a == 1 and (b != 1 or axis < count - len(shape))),
        tuple(axis for axis, (a, b) in enumerate(both) if b == 1 and (a != 1 or axis < count - len(other))),
    )


@public("ops")
def array_to_scalar(x: Tensor) -> Any:
    """Python number of a 0-d tensor.

    >>> array_to_scalar(Tensor(2.0))
    2.0
    """
    if not isinstance(x, Tensor) or x.ndim:
        raise ArgumentValueError(f"For 'array_to_scalar', a Tensor without axes is needed, but got {x!r}.")
    return x.item()


@public("ops", "ops:is_sequence_shape_unknown")
def is_sequence_value_unknown(x: Sequence[Any]) -> bool:
    """Whether the values of a sequence are known only when a graph runs: here they are always known.

    >>> is_sequence_value_unknown((1, 2))
    False
    """
    if not isinstance(x, (tuple, list)):
        raise ArgumentTypeError(f"For 'is_sequence_value_unknown', a tuple or list is needed, but got {x!r}.")
    return False


class _AugmentedAssign:
    """``x += y`` and similar as a function: it returns the result and leaves x unchanged."""

    def __init__(self, name: str, function: Callable[[Any, Any], Any]) -> None:
        self.name, self._function = name, function

    def __call__(self, x: Any, y: Any) -> Any:
        return self._function(x, y)

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r})"


augassign_add = _AugmentedAssign("augassign_add", lambda x, y: x + y)

augassign_sub = _AugmentedAssign("augassign_sub", lambda x, y: x - y)

augassign_mul = _AugmentedAssign("augassign_mul", lambda x, y: x * y)

augassign_div = _AugmentedAssign("augassign_div", lambda x, y: x / y)

augassign_floordiv = _AugmentedAssign("augassign_floordiv", lambda x, y: x // y)

ones_like_for_grad = HyperMap(lambda x: x * 0 + 1)

export_names(
    __name__,
    "ops",
    "augassign_add",
    "augassign_sub",
    "augassign_mul",
    "augassign_div",
    "augassign_floordiv",
    _ones_like_for_grad="ones_like_for_grad",
)


# --- augmented assignment, kernels ------------------------------------------------------------------------------------


@public("ops")
def ms_kernel(fn: Any = None, reg_info: Any = None, compile_attrs: Any = None) -> Any:
    """Decorate a function in MindSpore's kernel language. Here it stays Python, which `ops.Custom` runs with
    ``func_type="pyfunc"``; its registration information is stored on it.

    >>> @ms_kernel
    ... def double(a):
    ...     return a * 2
    >>> double(4)
    8
    """

    def keep(target: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(target):
            raise ArgumentTypeError(f"For 'kernel', 'fn' must be a function, but got {target!r}.")
        target.reg_info, target.compile_attrs = reg_info, dict(compile_attrs or {})  # type: ignore[attr-defined]
        return target

    return keep if fn is None else keep(fn)


kernel = ms_kernel

export_names(__name__, "ops", "kernel")
