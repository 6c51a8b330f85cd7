"""``SpeechCommandsDataset``: Speech Commands keyword spotting."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_directories, list_files, read_lines
from millrace._src.data.sources.audio.waveform_table import WAVE, WaveformTable
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import INT32, TEXT, ColumnTable, Folder, TableDataset

__all__ = ["SpeechCommandsDataset"]


@public("dataset")
class SpeechCommandsDataset(TableDataset):
    """Single words by many speakers, in one folder per word; folders that begin with ``_`` (noise) are skipped.

    >>> import millrace.dataset as ds
    >>> import wave
    >>> from pathlib import Path
    >>> Path("cat").mkdir()
    >>> with wave.open("cat/0a7c2a8d_nohash_1.wav", "wb") as file:
    ...     file.setparams((1, 2, 16000, 0, "NONE", ""))
    ...     file.writeframes(bytes(20))
    >>> data = ds.SpeechCommandsDataset(".")
    >>> [
    ...     (str(row["label"]), str(row["speaker_id"]))
    ...     for row in data.create_dict_iterator(1, output_numpy=True)
    ... ]
    [('cat', '0a7c2a8d')]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "valid", "all"] | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all")
        columns = {
            "waveform": WAVE,
            "sample_rate": INT32,
            "label": TEXT,
            "speaker_id": TEXT,
            "utterance_number": INT32,
        }
        self._open(make, columns, shared)


_LISTS = {"test": ["testing"], "valid": ["validation"], "train": ["testing", "validation"], "all": []}
_NAME = re.compile(rb"(.+)_nohash_(\d+)\.wav")


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    lists = [os.path.join(dataset_dir, f"{name}_list.txt") for name in _LISTS[usage]]
    listed = {os.fsencode(line.strip()) for path in lists for line in read_lines(path, allow_empty=True)}
    files, rows = FileList(dataset_dir), []
    for word in list_directories(dataset_dir):
        if word.startswith(b"_"):
            continue
        for name in list_files(os.path.join(files.root, word), [".wav"]):
            match = _NAME.fullmatch(name)
            if match and (usage == "all" or (word + b"/" + name in listed) == (usage != "train")):
                files.extend(word, [name])
                rows.append((os.fsdecode(word), os.fsdecode(match[1]), int(match[2])))
    columns = dict(zip(("label", "speaker_id", "utterance_number"), zip(*rows))) if rows else {}
    stored = {name: InMemoryColumn(np.array(values)) for name, values in columns.items()}
    if stored:
        stored["utterance_number"] = InMemoryColumn(np.array(columns["utterance_number"], np.int32))
    return WaveformTable(files, stored, "int32")
