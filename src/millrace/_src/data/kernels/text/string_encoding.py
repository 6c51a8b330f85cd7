"""Conversion between arrays of text and arrays of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

__all__ = ["to_bytes", "to_str"]


@public("dataset.text", "dataset.text.utils")
def to_str(array: np.ndarray[Any, Any], encoding: str = "utf8") -> np.ndarray[Any, Any]:
    """Decode an array of bytes to an array of text.

    Args:
        array (numpy.ndarray): an array of bytes.
        encoding (str): the encoding of the bytes. Default: ``'utf8'``.

    >>> import millrace.dataset.text as text
    >>> text.to_str(np.array([b"caf\\xc3\\xa9", b"tea"]))
    array(['café', 'tea'], dtype='<U4')
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError("input should be a NumPy array.")
    return _convert(array, "S", np.char.decode, encoding)


@public("dataset.text", "dataset.text.utils")
def to_bytes(array: np.ndarray[Any, Any], encoding: str = "utf8") -> np.ndarray[Any, Any]:
    """Encode an array of text to an array of bytes.

    Args:
        array (numpy.ndarray): an array of text.
        encoding (str): the encoding of the bytes. Default: ``'utf8'``.

    >>> import millrace.dataset.text as text
    >>> text.to_bytes(np.array(["café", "tea"]))
    array([b'caf\\xc3\\xa9', b'tea'], dtype='|S5')
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentValueError("input should be a NumPy array.")
    return _convert(array, "U", np.char.encode, encoding)


def _convert(
    array: np.ndarray[Any, Any], type_code: str, function: Any, encoding: str
) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "US":
        raise ArgumentTypeError(f"string operation on non-string array: its type is {array.dtype}.")
    if array.dtype.kind != type_code:
        expected = "bytes" if type_code == "S" else "text"
        raise ArgumentTypeError(f"the array is not of {expected}, but of type {array.dtype}.")
    if not isinstance(encoding, str):
        raise ArgumentTypeError(f"Argument encoding with value {encoding} is not of type [<class 'str'>].")
    return (
        np.asarray(function(array, encoding))
        if array.size
        else array.astype("U" if type_code == "S" else "S")
    )
