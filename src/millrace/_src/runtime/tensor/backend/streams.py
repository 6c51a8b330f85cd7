"""Streams and events: PyTorch's on a GPU. On a CPU operations run in order, and they have no effect."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public

from .context import get_context, get_device

__all__ = [
    "Event",
    "Stream",
    "StreamCtx",
    "communication_stream",
    "current_stream",
    "default_stream",
    "set_cur_stream",
    "synchronize",
]

logger = get_logger(__name__)

_warned: list[str] = []


def _on_gpu() -> bool:
    return get_device() != "cpu"


def _log_no_effect(name: str) -> None:
    if not _warned:
        _warned.append(name)
        logger.info("%s: on a CPU operations run in order; streams and events have no effect", name)


@public("millrace", "runtime", "hal")
class Stream:
    """A queue of GPU work. On a CPU there is one stream, which is always idle.

    >>> stream = Stream()
    >>> stream.synchronize()
    >>> stream.query()
    True
    """

    def __init__(self, priority: int = 0, **kwargs: Any) -> None:
        stream = kwargs.get("stream")
        if stream is not None:
            self._stream = stream
        elif _on_gpu():
            self._stream = torch.cuda.Stream(device=get_device(), priority=priority)
        else:
            _log_no_effect("Stream")
            self._stream = None

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event in this stream and return it."""
        event = Event() if event is None else event
        if not isinstance(event, Event):
            raise ArgumentTypeError(
                f"For 'record_event', the argument 'event' should be Event, but got {type(event)}."
            )
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make later work in this stream wait for an event in another stream."""
        if not isinstance(event, Event):
            raise ArgumentTypeError(
                f"For 'wait_event', the argument 'event' should be Event, but got {type(event)}."
            )
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make later work in this stream wait for all current work in another stream."""
        if not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"For 'wait_stream', the argument 'stream' should be Stream, but got {type(stream)}."
            )
        if self._stream is not None and stream._stream is not None:
            self._stream.wait_stream(stream._stream)

    def synchronize(self) -> None:
        """Block until all queued work is done."""
        if self._stream is not None:
            self._stream.synchronize()

    def query(self) -> bool:
        """Whether all queued work is done."""
        return True if self._stream is None else bool(self._stream.query())

    @property
    def id(self) -> int:
        """The id of this stream."""
        return 0 if self._stream is None else int(self._stream.stream_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._stream == other._stream

    def __hash__(self) -> int:
        return hash(self._stream)

    def __repr__(self) -> str:
        target, number = get_context("device_target"), get_context("device_id")
        return f"Stream(device_name={target}, device_id:{number}, stream id:{self.id})"


@public("millrace", "runtime", "hal")
class Event:
    """An event in a stream, to wait for or to measure elapsed time. On a CPU it stores the time at which it
    was recorded.

    >>> start, end = Event(enable_timing=True), Event(enable_timing=True)
    >>> start.record(), end.record()
    (None, None)
    >>> start.elapsed_time(end) >= 0
    True
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self._timing, self._blocking = enable_timing, blocking
        self._event = torch.cuda.Event(enable_timing=enable_timing, blocking=blocking) if _on_gpu() else None
        self._recorded_at: float | None = None
        if self._event is None:
            _log_no_effect("Event")

    def record(self, stream: Stream | None = None) -> None:
        """Record the event in a stream, or in the current one."""
        if stream is not None and not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"For 'record', the argument 'stream' should be Stream, but got {type(stream)}."
            )
        self._recorded_at = time.perf_counter()
        if self._event is not None:
            self._event.record(_torch_stream(stream))

    def wait(self, stream: Stream | None = None) -> None:
        """Make later work in a stream wait for the event."""
        if self._event is not None:
            self._event.wait(_torch_stream(stream))

    def synchronize(self) -> None:
        """Block until the event is reached."""
        if self._event is not None:
            self._event.synchronize()

    def query(self) -> bool:
        """Whether the event is reached."""
        return True if self._event is None else bool(self._event.query())

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between this event and a later one."""
        if not isinstance(end_event, Event):
            raise ArgumentTypeError(
                f"For 'elapsed_time', the argument 'end_event' should be Event, but got {type(end_event)}."
            )
        if not (self._timing and end_event._timing):
            raise OperationError("Event.elapsed_time needs two events created with enable_timing=True.")
        if self._recorded_at is None or end_event._recorded_at is None:
            raise OperationError("Event.elapsed_time: record both events first.")
        if self._event is not None and end_event._event is not None:
            return float(self._event.elapsed_time(end_event._event))
        return (end_event._recorded_at - self._recorded_at) * 1000

    def __repr__(self) -> str:
        is_created = self._recorded_at is not None
        return (
            f"Event(enable_timing={self._timing:d}, blocking:{self._blocking:d}, is_created:{is_created:d})"
        )


@public("millrace", "runtime", "hal")
class StreamCtx:
    """Context manager: work inside the ``with`` block is queued in a stream.

    >>> with StreamCtx(Stream()):
    ...     pass
    """

    def __init__(self, ctx_stream: Stream | None) -> None:
        if ctx_stream is not None and not isinstance(ctx_stream, Stream):
            raise ArgumentTypeError(
                f"For 'StreamCtx', the argument 'ctx_stream' should be Stream, but got {type(ctx_stream)}."
            )
        self._inner = (
            torch.cuda.stream(_torch_stream(ctx_stream)) if ctx_stream is not None and _on_gpu() else None
        )

    def __enter__(self) -> StreamCtx:
        if self._inner is not None:
            self._inner.__enter__()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._inner is not None:
            self._inner.__exit__(exc_type, exc, traceback)


def _torch_stream(stream: Stream | None) -> Any:
    return torch.cuda.current_stream() if stream is None or stream._stream is None else stream._stream


@public("millrace", "runtime", "hal")
def current_stream() -> Stream:
    """The current stream.

    >>> current_stream() == default_stream()
    True
    """
    return Stream(stream=torch.cuda.current_stream(get_device())) if _on_gpu() else Stream()


@public("millrace", "runtime", "hal")
def default_stream() -> Stream:
    """The default stream of the device.

    >>> default_stream().query()
    True
    """
    return Stream(stream=torch.cuda.default_stream(get_device())) if _on_gpu() else Stream()


@public("millrace", "runtime", "hal")
def communication_stream() -> Stream:
    """The stream that waits for communication: the current one, since PyTorch manages separate communication
    streams.

    >>> communication_stream().query()
    True
    """
    return current_stream()


@public("millrace", "runtime", "hal")
def set_cur_stream(stream: Stream | None) -> None:
    """Set the current stream.

    >>> set_cur_stream(default_stream())
    """
    if stream is None:
        return
    if not isinstance(stream, Stream):
        raise ArgumentTypeError(
            f"For 'set_cur_stream', the argument 'stream' should be Stream, but got {type(stream)}."
        )
    if stream._stream is not None:
        torch.cuda.set_stream(stream._stream)


@public("millrace", "runtime", "hal")
def synchronize() -> None:
    """Block until the device has completed all queued work.

    >>> synchronize()
    """
    if _on_gpu():
        torch.cuda.synchronize(get_device())
