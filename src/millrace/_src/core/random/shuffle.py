"""Shuffle modes of sources."""

from __future__ import annotations

import enum

from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

__all__ = ["Shuffle"]


@public("dataset")
@stable_id("enum.Shuffle")
class Shuffle(str, enum.Enum):  # noqa: UP042  (a StrEnum would print as 'global', not Shuffle.GLOBAL)
    """How the data is shuffled.

    GLOBAL shuffles files and rows, FILES only the order of the files, INFILE only the rows inside each file;
    PARTIAL and ADAPTIVE shuffle large record files window by window; FALSE keeps the order.

    >>> Shuffle.GLOBAL == "global", Shuffle("files")
    (True, <Shuffle.FILES: 'files'>)
    """

    FALSE = "false"
    ADAPTIVE = "adaptive"
    GLOBAL = "global"
    PARTIAL = "partial"
    FILES = "files"
    INFILE = "infile"
