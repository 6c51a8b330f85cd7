import numpy as np

from millrace._src.runtime.ops.image import color as c
from millrace._src.runtime.ops.image import nms
from millrace._src.runtime.ops.nn import sequence
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.rgb_to_hsv)
def _(make):
    yield Call(make(4, 5, 3, low=0, high=1))
    yield Call(make(2, 4, 5, 3, low=0, high=1))
    yield Call(make(3, 3, low=0, high=1))
    yield Call(np.ones((2, 2, 3), np.float32))
    yield Call(np.zeros((2, 2, 3), np.float32))
    yield Fails(make(4, 5, 2))


@samples(c.hsv_to_rgb)
def _(make):
    yield Call(make(2, 4, 5, 3, low=0, high=1))
    yield Fails(make(4, 5, 3))


@samples(c.adjust_hue, c.adjust_saturation)
def _(make):
    yield Call(make(4, 5, 3, low=0, high=1), np.array(0.2, np.float32))
    yield Call(make(2, 4, 5, 3, low=0, high=1), np.array(0.7, np.float32))
    yield Fails(make(4, 5, 2), np.array(0.2, np.float32))


@samples(nms.nms_with_overlaps)
def _(make):
    half = make(7, 7, low=0, high=0.5)
    both = np.triu(half + half.T, 1) + np.triu(half + half.T, 1).T + np.eye(7, dtype=np.float32)
    least = [np.array(n, np.float32) for n in (0.3, 0.1)]
    yield Call(both, make(7, low=0, high=1), np.array(5, np.int32), *least)
    yield Call(both, make(7, low=0, high=1), np.array(1, np.int32), *least)
    yield Call(both, make(7, low=0, high=0.2), np.array(7, np.int32), *least)


@samples(sequence.no_repeat_ngram)
def _(make):
    words = make(2, 3, 9, dtype="int32", low=0, high=3)
    yield Call(words, make(2, 3, 5), 1)
    yield Call(words, make(2, 3, 5), 2)
    yield Call(words, make(2, 3, 5), 3)
