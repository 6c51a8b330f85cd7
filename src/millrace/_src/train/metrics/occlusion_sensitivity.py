"""Occlusion sensitivity: the effect of covering parts of the input on the output."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.nn.cell import Cell

from .metric import Metric, as_array, check_input_count, not_updated_error, rearrange_inputs

__all__ = ["OcclusionSensitivity"]


@public("nn", "train", "millrace")
class OcclusionSensitivity(Metric):
    """Decrease of a label's score when the area around each element is covered with ``pad_val``.

    ``margin`` may be one number per axis (MindSpore takes one for all).

    >>> from millrace import nn
    >>> net = nn.Dense(3, 2, weight_init="ones")
    >>> metric = OcclusionSensitivity(margin=1)
    >>> metric.update(net, np.array([[1.0, 2.0, 4.0]], np.float32), np.array([0]))
    >>> metric.eval().round(3).tolist()
    [1.0, 3.0, 6.0]
    """

    def __init__(
        self,
        pad_val: float = 0.0,
        margin: int | list[int] = 2,
        n_batch: int = 128,
        b_box: list[int] | None = None,
    ) -> None:
        super().__init__()
        owner = "OcclusionSensitivity"
        self.pad_val = check_argument_type(pad_val, "pad_val", owner, float)
        self.margin = check_argument_type(margin, "margin", owner, int, list)
        self.n_batch = check_argument_type(n_batch, "n_batch", owner, int)
        if n_batch < 1:
            raise ArgumentValueError(
                f"For '{owner}', the argument 'n_batch' must be at least 1, but got {n_batch}."
            )
        self.b_box = None if b_box is None else check_argument_type(b_box, "b_box", owner, list)
        self.clear()

    def clear(self) -> None:
        self._baseline = 0.0
        self._sensitivity_im: Any = 0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        owner = "OcclusionSensitivity"
        net, sample, label = check_input_count(
            3, inputs, owner, "classification model, predicted value, label"
        )
        image = as_array(sample)
        label = np.array([label]) if isinstance(label, int) else as_array(label)
        check_argument_type(net, "model", owner, Cell)
        if image.shape[0] != 1:
            raise OperationError(
                f"For '{owner}.update', the shape at index 0 of the predicted value (input[1]) must be 1, but got "
                f"{image.shape[0]}."
            )
        if label.size != 1:
            raise OperationError(
                f"For '{owner}.update', the number of the label (input[2]) must be same as the batches, but got the "
                f"label number {label.size}, and batches {image.shape[0]}."
            )
        wanted = int(label.item())
        shape = image.shape[1:]
        low, size = self._box(shape)
        margins = self.margin if isinstance(self.margin, list) else [self.margin] * len(shape)
        if len(margins) != len(shape):
            raise ArgumentValueError(
                f"For '{owner}', the argument 'margin' must be one int, or one for each of {len(shape)} axes, but got "
                f"{self.margin}."
            )
        self._baseline = net(Tensor(image)).asnumpy()[0, wanted].item()
        scores = []
        positions = np.ndindex(*size)
        while batch := [covered for _, covered in zip(range(self.n_batch), positions)]:
            images = np.repeat(image, len(batch), axis=0)
            for row, position in zip(images, batch, strict=True):
                at = [i + start for i, start in zip(position, low, strict=True)]
                covered = (
                    slice(max(0, i - m), min(end, i + m))
                    for i, m, end in zip(at, margins, shape, strict=True)
                )
                row[tuple(covered)] = self.pad_val
            scores.append(net(Tensor(images)).asnumpy()[:, wanted])
        self._sensitivity_im = np.concatenate(scores).reshape(size)
        self._is_update = True

    def _box(self, shape: tuple[int, ...]) -> tuple[list[int], tuple[int, ...]]:
        """Start and size of the region to cover step by step."""
        if self.b_box is None:
            return [0] * len(shape), shape
        if len(self.b_box) != 2 * len(shape):
            raise ArgumentValueError(
                "For 'OcclusionSensitivity', the bounding box must contain upper and lower for all dimensions (except "
                "batch number), and the length of 'b_box' must be twice as long as predicted value's (except batch "
                f"number), but got 'b_box' length {len(self.b_box)}, predicted value length (except batch number) "
                f"{len(shape)}."
            )
        low = [max(0, each) for each in self.b_box[::2]]
        high = [end - 1 if each < 0 else each for each, end in zip(self.b_box[1::2], shape, strict=True)]
        if any(each >= end for each, end in zip(high, shape, strict=True)):
            raise ArgumentValueError(
                "For 'OcclusionSensitivity', maximum bounding box must be smaller than image size for all values, but "
                f"got {self.b_box} for the size {shape}."
            )
        if any(a > b for a, b in zip(low, high, strict=True)):
            raise ArgumentValueError(
                "For 'OcclusionSensitivity', minimum bounding box must be smaller than maximum bounding box for all "
                f"values, but got {self.b_box}."
            )
        return low, tuple(b - a + 1 for a, b in zip(low, high, strict=True))

    def eval(self) -> Any:
        if not self._is_update:
            raise not_updated_error()
        return self._baseline - np.squeeze(self._sensitivity_im)
