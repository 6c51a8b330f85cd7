"""Files of the IWSLT datasets: tagged text for training, XML for validation and test."""

from __future__ import annotations

import os
from collections.abc import Mapping

from millrace._src.data.formats.text.iwslt import SegmentTagFormat, UntaggedLineFormat
from millrace._src.data.sources.base.indexed_files import ParallelFiles

__all__ = ["talk_files"]


def talk_files(
    folder: str, year: str, usage: str | None, one: str, two: str, sets: Mapping[str, str]
) -> list[ParallelFiles]:
    """Pairs of files with the lines of both languages."""
    pair = f"{one}-{two}"
    parts: list[ParallelFiles] = []
    if usage in (None, "all", "train"):
        stem = os.path.join(folder, f"train.tags.{pair}")
        parts.append(
            [
                (f"{stem}.{one}", UntaggedLineFormat("text")),
                (f"{stem}.{two}", UntaggedLineFormat("translation")),
            ]
        )
    for split, name in sets.items():
        if usage in (None, "all", split):
            stem = os.path.join(folder, f"IWSLT{year}.TED.{name}.{pair}")
            parts.append(
                [
                    (f"{stem}.{one}.xml", SegmentTagFormat("text")),
                    (f"{stem}.{two}.xml", SegmentTagFormat("translation")),
                ]
            )
    return parts
