"""``IWSLT2017Dataset``: IWSLT 2017 machine translation of TED talks."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.sources.base.common_arguments import CorpusOptions, with_common_arguments
from millrace._src.data.sources.base.file_checks import IsPair
from millrace._src.data.sources.base.indexed_files import IndexedFilesDataset, texts
from millrace._src.data.sources.base.table_dataset import Folder

from .ted import talk_files

__all__ = ["IWSLT2017Dataset"]

PAIRS = IsPair(
    "en-nl",
    "en-de",
    "en-it",
    "en-ro",
    "ro-de",
    "ro-en",
    "ro-nl",
    "ro-it",
    "de-ro",
    "de-en",
    "de-nl",
    "de-it",
    "it-en",
    "it-nl",
    "it-de",
    "it-ro",
    "nl-de",
    "nl-en",
    "nl-it",
    "nl-ro",
)

SUBFOLDERS = ("texts", "DeEnItNlRo", "DeEnItNlRo", "DeEnItNlRo-DeEnItNlRo")


@public("dataset")
class IWSLT2017Dataset(IndexedFilesDataset):
    """IWSLT2017, from its folder ``texts``: columns ``text`` and ``translation``; the files are not modified.

    >>> import os
    >>> folder = "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo"
    >>> os.makedirs(folder, exist_ok=True)
    >>> for language, line in (("de", "Guten Morgen."), ("en", "Good morning.")):
    ...     with open(f"{folder}/train.tags.de-en.{language}", "w") as file:
    ...         _ = file.write("<title>x</title>\\n" + line + "\\n")
    >>> data = IWSLT2017Dataset(".", usage="train", shuffle=False)
    >>> [row["translation"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['Good morning.']
    """

    @with_common_arguments(CorpusOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "valid", "all"] | None = None,
        language_pair: Annotated[Any, PAIRS] = None,
        *_: Any,
        **shared: Unpack[CorpusOptions],
    ) -> None:
        one, two = language_pair or ("de", "en")
        folder = os.path.join(dataset_dir, *SUBFOLDERS)
        parts = talk_files(folder, "17", usage, one, two, {"valid": "dev2010", "test": "tst2010"})
        self._open_files(parts, texts("text", "translation"), locals(), shared)
