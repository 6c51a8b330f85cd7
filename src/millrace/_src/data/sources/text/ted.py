"""The files of the IWSLT data sets: tagged text for training, XML for the rest."""

from __future__ import annotations

import os
from collections.abc import Mapping

from millrace._src.data.formats.text.iwslt import SegmentTagFormat, UntaggedLineFormat
from millrace._src.data.sources.base.indexed_files import Part

__all__ = ["talks"]


def talks(
    folder: str, year: str, usage: str | None, one: str, two: str, sets: Mapping[str, str]
) -> list[Part]:
    """Pairs of files: the lines of one language and of the other."""
    pair = f"{one}-{two}"
    made: list[Part] = []
    if usage in (None, "all", "train"):
        stem = os.path.join(folder, f"train.tags.{pair}")
        made.append(
            [
                (f"{stem}.{one}", UntaggedLineFormat("text")),
                (f"{stem}.{two}", UntaggedLineFormat("translation")),
            ]
        )
    for kind, name in sets.items():
        if usage in (None, "all", kind):
            stem = os.path.join(folder, f"IWSLT{year}.TED.{name}.{pair}")
            made.append(
                [
                    (f"{stem}.{one}.xml", SegmentTagFormat("text")),
                    (f"{stem}.{two}.xml", SegmentTagFormat("translation")),
                ]
            )
    return made
