"""Exceptions on their way home: type, message and notes survive, and the worker's traceback comes as text."""

from __future__ import annotations

import traceback
from typing import Any

from millrace._src.core.errors import DataError
from millrace._src.data.engine.transport.chunk_codec import ObjectCodec

from .serialization import flat_dumps, flat_loads

__all__ = ["RemoteTraceback", "pack_error", "unpack_error"]


class RemoteTraceback(Exception):
    """Not an error of its own: shown as the cause of one that happened in a worker process."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text.rstrip()


def pack_error(error: BaseException, objects: ObjectCodec) -> bytes:
    """Bytes that :func:`unpack_error` understands, whatever the exception holds."""
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:  # a user's __str__ may raise
        text = f"{type(error).__name__} (its message cannot be shown)\n"
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    short, pickled = type(error).__qualname__, None
    try:
        short = f"{short}: {error}"
        pickled = flat_dumps(objects, error)
    except Exception:  # it holds what does not pickle
        pass
    return flat_dumps(objects, (pickled, short, notes, text))


def unpack_error(data: Any, objects: ObjectCodec) -> BaseException:
    pickled, short, notes, text = flat_loads(objects, bytes(data))
    error: BaseException
    try:
        error = flat_loads(objects, pickled) if pickled is not None else RuntimeError(short)
        if not isinstance(error, BaseException):
            raise TypeError
    except Exception:  # a class whose __init__ wants other arguments, or that is not known here
        error = RuntimeError(short)
    if notes and not getattr(error, "__notes__", None):
        for note in notes:
            error.add_note(note)
    # A DataError shows the user's traceback in its own text; any other gets it as its cause.
    if not (isinstance(error, DataError) and error.context.get("traceback")):
        error.__cause__ = RemoteTraceback(text)
    return error
