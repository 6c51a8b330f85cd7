"""Overflow of gradients and the scale of the loss."""

import numpy as np

from millrace._src.runtime.ops.optimizer.overflow import (
    has_non_finite,
    update_dynamic_loss_scale,
    update_loss_scale,
)

from . import Call, samples


@samples(has_non_finite)
def _(make):
    yield Call([make(3), make(2, 2)])
    yield Call([make(3), np.array([np.inf], np.float32)])


@samples(update_loss_scale)
def _(make):
    numbers = np.float32(8.0), np.int32(1), np.int32(3)
    for overflow in (True, False):
        yield Call(*(np.array(each) for each in numbers), np.array(overflow), 2.0, 2)


@samples(update_dynamic_loss_scale)
def _(make):
    for finite in (True, False):
        yield Call(np.array(8.0, np.float32), np.array(1, np.int32), np.array(finite), 2, 2)
