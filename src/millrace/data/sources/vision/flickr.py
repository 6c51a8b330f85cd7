"""FlickrDataset: pictures with five captions each."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from millrace.core.args import checked
from millrace.core.errors import FormatError
from millrace.data.formats.images import Stored
from millrace.data.formats.listing import FileList, lines_of
from millrace.data.sources.images import (
    Cache,
    Folder,
    NumSamples,
    NumWorkers,
    Table,
    TableDataset,
    check_there,
    image,
    kind,
    pictures,
)

__all__ = ["FlickrDataset"]


class FlickrDataset(TableDataset):
    """Pictures of Flickr8k or Flickr30k with their captions, from lines of ``1.jpg#0<tab>A dog .``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("1.jpg").write_bytes(b"...")
    >>> _ = Path("tokens.txt").write_text("1.jpg#0\\tA dog .\\n1.jpg#1\\tA cat .\\n")
    >>> data = ds.FlickrDataset(".", "tokens.txt")
    >>> [row["annotation"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [['A dog .', 'A cat .']]
    """

    @checked
    def __init__(
        self,
        dataset_dir: Folder,
        annotation_file: str,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: bool | None = None,
        decode: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Cache = None,
    ) -> None:
        check_there(annotation_file)
        make = partial(_table, dataset_dir=dataset_dir, annotation_file=annotation_file, decode=decode)
        picks = num_samples, shuffle, sampler, num_shards, shard_id
        self._open(
            make,
            {"image": image(decode), "annotation": kind("str", None)},
            picks,
            num_parallel_workers,
            decode,
        )


def _table(dataset_dir: str, annotation_file: str, decode: bool | None) -> Table:
    captions: dict[bytes, list[str]] = {}
    for line in lines_of(annotation_file):
        name, tab, caption = line.partition("\t")
        stem, sharp, _ = name.rpartition("#")
        if not tab or not sharp:
            raise FormatError(
                f"Invalid annotation, not 'picture#number<tab>caption': {line[:80]}", file=annotation_file
            )
        captions.setdefault(os.fsencode(stem), []).append(caption)
    files = FileList(dataset_dir)
    files.extend("", sorted(captions))
    values = [np.array(captions[name]) for name in sorted(captions)]
    return Table(
        len(files), {"image": pictures(files, decode, listed=annotation_file), "annotation": Stored(values)}
    )
