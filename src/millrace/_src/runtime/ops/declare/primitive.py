"""``Primitive``, and primitive classes such as ``ops.ReLU`` of operations: options in the constructor, tensors in the
call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import declare, public
from millrace._src.core.values.tensor import Tensor

__all__ = [
    "Primitive",
    "PrimitiveWithCheck",
    "PrimitiveWithInfer",
    "prim_arg_register",
    "prim_attr_register",
    "primitive",
]


@public("ops")
class Primitive:
    """Operation as an object: options in the constructor, tensors in the call. A custom subclass stores its options in
    ``__init__`` and computes in ``__call__``.

    >>> Primitive("Custom").name
    'Custom'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.attrs: dict[str, Any] = {}

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Store an attribute; it has no effect here."""
        self.attrs[name] = value
        setattr(self, name, value)
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        """Delete an attribute."""
        if name in self.attrs:
            del self.attrs[name]
            delattr(self, name)
        return self

    def set_prim_instance_name(self, name: str) -> Primitive:
        """Set the name used in messages."""
        self.instance_name = name
        return self

    def init_prim_io_names(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Set the names of inputs and outputs used in messages."""
        self.attrs["input_names"], self.attrs["output_names"] = list(inputs), list(outputs)

    def recompute(self, mode: bool = True) -> Primitive:
        """Accepted without effect; `nn.Cell.recompute` recomputes the forward pass in the backward pass."""
        self.attrs["recompute"] = mode
        return self

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Store a strategy of semi-automatic parallelism; it has no effect here."""
        self.attrs["in_strategy"], self.attrs["out_strategy"] = in_strategy, out_strategy
        return self

    def set_device(self, device_target: str) -> Primitive:
        """Store a device; tensors determine where an operation runs."""
        return self.add_prim_attr("primitive_target", device_target)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Primitive {self.name} has no implementation: write __call__ in a class over Primitive"
        )

    def __repr__(self) -> str:
        return f"Prim[{self.name}]"

    __str__ = __repr__


class _Signature:
    """Signature of a primitive class: on the class the constructor's arguments, on an object the call's."""

    def __init__(
        self, constructor: inspect.Signature, call: Sequence[str], known: Mapping[str, inspect.Parameter]
    ) -> None:
        self.constructor = constructor
        self.call = inspect.Signature([known[name] for name in call])

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        return self.constructor if instance is None else self.call


def primitive(
    name: str,
    function: Callable[..., Any],
    init: Sequence[str] | None = None,
    call: Sequence[str] | None = None,
    unused: Mapping[str, Any] | None = None,
    **defaults: Any,
) -> Any:
    """Create a class like ``ops.Softmax`` from an operation.

    `init` lists the constructor's arguments (default: those that are no tensors), `call` the call's (default: all
    others). `defaults` overrides the function's defaults, `unused` lists options without effect, such as
    `use_locking`. If more differs, declare an operation without public names for the class, or write a subclass of
    Primitive.
    """
    spec = function.op  # type: ignore[attr-defined]
    parameters = spec.signature.parameters
    options = [n for n in parameters if n not in spec.tensor_parameters] if init is None else list(init)
    kept = [
        parameters[n].replace(
            kind=inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=inspect.Parameter.empty,
            default=defaults.get(n, parameters[n].default),
        )
        for n in options
    ]
    kept += [
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
        for n, value in (unused or {}).items()
    ]
    signature = inspect.Signature(kept)
    names = [n for n in parameters if n not in options] if call is None else list(call)
    many = any(parameters[n].kind is inspect.Parameter.VAR_POSITIONAL for n in names)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Primitive.__init__(self, name)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentTypeError(f"For '{name}', {error}; its arguments are {signature}") from None
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)
        self.options = {n: bound.arguments[n] for n in options}

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if many:
            return function(*args, **kwargs, **self.options)
        if len(args) > len(names):
            raise ArgumentTypeError(f"For '{name}', the call takes {names}, but got {len(args)} arguments")
        if not options:
            return function(*args, **kwargs)
        return function(**dict(zip(names, args)), **kwargs, **self.options)

    primitive_class = type(
        name,
        (Primitive,),
        {
            "__init__": __init__,
            "__call__": __call__,
            "__module__": spec.module,
            "__doc__": f"{spec.function.__doc__ or name}\n\nThe class form of `{spec.name}`.",
            "__signature__": _Signature(signature, names, parameters),
            "function": staticmethod(function),
        },
    )
    spec.primitives.append((name, tuple(options), tuple(names)))
    declare(primitive_class, "ops")
    return primitive_class


@public("ops")
def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorate the ``__init__`` of a Primitive: it is named after its class, and its arguments become its attributes.

    >>> class Scale(Primitive):
    ...     @prim_attr_register
    ...     def __init__(self, factor=2.0):
    ...         pass
    >>> Scale(3.0).factor, Scale().attrs
    (3.0, {'factor': 2.0})
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def deco(self: Any, *args: Any, **kwargs: Any) -> None:
        name = getattr(self, "substitute_name", None) or type(self).__name__
        # a subclass calls this twice: attributes of the first call stay
        if "attrs" not in self.__dict__:
            Primitive.__init__(self, name)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        del bound.arguments["self"]
        for label, value in bound.arguments.items():
            self.add_prim_attr(label, value)
        self.init_attrs = dict(bound.arguments)
        fn(self, *args, **kwargs)

    return deco


@public("ops")
def prim_arg_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorate the ``__init__`` of a Primitive, as `prim_attr_register` does."""
    return prim_attr_register(fn)


@public("ops")
class PrimitiveWithCheck(Primitive):
    """Base class of custom operations with argument checks: ``check_shape`` and ``check_dtype``, if defined, run
    before ``__call__``.

    >>> PrimitiveWithCheck("Mine")
    Prim[Mine]
    """

    def check(self, *args: Any) -> None:
        """Run the checks of the class on the tensors of a call."""
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        for name, values in (
            ("check_dtype", [x.dtype for x in tensors]),
            ("check_shape", [list(x.shape) for x in tensors]),
        ):
            if hasattr(self, name):
                getattr(self, name)(*values)


@public("ops")
class PrimitiveWithInfer(Primitive):
    """Base class of custom operations with inference functions: ``infer_shape``, ``infer_dtype`` and ``infer_value``
    are kept. ``__call__`` computes the result.

    >>> PrimitiveWithInfer("Mine")
    Prim[Mine]
    """

    def infer_shape(self, *args: Any) -> Any:
        """Shape of the result: unknown by default."""
        return None

    def infer_dtype(self, *args: Any) -> Any:
        """Dtype of the result: unknown by default."""
        return None

    def infer_value(self, *args: Any) -> Any:
        """Result if it is known before the call: unknown by default."""
        return None
