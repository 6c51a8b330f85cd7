"""The exception classes of Millrace.

    MillraceError
    ├── ArgumentTypeError  (TypeError)     an argument has the wrong type
    ├── ArgumentValueError (ValueError)    an argument has the right type and an invalid value
    ├── PlanError          (RuntimeError)  the pipeline as written cannot run
    ├── DataError          (RuntimeError)  a row could not be read or transformed; has the op, row, column and file
    │   ├── BatchShapeError                rows of one batch do not stack
    │   └── FormatError                    a file is damaged or has another format
    ├── WorkerDiedError    (RuntimeError)  a worker process ended unexpectedly (signal, out of memory)
    ├── StallError         (RuntimeError)  a timeout expired
    ├── ResourceError      (RuntimeError)  the system refused threads, processes, memory or descriptors
    ├── CacheError         (RuntimeError)  a cache server is missing, refuses, or does not know the session
    ├── DeviceQueueError   (RuntimeError)  a step requested a batch from a device queue that has ended
    │   ├── SinkEnded                      its data ended before the steps did
    │   └── SinkStopped                    it was stopped or released: a shutdown, not a data error
    ├── CursorError        (ValueError)    a saved state does not belong to this pipeline
    ├── OperationError     (RuntimeError)  an operation on tensors failed for another reason than its arguments
    ├── CheckpointError    (ValueError)    a checkpoint cannot be read: missing, damaged, or encrypted with another key
    ├── SaveError          (OSError)       a checkpoint could not be written; an earlier file is unchanged
    ├── ParameterMismatch  (RuntimeError)  a saved value does not fit the parameter of its name
    ├── ServeError         (RuntimeError)  a server refuses a request, or a client gets no response; has a status
    └── MissingExtra       (ImportError)   an optional library is needed and not installed

Each class also derives from the built-in exception that MindSpore raises, so that scripts can catch either one.
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
    """Base class of all exceptions of Millrace."""


@public("errors")
class ArgumentTypeError(MillraceError, TypeError):
    """An argument has the wrong type; the text names the parameter, the value and the expected types."""


@public("errors")
class ArgumentValueError(MillraceError, ValueError):
    """An argument has an invalid value; the text gives the interval or the choices."""


@public("errors")
class PlanError(MillraceError, RuntimeError):
    """The pipeline is contradictory (for example, an unknown column); raised before any row is read if possible."""


@public("errors")
class DataError(MillraceError, RuntimeError):
    """A row failed. The context has the op, row, column and file, and the user's traceback is attached.

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
    """A file is damaged, truncated or has wrong lengths; the context names the file."""


@public("errors")
class WorkerDiedError(MillraceError, RuntimeError):
    """A worker process ended without a result; the text gives its exit status and its task."""


@public("errors")
class StallError(MillraceError, RuntimeError):
    """A timeout expired; the text names the op and what it waited for."""


@public("errors")
class ResourceError(MillraceError, RuntimeError):
    """The operating system refused a thread, process, descriptor or memory; the text gives request and limit."""


@public("errors")
class CacheError(MillraceError, RuntimeError):
    """The cache cannot be used; ``kind`` is the reason, such as ``"unreachable"`` or ``"session"``."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.kind))


@public("errors")
class DeviceQueueError(MillraceError, RuntimeError):
    """A step requested a batch from a device queue that has ended, was stopped, or does not exist."""


@public("errors")
class SinkEnded(DeviceQueueError):
    """The data ended before the steps did; the text gives both numbers. Slow data is a StallError instead."""


@public("errors")
class SinkStopped(DeviceQueueError):
    """The device queue was stopped or released while a step waited for a batch, or before."""


@public("errors")
class CursorError(MillraceError, ValueError):
    """A saved iterator state belongs to another pipeline, version or seed."""


@public("errors")
class OperationError(MillraceError, RuntimeError):
    """An operation on tensors failed; the text names the operation, its arguments, and the user's line."""


@public("errors")
class CheckpointError(MillraceError, ValueError):
    """A checkpoint cannot be read; the text names the file, the position in it, and a valid one next to it if any."""


@public("errors")
class SaveError(MillraceError, OSError):
    """A checkpoint could not be written; the text names the file, and for a full disk the required and free bytes."""


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


# Tracebacks and pickles contain the public path; the package loads the module of that name.
for _name in __all__:
    globals()[_name].__module__ = "millrace.errors"
