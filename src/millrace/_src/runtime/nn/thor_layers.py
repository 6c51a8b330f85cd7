"""Layers with Kronecker factors for the second-order optimizer ``thor``."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.array.assign import assign
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.array.creation import eye, one_hot
from millrace._src.runtime.ops.array.pad import pad
from millrace._src.runtime.ops.framework.custom_op import InsertGradientOf
from millrace._src.runtime.ops.framework.stop_gradient import stop_gradient
from millrace._src.runtime.ops.linalg.matmul import matmul
from millrace._src.runtime.ops.nn.fold import unfold
from millrace._src.runtime.ops.nn.linear import dense
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.initializer import initializer
from millrace._src.runtime.tensor.parameter import Parameter

from .cell import Cell
from .conv import Conv2d
from .embedding import Embedding, EmbeddingLookup
from .linear import Dense

__all__ = ["Conv2dThor", "DenseThor", "EmbeddingLookupThor", "EmbeddingThor"]


class _KroneckerFactorLayer(Cell):
    """A layer that stores the second moments of its inputs (`matrix_a`) and of its output gradients
    (`matrix_g`).

    While ``thor`` is True each forward pass updates the former, and each backward pass the latter.
    """

    thor = True

    def keep_matrices(self, prefix: str = "") -> None:
        """Create the matrices, with names that begin with `prefix`."""
        raise NotImplementedError

    def _create_factor(self, name: str, value: Any, *shape: int) -> Parameter:
        return Parameter(initializer(value, shape, mstype.float32), name=name, requires_grad=False)

    def _write(self, kept: Parameter, value: Any) -> None:
        assign(kept, cast(stop_gradient(value), kept.dtype))

    def _capture_output_gradient(self, output: Any) -> Any:
        """Return the output and store the second moment of its gradient in the backward pass."""

        def seen(gradient: Any) -> Any:
            self.save_gradient(gradient)
            return gradient

        return InsertGradientOf(seen)(output)

    def save_gradient(self, dout: Any) -> Any:
        """Store the second moment of an output gradient."""
        rows = cast(dout.reshape((-1, dout.shape[-1])), mstype.float32)
        self._write(self.matrix_g, _gram_matrix(rows.T) / rows.shape[0])
        return dout


def _gram_matrix(rows: Any) -> Any:
    return matmul(rows, rows.T)


@public("nn")
class DenseThor(Dense, _KroneckerFactorLayer):
    """Dense for the optimizer ``thor``; like Dense, and unlike MindSpore's, it accepts inputs with any number
    of axes.

    >>> layer = DenseThor(3, 2)
    >>> [parameter.name for parameter in layer.untrainable_params()]
    ['matrix_a', 'matrix_g']
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
        activation: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, weight_init, bias_init, has_bias, activation)
        self.keep_matrices()

    def keep_matrices(self, prefix: str = "") -> None:
        rows, columns = self.weight.shape
        self.matrix_a = self._create_factor(f"{prefix}matrix_a", eye(columns), columns, columns)
        self.matrix_g = self._create_factor(f"{prefix}matrix_g", eye(rows), rows, rows)

    def construct(self, x: Any) -> Any:
        if self.thor:
            # MindSpore divides by the number of columns here, not of rows
            rows = cast(x.reshape((-1, self.in_channels)), mstype.float32)
            self._write(self.matrix_a, _gram_matrix(rows.T) / self.in_channels)
        y = dense(x, self.weight)
        y = self._capture_output_gradient(y) if self.thor else y
        y = y if self.bias is None else y + self.bias
        return y if self.activation is None else self.activation(y)

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        return f"{text}, has_bias={self.has_bias}" if self.has_bias else text


