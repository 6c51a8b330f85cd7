"""Magnitude, phase, decibels and deltas of spectra."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from millrace._src.core.args import INT32_MAX, Range, checked
from millrace._src.core.public import public
from millrace._src.data.kernels.audio import magnitude_phase as magnitudes
from millrace._src.data.kernels.audio.enums import BorderType, ScaleType
from millrace._src.data.transforms.argument_types import FLOAT_MAX

from .argument_types import Float
from .base import AudioTensorOperation, batch_any_leading_dims

__all__ = ["AmplitudeToDB", "Angle", "ComplexNorm", "ComputeDeltas", "DBToAmplitude", "Magphase"]

Power = Annotated[int | float, Range(0, FLOAT_MAX)]
Positive = Annotated[int | float, Range(0, FLOAT_MAX, left_open=True)]


@public("dataset.audio", "dataset.audio.transforms")
class AmplitudeToDB(AudioTensorOperation):
    """Convert a spectrogram to decibels, at most ``top_db`` below the largest of each <channel, freq, time>.

    Values below ``amin`` count as ``amin``. (MindSpore limits them to 1e-10, whatever ``amin`` is; with its default the
    results are the same.)

    >>> import numpy as np
    >>> AmplitudeToDB()(np.array([[1.0, 0.1, 0.0]])).tolist()
    [[0.0, -10.0, -80.0]]
    """

    dims: ClassVar[int] = 2

    @checked
    def __init__(
        self,
        stype: ScaleType = ScaleType.POWER,
        ref_value: Positive = 1.0,
        amin: Positive = 1e-10,
        top_db: Positive = 80.0,
    ) -> None:
        self.stype, self.ref_value, self.amin, self.top_db = stype, ref_value, amin, top_db

    def row(self, x: Any) -> Any:
        return magnitudes.amplitude_to_db(x, self.stype, self.ref_value, self.amin, self.top_db)

    def batch(self, xs: Any) -> Any:
        """Compute all rows at once; each <freq, time> has a separate maximum."""
        if xs.ndim != 3:
            return batch_any_leading_dims(self, xs)
        decibels = batch_any_leading_dims(self, xs[:, None])
        return None if decibels is None else decibels[:, 0]


@public("dataset.audio", "dataset.audio.transforms")
class Angle(AudioTensorOperation):
    """Compute the phase angle of complex numbers, <..., complex=2> with real and imaginary parts last.

    >>> import numpy as np
    >>> Angle()(np.array([[0.0, 1.0]])).round(4).tolist()
    [1.5708]
    """

    @checked
    def __init__(self) -> None:
        pass

    def row(self, x: Any) -> Any:
        return magnitudes.angle(x)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class ComplexNorm(AudioTensorOperation):
    """Compute the magnitude of complex numbers <..., complex=2>, raised to a power.

    >>> import numpy as np
    >>> ComplexNorm()(np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """

    @checked
    def __init__(self, power: Power = 1.0) -> None:
        self.power = power

    def row(self, x: Any) -> Any:
        return magnitudes.complex_norm(x, self.power)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class ComputeDeltas(AudioTensorOperation):
    """Compute delta coefficients along time: the slope over a window of ``win_length`` values.

    >>> import numpy as np
    >>> ComputeDeltas(3)(np.array([[0.0, 1.0, 2.0, 3.0]])).tolist()
    [[0.5, 1.0, 1.0, 0.5]]
    """

    dims: ClassVar[int] = 2

    @checked
    def __init__(
        self,
        win_length: Annotated[int, Range(3, INT32_MAX)] = 5,
        pad_mode: BorderType = BorderType.EDGE,
    ) -> None:
        self.win_length, self.pad_mode = win_length, pad_mode

    def row(self, x: Any) -> Any:
        return magnitudes.compute_deltas(x, self.win_length, self.pad_mode)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class DBToAmplitude(AudioTensorOperation):
    """Convert decibels to powers (``power`` 1) or magnitudes (0.5), times ``ref``.

    >>> import numpy as np
    >>> DBToAmplitude(1.0, 1.0)(np.array([0.0, 10.0])).round(6).tolist()
    [1.0, 10.0]
    """

    @checked
    def __init__(self, ref: Float, power: Float) -> None:
        self.ref, self.power = ref, power

    def row(self, x: Any) -> Any:
        return magnitudes.db_to_amplitude(x, self.ref, self.power)

    batch = batch_any_leading_dims


@public("dataset.audio", "dataset.audio.transforms")
class Magphase(AudioTensorOperation):
    """Separate complex numbers <..., complex=2> into magnitude, raised to a power, and phase angle.

    >>> import numpy as np
    >>> [part.round(4).tolist() for part in Magphase()(np.array([[3.0, 4.0]]))]
    [[5.0], [0.9273]]
    """

    @checked
    def __init__(self, power: Power = 1.0) -> None:
        self.power = power

    def row(self, x: Any) -> Any:
        return magnitudes.magnitude_and_phase(x, self.power)
