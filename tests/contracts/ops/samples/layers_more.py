"""Calls of operations behind single layers.

They have no face of their own: tests/parity/runtime/nn compares the layers.
"""

import numpy as np

from millrace._src.runtime.ops.image.quality import (
    central_part,
    clipped_to_norm,
    fields_embedded,
    gamma_digamma,
    gamma_lower,
    gamma_of,
    image_differences,
    length_along,
    log_beta,
    looked_up,
    moments_of,
    signal_to_noise,
    similarity,
    similarity_by_scales,
    size_of_weights,
)
from tests.contracts.ops.samples import Call, Fails, samples


@samples(size_of_weights)
def _(make):
    yield Call(make(3, 4), 0.5)
    yield Call(make(0), 2)


@samples(length_along)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), (0, -1), True)


@samples(clipped_to_norm)
def _(make):
    yield Call(make(3, 4), make(low=0.5, high=1))
    yield Call(make(3, 4), make(1, low=0.5, high=1), [0])


@samples(looked_up)
def _(make):
    yield Call(make(5, 3), np.array([[0, 4, 9, -1]], np.int32))
    yield Call(make(5, 3), np.array([0, 2], np.int64), 0.5)
    yield Fails(make(5, 3), make(2))


@samples(fields_embedded)
def _(make):
    ids, fields = np.array([[0, 4, 1], [2, 2, 3]], np.int32), np.array([[0, 0, 1], [1, 1, 1]], np.int32)
    for operator in ("SUM", "MEAN", "MAX"):
        yield Call(make(5, 3), ids, make(2, 3, low=0.5, high=1), fields, 2, operator)
    yield Fails(make(5, 3), ids, make(2, 2), fields, 2)


@samples(image_differences)
def _(make):
    yield Call(make(1, 2, 3, 4))
    yield Fails(make(3, 4))


@samples(signal_to_noise)
def _(make):
    yield Call(make(2, 1, 3, 4), make(2, 1, 3, 4, low=3, high=4), 2.0)
    yield Call(
        make(2, 1, 3, 4, dtype="uint8", low=0, high=99), make(2, 1, 3, 4, dtype="uint8", low=99, high=200)
    )
    yield Fails(make(2, 1, 3, 4), make(2, 1, 3, 5))


@samples(similarity)
def _(make):
    yield Call(make(2, 2, 5, 5), make(2, 2, 5, 5), make(1, 1, 3, 3, low=0.1, high=0.2))
    yield Fails(make(2, 2, 2, 5), make(2, 2, 2, 5), make(1, 1, 3, 3))
    yield Fails(make(2, 2, 5, 5), make(2, 2, 5, 5, dtype="float64"), make(1, 1, 3, 3))


@samples(similarity_by_scales)
def _(make):
    window = make(1, 1, 3, 3, low=0.1, high=0.11)
    yield Call(make(1, 1, 8, 8, low=1, high=2), make(1, 1, 8, 8, low=1, high=2), window, (0.5, 0.5))
    yield Fails(make(1, 1, 4, 4), make(1, 1, 4, 4), window, (0.5, 0.5))


@samples(central_part)
def _(make):
    yield Call(make(3, 7, 8), 0.5)
    yield Fails(make(7, 8), 0.5)


for each in (gamma_of, gamma_digamma):

    @samples(each)
    def _(make):
        yield Call(make(3, 4, low=0.5, high=3))


for each in (gamma_lower, log_beta):

    @samples(each)
    def _(make):
        yield Call(make(3, 4, low=0.5, high=3), make(3, 4, low=0.5, high=3))


@samples(moments_of)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), (0, 2), True)
