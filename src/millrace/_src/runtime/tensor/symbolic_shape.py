"""Symbolic shapes: tensors without values for ``set_inputs``, whose lengths may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor

from .storage import DTYPES_FROM_TORCH, to_torch_dtype

__all__ = ["Symbol", "AbstractStorage", "make_abstract"]


@public("millrace")
class Symbol:
    """An unknown length with constraints: bounds, divisor and remainder.

    >>> Symbol(max=64, divisor=8).to_dict()
    {'max': 64, 'divisor': 8}
    """

    def __init__(
        self, max: int = 0, min: int = 1, divisor: int = 1, remainder: int = 0, unique: bool = False, **kawgs: Any
    ) -> None:  # fmt: skip
        for name, value in (("max", max), ("min", min), ("divisor", divisor), ("remainder", remainder)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise ArgumentTypeError(
                    f"For 'Symbol', the argument '{name}' must be int, but got {type(value)}"
                )
        if not isinstance(unique, bool):
            raise ArgumentTypeError(
                f"For 'Symbol', the argument 'unique' must be bool, but got {type(unique)}"
            )
        for name, value in (("min", min), ("divisor", divisor)):
            if value <= 0:
                raise ArgumentValueError(
                    f"For 'Symbol', the '{name}' value should be positive, but got {value}"
                )
        if not 0 <= remainder < divisor:
            raise ArgumentValueError(
                f"For 'Symbol', the 'remainder' value should be in the range '[0, {divisor})', but got {remainder}"
            )
        self.max, self.min, self.divisor, self.remainder, self.unique = max, min, divisor, remainder, unique

    def to_dict(self) -> dict[str, int]:
        """The constraints that differ from the defaults."""
        bounds = {
            name: getattr(self, name)
            for name, default in (("max", 0), ("min", 1), ("divisor", 1), ("remainder", 0))
            if getattr(self, name) != default
        }
        return {**bounds, "id": id(self)} if self.unique else bounds

    def __str__(self) -> str:
        return str(self.to_dict())


class AbstractStorage(NamedTuple):
    """The storage of a tensor without values."""

    shape: tuple[int, ...]
    itemsize: int
    symbols: list[Any] | None = None
    nbytes: int = 0

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def refuse(self) -> ArgumentValueError:
        """The error for reading values."""
        return ArgumentValueError(
            f"a tensor of shape {self.shape} has no values: it describes an input for set_inputs. "
            "Pass known lengths, or data"
        )


def make_abstract(tensor: Tensor, shape: Any, dtype: Any) -> bool:
    """Set up a tensor without values. Returns False if all lengths are known, so that memory can be
    allocated.
    """
    if dtype is None:
        raise ArgumentValueError("If setting dynamic shape, dtype must not be None, init must be None")
    sizes: Sequence[Any] = (
        (-2,) if shape is None else (shape,) if isinstance(shape, (int, Symbol)) else tuple(shape)
    )
    lengths = tuple(-1 if size is None or isinstance(size, Symbol) else int(size) for size in sizes)
    if all(length >= 0 for length in lengths):
        return False
    torch_dtype = to_torch_dtype(dtype)
    tensor._dtype = DTYPES_FROM_TORCH[torch_dtype]
    symbols = None
    if any(isinstance(size, Symbol) for size in sizes):
        symbols = [size.to_dict() if isinstance(size, Symbol) else size for size in sizes]
    tensor.__dict__["_lazy"] = AbstractStorage(lengths, torch_dtype.itemsize, symbols)
    return True
