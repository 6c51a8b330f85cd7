"""Every exception Millrace raises on purpose.

    MillraceError
    ├── ArgumentTypeError  (TypeError)     a call was given a value of the wrong type
    ├── ArgumentValueError (ValueError)    right type, impossible value
    ├── PlanError          (RuntimeError)  the pipeline as written cannot run
    ├── DataError          (RuntimeError)  a row could not be read or transformed; carries where it happened
    │   ├── BatchShapeError                rows of one batch do not stack
    │   └── FormatError                    a file is damaged or not what it says it is
    ├── WorkerDied         (RuntimeError)  a worker process vanished (signal, out of memory)
    ├── StallError         (RuntimeError)  something waited on did not come in time
    ├── ResourceError      (RuntimeError)  the machine refused threads, processes, memory or descriptors
    ├── CacheError         (RuntimeError)  a cache server is missing, refuses, or does not know the session
    ├── SinkError          (RuntimeError)  a channel to a device has ended, and a step asked it for a batch
    │   ├── SinkEnded                      its data ended before the steps did
    │   └── SinkStopped                    it was stopped or forgotten: a shutdown, no fault of the data
    ├── CursorError        (ValueError)    a saved state does not belong to this pipeline
    ├── OperationError     (RuntimeError)  an operation on tensors failed for another reason than its arguments
    ├── CheckpointError    (ValueError)    a checkpoint cannot be read: missing, damaged, sealed with another key
    ├── SaveError          (OSError)       a checkpoint could not be written; what was there before is still there
    ├── ParameterMismatch  (RuntimeError)  a saved value does not fit the parameter of its name
    ├── ServeError         (RuntimeError)  a server refuses a request, or a client got no answer; carries a status
    └── MissingExtra       (ImportError)   an optional library is needed and not installed

Each is also the built-in error that MindSpore raises in its place, so both habits of catching work.
"""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "BatchShapeError",
    "CacheError",
    "CheckpointError",
    "CursorError",
    "DataError",
    "FormatError",
    "MillraceError",
    "MissingExtra",
    "OperationError",
    "ParameterMismatch",
    "PlanError",
    "ResourceError",
    "SaveError",
    "ServeError",
    "SinkEnded",
    "DeviceQueueError",
    "SinkStopped",
    "StallError",
    "WorkerDiedError",
]


@public("errors")
class MillraceError(Exception):
    """Root of the tree: catch this to catch everything Millrace raises on purpose."""


@public("errors")
class ArgumentTypeError(MillraceError, TypeError):
    """A parameter got a value of a type it does not take; the text names parameter, value and types."""


@public("errors")
class ArgumentValueError(MillraceError, ValueError):
    """A parameter got a value outside what it takes; the text gives the interval or the choices."""


@public("errors")
class PlanError(MillraceError, RuntimeError):
    """The pipeline is contradictory (an unknown column, say); found before any row is read when possible."""


@public("errors")
class DataError(MillraceError, RuntimeError):
    """A row failed. The context says which op, row, column and file, and the user's traceback is attached.

    >>> error = DataError("boom", op="map(double)", row=3, column="image", file="a.jpg")
    >>> print(error)
    boom
      op: map(double)
      row: 3
      column: image
      file: a.jpg
    """

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message)
        self.message = message
        self.context: dict[str, Any] = {k: v for k, v in context.items() if v is not None}

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  {name}: {value}" for name, value in self.context.items() if name != "traceback"]
        trace = self.context.get("traceback")
        if trace:
            lines.append("  the error inside the user's code:")
            lines += ["    " + line for line in str(trace).rstrip().splitlines()]
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.context))


def _rebuild(error_type: type[DataError], message: str, context: dict[str, Any]) -> DataError:
    return error_type(message, **context)


@public("errors")
class BatchShapeError(DataError):
    """Rows of one batch have different shapes or types; the text names the column and the calls that fix it."""


@public("errors")
class FormatError(DataError):
    """A file is damaged, truncated or lies about its lengths; the context names the file."""


@public("errors")
class WorkerDiedError(MillraceError, RuntimeError):
    """A worker process ended without an answer; the text gives its exit status and what it was doing."""


@public("errors")
class StallError(MillraceError, RuntimeError):
    """Nothing arrived for the configured time; the text names the op and what it waited for."""


@public("errors")
class ResourceError(MillraceError, RuntimeError):
    """The operating system refused a thread, process, descriptor or memory; the text gives need and limit."""


@public("errors")
class CacheError(MillraceError, RuntimeError):
    """The cache cannot be used; ``kind`` says why in one word, such as ``"unreachable"`` or ``"session"``."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.kind))


@public("errors")
class DeviceQueueError(MillraceError, RuntimeError):
    """A channel to a device has ended (its data ended, it was stopped, it never was) and a step asked for a batch."""


@public("errors")
class SinkEnded(DeviceQueueError):
    """The data ended and a step asked for more; the text gives both numbers. Slow data is a StallError instead."""


@public("errors")
class SinkStopped(DeviceQueueError):
    """The channel was stopped, released or forgotten while a step waited, or before it asked."""


@public("errors")
class CursorError(MillraceError, ValueError):
    """A saved iterator state belongs to another pipeline, version or seed."""


@public("errors")
class OperationError(MillraceError, RuntimeError):
    """An operation on tensors failed; the text names it, what it got, and the user's line."""


@public("errors")
class CheckpointError(MillraceError, ValueError):
    """A checkpoint cannot be read; the text names the file, the place in it, and a good one beside it if there is."""


@public("errors")
class SaveError(MillraceError, OSError):
    """A checkpoint could not be written; the text names the file, and for a full disk what was wanted and is free."""


@public("errors")
class ParameterMismatch(MillraceError, RuntimeError):
    """A saved value has another shape or type than the parameter of its name; the text gives both."""


@public("errors")
class ServeError(MillraceError, RuntimeError):
    """A request to a model failed; ``status`` is HTTP's (400 bad request, 404 no such model, 429 too many ...)."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.status))


@public("errors")
class MissingExtra(MillraceError, ImportError):
    """An optional library is missing; the text gives the pip command that installs it."""
