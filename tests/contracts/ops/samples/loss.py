import numpy as np

from millrace._src.runtime.ops.nn import loss as o
from tests.contracts.ops.samples import Call, Fails, samples

LABELS = np.array([1, 0, 3], np.int32)


@samples(o.cross_entropy)
def _(make):
    yield Call(make(3, 4), LABELS)
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), 0, "sum")
    yield Call(make(3, 4), LABELS, None, -100, "none", 0.1)
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), -100, "mean", 0.2)
    yield Call(make(3, 4), make(3, 4, low=0, high=1))
    yield Call(make(3, 4), make(3, 4, low=0, high=1), make(4, low=0.1, high=2), -100, "sum", 0.1)
    yield Call(make(2, 4, 3), np.array([[1, 0, 3], [2, 1, 1]], np.int32))
    yield Call(make(4), np.array(2, np.int32))
    yield Call(make(4, 3).T, LABELS)
    yield Fails(make(3, 4), LABELS, reduction="text")
    yield Fails(make(2, 4), LABELS)


@samples(o.nll_loss)
def _(make):
    yield Call(make(3, 4), LABELS)
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), 0, "sum")
    yield Call(make(3, 4), LABELS, None, -100, "none", 0.1)
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), -100, "mean", 0.2)
    yield Call(make(2, 4, 3, 1), np.array([[[1], [0], [3]], [[2], [1], [1]]], np.int32))
    yield Fails(make(3, 4), LABELS, reduction="text")


@samples(o.nll_loss_mint)
def _(make):
    yield Call(make(3, 4), LABELS)
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), 0, "sum")


@samples(o.nll_loss_of)
def _(make):
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2))
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), "sum")
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), "none")
    yield Call(make(3, 4), LABELS, make(4, low=0.1, high=2), "mean", 0)
    yield Fails(make(3, 4), LABELS, make(4), "text")


@samples(o.softmax_cross_entropy)
def _(make):
    yield Call(make(3, 4), make(3, 4, low=0, high=1))
    yield Call(make(4, 3).T, make(3, 4, low=0, high=1))
    yield Call(make(3, 4, low=80, high=99), np.eye(3, 4, dtype=np.float32))
    yield Fails(make(3, 4), make(3, 3))


@samples(o.sparse_softmax_cross_entropy)
def _(make):
    yield Call(make(3, 4), LABELS)
    yield Call(make(3, 4), LABELS, True)
    yield Call(make(3, 4), LABELS.astype(np.int64))
    yield Fails(make(2, 4), LABELS)


@samples(o.sigmoid_cross_entropy)
def _(make):
    yield Call(make(3, 4), make(3, 4, low=0, high=1))
    yield Call(make(4, 3).T, make(3, 4, low=0, high=1))
    yield Call(make(3, low=80, high=99), make(3, low=0, high=1))
    yield Call(make(3, dtype="float16"), make(3, dtype="float16", low=0, high=1))
    yield Fails(make(3, 4), make(3, 3))


@samples(o.binary_cross_entropy, o.binary_cross_entropy_mint)
def _(make):
    x, y = make(3, 4, low=0.01, high=0.99), make(3, 4, low=0, high=1)
    yield Call(x, y)
    yield Call(x, y, make(3, 4, low=0, high=1), "sum")
    yield Call(x, y, None, "none")
    yield Call(make(4, 3, low=0.01, high=0.99).T, y)
    yield Fails(x, y, None, "text")
    yield Fails(x, make(3, 3, low=0, high=1))


@samples(o.binary_cross_entropy_with_logits)
def _(make):
    x, y = make(3, 4), make(3, 4, low=0, high=1)
    yield Call(x, y, make(3, 4), make(3, 4))
    yield Call(x, y, make(4), make(4), "sum")
    yield Call(x, y, None, None, "none")
    yield Call(make(4, 3).T, y)
    yield Fails(x, y, None, None, "text")
    yield Fails(x, make(3, 3))


@samples(o.binary_cross_entropy_with_logits_mint)
def _(make):
    x, y = make(3, 4), make(3, 4, low=0, high=1)
    yield Call(x, y, make(3, 4), "sum", make(3, 4))
    yield Call(x, y)


@samples(o.bce_with_logits_of)
def _(make):
    x, y = make(3, 4), make(3, 4, low=0, high=1)
    yield Call(x, y, make(3, 4), make(3, 4))
    yield Call(x, y, make(4), make(4), "sum")
    yield Fails(x, y, make(4), make(4), "text")


@samples(o.smooth_l1_loss)
def _(make):
    yield Call(make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(3, 4), 0.5, "mean")
    yield Call(make(4, 3).T, make(3, 4), 2.0, "sum")
    yield Fails(make(3, 4), make(3, 3))
    yield Fails(make(3, 4), make(3, 4), -1.0)
    yield Fails(make(3, 4), make(3, 4), 1.0, "text")


@samples(o.huber_loss)
def _(make):
    yield Call(make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(4), "sum", 0.5)
    yield Call(make(4, 3).T, make(3, 4), "none", 2.0)
    yield Fails(make(3, 4), make(3, 4), "text")
    yield Fails(make(3, 4), make(3, 4), "mean", -1.0)


@samples(o.l1_loss, o.mse_loss)
def _(make):
    yield Call(make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(4), "sum")
    yield Call(make(4, 3).T, make(3, 4), "none")
    yield Fails(make(3, 4), make(3, 4), "text")
    yield Fails(make(3, 4), make(3, 3))


@samples(o.kl_div)
def _(make):
    yield Call(make(3, 4), make(3, 4, low=0.1, high=1))
    yield Call(make(3, 4), make(3, 4, low=0.1, high=1), "batchmean")
    yield Call(make(3, 4), make(3, 4, low=0.1, high=1), "sum")
    yield Call(make(4, 3).T, make(3, 4, low=0.1, high=1), "none")
    yield Call(make(3, 4), np.eye(3, 4, dtype=np.float32))
    yield Fails(make(3, 4), make(3, 4), "text")
    yield Fails(make(3, 4), make(3, 3))


@samples(o.kl_div_mint)
def _(make):
    yield Call(make(3, 4), make(3, 4, low=0.1, high=1))
    yield Call(make(3, 4), make(3, 4, low=-2, high=0), "sum", True)


@samples(o.l2_loss)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3).T)
    yield Call(make(3, dtype="float16"))
    yield Fails(make(3, dtype="int32"))


@samples(o.gaussian_nll_loss)
def _(make):
    yield Call(make(3, 4), make(3, 4), make(3, 4, low=0.1, high=2))
    yield Call(make(3, 4), make(3, 4), make(3, 1, low=0.1, high=2), True, 1e-3, "sum")
    yield Fails(make(3, 4), make(3, 4), make(3, 4), False, -1.0)
    yield Fails(make(3, 4), make(3, 4), make(3, 4), reduction="text")
