import numpy as np

from millrace._src.runtime.ops.signal import fft as f
from tests.contracts.ops.samples import Call, Fails, samples


@samples(f.fft, f.ifft, f.hfft)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 6, 0)
    yield Call(make(3, 4), 3, -1, "ortho")
    yield Call(make(2, 5, dtype="complex64"), norm="forward")
    yield Call(make(2, 3, dtype="float64").T)
    yield Fails(make(3, 4), 4, 5)


@samples(f.rfft, f.irfft, f.ihfft)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4), 6, 0)
    yield Call(make(3, 4), 3, -1, "ortho")
    yield Call(make(2, 3, dtype="float64").T)
    yield Fails(make(3, 4), 4, 5)


@samples(f.fft2, f.ifft2, f.rfft2, f.irfft2, f.hfft2, f.ihfft2)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(2, 3, 4), (4, 3), (0, 1))
    yield Call(make(3, 4), norm="ortho")


@samples(f.fftn, f.ifftn, f.rfftn, f.irfftn, f.hfftn, f.ihfftn)
def _(make):
    yield Call(make(2, 3, 4))
    yield Call(make(2, 3, 4), (4, 3), (0, 1))
    yield Call(make(3, 4), norm="ortho")


@samples(f.fftshift, f.ifftshift)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 5), 1)


@samples(f.fftfreq, f.rfftfreq)
def _(make):
    yield Call(4)
    yield Call(5, 0.5)


@samples(f.fft_with_size)
def _(make):
    yield Call(make(2, 4, dtype="complex64"), 1, False, False)
    yield Call(make(2, 4, dtype="complex64"), 1, True, False, "ortho")
    yield Call(make(2, 4), 1, False, True)
    yield Call(np.fft.rfft(make(2, 4)).astype("complex64"), 1, True, True)
