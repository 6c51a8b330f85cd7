"""``Primitive``, and classes such as ``ops.ReLU`` made from operations: options first, tensors in the call."""

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
    """An operation as an object: options at construction, tensors in the call.

    A class of your own over it stores its options in ``__init__`` and computes in ``__call__``.

    >>> Primitive("Custom").name
    'Custom'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.attrs: dict[str, Any] = {}

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Keep an attribute; it changes nothing here."""
        self.attrs[name] = value
        setattr(self, name, value)
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        """Forget an attribute."""
        if name in self.attrs:
            del self.attrs[name]
            delattr(self, name)
        return self

    def set_prim_instance_name(self, name: str) -> Primitive:
        """Another name for messages."""
        self.instance_name = name
        return self

    def init_prim_io_names(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Names of inputs and outputs, kept for messages."""
        self.attrs["input_names"], self.attrs["output_names"] = list(inputs), list(outputs)

    def recompute(self, mode: bool = True) -> Primitive:
        """Ask for the forward to be computed again in the backward; `nn.Cell.recompute` is what does it here."""
        self.attrs["recompute"] = mode
        return self

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Keep a strategy of semi-automatic parallelism; it is recorded and has no effect here."""
        self.attrs["in_strategy"], self.attrs["out_strategy"] = in_strategy, out_strategy
        return self

    def set_device(self, device_target: str) -> Primitive:
        """Keep the wish for a device; tensors decide where an operation runs."""
        return self.add_prim_attr("primitive_target", device_target)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Primitive {self.name} has no implementation: write __call__ in a class over Primitive"
        )

    def __repr__(self) -> str:
        return f"Prim[{self.name}]"

    __str__ = __repr__


class _Signature:
    """What a class made of an operation takes: on the class the constructor's arguments, on an object the call's."""

    def __init__(
        self, made: inspect.Signature, call: Sequence[str], known: Mapping[str, inspect.Parameter]
    ) -> None:
        self.made = made
        self.call = inspect.Signature([known[name] for name in call])

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        return self.made if instance is None else self.call


def primitive(
    name: str,
    function: Callable[..., Any],
    init: Sequence[str] | None = None,
    call: Sequence[str] | None = None,
    unused: Mapping[str, Any] | None = None,
    **defaults: Any,
) -> Any:
    """A class like ``ops.Softmax``, of an operation.

    `init` names the arguments of the constructor (without it: those that are no tensors), `call` those of the call
    (without it: all others), `defaults` gives other defaults than the function's, `unused` options that change nothing
    here, such as `use_locking`. Where more differs, declare an
    operation without faces for the class, or write a class over Primitive.
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

    made = type(
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
    declare(made, "ops")
    return made


@public("ops")
def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Marks the ``__init__`` of a Primitive: it is named after its class, and its arguments become its attributes.

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
        # a class over another comes here twice: what is kept of the first stays
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
    """Marks the ``__init__`` of a Primitive, as `prim_attr_register` does."""
    return prim_attr_register(fn)


@public("ops")
class PrimitiveWithCheck(Primitive):
    """A base for operations of one's own that check their arguments: ``check_shape`` and ``check_dtype`` see them
    before ``__call__`` computes, where a class has them.

    >>> PrimitiveWithCheck("Mine")
    Prim[Mine]
    """

    def check(self, *args: Any) -> None:
        """Run the checks of the class on the tensors of a call."""
        given = [arg for arg in args if isinstance(arg, Tensor)]
        for name, values in (
            ("check_dtype", [x.dtype for x in given]),
            ("check_shape", [list(x.shape) for x in given]),
        ):
            if hasattr(self, name):
                getattr(self, name)(*values)


@public("ops")
class PrimitiveWithInfer(Primitive):
    """A base for operations of one's own that say what they give: ``infer_shape``, ``infer_dtype`` and
    ``infer_value`` are kept; here an operation runs, so ``__call__`` is what computes.

    >>> PrimitiveWithInfer("Mine")
    Prim[Mine]
    """

    def infer_shape(self, *args: Any) -> Any:
        """The shape of the result, for those who ask: none is known."""
        return None

    def infer_dtype(self, *args: Any) -> Any:
        """The type of the result, for those who ask: none is known."""
        return None

    def infer_value(self, *args: Any) -> Any:
        """The result where it is known before the call: it is not."""
        return None
