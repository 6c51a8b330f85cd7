import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.signal import stft
from millrace._src.runtime.ops.signal import window_functions as s
from tests.contracts.ops.samples import Call, Fails, samples


@samples(s.bartlett_window, s.blackman_window)
def _(make):
    for length in (0, 1, 2, 5, 8):
        yield Call(np.array(length, "int32"))
    yield Call(np.array(6, "int64"), periodic=False)
    yield Call(np.array(6, "int64"), periodic=False, dtype=mstype.float64)
    yield Call(np.array(5, "int32"), dtype=mstype.float16)
    yield Call(7)  # MindSpore takes tensors only
    yield Fails(np.array(-1, "int32"))
    yield Fails(np.array(4.0, "float32"))
    yield Fails(np.array(4, "int32"), dtype=mstype.int32)
    yield Fails(np.array(4, "int32"), periodic=1)
    yield Fails("text")


@samples(s.hamming_window, s.hann_window, s.kaiser_window)
def _(make):
    yield Call(5)
    yield Call(6, False)
    yield Call(8, True, dtype=mstype.float32)
    yield Call(4, dtype=mstype.float64)
    yield Call(0)
    yield Call(1)
    yield Fails(-1)
    yield Fails(4.0)
    yield Fails(4, dtype=mstype.int32)
    yield Fails(4, 1)


@samples(s.hamming_window_of)
def _(make):
    yield Call(np.array([5], "int64"))
    yield Call(np.array([6], "int32"), periodic=False)
    yield Call(np.array([6], "int32"), alpha=0.6, beta=0.4)
    yield Call(np.array([1], "int32"))
    yield Fails(np.array(5, "int64"))
    yield Fails(np.array([-5], "int64"))
    yield Fails(np.array([5.0], "float32"))
    yield Fails(5)


@samples(stft.stft)
def _(make):
    yield Call(make(16), 8)
    yield Call(make(2, 12), 4, 2, 4, make(4), False, "CONSTANT", True, False, True)
    yield Call(make(16), 8, 2, 6, center=False, return_complex=True)
    yield Call(make(16), 8, pad_mode="CONSTANT")
    yield Call(make(12, dtype="float64"), 4, return_complex=False)
    yield Call(make(16, dtype="complex64"), 8)
    yield Fails(make(16), 80)
    yield Fails(make(2, 2, 16), 8)


@samples(stft.stft_of)
def _(make):
    yield Call(make(16), make(6), 8, 2, 6, False, True, True)
    yield Call(make(2, 16), make(8), 8, 4, 8, True, False, True)
    yield Call(make(16), make(8), 8, 4, 8, False, True, False)
    yield Fails(make(16), make(6), 8, 2, 5, False, True, True)
