"""``TedliumDataset``: TED-LIUM speech recognition corpus."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.args import OneOf, check_type
from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.audio_files import read_sphere
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import list_files, read_lines
from millrace._src.data.sources.audio.waveform_table import WAVE, WaveformTable
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import INT32, TEXT, ColumnTable, Folder, TableDataset

__all__ = ["TedliumDataset"]


@public("dataset")
class TedliumDataset(TableDataset):
    """Segments of TED talks with transcripts, from SPHERE files and STM segment lists.

    Rows are in MindSpore's order: the first segment of every talk, then the second of every talk, and so on.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("data/sph").mkdir(parents=True), Path("data/stm").mkdir()
    (None, None)
    >>> head = b"NIST_1A\\n   1024\\nsample_rate -i 8\\nend_head\\n".ljust(1024)
    >>> _ = Path("data/sph/Al.sph").write_bytes(head + bytes(32))
    >>> _ = Path("data/stm/Al.stm").write_text("Al 1 Al 0.5 1.5 <o,f0,male> good morning")
    >>> data = ds.TedliumDataset(".", "release3")
    >>> [
    ...     (row["waveform"].shape, str(row["transcript"]))
    ...     for row in data.create_dict_iterator(1, output_numpy=True)
    ... ]
    [((1, 8), 'good morning')]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        release: Literal["release1", "release2", "release3"],
        usage: Any = None,
        extensions: str | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        if usage is not None:
            check_type(usage, (str,), "usage")
            OneOf(*(["all"] if release == "release3" else ["train", "test", "dev", "all"])).check(
                "usage", usage
            )
        arguments: dict[str, Any] = {"dataset_dir": dataset_dir, "release": release, "usage": usage or "all"}
        make = partial(_table, **arguments, extensions=extensions or ".sph")
        texts = dict.fromkeys(("transcript", "talk_id", "speaker_id", "identifier"), TEXT)
        self._open(make, {"waveform": WAVE, "sample_rate": INT32} | texts, shared)


def _table(dataset_dir: str, release: str, usage: str, extensions: str) -> ColumnTable:
    parts = ["data"] if release == "release3" else ["train", "test", "dev"] if usage == "all" else [usage]
    rows: list[tuple[str, str, str, list[str]]] = []
    for part in parts:
        folder = os.path.join(dataset_dir, part, "stm")
        for name in list_files(folder, [".stm"]):
            path = os.path.join(folder, os.fsdecode(name))
            for number, line in enumerate(read_lines(path)):
                fields = line.split(" ", 6)
                if len(fields) != 7:
                    raise FormatError(f"Invalid data, stm data was broken: {line[:80]}", file=path)
                rows.append((str(number), fields[0], part, fields))
    rows.sort(key=lambda row: row[:3])
    files = [os.path.join(dataset_dir, part, "sph", f"{talk}{extensions}") for _, talk, part, _ in rows]
    try:
        spans = [(float(row[3][3]), float(row[3][4])) for row in rows]
    except ValueError as error:
        raise FormatError(f"Invalid data, stm data was broken: {error}", file=dataset_dir) from error
    field_indices = {"transcript": 6, "talk_id": 0, "speaker_id": 2, "identifier": 5}
    stored = {
        name: InMemoryColumn(np.array([row[3][index] for row in rows]))
        for name, index in field_indices.items()
    }
    return WaveformTable(files, stored, "int32", partial(_read_segment, files, spans))


def _read_segment(files: list[str], spans: list[tuple[float, float]], index: int) -> tuple[Any, int]:
    return read_sphere(files[index], *spans[index])
