"""``SQuADDataset``: SQuAD question answering."""

from __future__ import annotations

import os
from typing import Any, Literal, Unpack

from millrace._src.core.errors import PlanError
from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.text.squad import SquadFormat
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import IndexedFilesDataset, texts
from millrace._src.data.sources.base.table_dataset import Folder, column_type

__all__ = ["SQuADDataset"]


@public("dataset")
class SQuADDataset(IndexedFilesDataset):
    """SQuAD 1.1 or 2.0, from ``train-v1.1.json`` and ``dev-v1.1.json`` or the files of 2.0.

    Columns ``context`` and ``question`` are text, ``text`` and ``answer_start`` have a value per answer.

    >>> with open("dev-v1.1.json", "w") as file:
    ...     _ = file.write('{"data": [{"paragraphs": [{"context": "a b", "qas": [{"question": "what?", ')
    ...     _ = file.write('"answers": [{"text": "b", "answer_start": 2}]}]}]}]}')
    >>> data = SQuADDataset(".", usage="dev", shuffle=False)
    >>> [row["answer_start"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [[2]]
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "dev", "all"] | None = None,
        *_: Any,
        **shared: Unpack[TextOptions],
    ) -> None:
        wanted = ("train", "dev") if usage in (None, "all") else (usage,)
        columns = texts("context", "question") | texts("text", shape=(None,))
        columns["answer_start"] = column_type("uint32", None)
        self._open_each(
            [_file(dataset_dir, str(name)) for name in wanted], SquadFormat(), columns, locals(), shared
        )


def _file(folder: str, usage: str) -> str:
    for version in ("v1.1", "v2.0"):
        path = os.path.join(folder, f"{usage}-{version}.json")
        if os.path.isfile(path):
            return path
    raise PlanError(
        f"Invalid path, failed to find SQuAD {usage} data file: {folder} has neither {usage}-v1.1.json nor "
        f"{usage}-v2.0.json"
    )
