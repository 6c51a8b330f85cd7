"""``LJSpeechDataset``: LJ Speech single-speaker corpus."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, read_lines
from millrace._src.data.sources.audio.waveform_table import WAVE, WaveformTable
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import INT32, TEXT, ColumnTable, Folder, TableDataset

__all__ = ["LJSpeechDataset"]


@public("dataset")
class LJSpeechDataset(TableDataset):
    """LJ Speech: sentences of seven books read by one speaker, with original and normalized transcripts.

    >>> import millrace.dataset as ds
    >>> import wave
    >>> from pathlib import Path
    >>> Path("wavs").mkdir()
    >>> _ = Path("metadata.csv").write_text("LJ001-0001|In 1831|In eighteen thirty-one")
    >>> with wave.open("wavs/LJ001-0001.wav", "wb") as file:
    ...     file.setparams((1, 2, 16000, 0, "NONE", ""))
    ...     file.writeframes(bytes(20))
    >>> [
    ...     str(row["transcription"])
    ...     for row in ds.LJSpeechDataset(".").create_dict_iterator(1, output_numpy=True)
    ... ]
    ['In 1831']
    """

    @with_common_arguments(RowOptions)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[RowOptions]) -> None:
        make = partial(_table, dataset_dir=dataset_dir)
        texts = {"transcription": TEXT, "normalized_transcription": TEXT}
        self._open(make, {"waveform": WAVE, "sample_rate": INT32} | texts, shared)


def _table(dataset_dir: str) -> ColumnTable:
    path = os.path.join(dataset_dir, "metadata.csv")
    rows = [line.split("|") for line in read_lines(path)]
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != 3), None)
    if wrong is not None:
        text = f"Invalid data, line {wrong} does not have three parts: name|transcription|normalized"
        raise FormatError(text, file=path)
    files = FileList(os.path.join(dataset_dir, "wavs"))
    files.extend("", [os.fsencode(f"{row[0]}.wav") for row in rows])
    texts = [InMemoryColumn(np.array([row[index] for row in rows])) for index in (1, 2)]
    return WaveformTable(files, dict(zip(("transcription", "normalized_transcription"), texts)), "int32")
