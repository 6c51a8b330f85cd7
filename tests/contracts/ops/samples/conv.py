from millrace._src.runtime.ops.nn import conv as c
from millrace._src.runtime.ops.nn import conv_transpose
from tests.contracts.ops.samples import Call, Fails, samples


@samples(c.conv2d)
def _(make):
    x, w = make(2, 4, 7, 6), make(6, 4, 3, 2)
    yield Call(x, w)
    yield Call(x, w, make(6))
    yield Call(x, w, None, 2, "same")
    yield Call(x, w, None, (2, 3), "same", 0, (1, 2))
    yield Call(x, w, make(6), 1, "pad", 1)
    yield Call(x, w, None, 2, "pad", (1, 0), 2)
    yield Call(x, make(6, 2, 3, 3), None, 1, "same", groups=2)
    yield Call(make(3, 4, 5, 6).T, make(2, 5, 3, 3))
    yield Call(make(1, 2, 4, 4, dtype="float16"), make(1, 2, 3, 3, dtype="float16"))
    yield Call(make(1, 2, 4, 4, dtype="float64"), make(1, 2, 3, 3, dtype="float64"))
    yield Fails(x, w, None, 1, "valid", 1)
    yield Fails(x, w, None, 1, "other")
    yield Fails(x, w, None, 0)
    yield Fails(x, w, None, 1, "pad", (1, 0, 2, 1))
    yield Fails(x, make(6, 3, 3, 3))
    yield Fails(make(4, 7, 6), w)
    yield Fails(x, make(6, 4, 3, 2, dtype="float16"))


@samples(c.conv1d)
def _(make):
    x, w = make(2, 4, 7), make(6, 4, 3)
    yield Call(x, w)
    yield Call(x, w, make(6), 2, "same")
    yield Call(x, w, None, (1,), "pad", (1,), 2)
    yield Call(x, make(4, 1, 2), None, 3, "same", groups=4)
    yield Fails(x, w, None, 1, "pad", (1, 2))
    yield Fails(x, w, None, 1, "other")


@samples(c.conv3d)
def _(make):
    x, w = make(1, 2, 5, 6, 4), make(3, 2, 3, 2, 3)
    yield Call(x, w)
    yield Call(x, w, make(3), 2, "same")
    yield Call(x, w, None, (1, 2, 1), "pad", (1, 0, 2))
    yield Fails(x, w, None, 1, "valid", 1)


@samples(c.conv1d_mint)
def _(make):
    yield Call(make(2, 4, 7), make(6, 4, 3))
    yield Call(make(2, 4, 7), make(6, 2, 3), make(6), 2, 1, 1, 2)


@samples(c.conv2d_mint)
def _(make):
    yield Call(make(2, 4, 7, 6), make(6, 4, 3, 2))
    yield Call(make(2, 4, 7, 6), make(6, 4, 3, 2), make(6), 2, (1, 0), 2)
    yield Call(make(2, 4, 7, 6), make(6, 4, 3, 3), None, 1, "same")
    yield Fails(make(2, 4, 7, 6), make(6, 3, 3, 2))


@samples(c.conv3d_mint)
def _(make):
    yield Call(make(1, 2, 5, 6, 4), make(3, 2, 3, 2, 3))
    yield Call(make(1, 2, 5, 6, 4), make(4, 1, 3, 2, 3), make(4), 2, 1, 1, 2)


@samples(conv_transpose.conv_transpose2d)
def _(make):
    yield Call(make(2, 4, 5, 6), make(4, 3, 3, 2))
    yield Call(make(2, 4, 5, 6), make(4, 3, 3, 2), make(6), 2, 1, 1, 2)


@samples(c.conv2d_primitive)
def _(make):
    x, w = make(2, 4, 7, 6), make(6, 4, 3, 2)
    yield Call(x, w, 6, (3, 2))
    yield Call(x, w, 6, (3, 2), pad_mode="same", stride=2)
    yield Call(x, w, 6, (3, 2), 1, "pad", (1, 0, 2, 1), stride=(2, 1))
    yield Call(x, w, 6, (3, 2), 1, "pad", 1, dilation=2)
    yield Call(x, w, 6, (3, 2), stride=(1, 1, 2, 2))
    yield Call(x, make(4, 1, 3, 3), 4, 3, group=4, pad_mode="same")
    yield Fails(x, w, 5, (3, 2))
    yield Fails(x, w, 6, 5)
    yield Fails(x, w, 6, (3, 2), 1, "valid", 1)
    yield Fails(x, w, 6, (3, 2), 1, "SAME")
    yield Fails(x, w, 6, (3, 2), 1, "pad", (1, 0))
    yield Fails(x, w, 6, (3, 2), stride=0)


@samples(c.conv3d_primitive)
def _(make):
    x, w = make(1, 2, 5, 6, 4), make(3, 2, 3, 2, 3)
    yield Call(x, w, 3, (3, 2, 3))
    yield Call(x, w, 3, (3, 2, 3), pad_mode="same", stride=2)
    yield Call(x, w, 3, (3, 2, 3), 1, "pad", (1, 0, 2, 1, 1, 1))
    yield Fails(x, w, 3, (3, 2, 3), 1, "valid", 1)


@samples(conv_transpose.conv2d_backprop_input)
def _(make):
    d = make(1, 2, 3, 3)
    w = make(2, 3, 3, 3)
    yield Call(d, w, (1, 3, 5, 5), 2, 3)
    yield Call(d, w, (1, 3, 6, 6), 2, 3, "same", stride=2)
    yield Call(d, w, (1, 3, 5, 5), 2, 3, "same", stride=2)
    yield Call(d, w, (1, 3, 6, 6), 2, 3, "pad", (1, 0, 1, 0), stride=2)
    yield Call(d, w, (1, 3, 5, 6), 2, 3, "pad", (1, 1, 1, 1), stride=2)
    yield Call(d, make(2, 1, 3, 3), (1, 2, 5, 5), 2, 3, group=2)
    yield Fails(d, w, (1, 3, 9, 9), 2, 3)
    yield Fails(d, w, 5, 2, 3)


@samples(conv_transpose.conv3d_transpose_primitive)
def _(make):
    d, w = make(1, 2, 3, 2, 3), make(2, 3, 3, 3, 3)
    yield Call(d, w, 2, 3, 3)
    yield Call(d, w, 2, 3, 3, stride=2)
    yield Call(d, w, 2, 3, 3, pad_mode="pad", pad=1, stride=2, output_padding=1)
    yield Call(d, w, 2, 3, 3, pad_mode="same", stride=2)
    yield Fails(d, w, 2, 3, 3, pad_mode="other")


@samples(conv_transpose.conv3d_transpose)
def _(make):
    d, w = make(1, 2, 3, 2, 3), make(2, 3, 3, 3, 3)
    yield Call(d, w)
    yield Call(d, w, "pad", 1, 2)
    yield Call(d, w, "same", 0, 2)


@samples(c.depthwise_conv2d_primitive)
def _(make):
    yield Call(make(1, 2, 5, 5), make(1, 2, 3, 3), 1, 3)
    yield Call(make(1, 2, 5, 5), make(1, 2, 3, 3), 1, 3, pad_mode="same", stride=2)
    yield Fails(make(1, 2, 5, 5), make(2, 2, 3, 3), 2, 3)
