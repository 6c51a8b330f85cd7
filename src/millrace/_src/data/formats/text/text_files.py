"""Column reader for one text file per row."""

from __future__ import annotations

from collections.abc import Sequence

from millrace._src.core.errors import FormatError
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column

from .lines import text_column

__all__ = ["FileTexts"]

MOST_BYTES = 64 << 20


class FileTexts:
    """The text of files as one column, without the newline at the end of a file.

    >>> import numpy as np
    >>> with open("a.txt", "w") as file:
    ...     _ = file.write("some text\\n")
    >>> FileTexts(["a.txt"]).read(np.array([0]))
    StringColumn('some text')
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files

    def read(self, indices: Indices) -> Column:
        return text_column([_read_text(self.files[i]) for i in indices.tolist()])

    def where(self, index: int) -> str | None:
        return self.files[index]


def _read_text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise FormatError(f"{path}: a text of more than {MOST_BYTES} bytes cannot be read", file=path)
        return data.decode().removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {path} ({error.strerror})", file=path) from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: this is not text in UTF-8: {error}", file=path) from None
