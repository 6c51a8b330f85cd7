"""Tracebacks that end at the user's line: frames of Millrace are removed from the errors that it raises.

``MILLRACE_TRACEBACK=full`` keeps them. An error that is not one of Millrace's classes keeps every frame: it may be a
defect of Millrace, and its frames show where.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from .errors import MillraceError

__all__ = ["hide_internal_frames", "hides_internal_frames"]

VARIABLE = "MILLRACE_TRACEBACK"
# The folder `millrace/_src`, as frames of code name it.
_INTERNAL = str(Path(__file__).parents[1]) + os.sep

Function = TypeVar("Function", bound=Callable[..., Any])


def hide_internal_frames(error: BaseException) -> None:
    """Remove the frames of Millrace from the traceback of an error that is about to leave it, and of its causes.

    The caller re-raises with a bare ``raise``, which adds no frame for itself.
    """
    if os.environ.get(VARIABLE) == "full":
        return
    error.__traceback__ = _user_frames(error.__traceback__)
    for cause in _causes(error):
        # an error of the user's code keeps its last frame at least
        cause.__traceback__ = _user_frames(cause.__traceback__) or cause.__traceback__


def _user_frames(traceback: TracebackType | None) -> TracebackType | None:
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_INTERNAL):
            frames.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def hides_internal_frames(function: Function) -> Function:
    """Let errors of Millrace leave a public function without internal frames.

    >>> @hides_internal_frames
    ... def fail() -> None:
    ...     raise MillraceError("not possible")
    >>> fail()
    Traceback (most recent call last):
    ...
    millrace.errors.MillraceError: not possible
    """

    @functools.wraps(function)
    def boundary(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except MillraceError as error:
            hide_internal_frames(error)
            raise

    return cast(Function, boundary)
