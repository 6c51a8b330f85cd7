import numpy as np

from millrace._src.runtime.ops.nn import attention as a
from tests.contracts.ops.samples import Call, Fails, samples


@samples(a.flash_attention_score)
def _(make):
    q, k, v = make(2, 3, 8), make(2, 5, 8), make(2, 5, 8)
    yield Call(q, k, v, 2, scalar_value=0.5)
    yield Call(q, k, v, 2, attn_mask=np.triu(np.ones((3, 5), bool), 2), scalar_value=0.5)
    yield Call(q, k, v, 2, make(2, 2, 3, 5), scalar_value=0.5)
    yield Call(make(2, 2, 3, 4), make(2, 2, 3, 4), make(2, 2, 3, 4), 2, input_layout="BNSD", sparse_mode=2)
    yield Fails(q, k, v, 2, input_layout="text")
    yield Fails(q, k, v, 2, keep_prob=2.0)


@samples(a.rotary_position_embedding)
def _(make):
    yield Call(make(2, 3, 1, 4), make(1, 3, 1, 4), make(1, 3, 1, 4))
    yield Call(make(2, 3, 1, 4), make(1, 3, 1, 4), make(1, 3, 1, 4), 1)
