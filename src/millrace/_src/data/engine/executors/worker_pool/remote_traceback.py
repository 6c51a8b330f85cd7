"""Exceptions across process boundaries: type, message and notes survive, with the remote traceback as text."""

from __future__ import annotations

import traceback
from typing import Any

from millrace._src.core.errors import DataError
from millrace._src.data.engine.transport.chunk_codec import ObjectCodec

from .serialization import flat_dumps, flat_loads

__all__ = ["RemoteTraceback", "pack_error", "unpack_error"]


class RemoteTraceback(Exception):
    """Shown as the cause of an exception that was raised in a worker process."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text.rstrip()


def pack_error(error: BaseException, objects: ObjectCodec) -> bytes:
    """Encode an exception for :func:`unpack_error`, whatever it holds."""
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
    except Exception:  # the class has another signature, or cannot be imported here
        error = RuntimeError(short)
    if notes and not getattr(error, "__notes__", None):
        for note in notes:
            error.add_note(note)
    # A DataError shows the user's traceback in its own text; any other gets it as its cause.
    if not (isinstance(error, DataError) and error.context.get("traceback")):
        error.__cause__ = RemoteTraceback(text)
    return error
