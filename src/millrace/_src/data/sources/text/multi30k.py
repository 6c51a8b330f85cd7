"""``Multi30kDataset``: Multi30k English-German image captions."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal, Unpack

from millrace._src.core.args import check_type
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.formats.text.lines import LineFormat
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import IndexedFilesDataset, files_for_usage, texts
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["Multi30kDataset"]

FILES = {
    "test": os.path.join("mmt16_task1_test", "test"),
    "train": os.path.join("training", "train"),
    "valid": os.path.join("validation", "val"),
}


class _Pair:
    def check(self, name: str, value: Any) -> None:
        check_type(value, (list, tuple), name)
        if len(value) != 2:
            raise ArgumentValueError(
                f"language_pair should be a list or tuple of length 2, but got {len(value)}"
            )
        if list(value) not in (["en", "de"], ["de", "en"]):
            raise ArgumentValueError(
                f"language_pair can only be ['en', 'de'] or ['de', 'en'], but got {value}"
            )


@public("dataset")
class Multi30kDataset(IndexedFilesDataset):
    """Multi30k, from ``training/train.en``, ``training/train.de`` and the like: columns ``text`` and ``translation``.

    Line n of one file is paired with line n of the other, also if one of them is empty; pairs of empty lines are
    skipped. Files of different length are refused.

    >>> import os
    >>> os.makedirs("training", exist_ok=True)
    >>> for language, line in (("en", "Two men."), ("de", "Zwei Männer.")):
    ...     with open(f"training/train.{language}", "w") as file:
    ...         _ = file.write(line + "\\n")
    >>> data = Multi30kDataset(".", usage="train", language_pair=["de", "en"], shuffle=False)
    >>> [row["translation"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['Two men.']
    """

    @with_common_arguments(RowOptions, without=("sampler",))
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "valid", "all"] | None = None,
        language_pair: Annotated[Any, _Pair()] = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        one, two = language_pair or ("en", "de")
        stems = files_for_usage(dataset_dir, usage, FILES)
        forms = (LineFormat("text", paired=True), LineFormat("translation", paired=True))
        parts = [[(f"{stem}.{one}", forms[0]), (f"{stem}.{two}", forms[1])] for stem in stems]
        self._open_files(parts, texts("text", "translation"), locals(), shared)
