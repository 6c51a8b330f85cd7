"""Embedding layer with PyTorch signature."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_positive_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.embedding import _check_padding_index, _initial_table
from millrace._src.runtime.ops.nn.embedding import embedding
from millrace._src.runtime.tensor.initializer import Normal, initializer
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["EmbeddingExt"]


@public("nn", "mint.nn:Embedding")
class EmbeddingExt(Cell):
    """Embedding with PyTorch's arguments."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if sparse:
            raise ArgumentValueError("For 'EmbeddingExt', gradients are dense: 'sparse' must be False.")
        check_positive_int(num_embeddings, "num_embeddings", "EmbeddingExt")
        check_positive_int(embedding_dim, "embedding_dim", "EmbeddingExt")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            padding_idx = _check_padding_index(padding_idx, -num_embeddings, num_embeddings, "EmbeddingExt")
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        if _weight is not None and not isinstance(_weight, Tensor):
            raise ArgumentTypeError(f"For 'EmbeddingExt', '_weight' must be a Tensor, but got {_weight!r}.")
        table_dtype = dtype or mstype.float32
        begin = (
            initializer(Normal(1.0), (num_embeddings, embedding_dim), table_dtype)
            if _weight is None
            else _weight
        )
        start = _initial_table(
            begin, num_embeddings, embedding_dim, table_dtype, padding_idx if _weight is None else None
        )
        self.weight = Parameter(start, name="weight", requires_grad=not _freeze)

    def construct(self, input: Any) -> Any:
        return embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )

    def extend_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"padding_idx={self.padding_idx}, max_norm={self.max_norm}, norm_type={self.norm_type}, "
            f"scale_grad_by_freq={self.scale_grad_by_freq}, dtype={self.weight.dtype}"
        )
