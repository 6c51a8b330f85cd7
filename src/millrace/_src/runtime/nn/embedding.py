"""Embedding layers: rows of a trainable table by index."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.ops.array.creation import one_hot
from millrace._src.runtime.ops.array.gather import gather
from millrace._src.runtime.ops.linalg.matmul import matmul
from millrace._src.runtime.ops.nn import embedding as embedding_ops
from millrace._src.runtime.tensor.initializer import initializer
from millrace._src.runtime.tensor.parameter import Parameter

from .argument_types import check_argument_type, check_choice, check_int, check_positive_int
from .cell import Cell
from .sharded_embedding import ShardedEmbedding

__all__ = ["Embedding", "EmbeddingLookup", "MultiFieldEmbeddingLookup"]


def _check_padding_index(index: Any, least: int, rows: int, owner: str) -> int:
    check_argument_type(index, "padding_idx", owner, int)
    if not least <= index < rows:
        raise ArgumentValueError(
            f"For '{owner}', the 'padding_idx' must be in range of [{least}, {rows}), but got {index} with type 'int'."
        )
    return int(index)


def _initial_table(init: Any, rows: int, size: int, dtype: DType, padding: int | None = None) -> Tensor:
    """The initial values of a table; the row of the padding index is zero."""
    table = initializer(init, (rows, size), dtype)
    if padding is None:
        return table
    values = table.init_data() if table.has_init else table
    array = values.asnumpy().copy()
    array[padding] = 0
    return Tensor(array, dtype)


@public("nn")
class Embedding(Cell):
    """Embedding: rows of a trainable table by index.

    >>> Embedding(10, 4)(Tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: DType = mstype.float32,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        self.vocab_size = check_argument_type(vocab_size, "vocab_size", "Embedding", int)
        self.embedding_size = check_argument_type(embedding_size, "embedding_size", "Embedding", int)
        self.use_one_hot = check_argument_type(use_one_hot, "use_one_hot", "Embedding", bool)
        self.dtype = dtype
        self.padding_idx = (
            None if padding_idx is None else _check_padding_index(padding_idx, 0, vocab_size, "Embedding")
        )
        start = _initial_table(embedding_table, vocab_size, embedding_size, mstype.float32, self.padding_idx)
        self.embedding_table = Parameter(start, name="embedding_table")

    def construct(self, ids: Any) -> Any:
        if self.use_one_hot:
            one_hot_ids = one_hot(ids, self.vocab_size).astype(self.dtype)
            return matmul(one_hot_ids, self.embedding_table)
        return gather(self.embedding_table, ids, 0)

    def extend_repr(self) -> str:
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}, "
            f"embedding_table={self.embedding_table!r}, dtype={self.dtype}, padding_idx={self.padding_idx}"
        )


@public("nn")
class EmbeddingLookup(Cell):
    """Embedding lookup: rows of a trainable table by index; zeros for indices out of range.

    With ``slice_mode="table_row_slice"`` the rows are sharded over the processes, as in
    `parallel.ShardedEmbedding`. `target`, other slice modes, `sparse` and `vocab_cache_size` have no effect
    here.
    """

    BATCH_SLICE, FIELD_SLICE = "batch_slice", "field_slice"
    TABLE_ROW_SLICE, TABLE_COLUMN_SLICE = "table_row_slice", "table_column_slice"

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        vocab_cache_size: int = 0,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        check_argument_type(sparse, "sparse", owner, bool)
        self.vocab_size = check_positive_int(vocab_size, "vocab_size", owner)
        self.embedding_size = check_positive_int(embedding_size, "embedding_size", owner)
        self.vocab_cache_size = check_int(vocab_cache_size, "vocab_cache_size", owner, 0)
        self.target = check_choice(target, "target", owner, ["CPU", "DEVICE"])
        self.slice_mode, self.manual_shapes, self.sparse = slice_mode, manual_shapes, sparse
        world = groups.world_group()
        self._rows: ShardedEmbedding | None = None
        if slice_mode == self.TABLE_ROW_SLICE and world is not None and world.size > 1:
            rows = ShardedEmbedding(vocab_size, embedding_size, param_init, max_norm, dtype)
            self.__dict__["_rows"], self.embedding_table = rows, rows.embedding_table
        else:
            self.embedding_table = Parameter(
                initializer(param_init, (vocab_size, embedding_size), dtype), name="embedding_table"
            )
        if max_norm is not None and max_norm <= 0:
            raise ArgumentValueError(f"For '{owner}', the 'max_norm' must be above 0, but got {max_norm}.")
        self.max_norm = max_norm

    def construct(self, indices: Any) -> Any:
        if self._rows is not None:
            return self._rows.construct(indices)
        return embedding_ops.lookup_rows_or_zero(self.embedding_table, indices, self.max_norm)


@public("nn")
class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """Embedding lookup with values, combined per field; called with ids, values and fields."""

    OPERATOR_SUM, OPERATOR_MEAN, OPERATOR_MAX = "SUM", "MEAN", "MAX"

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        field_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        feature_num_list: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        operator: str = "SUM",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__(
            vocab_size, embedding_size, param_init, target, slice_mode, feature_num_list, max_norm, sparse,
            dtype=dtype,
        )  # fmt: skip
        if self._rows is not None:
            raise OperationError(
                "For 'MultiFieldEmbeddingLookup', rows are not sharded over processes. Use EmbeddingLookup with "
                "slice_mode='table_row_slice', and combine the fields afterwards."
            )
        self.field_size = check_positive_int(field_size, "field_size", "MultiFieldEmbeddingLookup")
        self.operator = check_choice(
            operator, "operator", "MultiFieldEmbeddingLookup", ["SUM", "MAX", "MEAN"]
        )

    def construct(  # type: ignore[override]
        self, input_indices: Any, input_values: Any, field_ids: Any
    ) -> Any:
        return embedding_ops.multi_field_embedding(
            self.embedding_table,
            input_indices,
            input_values,
            field_ids,
            self.field_size,
            self.operator,
            self.max_norm,
        )
