"""Summary operations: values for summary files, also in every replay of a captured step."""

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

# Operator of a PyTorch library: a capture records it like any other call, and a replay repeats it.
_library = torch.library.Library("millrace", "FRAGMENT")
_library.define("summarise(Tensor value, str text) -> ()")


def _notify_listeners(value: torch.Tensor, text: str) -> None:
    summary_type, _, name = text.partition(" ")
    # what a listener computes is not part of the step, so a capture ignores it
    saved_listeners, storage.host_read_listeners[:] = list(storage.host_read_listeners), []
    try:
        for listener in list(_listeners):
            listener(summary_type, name, wrap(value))
    finally:
        storage.host_read_listeners[:] = saved_listeners


_library.impl("summarise", _notify_listeners, "CompositeExplicitAutograd")


def on_summary(listener: Listener) -> Callable[[], None]:
    """Register ``listener(summary_type, name, value)`` for every summary; call the returned function to remove it.

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
    """Report a value under a name to the listeners (`on_summary`), such as summary files."""

    summary_type = ""

    def __init__(self) -> None:
        super().__init__(type(self).__name__)

    def __call__(self, name: str, value: Tensor) -> None:
        """Report the value; without a listener this has no effect."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"For '{self.name}', the name must be a str, but got {name!r}.")
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"For '{self.name}', the value must be a Tensor, but got {value!r}.")
        torch.ops.millrace.summarise(value._torch.detach(), f"{self.summary_type} {name}")


@public("ops")
class ScalarSummary(_Summary):
    """Report a number under a name to the summary: ``ScalarSummary()("loss", loss)``."""

    summary_type = "scalar"


@public("ops")
class ImageSummary(_Summary):
    """Report images (N, C, H, W) under a name to the summary."""

    summary_type = "image"


@public("ops")
class TensorSummary(_Summary):
    """Report a tensor under a name to the summary."""

    summary_type = "tensor"


@public("ops")
class HistogramSummary(_Summary):
    """Report the histogram of a tensor under a name to the summary."""

    summary_type = "histogram"
