"""``LibriTTSDataset``: LibriTTS text-to-speech corpus."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_directories, read_lines
from millrace._src.data.sources.audio.waveform_table import WAVE, WaveformTable
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import TEXT, UINT32, ColumnTable, Folder, TableDataset

__all__ = ["LibriTTSDataset"]


@public("dataset")
class LibriTTSDataset(TableDataset):
    """LibriTTS: sentences of audiobooks with waveform, original and normalized text, speaker and chapter.

    >>> import millrace.dataset as ds
    >>> import wave
    >>> from pathlib import Path
    >>> Path("dev-clean/116/288").mkdir(parents=True)
    >>> _ = Path("dev-clean/116/288/116_288.trans.tsv").write_text(
    ...     "116_288_000003_000000\\tNo. 1!\\tNumber one!"
    ... )
    >>> with wave.open("dev-clean/116/288/116_288_000003_000000.wav", "wb") as file:
    ...     file.setparams((1, 2, 16000, 0, "NONE", ""))
    ...     file.writeframes(bytes(20))
    >>> data = ds.LibriTTSDataset(".", "dev-clean")
    >>> [str(row["normalized_text"]) for row in data.create_dict_iterator(1, output_numpy=True)]
    ['Number one!']
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal[
            "dev-clean",
            "dev-other",
            "test-clean",
            "test-other",
            "train-clean-100",
            "train-clean-360",
            "train-other-500",
            "all",
        ]
        | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all")
        texts = dict.fromkeys(("original_text", "normalized_text"), TEXT)
        numbers = dict.fromkeys(("speaker_id", "chapter_id"), UINT32)
        columns = {"waveform": WAVE, "sample_rate": UINT32} | texts | numbers | {"utterance_id": TEXT}
        self._open(make, columns, shared)


_ALL = [b"dev-clean", b"dev-other", b"test-clean", b"test-other", b"train-clean-100", b"train-clean-360"]
_ALL += [b"train-other-500"]


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    files, rows = FileList(dataset_dir), []
    parts = (
        [part for part in list_directories(dataset_dir) if part in _ALL]
        if usage == "all"
        else [usage.encode()]
    )
    for part in parts:
        for speaker in list_directories(os.path.join(files.root, part)):
            for chapter in list_directories(os.path.join(files.root, part, speaker)):
                folder = os.path.join(part, speaker, chapter)
                path = os.fsdecode(os.path.join(files.root, folder, speaker + b"_" + chapter + b".trans.tsv"))
                lines = [line.split("\t") for line in read_lines(path)]
                wrong = next((n for n, line in enumerate(lines, 1) if len(line) != 3), None)
                if wrong is not None:
                    text = (
                        f"Invalid data, line {wrong} does not have three parts: name, text, normalized text"
                    )
                    raise FormatError(text, file=path)
                if not (speaker.isdigit() and chapter.isdigit()):
                    raise FormatError(
                        "Invalid data, the folders of a speaker and a chapter are numbers", file=path
                    )
                files.extend(folder, [os.fsencode(f"{line[0]}.wav") for line in lines])
                rows += [(line[1], line[2], int(speaker), int(chapter), line[0]) for line in lines]
    names = ("original_text", "normalized_text", "speaker_id", "chapter_id", "utterance_id")
    columns = {name: np.array([row[n] for row in rows]) for n, name in enumerate(names)}
    stored = {
        n: InMemoryColumn(c if c.dtype.kind == "U" else c.astype(np.uint32)) for n, c in columns.items()
    }
    return WaveformTable(files, stored)