@public("nn")
class Conv2dThor(Conv2d, _KroneckerFactorLayer):
    """Conv2d for the optimizer ``thor``; it also runs on a CPU, where MindSpore has no kernel for it.

    >>> layer = Conv2dThor(2, 3, 3)
    >>> layer.matrix_a_cov.shape, layer.matrix_g_cov.shape
    ((18, 18), (3, 3))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
            weight_init, bias_init,
        )  # fmt: skip
        self.bias_init = bias_init
        self.keep_matrices()

    def keep_matrices(self, prefix: str = "") -> None:
        high, wide = self.kernel_size
        size = self.in_channels * high * wide
        self.a_normalizer = self._create_factor(f"{prefix}a_normalizer", 1, 1)
        self.g_normalizer = self._create_factor(f"{prefix}g_normalizer", 1, 1)
        self.matrix_a_cov = self._create_factor(f"{prefix}matrix_a", "zeros", size, size)
        self.matrix_g_cov = self._create_factor(
            f"{prefix}matrix_g", "zeros", self.out_channels, self.out_channels
        )

    def construct(self, x: Any) -> Any:
        if not self.thor:
            return super().construct(x)
        patches = cast(self._patches(x), mstype.float32).mean(0)
        self._write(self.matrix_a_cov, _gram_matrix(patches) / patches.shape[1])
        self._write(self.a_normalizer, Tensor([float(patches.shape[1])]))
        return self._capture_output_gradient(super().construct(x))

    def _patches(self, x: Any) -> Any:
        """The input patches of the kernel: (batch, channels * height * width of the kernel, positions)."""
        sizes = zip(x.shape[2:], self.kernel_size, self.stride, strict=True)
        missing = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in sizes]
        around = [part for m in reversed(missing) for part in (m // 2, m - m // 2)]
        x = pad(x, tuple(around))
        return unfold(x, self.kernel_size, 1, 0, self.stride)

    def save_gradient(self, dout: Any) -> Any:
        rows = cast(dout, mstype.float32).mean(0).reshape((dout.shape[1], -1))
        self._write(self.matrix_g_cov, _gram_matrix(rows) / rows.shape[1])
        self._write(self.g_normalizer, Tensor([float(rows.shape[1])]))
        return dout

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, has_bias={self.has_bias}, "
            f"bias_init={self.__dict__.get('bias_init', 'zeros')}"
        )


class _KroneckerFactorEmbedding(_KroneckerFactorLayer):
    """A table; the factor of its inputs is diagonal, so only the number of lookups of each row is stored."""

    def keep_matrices(self, prefix: str = "") -> None:
        rows, columns = self.embedding_table.shape
        self.matrix_a = self._create_factor(f"{prefix}matrix_a", "zeros", rows)
        self.matrix_g = self._create_factor(f"{prefix}matrix_g", "zeros", columns, columns)


@public("nn")
class EmbeddingThor(Embedding, _KroneckerFactorEmbedding):
    """Embedding for the optimizer ``thor``.

    >>> layer = EmbeddingThor(5, 3)
    >>> _ = layer(Tensor([[1, 2], [3, 1]]))
    >>> layer.matrix_a.asnumpy().tolist()
    [0.0, 2.0, 1.0, 1.0, 0.0]
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
        super().__init__(vocab_size, embedding_size, use_one_hot, embedding_table, dtype, padding_idx)
        self.keep_matrices()

    def construct(self, ids: Any) -> Any:
        if not self.thor or self.use_one_hot:
            return super().construct(ids)
        self._write(self.matrix_a, _row_counts(ids, self.vocab_size))
        return self._capture_output_gradient(super().construct(ids))


@public("nn")
class EmbeddingLookupThor(EmbeddingLookup, _KroneckerFactorEmbedding):
    """EmbeddingLookup for the optimizer ``thor``, with a table of float16.

    >>> EmbeddingLookupThor(5, 3).embedding_table.dtype
    millrace.float16
    """

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
    ) -> None:
        if not sparse and target == "CPU":
            raise ArgumentValueError(
                "For 'EmbeddingLookupThor', embedding_lookup must be sparse when 'target' is CPU, but got 'sparse': "
                f"{sparse}, 'target': {target}."
            )
        super().__init__(
            vocab_size, embedding_size, param_init, target, slice_mode, manual_shapes, max_norm, sparse,
            vocab_cache_size, mstype.float16,
        )  # fmt: skip
        self.keep_matrices()

    def construct(self, indices: Any) -> Any:
        if not self.thor or self.target == "CPU":
            return super().construct(indices)
        self._write(self.matrix_a, _row_counts(indices, self.vocab_size))
        return self._capture_output_gradient(super().construct(indices))


# The class that a layer is converted to, in place.
_SECOND_ORDER: dict[type[Cell], type[_KroneckerFactorLayer]] = {
    Dense: DenseThor,
    Conv2d: Conv2dThor,
    Embedding: EmbeddingThor,
    EmbeddingLookup: EmbeddingLookupThor,
}


def add_second_order_factors(net: Cell) -> list[_KroneckerFactorLayer]:
    """Add Kronecker factors to the trainable layers of a network in place, and return all layers with factors
    in order.

    Layers of other classes, including subclasses, and convolutions with groups, other layouts or dilation are
    unchanged.
    """
    layers: list[_KroneckerFactorLayer] = []
    for _, cell in net.cells_and_names():
        factor_class = _SECOND_ORDER.get(type(cell))
        if factor_class is not None and _is_supported(cell):
            weight = next(iter(cell._params.values()))
            cell.__class__ = factor_class
            assert isinstance(cell, _KroneckerFactorLayer)
            cell.keep_matrices("".join(weight.name.rpartition(".")[:2]))
        if isinstance(cell, _KroneckerFactorLayer):
            layers.append(cell)
    modes.invalidate_captures()
    return layers


def _is_supported(cell: Cell) -> bool:
    if isinstance(cell, Conv2d) and (
        cell.group != 1 or tuple(cell.dilation) != (1, 1) or cell.data_format != "NCHW"
    ):
        return False
    return any(parameter.requires_grad for parameter in cell._params.values())


def _row_counts(ids: Any, rows: int) -> Any:
    """The number of lookups of each row."""
    return one_hot(ids.reshape((-1,)), rows).sum(0)
