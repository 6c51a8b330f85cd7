import numpy as np

from millrace._src.runtime.ops.linalg import distance
from millrace._src.runtime.ops.nn import margin_loss as m
from tests.contracts.ops.samples import Call, Fails, samples

LABELS = np.array([1, 0, 3])
SIGNS = np.array([1, -1, 1], np.float32)


@samples(m.soft_margin_loss)
def _(make):
    yield Call(make(3, 4), np.sign(make(3, 4)))
    yield Call(make(3, 4), np.sign(make(3, 4)), "sum")
    yield Call(make(4, 3).T, np.sign(make(3, 4)), "none")
    yield Fails(make(3, 4), make(3, 3))
    yield Fails(make(3, 4), make(3, 4), "text")


@samples(m.margin_ranking_loss)
def _(make):
    yield Call(make(3), make(3), SIGNS)
    yield Call(make(3), make(3), SIGNS, 0.5, "sum")
    yield Call(make(3), make(3), SIGNS, 0.5, "none")
    yield Fails(make(3), make(3), SIGNS, "text")
    yield Fails(make(3), make(2), SIGNS)


@samples(m.hinge_embedding_loss)
def _(make):
    yield Call(make(3), SIGNS)
    yield Call(make(3, 3), np.sign(make(3, 3)), 0.5, "sum")
    yield Call(make(3), SIGNS, 2, "none")
    yield Fails(make(3), SIGNS, "text")


@samples(distance.cosine_similarity)
def _(make):
    yield Call(make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(3, 4), 0, 1e-3)
    yield Call(make(4, 3).T, make(3, 4), -1)


@samples(m.cosine_embedding_loss)
def _(make):
    yield Call(make(3, 4), make(3, 4), np.array([1, -1, 1], np.int32))
    yield Call(make(3, 4), make(3, 4), np.array([1, -1, -1], np.int32), 0.2, "sum")
    yield Call(make(3, 4), make(3, 4), np.array([1, -1, -1], np.int32), 0.2, "none")
    yield Fails(make(3, 4), make(3, 4), np.array([1, -1, -1], np.int32), 2.0)
    yield Fails(make(3, 4), make(3, 3), np.array([1, -1, -1], np.int32))


@samples(m.triplet_margin_loss)
def _(make):
    yield Call(make(3, 4), make(3, 4), make(3, 4))
    yield Call(make(3, 4), make(3, 4), make(3, 4), 0.5, 1, 1e-3, True, "sum")
    yield Call(make(3, 4), make(3, 4), make(3, 4), 2.0, reduction="none")
    yield Fails(make(3, 4), make(3, 4), make(3, 4), reduction="text")


@samples(m.triplet_margin_of)
def _(make):
    one = np.array(1.0, np.float32)
    yield Call(make(3, 4), make(3, 4), make(3, 4), one)
    yield Call(make(3, 4), make(3, 4), make(3, 4), one, 1, True, 1e-3, "sum")


@samples(m.multi_margin_loss)
def _(make):
    yield Call(make(3, 4), LABELS)
    yield Call(make(3, 4), LABELS, 2, 2, make(4, low=0, high=1), "sum")
    yield Call(make(3, 4), LABELS, reduction="none")
    yield Fails(make(3, 4), LABELS, 3)
    yield Fails(make(3, 4), LABELS, reduction="text")


@samples(m.multi_margin_of)
def _(make):
    yield Call(make(3, 4), LABELS, make(4, low=0, high=1))
    yield Call(make(3, 4), LABELS, make(4, low=0, high=1), 2, 0.5, "none")


@samples(m.multilabel_margin_loss, m.multilabel_margin_of)
def _(make):
    target = np.array([[1, 2, 0, 3], [2, 3, -1, 1], [-1, 0, 1, 2]], np.int32)
    yield Call(make(3, 4), target)
    yield Call(make(3, 4), target, "sum")
    yield Call(make(3, 4), target, "none")
    yield Fails(make(3, 4), target, "text")


@samples(m.multilabel_soft_margin_loss)
def _(make):
    target = np.array([[1, 0, 0, 1], [0, 1, 1, 1], [1, 0, 1, 0]], np.float32)
    yield Call(make(3, 4), target)
    yield Call(make(3, 4), target, make(4, low=0, high=1), "sum")
    yield Call(make(3, 4), target, None, "none")
    yield Fails(make(3, 4), target, None, "text")
