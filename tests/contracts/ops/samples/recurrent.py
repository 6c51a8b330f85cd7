from millrace._src.runtime.ops.nn import recurrent as r
from tests.contracts.ops.samples import Call, Fails, samples


@samples(r.lstm)
def _(make):
    x, h, c = make(3, 2, 4), make(1, 2, 5), make(1, 2, 5)
    yield Call(x, h, c, make(4 * 5 * 9 + 20, 1, 1), 4, 5, 1, True, False, 0.0)
    yield Call(x, h, c, make(4 * 5 * 9, 1, 1), 4, 5, 1, False, False, 0.0)
    yield Fails(x, h, c, make(7, 1, 1), 4, 5, 1, True, False, 0.0)


@samples(r.dynamic_lstm)
def _(make):
    yield Call(make(3, 2, 4), make(9, 20), make(20), None, make(1, 2, 5), make(1, 2, 5))
    yield Call(make(3, 2, 4), make(9, 20), make(20), None, make(1, 2, 5), make(1, 2, 5), forget_bias=1.0)


@samples(r.dynamic_gru)
def _(make):
    yield Call(make(3, 2, 4), make(4, 15), make(5, 15), make(15), make(15), None, make(2, 5))
    yield Call(make(3, 2, 4), make(4, 15), make(5, 15), None, None, None, make(2, 5), gate_order="zrh")
