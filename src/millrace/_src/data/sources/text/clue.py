"""``CLUEDataset``: Chinese Language Understanding Evaluation (CLUE)."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.text.json_lines import JsonLines
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments
from millrace._src.data.sources.base.file_checks import IsFiles
from millrace._src.data.sources.base.indexed_files import IndexedFilesDataset, find_files
from millrace._src.data.sources.base.table_dataset import TEXT, UINT32, column_type

__all__ = ["CLUEDataset"]

TEXT_LIST = column_type("U", None)
PAIR = {"sentence1": TEXT, "sentence2": TEXT}
SPANS = {
    "idx": UINT32,
    "span1_index": UINT32,
    "span1_text": TEXT,
    "span2_index": UINT32,
    "span2_text": TEXT,
    "text": TEXT,
}
# the columns of test; train and eval have a label in addition
TASKS: dict[str, dict[str, Any]] = {
    "AFQMC": PAIR,
    "TNEWS": {"keywords": TEXT, "sentence": TEXT},
    "IFLYTEK": {"sentence": TEXT},
    "CMNLI": PAIR,
    "WSC": SPANS,
    "CSL": {"abst": TEXT, "id": UINT32, "keyword": TEXT_LIST},
}
LABELS = {"TNEWS": ("label", "label_desc"), "IFLYTEK": ("label", "label_des")}
NESTED_KEYS = {name: ("target", name) for name in SPANS if name.startswith("span")}


@public("dataset")
class CLUEDataset(IndexedFilesDataset):
    """CLUE, from files with a JSON object per line; ``task`` and ``usage`` ('train', 'eval', 'test') fix the columns.

    >>> with open("train.json", "w") as file:
    ...     _ = file.write('{"sentence1": "one", "sentence2": "two", "label": "0"}\\n')
    >>> data = CLUEDataset("train.json", task="AFQMC", usage="train", shuffle=False)
    >>> [row["sentence2"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['two']
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self,
        dataset_files: Annotated[Any, IsFiles()],
        task: Any = "AFQMC",
        usage: Any = "train",
        *_: Any,
        **shared: Unpack[TextOptions],
    ) -> None:
        if task not in TASKS:
            raise ArgumentValueError("task should be 'AFQMC', 'TNEWS', 'IFLYTEK', 'CMNLI', 'WSC' or 'CSL'.")
        if usage not in ("train", "test", "eval"):
            raise ArgumentValueError("usage should be 'train', 'test' or 'eval'.")
        dataset_files = find_files(dataset_files)
        columns = dict(TASKS[task])
        if usage != "test":
            columns |= dict.fromkeys(LABELS.get(task, ("label",)), TEXT)
        elif task != "WSC":
            columns["id"] = UINT32
        columns = dict(sorted(columns.items()))
        form = JsonLines({name: NESTED_KEYS.get(name, (name,)) for name in columns})
        self._open_each(dataset_files, form, columns, locals(), shared)
