"""Gradients held within a norm."""

import numpy as np

from millrace._src.runtime.ops.optimizer.gradient_clipping import clip_by_global_norm, clip_by_norm

from . import Call, Fails, samples


@samples(clip_by_global_norm)
def _(make):
    yield Call((make(3, 4), make(5)), 1.0)
    yield Call([make(3)], 100.0)
    yield Call((make(3, dtype="float16"),), 0.5)
    yield Call((make(2),), 1)
    yield Fails((make(2),), -1.0)
    yield Fails((make(2),), 0.0)


@samples(clip_by_norm)
def _(make):
    yield Call(make(3, 4), 1.0)
    yield Call([make(3), make(2, 2)], 0.5)
    yield Call(make(5), 0.5, 1.0)
    yield Call(make(5), 0.5, float("inf"))
    yield Call(make(5), 100.0)
    yield Fails(np.array([1.0, np.inf], np.float32), 1.0, error_if_nonfinite=True)
