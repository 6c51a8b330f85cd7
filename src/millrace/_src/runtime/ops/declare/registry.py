"""Registry of operations: one ``def`` in PyTorch per operation, from which all its public names are generated.

::

    @op("ops", "mint.nn.functional", "Tensor", accepts=FLOATS, dtype=SAME)
    def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
        return F.softshrink(input, lambd)

The body gets PyTorch tensors. A wrapper unwraps the arguments, checks arguments whose annotation is more than a type,
wraps the result, and translates PyTorch's errors into MindSpore's. README.md explains how to add an operation.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import torch

from millrace._src.core.args import Checker
from millrace._src.core.errors import ArgumentTypeError, MillraceError
from millrace._src.core.public import declare as declare_public
from millrace._src.core.tracebacks import hide_internal_frames
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.device_placement import align_devices, cast_to_compute_dtype
from millrace._src.runtime.tensor.error_translation import describe_value, translate_error
from millrace._src.runtime.tensor.method_binding import bind_tensor_methods
from millrace._src.runtime.tensor.storage import (
    DTYPES_FROM_TORCH,
    new_instance,
    to_torch_dtype,
    unwrap_all,
    wrap_all,
)

from .dtype_rules import ANY_DTYPE, SAME, DtypeRule

__all__ = ["OP_REGISTRY", "OpSpec", "op"]

bind_tensor_methods()


class OpFunction(Protocol):
    """Function that users call; `raw` is the body, for use in other bodies."""

    op: OpSpec
    raw: Callable[..., Any]
    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


# Types that need no unwrapping.
_PASS_THROUGH_TYPES = frozenset({int, float, bool, str, type(None), complex, torch.Tensor})
# Cache of tuples that hold only such values: strides, axes and shapes repeat.
_scalar_tuples: set[Any] = set()
_MAX_SCALAR_TUPLES = 4096
_TorchTensor = torch.Tensor


@dataclass
class OpSpec:
    """Declaration of one operation."""

    name: str
    function: Callable[..., Any]
    public_names: tuple[tuple[str, str], ...]  # (public module, name there)
    accepts: frozenset[torch.dtype] | None
    dtype: DtypeRule
    module: str
    differentiable: bool = True
    random: bool = False
    keyword_aliases: dict[str, str] = field(default_factory=dict)
    primitives: list[tuple[str, tuple[str, ...]]] = field(
        default_factory=list
    )  # class name, arguments of its constructor
    call: Callable[..., Any] = field(init=False)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @functools.cached_property
    def tensor_parameters(self) -> list[str]:
        """Parameters that take a tensor or several."""
        written = self.function.__annotations__
        return [name for name in self.signature.parameters if "Tensor" in str(written.get(name, ""))]

    @functools.cached_property
    def parameter_checks(self) -> list[tuple[str, int, Any]]:
        """Name, position and check of each parameter whose annotation is more than a type."""
        written = self.function.__annotations__
        known = Checker(self.function, self.signature).resolve()
        return [
            (name, position, known[name])
            for position, name in enumerate(self.signature.parameters)
            if name in known and str(written[name]).startswith(("Annotated[", "Literal["))
        ]

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for name, position, parameter in self.parameter_checks:
            if position < len(args):
                parameter.check(args[position])
            elif name in kwargs:
                parameter.check(kwargs[name])

    def dtype_error(self, dtype: torch.dtype) -> ArgumentTypeError:
        taken = [
            str(ours) for theirs, ours in DTYPES_FROM_TORCH.items() if self.accepts and theirs in self.accepts
        ]
        return ArgumentTypeError(
            f"For '{self.name}', tensors of type {DTYPES_FROM_TORCH[dtype]} are not supported; supported types are "
            f"{', '.join(taken)}. "
            f"Convert with x.astype(...)."
        )


OP_REGISTRY: list[OpSpec] = []


def op(
    *faces: str,
    accepts: frozenset[torch.dtype] | None = ANY_DTYPE,
    dtype: DtypeRule = SAME,
    differentiable: bool = True,
    random: bool = False,
    also: dict[str, str] | None = None,
) -> Callable[[Callable[..., Any]], OpFunction]:
    """Declare an operation. A target is a public module ("ops", "mint", "mint.nn.functional", "numpy") or "Tensor", or
    "target:name" if the name there is not the function's. `also` gives other spellings of keywords, as overloads
    have.
    """

    def declare(function: Callable[..., Any]) -> OpFunction:
        name = function.__name__
        parts = [target.partition(":") for target in faces]
        named = tuple((where, alias or name) for where, _, alias in parts)
        spec = OpSpec(
            name, function, named, accepts, dtype, function.__module__, differentiable, random, also or {}
        )
        call = cast(OpFunction, functools.update_wrapper(_make_call_wrapper(spec), function))
        call.op, call.raw = spec, function
        spec.call = call
        OP_REGISTRY.append(spec)
        declare_public(call, *faces)
        return call

    return declare


def _make_call_wrapper(spec: OpSpec) -> Callable[..., Any]:
    """Create the function that users call."""
    function, accepts, becomes, also = spec.function, spec.accepts, spec.dtype.cast, spec.keyword_aliases
    written = [str(text) for text in function.__annotations__.values()]
    checked = any(text.startswith(("Annotated[", "Literal[")) for text in written)

    def call(*args: Any, **kwargs: Any) -> Any:
        # hot path of eager code: one pass over the arguments, no temporary objects
        if kwargs and also:
            kwargs = {also.get(name, name): value for name, value in kwargs.items()}
        try:
            if checked:
                spec.check(args, kwargs)
            raw = []
            for value in args:
                if isinstance(value, Tensor):
                    value = value._torch
                    if accepts is not None and value.dtype not in accepts:
                        raise spec.dtype_error(value.dtype)
                elif value.__class__ not in _PASS_THROUGH_TYPES:
                    value = _unwrap_argument(value)
                elif value.__class__ is _TorchTensor and accepts is not None and value.dtype not in accepts:
                    raise spec.dtype_error(value.dtype)
                raw.append(value)
            result = function(*raw, **named(kwargs)) if kwargs else function(*raw)
            if result.__class__ is _TorchTensor:
                if becomes is not None:
                    result = result.to(becomes)
                tensor = new_instance(Tensor)
                tensor._torch = result
                return tensor
            return wrap_all(result)
        except Exception as error:
            if align_devices(error, (*args, *kwargs.values())):
                return call(*args, **kwargs)
            if (
                lower := cast_to_compute_dtype((args, kwargs))
            ) is not None:  # a Cell with a compute dtype got another dtype
                return call(*lower[0], **lower[1])
            translated = _translate_op_error(spec, error, args, kwargs)
            try:
                raise translated from None
            except MillraceError:
                hide_internal_frames(translated)
                raise

    def named(kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments, unwrapped for the body."""
        arguments = {name: unwrap_all(value) for name, value in kwargs.items()}
        for value in arguments.values():
            if accepts is not None and value.__class__ is _TorchTensor and value.dtype not in accepts:
                raise spec.dtype_error(value.dtype)
        return arguments

    return call


