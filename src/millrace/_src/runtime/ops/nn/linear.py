"""Products of matrices and vectors."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

from .sliding_window import check_same_dtype

__all__ = ["Dense", "dense", "linear"]


@op("ops", dtype=SAME)
def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    try:
        return F.linear(input, weight, bias)
    except RuntimeError:  # asked only then: a layer is called often, and seldom wrongly
        if input.ndim == 0 or input.shape[-1] != weight.shape[-1]:
            raise ArgumentValueError(
                f"For 'dense', the last axis of the input must be as long as that of the weight, but the shapes are "
                f"{list(input.shape)} and {list(weight.shape)}."
                + (
                    f" Dense({input.shape[-1]}, {len(weight)}) would take it."
                    if input.ndim and weight.ndim == 2
                    else ""
                )
            ) from None
        check_same_dtype("dense", input, weight)
        raise


@op("mint.nn.functional", dtype=SAME)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    return dense.raw(input, weight, bias)


Dense = primitive("Dense", dense)
