import numpy as np

from millrace._src.runtime.ops.image import grid_sample
from millrace._src.runtime.ops.image import resize as r
from tests.contracts.ops.samples import Call, Fails, samples


@samples(r.resize_nearest)
def _(make):
    x = make(1, 2, 3, 4)
    yield Call(x, (5, 7))
    yield Call(x, (5, 7), True)
    yield Call(x, (2, 3), False, True)
    yield Call(make(1, 2, 3, 4, dtype="int32"), (6, 8))
    yield Call(make(4, 3, 2, 1).T, (6, 8))
    yield Fails(make(2, 3, 4), (5, 7))
    yield Fails(x, "text")


SIZE = np.array([5, 7], np.int32)


@samples(r.resize_nearest_to, r.resize_bilinear, r.resize_bicubic)
def _(make):
    x = make(1, 2, 3, 4)
    yield Call(x, SIZE)
    yield Call(x, SIZE, True)
    yield Call(x, SIZE, False, True)
    yield Call(x, np.array([2, 3], np.int32))
    yield Call(make(4, 3, 2, 1).T, SIZE)
    yield Fails(x, SIZE, True, True)
    yield Fails(make(2, 3, 4), SIZE)


@samples(r.resize_area)
def _(make):
    yield Call(make(1, 3, 4, 2), np.array([2, 3], np.int32))
    yield Call(make(1, 3, 4, 2), SIZE)
    yield Call(make(1, 3, 4, 2), SIZE, True)


@samples(r.resize_linear)
def _(make):
    yield Call(make(1, 2, 4), np.array([7], np.int32))
    yield Call(make(1, 2, 4), np.array([3], np.int32), "half_pixel")
    yield Fails(make(1, 2, 4), np.array([3], np.int32), "text")


@samples(r.interpolate, r.interpolate_mint)
def _(make):
    x = make(1, 2, 3, 4)
    yield Call(x, (5, 7))
    yield Call(x, None, 1.7, recompute_scale_factor=True)
    yield Call(x, (5, 7), None, "bilinear")
    yield Call(x, (5, 7), None, "bilinear", True)
    yield Call(x, (2, 3), None, "bilinear", False)
    yield Call(x, (5, 7), None, "bicubic")
    yield Call(x, (2, 2), None, "area")
    yield Call(x, (5, 7), None, "nearest-exact")
    yield Call(x[0], 7, None, "linear")
    yield Call(x[0], 7, None, "linear", True)
    yield Call(x[0], 7)
    yield Call(make(1, 1, 2, 3, 4), (3, 5, 7), None, "trilinear")
    yield Call(make(1, 1, 2, 3, 4), (3, 5, 7), None, "trilinear", True)
    yield Call(make(1, 1, 2, 3, 4), (3, 5, 7))
    yield Call(make(4, 3, 2, 1).T, (5, 7), None, "bilinear")
    yield Fails(x)
    yield Fails(x, (5, 7), 2.0)
    yield Fails(x, (5, 7), None, "text")
    yield Fails(x, (5, 7), None, "nearest", True)
    yield Fails(x, (5, 7), None, "linear")
    yield Fails(x, (5.0, 7))


@samples(r.upsample_mint)
def _(make):
    yield Call(make(1, 2, 3, 4), (5, 7))
    yield Call(make(1, 2, 3, 4), None, 2.0, "bilinear", True)


@samples(grid_sample.grid_sample, grid_sample.grid_sample_2d)
def _(make):
    x, grid = make(2, 3, 4, 5), make(2, 3, 2, 2, low=-1.2, high=1.2)
    yield Call(x, grid)
    yield Call(x, grid, "nearest", "border")
    yield Call(x, grid, "bilinear", "reflection", True)
    yield Call(x, grid, "bicubic", "zeros", False)
    yield Fails(x, grid, "text")
    yield Fails(x, grid, "bilinear", "text")
    yield Fails(x, make(2, 3, 2, 3))


@samples(grid_sample.grid_sample_3d)
def _(make):
    x, grid = make(1, 2, 3, 4, 5), make(1, 2, 3, 2, 3, low=-1.2, high=1.2)
    yield Call(x, grid)
    yield Call(x, grid, "nearest", "border", True)


@samples(grid_sample.affine_grid)
def _(make):
    yield Call(make(2, 2, 3), (2, 1, 3, 4))
    yield Call(make(1, 2, 3), (1, 1, 3, 4), True)
    yield Call(make(1, 3, 4), (1, 1, 2, 3, 4))
    yield Fails(make(1, 2, 3), (1, 1, 2))
