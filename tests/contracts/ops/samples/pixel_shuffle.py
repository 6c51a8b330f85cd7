import numpy as np

from millrace._src.runtime.ops.nn import fold
from millrace._src.runtime.ops.nn import pixel_shuffle as b
from tests.contracts.ops.samples import Call, Fails, samples


@samples(b.pixel_shuffle)
def _(make):
    yield Call(make(2, 8, 2, 3), 2)
    yield Call(make(4, 1, 2), 2)
    yield Call(make(3, 2, 8, 2).T, 2)
    yield Fails(make(1, 3, 2, 2), 2)
    yield Fails(make(1, 4, 2, 2), 0)
    yield Fails(make(2, 2), 2)


@samples(b.pixel_unshuffle)
def _(make):
    yield Call(make(2, 1, 4, 4), 2)
    yield Call(make(1, 2, 4), 2)
    yield Fails(make(1, 1, 3, 4), 2)
    yield Fails(make(2, 2), 2)


@samples(b.space_to_depth)
def _(make):
    yield Call(make(2, 3, 4, 2), 2)
    yield Call(make(1, 1, 6, 3), 3)
    yield Call(make(4, 4, 2, 1).T, 2)
    yield Fails(make(1, 1, 3, 4), 2)
    yield Fails(make(1, 1, 4, 4), 1)


@samples(b.depth_to_space)
def _(make):
    yield Call(make(2, 8, 1, 3), 2)
    yield Call(make(1, 9, 1, 1), 3)
    yield Fails(make(1, 6, 2, 2), 2)
    yield Fails(make(1, 4, 2, 2), 1)


@samples(b.space_to_batch_nd, b.space_to_batch_nd_of)
def _(make):
    yield Call(make(2, 3, 4, 2), [2, 2], [[0, 0], [0, 0]])
    yield Call(make(1, 1, 3, 2), [2, 2], [[0, 1], [1, 1]])
    yield Call(make(1, 2, 2, 6), [1, 3], [[0, 0], [0, 0]])
    yield Fails(make(1, 1, 3, 2), [2, 2], [[0, 0], [0, 0]])


@samples(b.batch_to_space_nd)
def _(make):
    yield Call(make(8, 3, 2, 1), [2, 2], [[0, 0], [0, 0]])
    yield Call(make(4, 1, 2, 2), [2, 2], [[0, 1], [1, 0]])
    yield Fails(make(3, 1, 1, 1), [2, 2], [[0, 0], [0, 0]])


@samples(b.space_to_batch)
def _(make):
    yield Call(make(2, 3, 4, 2), 2, [[0, 0], [0, 0]])
    yield Fails(make(2, 3, 4, 2), 1, [[0, 0], [0, 0]])


@samples(b.batch_to_space)
def _(make):
    yield Call(make(8, 3, 2, 1), 2, [[0, 0], [0, 0]])
    yield Fails(make(8, 3, 2, 1), 1, [[0, 0], [0, 0]])


@samples(b.channel_shuffle, b.shuffle_channels)
def _(make):
    yield Call(make(2, 6, 2, 1), 2)
    yield Call(make(1, 6, 2, 2), 3)
    yield Fails(make(1, 5, 2, 2), 2)


@samples(fold.unfold)
def _(make):
    yield Call(make(2, 3, 4, 4), 2)
    yield Call(make(1, 2, 5, 4), (2, 3), 1, 1, 2)
    yield Call(make(1, 2, 5, 5), [2, 2], 2, 0, 1)
    yield Fails(make(3, 3), 2)


@samples(fold.fold)
def _(make):
    size = np.array([3, 3], np.int32)
    yield Call(make(2, 3, 4, 4), size, 2)
    yield Call(make(2, 3, 4, 4), size, [2, 2], 1, 0, 1)


@samples(fold.image_to_col)
def _(make):
    yield Call(make(2, 3, 4, 4), [2, 2])
    yield Call(make(1, 2, 5, 4), [2, 3], 2, 1, 1)
    yield Fails(make(3, 3), [2, 2])


@samples(fold.col2im)
def _(make):
    size = np.array([3, 3], np.int32)
    yield Call(make(2, 3, 4, 4), size, [2, 2], [1, 1], [0, 0], [1, 1])
    yield Fails(make(4, 4), size, [2, 2], [1, 1], [0, 0], [1, 1])


@samples(fold.col_to_image)
def _(make):
    size = np.array([3, 3], np.int32)
    yield Call(make(2, 3, 4, 4), size, [2, 2])
    yield Fails(make(4, 4), size, [2, 2])
