import numpy as np

from millrace._src.runtime.ops.nn import attention, recurrent
from millrace._src.runtime.ops.nn import mixture_of_experts as e
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32


@samples(e.moe_token_permute)
def _(make):
    yield Call(make(3, 2), np.array([[0, 1], [1, 0], [0, 1]], "int32"))
    yield Call(make(4, 2), i32(2, 0, 1, 0), 3)
    yield Fails(make(3, 2), i32(0, 1))


@samples(e.moe_token_unpermute)
def _(make):
    yield Call(make(6, 2), i32(0, 3, 4, 1, 2, 5))
    yield Call(make(6, 2), i32(0, 3, 4, 1, 2, 5), make(3, 2))
    yield Call(make(4, 2), i32(0, 3, 4, 1, 2, 5), make(3, 2))
    yield Fails(make(6, 2), i32(0, 3, 4, 1, 2, 5), make(4, 2))


@samples(attention.multi_scale_deformable_attn_function)
def _(make):
    maps = np.array([[2, 3], [1, 2]], "int32")
    places = make(2, 4, 2, 2, 3, 2, low=0.05, high=0.95)
    yield Call(make(2, 8, 2, 4), maps, i32(0, 6), places, make(2, 4, 2, 2, 3, low=0, high=1))
    yield Fails(make(2, 8, 4), maps, i32(0, 6), places, make(2, 4, 2, 2, 3, low=0, high=1))


@samples(recurrent.basic_lstm_cell)
def _(make):
    yield Call(make(2, 3), make(2, 4), make(2, 4), make(7, 16), make(16))
    yield Fails(make(2, 3), make(2, 4), make(2, 4), make(7, 12), make(16))
