"""``jit``: run a function, or a Cell's ``construct``, as a graph in any mode."""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.io.runtime_directory import INDUCTOR, compile_cache
from millrace._src.core.public import public
from millrace._src.runtime.tensor.backend import execution_mode as modes

from .replay import run_graph

__all__ = ["JitConfig", "jit", "jit_class", "lazy_inline", "ms_class", "ms_function", "mutable", "no_inline"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


@public("millrace")
def jit(
    function: Callable[..., Any] | None = None,
    *,
    capture_mode: Literal["ast", "bytecode", "trace"] = "ast",
    jit_level: Literal["O0", "O1", "O2"] = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    **options: Any,
) -> Any:
    """Run a function as a graph: captured on its first call, replayed for later arguments of the same shapes
    and types.

    All three capture modes trace. ``fullgraph=True`` makes a graph break (Python reads a tensor's value) an
    error. ``jit_level="O1"`` uses ``torch.compile``, which takes long to start and may change the last bits.

    >>> from millrace import Tensor
    >>> twice = jit(lambda x: x * 2)
    >>> [twice(Tensor([float(n)])).item() for n in range(3)]
    [0.0, 2.0, 4.0]
    """
    if function is None:
        return functools.partial(
            jit, capture_mode=capture_mode, jit_level=jit_level, dynamic=dynamic, fullgraph=fullgraph,
            backend=backend, **options,
        )  # fmt: skip
    if capture_mode not in ("ast", "bytecode", "trace"):
        raise ArgumentTypeError(
            f"capture_mode must be 'ast', 'bytecode' or 'trace', but got {capture_mode!r}."
        )
    if jit_level not in ("O0", "O1", "O2"):
        raise ArgumentTypeError(f"jit_level must be 'O0', 'O1' or 'O2', but got {jit_level!r}.")
    if hasattr(function, "construct"):  # a cell: its construct becomes the graph
        cell = function
        cell.construct = jit(cell.construct, jit_level=jit_level, fullgraph=fullgraph)
        return cell
    return _JitFunction(function, fullgraph, jit_level == "O1")


class _JitFunction:
    """A function that runs as a graph. As a class attribute it is a method, with captures for each object."""

    def __init__(self, function: Callable[..., Any], strict: bool, compiled: bool) -> None:
        functools.update_wrapper(self, function)
        self._function, self._strict, self._compiled = function, strict, compiled

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if modes.thread_state.capturing or modes.thread_state.differentiation_depth:
            return self._function(*args, **kwargs)  # part of a larger step
        if self._compiled:
            return _torch_compile(self._function)(*args, **kwargs)
        cell = next((a for a in args[:1] if hasattr(a, "capture_key")), None)
        owner = self if cell is None else _owner_of(self, cell)
        with modes.raising_on_graph_break(self._strict or modes.raise_on_graph_break):
            return run_graph(owner, self._function, args, kwargs)

    def capture_key(self) -> Any:
        """The Cells that the function's code names, and their state."""
        return modes.function_capture_key(self._function)


class _BoundMethodOwner:
    """A method of one Cell: its captures depend on the Cell."""

    def __init__(self, cell: Any, name: str) -> None:
        self._cell, self.__qualname__ = cell, name

    def capture_key(self) -> Any:
        return self._cell.capture_key()


def _owner_of(jitted: _JitFunction, cell: Any) -> _BoundMethodOwner:
    owners: dict[int, _BoundMethodOwner] = cell.__dict__.setdefault("_graph_owners", {})
    key = id(jitted)
    if key not in owners:
        owners[key] = _BoundMethodOwner(cell, f"{type(cell).__name__}.{jitted._function.__name__}")
    return owners[key]


@functools.cache
def _torch_compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled by torch.compile, on PyTorch tensors."""
    from millrace._src.core.values.tensor import Tensor
    from millrace._src.runtime.tensor.storage import opaque_call_listeners, unwrap_all, wrap_all

    def raw(*args: Any, **kwargs: Any) -> Any:
        result = function(*wrap_all(args), **{name: wrap_all(value) for name, value in kwargs.items()})
        return result._torch if isinstance(result, Tensor) else unwrap_all(result)

    os.environ[INDUCTOR] = compile_cache()
    inner = torch.compile(raw)

    def call(*args: Any, **kwargs: Any) -> Any:
        for listener in opaque_call_listeners:
            listener()
        return wrap_all(
            inner(*unwrap_all(args), **{name: unwrap_all(value) for name, value in kwargs.items()})
        )

    return call


@public("millrace")
def ms_function(fn: Callable[..., Any] | None = None, input_signature: Any = None, **options: Any) -> Any:
    """The former name of :func:`jit`.

    >>> from millrace import Tensor
    >>> ms_function(lambda x: x + 1)(Tensor([1.0])).item()
    2.0
    """
    return functools.partial(ms_function, input_signature=input_signature) if fn is None else jit(fn)


@public("millrace")
def jit_class(cls: C) -> C:
    """Mark a class as usable inside graphs. Every class is, so it is returned unchanged.

    >>> @jit_class
    ... class Scale:
    ...     factor = 2
    >>> Scale().factor
    2
    """
    if not isinstance(cls, type):
        raise ArgumentTypeError(f"Decorator jit_class can only be used for class type, but got {cls}.")
    if hasattr(cls, "construct"):
        raise ArgumentTypeError(
            f"Decorator jit_class is used for user-defined classes and cannot be used for nn.Cell: {cls}."
        )
    return cls


ms_class = jit_class


@public("millrace")
def lazy_inline(fn: F | None = None, attrs: Any = None, policy: Any = None) -> Any:
    """Accepted for compatibility and returned unchanged: a capture has no functions to inline.

    >>> lazy_inline(len) is len
    True
    """
    return (lambda function: function) if fn is None else fn


@public("millrace")
def no_inline(fn: F | None = None) -> Any:
    """Accepted for compatibility and returned unchanged: a capture has no functions to inline.

    >>> no_inline(len) is len
    True
    """
    return (lambda function: function) if fn is None else fn


@public("millrace")
@checked
def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """Convert numbers that may change from call to call into tensors, so that they need no new capture.

    >>> mutable(3).item(), mutable((1, 2.0))[1].item()
    (3, 2.0)
    """
    from millrace._src.core.values.tensor import Tensor

    if isinstance(input_data, (tuple, list)):
        return type(input_data)(mutable(part) for part in input_data)
    if isinstance(input_data, dict):
        return {name: mutable(part) for name, part in input_data.items()}
    if isinstance(input_data, Tensor):
        return input_data
    if isinstance(input_data, (int, float)) and not isinstance(input_data, bool):
        return Tensor(input_data)
    raise ArgumentTypeError(
        "For 'mutable', the 'input_data' should be one of (int, float, Tensor, tuple[Tensor], list[Tensor], "
        f"dict[Tensor]) or their nested structures, but got {input_data}."
    )


@public("millrace")
class JitConfig:
    """Graph settings of one Cell. ``jit_syntax_level="STRICT"`` makes a graph break an error.

    >>> JitConfig(jit_level="O1").jit_config_dict["jit_level"]
    'O1'
    """

    def __init__(
        self,
        jit_level: str = "",
        exc_mode: str = "auto",
        jit_syntax_level: str = "",
        debug_level: str = "RELEASE",
        infer_boost: str = "off",
        **kwargs: Any,
    ) -> None:
        for name, value, known in (
            ("jit_level", jit_level, ("", "O0", "O1", "O2")),
            ("exc_mode", exc_mode, ("auto", "sink", "no_sink")),
            ("jit_syntax_level", jit_syntax_level, ("", "STRICT", "COMPATIBLE", "LAX")),
            ("debug_level", debug_level, ("RELEASE", "DEBUG")),
            ("infer_boost", infer_boost, ("on", "off")),
        ):
            if value not in known:
                raise ValueError(
                    f"For 'JitConfig' the property '{name}' must be one of {list(known)}, but got {value!r}."
                )
        self.jit_config_dict = {
            "jit_level": jit_level,
            "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level,
            "debug_level": debug_level,
            "infer_boost": infer_boost,
            **kwargs,
        }
