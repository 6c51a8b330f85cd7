"""Values handed over to the summary of a training, in every replay of a recorded step too."""

from __future__ import annotations

from collections.abc import Callable

import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.tensor import storage
from millrace._src.runtime.tensor.storage import wrap

__all__ = [
    "HistogramSummary",
    "ImageSummary",
    "ScalarSummary",
    "TensorSummary",
    "on_summary",
]

Listener = Callable[[str, str, Tensor], None]
_listeners: list[Listener] = []

# An operator of PyTorch's own kind: a recording writes it down like any other call, and a replay does it again.
_library = torch.library.Library("millrace", "FRAGMENT")
_library.define("summarise(Tensor value, str text) -> ()")


def _tell(value: torch.Tensor, text: str) -> None:
    kind, _, name = text.partition(" ")
    # what a listener does with a value is no part of the step: a recording need not follow it there
    told, storage.host_read_listeners[:] = list(storage.host_read_listeners), []
    try:
        for listener in list(_listeners):
            listener(kind, name, wrap(value))
    finally:
        storage.host_read_listeners[:] = told


_library.impl("summarise", _tell, "CompositeExplicitAutograd")


def on_summary(listener: Listener) -> Callable[[], None]:
    """Call ``listener(kind, name, value)`` for every summary; what is returned ends that.

    >>> seen = []
    >>> stop = on_summary(lambda kind, name, value: seen.append((kind, name, float(value))))
    >>> ScalarSummary()("loss", Tensor(0.5))
    >>> stop()
    >>> seen
    [('scalar', 'loss', 0.5)]
    """
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


class _Summary(Primitive):
    """A value under a name, for whoever listens (`on_summary`): summary files, in training."""

    kind = ""

    def __init__(self) -> None:
        super().__init__(type(self).__name__)

    def __call__(self, name: str, value: Tensor) -> None:
        """Hand the value over; nothing happens where nobody listens."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"For '{self.name}', the name must be a str, but got {name!r}.")
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"For '{self.name}', the value must be a Tensor, but got {value!r}.")
        torch.ops.millrace.summarise(value._torch.detach(), f"{self.kind} {name}")


@public("ops")
class ScalarSummary(_Summary):
    """A number under a name, for the summary: ``ScalarSummary()("loss", loss)``."""

    kind = "scalar"


@public("ops")
class ImageSummary(_Summary):
    """Pictures (N, C, H, W) under a name, for the summary."""

    kind = "image"


@public("ops")
class TensorSummary(_Summary):
    """A tensor under a name, for the summary."""

    kind = "tensor"


@public("ops")
class HistogramSummary(_Summary):
    """The distribution of a tensor's values under a name, for the summary."""

    kind = "histogram"
