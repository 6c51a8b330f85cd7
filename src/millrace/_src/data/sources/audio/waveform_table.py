"""Table of audio files: waveform and sample rate columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.audio_files import read_audio
from millrace._src.data.formats.files.file_list import FileList
from millrace._src.data.sources.base.table_dataset import TEXT, ColumnReader, ColumnTable, column_type

__all__ = ["TEXT", "WAVE", "WaveformTable"]

WAVE = column_type("float32", None, None)


class WaveformTable(ColumnTable):
    """Table of one audio file per row: ``waveform``, ``sample_rate``, and further columns."""

    def __init__(
        self,
        files: FileList | Sequence[str],
        parts: Mapping[str, ColumnReader],
        rate: str = "uint32",
        read: Callable[[int], tuple[Any, int]] | None = None,
    ) -> None:
        super().__init__(len(files), {"waveform": _AudioFileColumn(files), **parts})
        self.rate = rate
        self.read_one = read or partial(_read, files)

    def read(self, indices: Indices) -> dict[str, Column]:
        waves: list[Any] = []
        rates: list[int] = []
        for index in indices.tolist():
            try:
                wave, rate = self.read_one(index)
            except (OSError, DataError) as error:
                text = (
                    error.message
                    if isinstance(error, DataError)
                    else f"Invalid file, failed to open: {error}"
                )
                failed = FormatError(text, file=self.parts["waveform"].where(index))
                failed.row_index = index  # type: ignore[attr-defined]
                raise failed from error
            waves.append(wave)
            rates.append(rate)
        columns = {name: part.read(indices) for name, part in self.parts.items() if name != "waveform"}
        return {"waveform": waves, "sample_rate": np.array(rates, self.rate), **columns}


class _AudioFileColumn(ColumnReader):
    """Column of audio files. The table reads waveform and sample rate together."""

    def __init__(self, files: FileList | Sequence[str]) -> None:
        self.files = files

    def read(self, indices: Indices) -> Column:
        return [read_audio(self.files[i])[0] for i in indices.tolist()]

    def where(self, index: int) -> str | None:
        return str(self.files[index])


def _read(files: FileList | Sequence[str], index: int) -> tuple[Any, int]:
    return read_audio(files[index])
