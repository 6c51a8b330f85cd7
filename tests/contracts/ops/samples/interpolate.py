import numpy as np

from millrace._src.runtime.ops.image import crop, morphology
from millrace._src.runtime.ops.image import interpolate as g
from millrace._src.runtime.ops.nn import fractional_pooling
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32

F32 = np.float32


@samples(crop.extract_glimpse)
def _(make):
    image = make(1, 3, 4, 2)
    zero = {"uniform_noise": False, "noise": "zero"}
    yield Call(image, i32(2, 2), F32([[0, 0]]), **zero)
    yield Call(image, i32(2, 3), F32([[-0.9, 0.3]]), **zero)
    yield Call(image, i32(2, 3), F32([[-0.9, 0.3]]), centered=False, normalized=False, **zero)
    yield Call(make(2, 3, 3, 1), i32(2, 2), F32([[1, 1], [0.5, 1]]), centered=True, normalized=False, **zero)
    yield Call(image, i32(4, 6), F32([[0, 0]]), uniform_noise=False, noise="gaussian")
    yield Call(image, i32(4, 6), F32([[0, 0]]))
    yield Fails(image, i32(2, 2), F32([[0, 0]]), noise="black")
    yield Fails(image[0], i32(2, 2), F32([[0, 0]]), **zero)


@samples(g.scale_and_translate)
def _(make):
    image = make(1, 3, 4, 2)
    for kernel in (
        "lanczos1",
        "lanczos3",
        "lanczos5",
        "gaussian",
        "triangle",
        "keyscubic",
        "mitchellcubic",
        "box",
    ):
        yield Call(image, i32(4, 3), F32([1.4, 0.6]), F32([0.3, -0.2]), kernel)
        yield Call(image, i32(2, 5), F32([0.7, 1.3]), F32([0.1, 0.2]), kernel, False)
    yield Call(image, i32(4, 3), F32([1.0, 1.0]), F32([2.0, 0.0]), "triangle")
    yield Fails(image, i32(4, 3), F32([1.0, 1.0]), F32([2.0, 0.0]), "square")
    yield Fails(image[0], i32(4, 3), F32([1.0, 1.0]), F32([2.0, 0.0]))


@samples(morphology.dilation2d)
def _(make):
    yield Call(make(1, 2, 4, 4), make(2, 2, 2), 1, 1, "VALID")
    yield Call(make(1, 2, 5, 4), make(2, 3, 2), 2, 1)
    yield Call(make(2, 1, 6, 6), make(1, 2, 2), (1, 1, 1, 2), (1, 1, 2, 1), "valid")
    yield Fails(make(1, 2, 4, 4), make(2, 2, 2), 1, 1, "pad")
    yield Fails(make(1, 2, 4, 4), make(2, 2, 2), "text", 1)


@samples(fractional_pooling.fractional_max_pool, fractional_pooling.fractional_avg_pool)
def _(make):
    yield Call(make(1, 4, 6, 2), [1.0, 2.0, 2.0, 1.0])  # windows of one size: nothing is left to chance
    yield Call(make(1, 4, 6, 1), [1.0, 2.0, 2.0, 1.0], overlapping=True)
    yield Call(make(2, 4, 4, 1, dtype="int32", high=9), [1.0, 2.0, 4.0, 1.0])
    yield Call(make(1, 7, 6, 2), [1.0, 1.5, 1.3, 1.0])
    yield Fails(make(1, 4, 4, 1), [1.0, 0.5, 2.0, 1.0])
    yield Fails(make(4, 4, 1), [1.0, 1.5, 2.0, 1.0])
