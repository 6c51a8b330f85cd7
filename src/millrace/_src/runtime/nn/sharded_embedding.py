"""``ShardedEmbedding``: an embedding table whose rows are sharded over processes."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.distributed.parallel_context import get_auto_parallel_context, reduces_gradients
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.ops.collective.sharded_lookup import sharded_lookup
from millrace._src.runtime.ops.nn import embedding
from millrace._src.runtime.tensor.device_placement import to_context_device
from millrace._src.runtime.tensor.initializer import (
    Constant,
    Initializer,
    Normal,
    One,
    TruncatedNormal,
    Uniform,
    Zero,
    resolve_initializer,
)
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.rng_state import initializer_generator, use_initializer_generator
from millrace._src.runtime.tensor.storage import as_torch_tensor, to_torch_dtype, wrap

from .argument_types import check_positive_int
from .cell import Cell

__all__ = ["ShardedEmbedding"]

# Rows that share a random number generator: the table is the same for any number of processes.
BLOCK = 4096
# Initializers whose values do not depend on the shape of the whole table
_BY_ROW = (Constant, Normal, One, TruncatedNormal, Uniform, Zero)


@public("parallel")
class ShardedEmbedding(Cell):
    """Embedding with a table whose rows are sharded over the processes of a group.

    Each process stores and trains ``ceil(vocab_size / processes)`` rows: outputs and gradients are those of
    one process with the whole table and the batches of all. Every process calls it with ids of the same
    shape. Indices out of range give zeros. With the same seed (`set_seed`) the table is the same for any
    number of processes. Without `init` the table is not sharded.

    >>> table = ShardedEmbedding(10, 4)
    >>> table(Tensor([[1, 2, 3]])).shape, table.embedding_table.shape
    ((1, 3, 4), (10, 4))
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        max_norm: float | None = None,
        dtype: DType = mstype.float32,
        group: str = WORLD_GROUP,
    ) -> None:
        super().__init__()
        self.vocab_size = check_positive_int(vocab_size, "vocab_size", "ShardedEmbedding")
        self.embedding_size = check_positive_int(embedding_size, "embedding_size", "ShardedEmbedding")
        if max_norm is not None and max_norm <= 0:
            raise ArgumentValueError(
                f"For 'ShardedEmbedding', the 'max_norm' must be above 0, but got {max_norm}."
            )
        self.max_norm, self.group = max_norm, group
        process_group = (
            groups.get_group(group, "ShardedEmbedding") if groups.world_group() is not None else None
        )
        self.parts, self.part = (
            (process_group.size, process_group.rank) if process_group is not None else (1, 0)
        )
        self.rows = -(-vocab_size // self.parts)
        self.first = self.part * self.rows
        self.embedding_table = Parameter(
            wrap(self._initial_rows(param_init, dtype)),
            name="embedding_table",
            layerwise_parallel=self.parts > 1,
        )

    def _initial_rows(self, start: Any, dtype: DType) -> torch.Tensor:
        """The initial rows of this process; rows beyond the end of the table are zeros."""
        rows = to_context_device(torch.zeros(self.rows, self.embedding_size, dtype=to_torch_dtype(dtype)))
        num_rows = min(self.rows, max(0, self.vocab_size - self.first))
        if isinstance(start, Tensor):
            return rows.copy_(self._slice_rows(start)) if num_rows else rows
        filler = resolve_initializer(start)
        if not isinstance(filler, _BY_ROW):
            raise ArgumentTypeError(
                f"For 'ShardedEmbedding', '{type(filler).__name__}' needs the shape of the whole table. Use one of "
                f"{', '.join(initializer_class.__name__ for initializer_class in _BY_ROW)}, or a Tensor with all rows."
            )
        self._fill(rows[:num_rows], filler)
        return rows

    def _fill(self, rows: torch.Tensor, filler: Initializer) -> None:
        seed = int(torch.randint(2**62, (1,), generator=initializer_generator()))
        for block in range(self.first // BLOCK, -(-(self.first + len(rows)) // BLOCK)):
            whole = torch.empty(BLOCK, self.embedding_size, dtype=torch.float32)
            with use_initializer_generator(torch.Generator().manual_seed(seed + block)):
                filler.fill(whole)
            begin, end = max(self.first, block * BLOCK), min(self.first + len(rows), (block + 1) * BLOCK)
            if begin < end:
                rows[begin - self.first : end - self.first] = whole[
                    begin - block * BLOCK : end - block * BLOCK
                ]

    def _slice_rows(self, whole: Tensor) -> torch.Tensor:
        data = as_torch_tensor(whole)
        if tuple(data.shape) != (self.vocab_size, self.embedding_size):
            raise ArgumentValueError(
                f"For 'ShardedEmbedding', all rows together are {(self.vocab_size, self.embedding_size)}, but got "
                f"{tuple(data.shape)}."
            )
        rows = data[self.first : self.first + self.rows]
        return torch.cat([rows, rows.new_zeros(self.rows - len(rows), self.embedding_size)])

    def construct(self, ids: Any) -> Any:
        if self.parts == 1:
            return embedding.lookup_rows_or_zero(self.embedding_table, ids, self.max_norm)
        # the gradients of the other parameters are averaged over processes
        mean = reduces_gradients() and get_auto_parallel_context("gradients_mean")
        factor = 1.0 / self.parts if mean else 1.0
        table = self.embedding_table._torch
        return wrap(
            sharded_lookup(table, as_torch_tensor(ids), self.first, self.group, factor, self.max_norm)
        )

    def gather_rows(self) -> Tensor:
        """The whole table, in every process: to save it, or to continue with another number of processes."""
        data = self.embedding_table._torch.detach()
        whole = data if self.parts == 1 else collective.all_gather(data, self.group)
        return wrap(whole[: self.vocab_size].clone())

    def load_rows(self, whole: Tensor) -> None:
        """Load this process's rows of a whole table."""
        self.embedding_table.set_data(wrap(self._slice_rows(whole).to(self.embedding_table._torch.dtype)))

    def extend_repr(self) -> str:
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, part {self.part} of {self.parts}"