def _unwrap_argument(value: Any) -> Any:
    """Unwrap an argument that is neither a tensor nor a number."""
    if value.__class__ is not tuple:
        return unwrap_all(value)
    try:
        if value in _scalar_tuples:
            return value
    except TypeError:  # unhashable: a list inside
        return unwrap_all(value)
    unwrapped = unwrap_all(value)
    if _has_only_scalars(value) and len(_scalar_tuples) < _MAX_SCALAR_TUPLES:
        _scalar_tuples.add(value)
    return unwrapped


def _has_only_scalars(value: Any) -> bool:
    """Whether a nested tuple holds only numbers and strings."""
    if value.__class__ is tuple:
        return all(_has_only_scalars(part) for part in value)
    return value.__class__ in (int, float, bool, str, type(None))


def _translate_op_error(
    spec: OpSpec, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> BaseException:
    """Error to raise for an error inside an operation; a value that is not a tensor where one is required is reported
    first.
    """
    try:
        arguments = spec.signature.bind(*args, **kwargs).arguments
    except TypeError as wrong:
        return ArgumentTypeError(f"Failed calling {spec.name}: {wrong}; its parameters are {spec.signature}")
    for name, value in arguments.items():
        if spec.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            continue  # several values
        annotation = str(spec.function.__annotations__.get(name, ""))
        if annotation == "Tensor" and not isinstance(value, (Tensor, torch.Tensor)):
            return ArgumentTypeError(
                f"Failed calling {spec.name} with \"{name}={type(value).__name__}\": the argument '{name}' must be a "
                f"Tensor, but got {describe_value(value)}."
            )
    return translate_error(spec.name, error, args, kwargs)


def to_torch_dtype_or_none(dtype: DType | None) -> torch.dtype | None:
    """PyTorch dtype of an argument, or None."""
    return None if dtype is None else to_torch_dtype(dtype)
