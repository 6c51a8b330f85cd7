"""SpecAugment: mask bands of a spectrogram."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

from millrace._src.core.args import Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.audio import spec_augment as masks
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    NonNegativeInt,
    PositiveInt,
    check_interval,
)

from .base import AudioTensorOperation, batch_any_leading_dims

__all__ = ["FrequencyMasking", "MaskAlongAxis", "MaskAlongAxisIID", "TimeMasking"]

Value = Annotated[int | float, Range(-FLOAT_MAX, FLOAT_MAX)]
Axis = Annotated[int, Range(1, 2)]


def _check_mask_param(name: str, value: Any) -> None:
    # MindSpore's message calls both mask_param
    check_type(value, (int,), "mask_param")
    check_interval(value, 0, FLOAT_MAX, "mask_param")


MaskParam = Annotated[Any, ArgumentRule(_check_mask_param)]
Start = Annotated[int, Range(0, FLOAT_MAX)]
NonNegativeValue = Annotated[int | float, Range(0, FLOAT_MAX)]


@public("dataset.audio", "dataset.audio.transforms")
class MaskAlongAxis(AudioTensorOperation):
    """Mask a band of frequencies (axis 1) or of time steps (axis 2) with a value.

    >>> import numpy as np
    >>> MaskAlongAxis(1, 2, 0.0, 2)(np.ones((1, 2, 4))).tolist()
    [[[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]]
    """

    dims: ClassVar[int] = 2

    @checked
    def __init__(
        self, mask_start: NonNegativeInt, mask_width: PositiveInt, mask_value: Value, axis: Axis
    ) -> None:
        self.mask_start, self.mask_width, self.mask_value, self.axis = (
            mask_start,
            mask_width,
            mask_value,
            axis,
        )

    def row(self, x: Any) -> Any:
        masks.check_spectrogram(x, "MaskAlongAxis")
        return masks.mask_axis(x, self.mask_start, self.mask_width, self.mask_value, self.axis - 3)

    batch = batch_any_leading_dims


class _MaskSpec(NamedTuple):
    """A mask; ``message`` is the error for one that may be longer than its axis."""

    max_width: int
    value: float
    axis: int
    message: str


class RandomMaskOperation(AudioTensorOperation):
    """A random mask: its width from 0 to the maximum, both included, and then its start, uniformly distributed."""

    _is_builtin = True
    random = True
    dims: ClassVar[int] = 2

    def mask_spec(self) -> _MaskSpec:
        raise ArgumentTypeError(f"{type(self).__name__} does not define mask_spec()")

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (rng.uniforms(range(2)),)

    def row(self, x: Any, units: Any) -> Any:
        spec = self.mask_spec()
        masks.check_spectrogram(x, type(self).__name__)
        masks.check_mask_width(x, spec.max_width, spec.axis, spec.message)
        start, width = masks.mask_span(x.shape[spec.axis], spec.max_width, units)
        return masks.apply_mask(x, start, width, spec.value, spec.axis)

    def batch(self, xs: Any, units: Any) -> Any:
        """Compute all rows at once; None where one of them would be refused."""
        spec = self.mask_spec()
        if (
            xs.ndim <= self.dims
            or not xs.size
            or xs.dtype.kind not in "biuf"
            or spec.max_width > xs.shape[spec.axis]
        ):
            return None
        return masks.apply_masks(xs, spec.max_width, units, spec.value, spec.axis)


@public("dataset.audio", "dataset.audio.transforms")
class MaskAlongAxisIID(RandomMaskOperation):
    """Mask a random band of frequencies (axis 1) or of time steps (axis 2), at most ``mask_param`` wide.

    As in MindSpore, one band is sampled for the whole value, all channels together.

    >>> import numpy as np
    >>> MaskAlongAxisIID(2, 0.0, 1)(np.ones((1, 4, 5))).shape
    (1, 4, 5)
    """

    @checked
    def __init__(self, mask_param: NonNegativeInt, mask_value: Value, axis: Axis) -> None:
        self.mask_param, self.mask_value, self.axis = mask_param, mask_value, axis

    def mask_spec(self) -> _MaskSpec:
        name = "frequency" if self.axis == 1 else "time"
        message = (
            f"MaskAlongAxisIID: mask_param should be less than or equal to the length of {name} dimension."
        )
        return _MaskSpec(self.mask_param, self.mask_value, self.axis - 3, message)


class MaskingOperation(RandomMaskOperation, ours=True):
    """A mask along one axis: at a given position, or (``iid_masks``) at random."""

    _is_builtin = True
    iid_masks: bool
    mask_start: int

    @property
    def random(self) -> bool:  # type: ignore[override]
        return self.iid_masks

    def row(self, x: Any, units: Any = None) -> Any:
        if self.random:
            return super().row(x, units)
        spec = self.mask_spec()
        masks.check_spectrogram(x, type(self).__name__)
        masks.check_mask_width(x, spec.max_width, spec.axis, spec.message)
        return masks.mask_axis(x, self.mask_start, spec.max_width, spec.value, spec.axis)

    def batch(self, xs: Any, units: Any = None) -> Any:
        return super().batch(xs, units) if self.random else batch_any_leading_dims(self, xs)


# MindSpore's message ends with frequency_mask_param for both
_TOO_LONG = (
    "{op}: invalid parameter, '{what}_mask_param' should be less than or equal to the length of {what} dimension, "
    "but got: 'frequency_mask_param' {{longest}} and length {{length}}"
)


@public("dataset.audio", "dataset.audio.transforms")
class FrequencyMasking(MaskingOperation):
    """Mask a band of frequencies from ``mask_start`` on, ``freq_mask_param`` wide.

    With ``iid_masks`` that is the maximum width, and width and position are sampled at random.

    >>> import numpy as np
    >>> FrequencyMasking(False, 1, 1)(np.ones((3, 2))).tolist()
    [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """

    @checked
    def __init__(
        self,
        iid_masks: bool = False,
        freq_mask_param: MaskParam = 0,
        mask_start: Start = 0,
        mask_value: NonNegativeValue = 0.0,
    ) -> None:
        self.iid_masks, self.freq_mask_param = iid_masks, freq_mask_param
        self.mask_start, self.mask_value = mask_start, mask_value

    def mask_spec(self) -> _MaskSpec:
        message = _TOO_LONG.format(op="FrequencyMasking", what="frequency")
        return _MaskSpec(self.freq_mask_param, self.mask_value, -2, message)


@public("dataset.audio", "dataset.audio.transforms")
class TimeMasking(MaskingOperation):
    """Mask a band of time steps from ``mask_start`` on, ``time_mask_param`` wide.

    With ``iid_masks`` that is the maximum width, and width and position are sampled at random.

    >>> import numpy as np
    >>> TimeMasking(False, 2, 1)(np.ones((1, 4))).tolist()
    [[1.0, 0.0, 0.0, 1.0]]
    """

    @checked
    def __init__(
        self,
        iid_masks: bool = False,
        time_mask_param: MaskParam = 0,
        mask_start: Start = 0,
        mask_value: NonNegativeValue = 0.0,
    ) -> None:
        self.iid_masks, self.time_mask_param = iid_masks, time_mask_param
        self.mask_start, self.mask_value = mask_start, mask_value

    def mask_spec(self) -> _MaskSpec:
        message = _TOO_LONG.format(op="TimeMasking", what="time")
        return _MaskSpec(self.time_mask_param, self.mask_value, -1, message)
