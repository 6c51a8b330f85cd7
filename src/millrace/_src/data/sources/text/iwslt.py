"""``IWSLT2016Dataset``: IWSLT 2016 machine translation of TED talks."""

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

__all__ = ["IWSLT2016Dataset"]

PAIRS = IsPair("en-ar", "en-ar", "en-de", "en-fr", "en-cs", "ar-en", "fr-en", "de-en", "cs-en")

Sets = Literal["dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"] | None


@public("dataset")
class IWSLT2016Dataset(IndexedFilesDataset):
    """IWSLT2016, from its folder ``texts``: columns ``text`` and ``translation``; the files are not modified.

    >>> import os
    >>> folder = "texts/de/en/de-en"
    >>> os.makedirs(folder, exist_ok=True)
    >>> for language, line in (("de", "Guten Morgen."), ("en", "Good morning.")):
    ...     with open(f"{folder}/train.tags.de-en.{language}", "w") as file:
    ...         _ = file.write("<title>x</title>\\n" + line + "\\n")
    >>> data = IWSLT2016Dataset(".", usage="train", shuffle=False)
    >>> [row["translation"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['Good morning.']
    """

    @with_common_arguments(CorpusOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "valid", "all"] | None = None,
        language_pair: Annotated[Any, PAIRS] = None,
        valid_set: Sets = None,
        test_set: Sets = None,
        *_: Any,
        **shared: Unpack[CorpusOptions],
    ) -> None:
        one, two = language_pair or ("de", "en")
        folder = os.path.join(dataset_dir, "texts", one, two, f"{one}-{two}")
        parts = talk_files(
            folder, "16", usage, one, two, {"valid": valid_set or "tst2013", "test": test_set or "tst2014"}
        )
        self._open_files(parts, texts("text", "translation"), locals(), shared)
