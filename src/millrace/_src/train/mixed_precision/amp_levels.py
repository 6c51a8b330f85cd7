"""Mixed precision levels: O0 to O3, auto, and custom lists."""

from __future__ import annotations

import functools
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import DType, bfloat16, float16, float32
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.compute_dtype import cast_floats
from millrace._src.runtime.tensor.backend import execution_mode as modes

from .autocast import autocast
from .cast_lists import BLACK, WHITE, cells_of

__all__ = ["CastOutput", "LEVELS", "auto_mixed_precision", "custom_mixed_precision", "cast_network"]

LEVELS = ("O0", "O1", "O2", "O3", "auto")


class CastOutput(Cell):
    """Wraps a cell and casts its floating-point outputs to one dtype."""

    def __init__(self, backbone: Cell, dtype: DType = float32) -> None:
        super().__init__(auto_prefix=False)
        self._backbone, self._dtype = backbone, dtype

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return cast_floats(self._backbone(*args, **kwargs), self._dtype)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_"):
                raise
            return getattr(self._backbone, name)  # attributes of the wrapped cell

    @property
    def backbone_network(self) -> Cell:
        """The wrapped cell."""
        return self._backbone


@public("amp")
def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: DType = float16) -> Any:
    """Convert a network to mixed precision by level. Parameters keep their dtype and are cast when used.

    - O0: no change.
    - O1: cells and operations of the white list compute in `dtype` and return float32 (`amp.get_white_list`).
    - O2: everything but the normalization layers of the black list computes in `dtype` (`amp.get_black_list`).
    - O3: everything computes in `dtype`.
    - auto: per operation: matrix products and convolutions in `dtype`, operations that need range in float32.

    The network returns float32 at O1 to O3. It is changed in place; use the returned network.

    >>> from millrace import Tensor, nn
    >>> net = auto_mixed_precision(nn.SequentialCell(nn.Dense(2, 3), nn.LayerNorm((3,))), "O2")
    >>> net(Tensor([[1.0, 2.0]])).dtype, net.trainable_params()[0].dtype
    (millrace.float32, millrace.float32)
    """
    if amp_level not in LEVELS:
        raise ArgumentValueError(
            f"The amp level {amp_level} is not supported; it must be one of {list(LEVELS)}."
        )
    if amp_level == "auto" and callable(network) and not isinstance(network, Cell):
        return autocast(network, _checked_type(dtype))
    if not isinstance(network, Cell):
        raise ArgumentTypeError(f"For amp_level '{amp_level}', the network type should be Cell.")
    _checked_type(dtype)
    if amp_level == "O0":
        return network
    if amp_level == "auto":
        return autocast(network, dtype)
    if amp_level == "O1":
        return _cast_listed_cells(network, WHITE, dtype)
    return CastOutput(cast_network(network, dtype, BLACK if amp_level == "O2" else []))


@public("amp")
def custom_mixed_precision(
    network: Any,
    *,
    white_list: list[Any] | None = None,
    black_list: list[Any] | None = None,
    dtype: DType = float16,
) -> Any:
    """Convert a network so that cells of the white list, or all but those of the black list, compute in `dtype`.

    >>> from millrace import Tensor, amp, nn
    >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh())
    >>> net = custom_mixed_precision(net, black_list=[*amp.get_black_list(), nn.Tanh])
    >>> net(Tensor([[1.0, 2.0]])).dtype
    millrace.float32
    """
    if not isinstance(network, Cell):
        raise ArgumentTypeError("The network type should be Cell.")
    if (white_list is None) == (black_list is None):
        raise ArgumentValueError(
            "For custom_mixed_precision, one of white_list and black_list must be provided, and not both."
        )
    for name, listed in (("white_list", white_list), ("black_list", black_list)):
        if listed is None:
            continue
        if not isinstance(listed, list):
            raise ArgumentTypeError(f"The type of {name} should be list, but got {type(listed)}")
        for each in listed:
            if not isinstance(each, type):
                raise ArgumentTypeError(f"The element in {name} should be a class, but got {each}")
    _checked_type(dtype)
    if white_list is not None:
        return _cast_listed_cells(network, white_list, dtype)
    return CastOutput(cast_network(network, dtype, black_list or []))


def _checked_type(dtype: Any) -> DType:
    if dtype not in (float16, bfloat16):
        raise ArgumentValueError(
            f"The dtype should be one of (mstype.float16, mstype.bfloat16), but got {dtype}."
        )
    return dtype


def cast_network(network: Cell, dtype: DType, kept: list[Any]) -> Cell:
    """Cast a network to `dtype`, except these classes, which compute in float32 and return `dtype`."""
    network.to_float(dtype)
    classes = cells_of(kept)
    if not classes:
        return network
    if isinstance(network, classes):
        return network.to_float(float32)

    def keeps(cell: Cell) -> Cell:
        return CastOutput(cell.to_float(float32), dtype)

    _replace_cells(network, classes, keeps)
    return network


def _cast_listed_cells(network: Cell, listed: list[Any], dtype: DType) -> Cell:
    """Cast only these classes to `dtype`; they return float32."""
    classes = cells_of(listed)

    def lowers(cell: Cell) -> Cell:
        return CastOutput(cell.to_float(dtype))

    _replace_cells(network, classes, lowers)
    for cell in network._all_cells():
        if not isinstance(cell, classes):  # cells inside of a cast cell need no wrapper
            for name, value in list(vars(cell).items()):
                if type(value) in listed and not isinstance(value, Cell):
                    object.__setattr__(cell, name, CastOperation(value, dtype))
    return lowers(network) if isinstance(network, classes) else network


class CastOperation:
    """Wraps an operation to compute in one floating-point dtype and return float32."""

    def __init__(self, operation: Any, dtype: DType) -> None:
        functools.update_wrapper(self, type(operation).__call__)
        self.operation, self.dtype = operation, dtype

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return cast_floats(
            self.operation(*cast_floats(args, self.dtype), **cast_floats(kwargs, self.dtype)), float32
        )


def _replace_cells(network: Cell, classes: tuple[type, ...], put: Any) -> None:
    """Wrap all cells of some classes; parameter names are kept, shared cells are wrapped once."""
    replacements: dict[int, Cell] = {}
    for parent in list(network._all_cells()):
        if isinstance(parent, (CastOutput, *classes)):
            continue  # already wrapped, with its children
        for name, child in list(parent._cells.items()):
            if isinstance(child, classes):
                replacement = replacements.get(id(child)) or put(child)
                replacements[id(child)] = replacement
                parent._cells[name] = replacement
                if name in vars(parent):
                    object.__setattr__(parent, name, replacement)
    modes.invalidate_captures()
