"""Losses that only layers have; layers are compared in tests/parity/runtime/nn."""

from millrace._src.runtime.ops.nn.loss import (
    dice_loss,
    focal_loss,
    poisson_nll_loss,
    triplet_margin_with_distance,
    weighted_reduction,
)

from . import Call, Fails, samples


@samples(weighted_reduction)
def _(make):
    yield Call(make(3, 4), 2.0)
    yield Call(make(3, 4), make(3, 4), "none")
    yield Call(make(3, dtype="float16"), 1.0, "sum")


@samples(dice_loss)
def _(make):
    yield Call(make(3, 4, low=0.1, high=1.0), make(3, 4, low=0.1, high=1.0))
    yield Fails(make(3, 4), make(3))


@samples(focal_loss)
def _(make):
    yield Call(make(3, 4), make(3, 1, dtype="int32", low=0, high=4))
    yield Call(make(2, 3, 2, 2), make(2, 1, 2, 2, dtype="int32", low=0, high=3), reduction="none")
    yield Fails(make(3, 1), make(3, 1, dtype="int32", low=0, high=1))
    yield Fails(make(3, 4), make(3, 2, dtype="int32", low=0, high=1))


@samples(poisson_nll_loss)
def _(make):
    yield Call(make(3), make(3, low=0.5, high=4.0), full=True)
    yield Call(make(3, low=0.5, high=2.0), make(3, low=0.5, high=4.0), log_input=False, reduction="none")


@samples(triplet_margin_with_distance)
def _(make):
    yield Call(make(3), make(3))
    yield Call(make(3), make(3), make(3), 0.5, "sum")
