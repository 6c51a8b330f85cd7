import numpy as np

from millrace._src.runtime.ops.nn import ctc as c
from tests.contracts.ops.samples import Call, Fails, samples

TARGETS, LENGTHS, WORDS = (
    np.array([[1, 2], [3, 1]], np.int32),
    np.array([5, 4], np.int32),
    np.array([2, 1], np.int32),
)


def _logs(make):
    scores = make(5, 2, 4)
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


@samples(c.ctc_loss)
def _(make):
    yield Call(_logs(make), TARGETS, LENGTHS, WORDS)
    yield Call(_logs(make), TARGETS, LENGTHS, WORDS, 0, "none")
    yield Call(_logs(make), TARGETS - 1, LENGTHS, WORDS, 3, "sum", True)
    yield Fails(_logs(make), TARGETS, LENGTHS, WORDS, 9)
    yield Fails(_logs(make), TARGETS, LENGTHS, WORDS, 0, "text")


@samples(c.ctc_loss_each)
def _(make):
    yield Call(_logs(make), TARGETS, LENGTHS, WORDS)
    yield Call(_logs(make), TARGETS, LENGTHS, WORDS, 0, "none", True)


@samples(c.ctc_loss_sparse)
def _(make):
    places = np.array([[0, 0], [0, 1], [1, 0]])
    yield Call(make(5, 2, 4), places, np.array([1, 2, 0], np.int32), LENGTHS)
    yield Call(make(5, 2, 4), places, np.array([1, 1, 0], np.int32), LENGTHS)
    yield Call(make(5, 2, 4), places, np.array([1, 1, 0], np.int32), LENGTHS, False, True, True)


@samples(c.ctc_greedy_decoder)
def _(make):
    yield Call(make(9, 3, 4), np.array([9, 6, 0], np.int32))
    yield Call(make(9, 3, 4), np.array([9, 6, 3], np.int32), False)
    yield Fails(make(9, 4), np.array([9, 6, 3], np.int32))
