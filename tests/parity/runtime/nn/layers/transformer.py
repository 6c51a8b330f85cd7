"""Attention, and the layers of transformers."""

import numpy as np

from tests.parity.runtime.nn.layers import layer, make

X, Y = make(5, 2, 8), make(4, 2, 8)
PADDED = np.array([[False] * 5, [False, False, False, True, True]])
CAUSAL = np.triu(np.ones((5, 5), bool), 1)


@layer("MultiheadAttention", X, Y, Y)
def _(ms):
    return ms.nn.MultiheadAttention(8, 2)


@layer("MultiheadAttention.masks", X, X, X, PADDED, True, CAUSAL, False)
def _(ms):
    return ms.nn.MultiheadAttention(8, 2, has_bias=False)


@layer("MultiheadAttention.other widths", X, make(4, 2, 3), make(4, 2, 6))
def _(ms):
    return ms.nn.MultiheadAttention(8, 4, kdim=3, vdim=6, add_bias_kv=True, add_zero_attn=True)


@layer("MultiheadAttention.batch first", make(2, 5, 8), make(2, 4, 8), make(2, 4, 8, seed=1), None, True)
def _(ms):
    return ms.nn.MultiheadAttention(8, 2, batch_first=True)


@layer("TransformerEncoderLayer", X)
def _(ms):
    return ms.nn.TransformerEncoderLayer(8, 2, 16)


@layer("TransformerEncoderLayer.norm first", make(2, 5, 8), CAUSAL, PADDED)
def _(ms):
    return ms.nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)


@layer("TransformerDecoderLayer", Y, X)
def _(ms):
    return ms.nn.TransformerDecoderLayer(8, 2, 16)


@layer("TransformerEncoder", X)
def _(ms):
    return ms.nn.TransformerEncoder(ms.nn.TransformerEncoderLayer(8, 2, 16), 2)


@layer("TransformerDecoder", Y, X)
def _(ms):
    return ms.nn.TransformerDecoder(ms.nn.TransformerDecoderLayer(8, 2, 16, norm_first=True), 2)


@layer("Transformer", X, Y, CAUSAL, np.triu(np.ones((4, 4), bool), 1))
def _(ms):
    return ms.nn.Transformer(8, 2, 1, 2, 16)
