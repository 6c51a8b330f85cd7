"""``TextFileDataset``: lines of text files."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.text.lines import LineFormat
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments

from .base.file_checks import IsFiles
from .base.indexed_files import IndexedFilesDataset, find_files, texts

__all__ = ["TextFileDataset"]


@public("dataset")
class TextFileDataset(IndexedFilesDataset):
    """Lines of text files, as column ``text``; empty lines are skipped.

    ``dataset_files`` is a name, a pattern or a list of them; the files are read in the order of their names.

    >>> with open("poem.txt", "w") as file:
    ...     _ = file.write("Be happy every day.\\n\\nEnd of file.\\n")
    >>> data = TextFileDataset("poem.txt", shuffle=False)
    >>> [row["text"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['Be happy every day.', 'End of file.']
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_files: Annotated[Any, IsFiles()], *_: Any, **shared: Unpack[TextOptions]
    ) -> None:
        dataset_files = sorted(find_files(dataset_files))
        self._open_each(dataset_files, LineFormat("text"), texts("text"), locals(), shared)
