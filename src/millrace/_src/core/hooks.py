"""Debug hooks: they receive the values between the ops of a map while debug mode is on.

They are defined in ``core`` because the settings hold them and the engine calls them.
"""

from __future__ import annotations

import abc
from typing import Any

from millrace._src.core.public import public

__all__ = ["DebugHook", "PrintDataHook", "PrintMetaDataHook"]


@public("dataset.debug")
class DebugHook(abc.ABC):
    """Base class of debug hooks: implement ``compute``, which receives one tuple with the values of the columns.

    The return value of ``compute`` is ignored: a hook inspects the data and does not change it.

    >>> import numpy as np
    >>> class Shapes(DebugHook):
    ...     def compute(self, *args):
    ...         print([value.shape for value in args[0]])
    >>> _ = Shapes()(np.zeros((2, 3)))
    [(2, 3)]
    """

    def __init__(self, prev_op_name: str | None = None) -> None:
        self.prev_op_name = prev_op_name
        self.is_first_op: bool | None = None

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        if self.prev_op_name:
            side = "INPUT" if self.is_first_op else "OUTPUT"
            print(f"[Dataset debugger] Print the [{side}] of the operation [{self.prev_op_name}].")  # noqa: T201
        self.compute(args)
        return args

    @abc.abstractmethod
    def compute(self, *args: Any) -> Any:
        """Inspect the values; ``args[0]`` is a tuple with one value per column."""

    def set_previous_op_name(self, prev_op_name: str) -> None:
        """Name the op whose values come next (the engine calls this).

        >>> hook = PrintDataHook()
        >>> hook.set_previous_op_name("Decode")
        >>> hook.prev_op_name
        'Decode'
        """
        self.prev_op_name = prev_op_name

    def set_is_first(self, is_first_op: bool) -> None:
        """Set whether the values are the input of the first op (the engine calls this).

        >>> hook = PrintDataHook()
        >>> hook.set_is_first(True)
        >>> hook.is_first_op
        True
        """
        self.is_first_op = is_first_op


@public("dataset.debug")
class PrintMetaDataHook(DebugHook):
    """Print type and shape of every value.

    >>> import numpy as np
    >>> _ = PrintMetaDataHook()(np.zeros((2, 3), np.float32), {"a": 1})
    Column 0. The dtype is [float32]. The shape is [(2, 3)].
    Column 1. The type is [<class 'dict'>]. The size is [1].
    """

    def __init__(self) -> None:
        super().__init__()

    def compute(self, *args: Any) -> Any:
        """Print one line per value."""
        for i, value in enumerate(args[0]):
            print(f"Column {i}. {_describe(value)}")  # noqa: T201
        return args


@public("dataset.debug")
class PrintDataHook(DebugHook):
    """Print every value.

    >>> import numpy as np
    >>> _ = PrintDataHook()(np.arange(3))
    Column 0. The data is [[0 1 2]].
    """

    def __init__(self) -> None:
        super().__init__()

    def compute(self, *args: Any) -> Any:
        """Print one line per value."""
        for i, value in enumerate(args[0]):
            print(f"Column {i}. The data is [{value}].")  # noqa: T201
        return args


def _describe(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return f"The dtype is [{value.dtype}]. The shape is [{shape}]."
    if hasattr(value, "getbands"):  # a PIL image: its size is (width, height)
        return f"The type is [{type(value)}]. The size is [{value.size}]."
    if hasattr(value, "__len__"):
        return f"The type is [{type(value)}]. The size is [{len(value)}]."
    return f"The type is [{type(value)}]."
