"""Calls of operations as layers make them.

They have no face of their own: tests/parity/runtime/nn compares the layers.
"""

from millrace._src.runtime.ops.nn.avg_pooling import avg_pool_nd
from millrace._src.runtime.ops.nn.conv import conv_nd
from millrace._src.runtime.ops.nn.conv_transpose import conv_transpose_nd
from millrace._src.runtime.ops.nn.max_pooling import max_pool_nd, max_pool_with_indices
from millrace._src.runtime.ops.nn.normalization import batch_norm_nd, instance_norm_nd, layer_norm_nd
from tests.contracts.ops.samples import Call, Fails, samples

NONE2, NONE3 = ((0, 0), (0, 0)), ((0, 0), (0, 0), (0, 0))


@samples(conv_nd)
def _(make):
    yield Call(make(1, 2, 5, 5), make(3, 2, 3, 3), make(3), (2, 2), "same", NONE2, (1, 1), 1)
    yield Call(make(1, 2, 6), make(3, 2, 1, 3), None, (1, 2), "same", NONE2, (1, 1), 1, "NCHW", True)
    yield Call(make(1, 5, 5, 2), make(3, 3, 3, 2), None, (1, 1), "valid", NONE2, (1, 1), 1, "NHWC")
    yield Fails(make(5), make(3, 2, 3, 3), None, (1, 1), "valid", NONE2, (1, 1), 1)
    yield Fails(make(1, 3, 4, 4, 4), make(3, 2, 3, 3, 3), None, (1, 1, 1), "valid", NONE3, (1, 1, 1), 1)


@samples(conv_transpose_nd)
def _(make):
    yield Call(make(1, 2, 3, 3), make(2, 3, 3, 3), make(3), (2, 2), "same", NONE2, (1, 1), 1, (0, 0))
    yield Call(make(1, 2, 4), make(2, 3, 1, 2), None, (1, 3), "valid", NONE2, (1, 1), 1, (0, 0), True)
    yield Call(make(1, 2, 3, 3), make(2, 3, 3, 3), None, (2, 2), "pad", NONE2, (1, 1), 1, (1, 0))
    yield Fails(make(2, 3, 3), make(2, 3, 3, 3), None, (2, 2), "same", NONE2, (1, 1), 1, (0, 0))
    yield Fails(make(1, 4, 3, 3), make(2, 3, 3, 3), None, (2, 2), "same", NONE2, (1, 1), 1, (0, 0))


@samples(max_pool_nd)
def _(make):
    yield Call(make(1, 2, 5, 4), 2, (3, 3), (2, 2), "same", NONE2)
    yield Call(make(2, 7), 1, (1, 3), (1, 2), "valid", NONE2)
    yield Call(make(1, 5, 4, 2), 2, (3, 3), (2, 2), "same", NONE2, False, "NHWC")
    yield Fails(make(5), 2, (3, 3), (2, 2), "same", NONE2)


@samples(avg_pool_nd)
def _(make):
    yield Call(make(1, 2, 5, 4), 2, (3, 3), (2, 2), "same", NONE2)
    yield Call(make(2, 7), 1, (1, 3), (1, 2), "pad", ((0, 0), (1, 1)), True, True)
    yield Call(make(1, 2, 4, 4), 2, (2, 2), (2, 2), "valid", NONE2, False, False, 3)
    yield Fails(make(1, 2, 4, 4), 2, (2, 2), (2, 2), "pad", ((2, 2), (2, 2)))


@samples(max_pool_with_indices)
def _(make):
    yield Call(make(1, 2, 5, 4), 2, (2, 2), (1, 1), ((1, 1), (1, 1)), (1, 1))
    yield Call(make(1, 2, 5, 4), 2, (2, 2), (1, 1), NONE2, (2, 2), True, True)
    yield Fails(make(1, 2, 5, 4), 2, (2, 2), (1, 1), ((2, 2), (1, 1)), (1, 1))


@samples(batch_norm_nd)
def _(make):
    scale = make(3, low=0.5, high=1)
    yield Call(make(4, 3), scale, make(3), make(3), make(3, low=0.5, high=2), False, 0.1, 1e-5)
    yield Call(make(4, 3, 2, 2), scale, make(3), None, None, True, 0.1, 1e-5)
    yield Fails(make(4, 2), scale, make(3), None, None, True, 0.1, 1e-5)


@samples(instance_norm_nd)
def _(make):
    yield Call(make(2, 3, 4), make(3), make(3), 1, 1e-5)
    yield Call(make(2, 3, 4, 2), None, None, 2, 1e-5)
    yield Fails(make(2, 4, 4), make(3), make(3), 1, 1e-5)


@samples(layer_norm_nd)
def _(make):
    yield Call(make(2, 3, 4), make(4), make(4), -1, -1, 1e-5)
    yield Call(make(2, 3, 4), make(4), make(4), 1, -1, 1e-5)
    yield Fails(make(2, 3, 4), make(5), make(5), -1, -1, 1e-5)
    yield Fails(make(2, 3, 4), make(4), make(4), 3, -1, 1e-5)
