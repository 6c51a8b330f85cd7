"""Sets of accepted dtypes, and rules for the dtype of the result."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = [
    "ANY_DTYPE",
    "BOOL",
    "BOOLS",
    "COMPLEX",
    "FLOAT",
    "FLOATS",
    "FLOATS_COMPLEX",
    "INT32",
    "INT64",
    "INTEGERS",
    "INTEGERS_BOOL",
    "NUMBERS",
    "UNCHECKED",
    "PROMOTE",
    "REAL",
    "SAME",
    "SUM",
    "DtypeRule",
]

BOOLS = frozenset({torch.bool})
INTEGERS = frozenset(
    {torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64}
)
FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
COMPLEX = frozenset({torch.complex64, torch.complex128})
INTEGERS_BOOL = INTEGERS | BOOLS
FLOATS_COMPLEX = FLOATS | COMPLEX
REAL = INTEGERS | FLOATS
NUMBERS = REAL | COMPLEX
ANY_DTYPE = None  # no check at all


@dataclass(frozen=True)
class DtypeRule:
    """Rule for the dtype of the result. `cast` is the dtype to convert to; the rest is only checked."""

    name: str
    cast: torch.dtype | None = None


SAME = DtypeRule("SAME")  # dtype of the first tensor
PROMOTE = DtypeRule("PROMOTE")  # promoted dtype of all operands, as with +
FLOAT = DtypeRule("FLOAT")  # floating and complex dtypes stay, bools and integers become float32
SUM = DtypeRule("SUM")  # bools and integers become int64, other dtypes stay
BOOL = DtypeRule("BOOL")
INT32 = DtypeRule("INT32", torch.int32)
INT64 = DtypeRule("INT64")
UNCHECKED = DtypeRule(
    "OTHER"
)  # determined by an argument, or different for several results: the goldens check it
