"""Gradients of several processes put together, many in one message, while the backward pass still runs.

Parameters are dealt into buckets in the order in which their gradients are expected: that of the last layer comes
first. A bucket whose gradients have all arrived is sent at once. Buckets are sent in one order everywhere, since every
process has to make the same calls in the same order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from millrace._src.runtime.ops.collective.torch_library_ops import start_all_reduce, wait_all_reduce

__all__ = ["GradientReducer"]

# The first is small, so that sending begins early; the others are as large as a message should be.
FIRST, SIZE = 1 << 20, 25 << 20

_tickets = itertools.count(1)


@dataclass
class GradientBucket:
    """Some parameters, by their places, and what has arrived of them in this step."""

    places: list[int]
    ticket: int
    here: dict[int, torch.Tensor] = field(default_factory=dict)
    flat: torch.Tensor | None = None


class GradientReducer:
    """The gradients of one list of parameters."""

    def __init__(
        self, parameters: Sequence[torch.Tensor], taken: Sequence[bool], group: str, factor: float
    ) -> None:
        self.group, self.factor = group, factor
        self._shapes = [parameter.shape for parameter in parameters]
        self._buckets = _assign_buckets(parameters, taken)
        self._where = {place: bucket for bucket in self._buckets for place in bucket.places}
        self._sent = 0
        self.under_way = False
        self._scale: torch.Tensor | None = None

    def begin(self, scale: torch.Tensor | None = None) -> None:
        """A backward pass begins; gradients are divided by `scale` before they are sent."""
        for bucket in self._buckets:
            bucket.here.clear()
            bucket.flat = None
        self._sent, self._scale, self.under_way = 0, scale, True

    def mark_ready(self, place: int, gradient: torch.Tensor) -> None:
        """A gradient is there. What is complete is sent."""
        bucket = self._where.get(place)
        if bucket is not None:
            bucket.here[place] = gradient
            self._send(lambda each: len(each.here) == len(each.places))

    def finish(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Send what is left, wait for all, and give the gradients of all processes together."""
        for bucket in self._buckets[self._sent :]:
            for place in bucket.places:
                bucket.here.setdefault(place, gradients[place])  # a parameter without a part in the result
        self._send(lambda each: True)
        made = list(gradients)
        if self._scale is not None:  # those that stay with each process
            made = [each if at in self._where else self._unscaled(each) for at, each in enumerate(made)]
        for bucket in self._buckets:
            assert bucket.flat is not None
            wait_all_reduce(bucket.flat, bucket.ticket)
            if self.factor != 1.0:
                bucket.flat.mul_(self.factor)
            parts = bucket.flat.split([self._shapes[place].numel() for place in bucket.places])
            for place, part in zip(bucket.places, parts, strict=True):
                made[place] = part.view(self._shapes[place])
            bucket.here.clear()
            bucket.flat = None
        self.under_way = False
        return made

    def _send(self, ready: object) -> None:
        while self._sent < len(self._buckets) and ready(self._buckets[self._sent]):  # type: ignore[operator]
            bucket = self._buckets[self._sent]
            flat = torch.cat([bucket.here[place].reshape(-1) for place in bucket.places])
            bucket.flat = self._unscaled(flat)
            bucket.here.clear()
            start_all_reduce(bucket.flat, "sum", self.group, bucket.ticket)
            self._sent += 1

    def _unscaled(self, gradient: torch.Tensor) -> torch.Tensor:
        return gradient if self._scale is None else (gradient / self._scale).to(gradient.dtype)


def _assign_buckets(parameters: Sequence[torch.Tensor], taken: Sequence[bool]) -> list[GradientBucket]:
    """Buckets of one type and device each, from the last parameter to the first."""
    made: list[GradientBucket] = []
    filled: dict[tuple[torch.dtype, torch.device], tuple[GradientBucket, int]] = {}
    for place in reversed(range(len(parameters))):
        if not taken[place]:
            continue
        parameter = parameters[place]
        size, kind = parameter.numel() * parameter.element_size(), (parameter.dtype, parameter.device)
        bucket, held = filled.get(kind, (None, 0))
        if bucket is None or held + size > (FIRST if bucket is made[0] else SIZE):
            bucket, held = GradientBucket([], next(_tickets)), 0
            made.append(bucket)
        bucket.places.append(place)
        filled[kind] = bucket, held + size
    return made
