"""Calls of operations behind single layers.

They have no face of their own: tests/parity/runtime/nn compares the layers.
"""

import numpy as np

from millrace._src.runtime.ops.image.crop import central_crop
from millrace._src.runtime.ops.image.quality import image_gradients, ms_ssim, psnr, ssim
from millrace._src.runtime.ops.linalg.norm import l1_penalty, l2_norm
from millrace._src.runtime.ops.math.special import digamma_strict, igamma_strict, lbeta, lgamma_strict
from millrace._src.runtime.ops.math.statistics import moments
from millrace._src.runtime.ops.nn.embedding import lookup_rows_or_zero, multi_field_embedding
from millrace._src.runtime.ops.optimizer.gradient_clipping import clip_by_norm_along
from tests.contracts.ops.samples import Call, Fails, samples


@samples(l1_penalty)
def _(make):
    yield Call(make(3, 4), 0.5)
    yield Call(make(0), 2)


@samples(l2_norm)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), (0, -1), True)


@samples(clip_by_norm_along)
def _(make):
    yield Call(make(3, 4), make(low=0.5, high=1))
    yield Call(make(3, 4), make(1, low=0.5, high=1), [0])


@samples(lookup_rows_or_zero)
def _(make):
    yield Call(make(5, 3), np.array([[0, 4, 9, -1]], np.int32))
    yield Call(make(5, 3), np.array([0, 2], np.int64), 0.5)
    yield Fails(make(5, 3), make(2))


@samples(multi_field_embedding)
def _(make):
    ids, fields = np.array([[0, 4, 1], [2, 2, 3]], np.int32), np.array([[0, 0, 1], [1, 1, 1]], np.int32)
    for operator in ("SUM", "MEAN", "MAX"):
        yield Call(make(5, 3), ids, make(2, 3, low=0.5, high=1), fields, 2, operator)
    yield Fails(make(5, 3), ids, make(2, 2), fields, 2)


@samples(image_gradients)
def _(make):
    yield Call(make(1, 2, 3, 4))
    yield Fails(make(3, 4))


@samples(psnr)
def _(make):
    yield Call(make(2, 1, 3, 4), make(2, 1, 3, 4, low=3, high=4), 2.0)
    yield Call(
        make(2, 1, 3, 4, dtype="uint8", low=0, high=99), make(2, 1, 3, 4, dtype="uint8", low=99, high=200)
    )
    yield Fails(make(2, 1, 3, 4), make(2, 1, 3, 5))


@samples(ssim)
def _(make):
    yield Call(make(2, 2, 5, 5), make(2, 2, 5, 5), make(1, 1, 3, 3, low=0.1, high=0.2))
    yield Fails(make(2, 2, 2, 5), make(2, 2, 2, 5), make(1, 1, 3, 3))
    yield Fails(make(2, 2, 5, 5), make(2, 2, 5, 5, dtype="float64"), make(1, 1, 3, 3))


@samples(ms_ssim)
def _(make):
    window = make(1, 1, 3, 3, low=0.1, high=0.11)
    yield Call(make(1, 1, 8, 8, low=1, high=2), make(1, 1, 8, 8, low=1, high=2), window, (0.5, 0.5))
    yield Fails(make(1, 1, 4, 4), make(1, 1, 4, 4), window, (0.5, 0.5))


@samples(central_crop)
def _(make):
    yield Call(make(3, 7, 8), 0.5)
    yield Fails(make(7, 8), 0.5)


for each in (lgamma_strict, digamma_strict):

    @samples(each)
    def _(make):
        yield Call(make(3, 4, low=0.5, high=3))


for each in (igamma_strict, lbeta):

    @samples(each)
    def _(make):
        yield Call(make(3, 4, low=0.5, high=3), make(3, 4, low=0.5, high=3))


@samples(moments)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), (0, 2), True)
