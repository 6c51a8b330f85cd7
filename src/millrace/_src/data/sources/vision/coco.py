"""``CocoDataset``: COCO detection, segmentation, keypoints, panoptic segmentation and captions."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.samplers import PKSampler
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    TEXT,
    Decrypt,
    Folder,
    TableDataset,
    check_readable,
    image_type,
)
from millrace._src.data.sources.vision.coco_annotations import COLUMNS, coco_table

__all__ = ["CocoDataset"]


@public("dataset")
class CocoDataset(TableDataset):
    """COCO images with the annotations of ``task``: "Detection", "Stuff", "Keypoint", "Panoptic" or "Captioning".

    Detection has boxes, Stuff has outlines, Panoptic has segments. Images without annotations are skipped.

    ``extra_metadata`` adds the column ``_meta-filename``: the file name without its extension.

    >>> import millrace.dataset as ds
    >>> import json
    >>> from pathlib import Path
    >>> _ = Path("1.jpg").write_bytes(b"...")
    >>> box = {"image_id": 5, "category_id": 2, "bbox": [0, 1, 2, 3], "iscrowd": 0}
    >>> images, categories = [{"id": 5, "file_name": "1.jpg"}], [{"id": 2, "name": "cat"}]
    >>> _ = Path("boxes.json").write_text(
    ...     json.dumps({"images": images, "annotations": [box], "categories": categories})
    ... )
    >>> data = ds.CocoDataset(".", "boxes.json")
    >>> [row["bbox"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [[[0.0, 1.0, 2.0, 3.0]]]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        annotation_file: str,
        task: str = "Detection",
        *_: Any,
        extra_metadata: bool = False,
        decrypt: Decrypt = None,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        check_readable(annotation_file)
        if task not in COLUMNS:
            raise ArgumentValueError(f"Invalid task type: {task}.")
        if isinstance(shared["sampler"], PKSampler):
            raise ArgumentValueError("CocoDataset doesn't support PKSampler.")
        arguments: dict[str, Any] = {
            "dataset_dir": dataset_dir,
            "annotation_file": annotation_file,
            "task": task,
        }
        make = partial(coco_table, **arguments, decode=decode, extra_metadata=extra_metadata, decrypt=decrypt)
        columns = (
            {"image": image_type(decode)}
            | COLUMNS[task]
            | ({"_meta-filename": TEXT} if extra_metadata else {})
        )
        self._open(make, columns, shared)
