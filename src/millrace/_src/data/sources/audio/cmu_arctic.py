"""``CMUArcticDataset``: CMU ARCTIC speech synthesis corpus."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, read_lines
from millrace._src.data.sources.audio.waveform_table import WAVE, WaveformTable
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import TEXT, UINT32, ColumnTable, Folder, TableDataset

__all__ = ["CMUArcticDataset"]


@public("dataset")
class CMUArcticDataset(TableDataset):
    """English sentences read by the speaker ``name``, with transcripts.

    >>> import millrace.dataset as ds
    >>> import wave
    >>> from pathlib import Path
    >>> top = Path("cmu_us_aew_arctic")
    >>> Path(top, "wav").mkdir(parents=True), Path(top, "etc").mkdir()
    (None, None)
    >>> _ = Path(top, "etc/txt.done.data").write_text('( arctic_a0001 "Author of the danger trail." )')
    >>> with wave.open("cmu_us_aew_arctic/wav/arctic_a0001.wav", "wb") as file:
    ...     file.setparams((1, 2, 16000, 0, "NONE", ""))
    ...     file.writeframes(bytes(20))
    >>> [
    ...     str(row["utterance_id"])
    ...     for row in ds.CMUArcticDataset(".").create_dict_iterator(1, output_numpy=True)
    ... ]
    ['a0001']
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        name: Literal[
            "aew",
            "ahw",
            "aup",
            "awb",
            "axb",
            "bdl",
            "clb",
            "eey",
            "fem",
            "gka",
            "jmk",
            "ksp",
            "ljm",
            "lnh",
            "rms",
            "rxr",
            "slp",
            "slt",
        ]
        | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, name=name or "aew")
        self._open(
            make, {"waveform": WAVE, "sample_rate": UINT32, "transcript": TEXT, "utterance_id": TEXT}, shared
        )


def _table(dataset_dir: str, name: str) -> ColumnTable:
    folder = os.path.join(dataset_dir, f"cmu_us_{name}_arctic")
    path = os.path.join(folder, "etc", "txt.done.data")
    files, transcripts, ids = FileList(os.path.join(folder, "wav")), [], []
    for line in read_lines(path):
        parts = line.split('"')
        stem = parts[0].strip("( ")
        if len(parts) < 3 or "_" not in stem:
            raise FormatError(f"Invalid data, not '( name \"words\" )': {line[:80]}", file=path)
        files.extend("", [os.fsencode(f"{stem}.wav")])
        transcripts.append('"'.join(parts[1:-1]))
        ids.append(stem.partition("_")[2])
    return WaveformTable(
        files,
        {"transcript": InMemoryColumn(np.array(transcripts)), "utterance_id": InMemoryColumn(np.array(ids))},
    )
