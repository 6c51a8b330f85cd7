"""SQuAD JSON files as rows of context, question and answers."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.files.byte_ranges import ByteRanges, RowBlock
from millrace._src.data.formats.json_decoder import parse_json

from .lines import text_column

__all__ = ["SquadFormat"]

MOST_BYTES = 1 << 30
NO_ANSWER = {"text": "", "answer_start": -1}

Row = tuple[str, str, list[str], list[int]]


class SquadFormat:
    """A row per question: ``context``, ``question``, the ``text`` of its answers and their ``answer_start``.

    A question without an answer has one empty text that begins at the greatest uint32, as in MindSpore.

    >>> with open("t.json", "w") as file:
    ...     _ = file.write(
    ...         '{"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q", "answers": []}]}]}]}'
    ...     )
    >>> len(SquadFormat().scan("t.json"))
    1
    """

    scan_id = "squad"

    def __init__(self) -> None:
        self._loaded: dict[str, list[Row]] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    def scan(self, path: str) -> ByteRanges:
        numbers = np.arange(len(self._rows(path)), dtype=np.int64)
        return ByteRanges(numbers, numbers)  # rows are not byte ranges: their row numbers are stored instead

    def _rows(self, path: str) -> list[Row]:
        with self._lock:
            if path not in self._loaded:
                if os.path.getsize(path) > MOST_BYTES:
                    raise FormatError(
                        f"{path}: JSON of more than {MOST_BYTES} bytes cannot be read", file=path
                    )
                with open(path, "rb") as file:
                    self._loaded[path] = _parse_rows(parse_json(file.read(), path), path)
            return self._loaded[path]

    def rows(self, block: RowBlock) -> dict[str, Column]:
        rows = self._rows(block.path)
        chosen = [rows[i] for i in block.rows.tolist()]
        return {
            "context": text_column([row[0] for row in chosen]),
            "question": text_column([row[1] for row in chosen]),
            "text": [np.array(row[2], dtype=np.str_) for row in chosen],
            "answer_start": [np.array(row[3], dtype=np.int64).astype(np.uint32) for row in chosen],
        }


def _parse_rows(document: Any, path: str) -> list[Row]:
    try:
        return [
            (
                _check_text(paragraph["context"]),
                _check_text(entry["question"]),
                [_check_text(answer["text"]) for answer in entry["answers"] or [NO_ANSWER]],
                [int(answer["answer_start"]) for answer in entry["answers"] or [NO_ANSWER]],
            )
            for article in document["data"]
            for paragraph in article["paragraphs"]
            for entry in paragraph["qas"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        what = f"failed to find key {error}" if isinstance(error, KeyError) else str(error)
        raise FormatError(f"Invalid json file, {path} is not a SQuAD file: {what}", file=path) from None


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text is needed, but got {value!r:.80}")
    return value
