"""Attention of several heads; nn.MultiheadAttention is compared in tests/parity/runtime/nn."""

from millrace._src.runtime.ops.nn.attention import multi_head_attention

from . import Call, Fails, samples


@samples(multi_head_attention)
def _(make):
    weights = make(12, 4), [None, None, None], make(12), None, None, make(4, 4), make(4)
    yield Call(make(3, 2, 4), make(5, 2, 4), make(5, 2, 4), 2, *weights)
    yield Fails(make(3, 2, 5), make(5, 2, 4), make(5, 2, 4), 2, *weights)
