from millrace._src.runtime.ops.image import interpolate
from millrace._src.runtime.ops.nn import deformable_conv as v
from millrace._src.runtime.ops.nn import fold
from tests.contracts.ops.samples import Call, Fails, samples


@samples(interpolate.upsample_trilinear_3d)
def _(make):
    yield Call(make(1, 2, 2, 3, 4), (3, 5, 7), None)
    yield Call(make(1, 2, 2, 3, 4), (3, 5, 7), None, True)
    yield Fails(make(1, 2, 3, 4), (3, 5, 7), None)


@samples(interpolate.upsample_nearest_3d)
def _(make):
    yield Call(make(1, 2, 2, 3, 4), (3, 5, 7), None)
    yield Call(make(1, 2, 2, 3, 4), None, (2.0, 2.0, 1.5))


@samples(fold.extract_volume_patches)
def _(make):
    yield Call(make(1, 2, 3, 4, 5), 2, 1, "VALID")
    yield Call(make(1, 2, 3, 4, 5), (1, 1, 2, 3, 2), (1, 1, 2, 2, 2), "same")
    yield Fails(make(1, 2, 3, 4, 5), 2, 1, "text")


@samples(v.deformable_offsets)
def _(make):
    yield Call(make(1, 2, 5, 5), make(1, 27, 3, 3), (1, 1, 1, 1), (0, 0, 0, 0), (3, 3))
    yield Call(
        make(2, 4, 6, 5), make(2, 24, 4, 3), (1, 1, 2, 2), (1, 2, 1, 1), (2, 2), (1, 1, 1, 1), "NCHW", 2
    )
    yield Fails(make(1, 2, 5, 5), make(1, 20, 3, 3), (1, 1, 1, 1), (0, 0, 0, 0), (3, 3))


@samples(v.deformable_conv2d)
def _(make):
    yield Call(make(1, 2, 5, 5), make(3, 2, 3, 3), make(1, 27, 3, 3), (3, 3), (1, 1, 1, 1), (0, 0, 0, 0))
    yield Call(
        make(1, 2, 5, 5), make(3, 2, 3, 3), make(1, 27, 5, 5), (3, 3), (1, 1, 1, 1), (1, 1, 1, 1), make(3)
    )
