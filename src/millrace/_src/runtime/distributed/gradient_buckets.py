"""All-reduce of gradients in buckets that overlaps with the backward pass.

Parameters are assigned to buckets in the order in which their gradients are expected: the last layer comes
first. A bucket whose gradients are all ready is sent at once. All processes send the buckets in the same
order, since they have to make the same calls in the same order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from millrace._src.runtime.ops.collective.torch_library_ops import start_all_reduce, wait_all_reduce

__all__ = ["GradientReducer"]

# The first bucket is small, so that communication starts early.
FIRST_BUCKET_BYTES, BUCKET_BYTES = 1 << 20, 25 << 20

_tickets = itertools.count(1)


@dataclass
class GradientBucket:
    """The indices of some parameters and their gradients of the current step."""

    indices: list[int]
    ticket: int
    gradients: dict[int, torch.Tensor] = field(default_factory=dict)
    flat: torch.Tensor | None = None


class GradientReducer:
    """All-reduces the gradients of one list of parameters."""

    def __init__(
        self, parameters: Sequence[torch.Tensor], is_reduced: Sequence[bool], group: str, factor: float
    ) -> None:
        self.group, self.factor = group, factor
        self._shapes = [parameter.shape for parameter in parameters]
        self._buckets = _assign_buckets(parameters, is_reduced)
        self._bucket_of = {index: bucket for bucket in self._buckets for index in bucket.indices}
        self._sent = 0
        self.in_progress = False
        self._scale: torch.Tensor | None = None

    def begin(self, scale: torch.Tensor | None = None) -> None:
        """Start a backward pass. Gradients are divided by `scale` before they are sent."""
        for bucket in self._buckets:
            bucket.gradients.clear()
            bucket.flat = None
        self._sent, self._scale, self.in_progress = 0, scale, True

    def mark_ready(self, index: int, gradient: torch.Tensor) -> None:
        """Store a gradient and send the buckets that are complete."""
        bucket = self._bucket_of.get(index)
        if bucket is not None:
            bucket.gradients[index] = gradient
            self._send(lambda bucket: len(bucket.gradients) == len(bucket.indices))

    def finish(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Send the remaining buckets, wait for all, and return the reduced gradients."""
        for bucket in self._buckets[self._sent :]:
            for index in bucket.indices:
                bucket.gradients.setdefault(
                    index, gradients[index]
                )  # the parameter has no influence on the result
        self._send(lambda bucket: True)
        reduced = list(gradients)
        if self._scale is not None:  # gradients that are not reduced
            reduced = [
                each if at in self._bucket_of else self._unscaled(each) for at, each in enumerate(reduced)
            ]
        for bucket in self._buckets:
            assert bucket.flat is not None
            wait_all_reduce(bucket.flat, bucket.ticket)
            if self.factor != 1.0:
                bucket.flat.mul_(self.factor)
            parts = bucket.flat.split([self._shapes[index].numel() for index in bucket.indices])
            for index, part in zip(bucket.indices, parts, strict=True):
                reduced[index] = part.view(self._shapes[index])
            bucket.gradients.clear()
            bucket.flat = None
        self.in_progress = False
        return reduced

    def _send(self, is_ready: object) -> None:
        while self._sent < len(self._buckets) and is_ready(self._buckets[self._sent]):  # type: ignore[operator]
            bucket = self._buckets[self._sent]
            flat = torch.cat([bucket.gradients[index].reshape(-1) for index in bucket.indices])
            bucket.flat = self._unscaled(flat)
            bucket.gradients.clear()
            start_all_reduce(bucket.flat, "sum", self.group, bucket.ticket)
            self._sent += 1

    def _unscaled(self, gradient: torch.Tensor) -> torch.Tensor:
        return gradient if self._scale is None else (gradient / self._scale).to(gradient.dtype)


def _assign_buckets(parameters: Sequence[torch.Tensor], is_reduced: Sequence[bool]) -> list[GradientBucket]:
    """Buckets of one dtype and device each, from the last parameter to the first."""
    buckets: list[GradientBucket] = []
    open_buckets: dict[tuple[torch.dtype, torch.device], tuple[GradientBucket, int]] = {}
    for index in reversed(range(len(parameters))):
        if not is_reduced[index]:
            continue
        parameter = parameters[index]
        size, key = parameter.numel() * parameter.element_size(), (parameter.dtype, parameter.device)
        bucket, bucket_bytes = open_buckets.get(key, (None, 0))
        if bucket is None or bucket_bytes + size > (
            FIRST_BUCKET_BYTES if bucket is buckets[0] else BUCKET_BYTES
        ):
            bucket, bucket_bytes = GradientBucket([], next(_tickets)), 0
            buckets.append(bucket)
        bucket.indices.append(index)
        open_buckets[key] = bucket, bucket_bytes + size
    return buckets
