"""Multi-head attention and transformer layers."""

from __future__ import annotations

import copy
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.nn.activation import gelu, relu
from millrace._src.runtime.ops.nn.attention import multi_head_attention
from millrace._src.runtime.tensor.initializer import XavierNormal, XavierUniform, initializer
from millrace._src.runtime.tensor.parameter import Parameter

from .argument_types import check_positive_int
from .cell import Cell
from .containers import CellList
from .dropout import Dropout
from .linear import Dense
from .normalization import LayerNorm

__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


@public("nn")
class MultiheadAttention(Cell):
    """Multi-head attention: returns the output, and with `need_weights` the attention weights.

    Masks are True, or minus infinity, at masked positions.

    >>> from millrace import Tensor
    >>> x = Tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> [part.shape for part in MultiheadAttention(4, 2)(x, x, x)]
    [(1, 1, 4), (1, 1, 1)]
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        self.embed_dim = check_positive_int(embed_dim, "embed_dim", "MultiheadAttention")
        self.num_heads = check_positive_int(num_heads, "num_heads", "MultiheadAttention")
        if embed_dim % num_heads:
            raise ArgumentValueError("The init argument 'embed_dim' must be divisible by 'num_heads'.")
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        self.in_proj_bias = self.bias_k = self.bias_v = None

        def weight(name: str, *shape: int, start: Any = None) -> Parameter:
            return Parameter(initializer(start or XavierUniform(), shape, dtype), name=name)

        if self.kdim == embed_dim and self.vdim == embed_dim:
            self.in_proj_weight = weight("in_proj_weight", 3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = weight("q_proj_weight", embed_dim, embed_dim)
            self.k_proj_weight = weight("k_proj_weight", embed_dim, self.kdim)
            self.v_proj_weight = weight("v_proj_weight", embed_dim, self.vdim)
        if has_bias:
            self.in_proj_bias = weight("in_proj_bias", 3 * embed_dim, start="zeros")
        if add_bias_kv:
            self.bias_k = weight("bias_k", 1, 1, embed_dim, start=XavierNormal())
            self.bias_v = weight("bias_v", 1, 1, embed_dim, start=XavierNormal())
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, bias_init="zeros", dtype=dtype)

    def construct(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> Any:
        return multi_head_attention(
            query,
            key,
            value,
            self.num_heads,
            self.in_proj_weight,
            [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight],
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.out_proj.weight,
            self.out_proj.bias,
            self.add_zero_attn,
            self.dropout,
            self.training,
            key_padding_mask,
            attn_mask,
            need_weights,
            average_attn_weights,
            self.batch_first,
        )


class _TransformerLayer(Cell):
    """Base class of encoder and decoder layers: self-attention and a feed-forward network."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: Any,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        dtype: DType,
        attends: int,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        if attends == 2:
            self.multihead_attn = MultiheadAttention(
                d_model, nhead, dropout, batch_first=batch_first, dtype=dtype
            )
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        for number in range(1, attends + 2):
            setattr(self, f"norm{number}", LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for number in range(1, attends + 2):
            setattr(self, f"dropout{number}", Dropout(p=dropout))
        self.activation = _activation(activation, type(self).__name__)

    def _feed_forward(self, x: Any, drop: Any) -> Any:
        return drop(self.dense2(self.dropout(self.activation(self.dense1(x)))))

    def _residual(self, x: Any, norm: Any, step: Any) -> Any:
        """A residual connection around a sublayer, with pre- or post-normalization."""
        return x + step(norm(x)) if self.norm_first else norm(x + step(x))


def _activation(value: Any, owner: str) -> Any:
    if isinstance(value, str):
        if value not in ("relu", "gelu"):
            raise ArgumentValueError(f"The activation must be relu or gelu, but got {value}.")
        return relu if value == "relu" else _gelu
    if not callable(value):
        raise ArgumentTypeError(
            f"For '{owner}', the 'activation' must be a str, a function or a Cell, but got {value!r}."
        )
    return value


def _gelu(x: Any) -> Any:
    return gelu(x, approximate="none")


@public("nn")
class TransformerEncoderLayer(_TransformerLayer):
    """Encoder layer: self-attention and a feed-forward network, each with normalization and a residual
    connection.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            dtype,
            1,
        )

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        def attend(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0])

        x = self._residual(src, self.norm1, attend)
        return self._residual(x, self.norm2, lambda x: self._feed_forward(x, self.dropout2))


@public("nn")
class TransformerDecoderLayer(_TransformerLayer):
    """Decoder layer: self-attention, cross-attention to the encoder output, and a feed-forward network."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            dtype,
            2,
        )

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        def attend(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0])

        def attend_memory(x: Any) -> Any:
            attended = self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask)
            return self.dropout2(attended[0])

        x = self._residual(tgt, self.norm1, attend)
        x = self._residual(x, self.norm2, attend_memory)
        return self._residual(x, self.norm3, lambda x: self._feed_forward(x, self.dropout3))


def _copies(layer: Cell, count: int) -> CellList:
    return CellList([copy.deepcopy(layer) for _ in range(count)])


@public("nn")
class TransformerEncoder(Cell):
    """A stack of copies of an encoder layer."""

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        for layer in self.layers:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


@public("nn")
class TransformerDecoder(Cell):
    """A stack of copies of a decoder layer."""

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


@public("nn")
class Transformer(Cell):
    """Encoder-decoder transformer."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        options = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)

        def norm() -> Cell:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(d_model, nhead, *options), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(d_model, nhead, *options), num_decoder_layers, norm()
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def construct(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ArgumentValueError(
                "For 'Transformer', the last axis of 'src' and 'tgt' must be d_model, "
                f"{self.d_model}, but got {src.shape} and {tgt.shape}."
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
