"""Dtype classes: ``Int`` for ``isinstance``, tensor types, quantized dtypes."""

from __future__ import annotations

import enum
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import export_names, public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType

__all__ = ["Int", "NullType", "QuantDtype", "TensorType", "null"]


class _IntMeta(type):
    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, DType) and str(thing).startswith("Int")

    def __call__(cls, nbits: int | None = None) -> DType:
        if nbits is None:
            return mstype.int_
        known = {8: mstype.int8, 16: mstype.int16, 32: mstype.int32, 64: mstype.int64}
        if nbits not in known:
            raise ArgumentValueError(
                f"For 'Int', the number of bits must be one of {list(known)}, but got {nbits!r}."
            )
        return known[nbits]


@public("millrace")
class Int(metaclass=_IntMeta):
    """The class of signed integer dtypes; ``Int(nbits)`` returns the dtype.

    >>> isinstance(mstype.int32, Int), isinstance(mstype.float32, Int), Int(64)
    (True, False, millrace.int64)
    """


@public("millrace")
class TensorType:
    """The type of a tensor with a given element dtype.

    >>> TensorType(mstype.float32)
    mindspore.tensor[float32]
    """

    def __init__(self, element_type: DType | None = None) -> None:
        if element_type is not None and not isinstance(element_type, DType):
            raise ArgumentTypeError(f"For 'TensorType', expected an element dtype, but got {element_type!r}.")
        self._element = element_type

    def element_type(self) -> DType | None:
        """The element dtype."""
        return self._element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self._element is other._element

    def __hash__(self) -> int:
        return hash(("TensorType", self._element))

    def __str__(self) -> str:
        return "Tensor" if self._element is None else f"Tensor[{self._element}]"

    def __repr__(self) -> str:
        name = "" if self._element is None else f"[{repr(self._element).partition('.')[2]}]"
        return f"mindspore.tensor{name}"


class NullType:
    """The type of an absent value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NullType)

    def __hash__(self) -> int:
        return hash("NullType")

    def __str__(self) -> str:
        return "Null"

    def __repr__(self) -> str:
        return "mindspore.Null"


null = NullType()


@public("millrace")
class QuantDtype(enum.Enum):
    """Dtypes of quantized weights by their number of bits. No operation computes in them.

    >>> str(QuantDtype.INT8)
    'INT8'
    """

    INT1, INT2, INT3, INT4, INT5, INT6, INT7, INT8 = range(8)
    INT9, INT10, INT11, INT12, INT13, INT14, INT15, INT16 = range(8, 16)
    UINT1, UINT2, UINT3, UINT4, UINT5, UINT6, UINT7, UINT8 = range(100, 108)
    UINT9, UINT10, UINT11, UINT12, UINT13, UINT14, UINT15, UINT16 = range(108, 116)

    def __str__(self) -> str:
        return self.name


# MindSpore's names
_NullType, _null = NullType, null

export_names(__name__, "millrace", "_NullType", "_null", unlisted=True)
