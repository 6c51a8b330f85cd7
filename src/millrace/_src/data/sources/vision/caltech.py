"""``Caltech101Dataset``: Caltech-101 object classification with outlines."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import ComputedColumn, InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_directories, list_files
from millrace._src.data.formats.mat import read_mat
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
    image_column,
    image_type,
)

__all__ = ["Caltech101Dataset"]


@public("dataset")
class Caltech101Dataset(TableDataset):
    """Caltech-101: objects of 101 classes; ``target_type`` selects "category", "annotation" (an outline) or "all".

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("101_ObjectCategories/ant").mkdir(parents=True)
    >>> _ = Path("101_ObjectCategories/ant/image_0001.jpg").write_bytes(b"...")
    >>> [row["category"].item() for row in ds.Caltech101Dataset(".").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(ImageOptions, without=("cache",), num_parallel_workers=1, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        target_type: Literal["category", "annotation", "all"] | None = None,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        wanted = _COLUMNS[target_type or "category"]
        make = partial(_table, dataset_dir=dataset_dir, target_type=target_type or "category", decode=decode)
        if shared["num_parallel_workers"] == 1:  # choose automatically
            shared["num_parallel_workers"] = None
        self._open(make, {"image": image_type(decode)} | wanted, shared)


_CATEGORY, _OUTLINE = {"category": column_type("int64")}, {"annotation": column_type("float64", 2, None)}
_COLUMNS = {"category": _CATEGORY, "annotation": _OUTLINE, "all": _CATEGORY | _OUTLINE}
_ANNOTATION_FOLDERS = {"Faces": "Faces_2", "Faces_easy": "Faces_3", "Motorbikes": "Motorbikes_16"}
_ANNOTATION_FOLDERS |= {"airplanes": "Airplanes_Side_2"}


def _table(dataset_dir: str, target_type: str, decode: bool | None) -> ColumnTable:
    root = os.path.join(dataset_dir, "101_ObjectCategories")
    classes = [os.fsdecode(name) for name in list_directories(root) if name != b"BACKGROUND_Google"]
    files, labels, outlines = FileList(root), [], FileList(os.path.join(dataset_dir, "Annotations"))
    for number, name in enumerate(classes):
        count = len(list_files(os.path.join(root, name)))
        files.extend(name, [b"image_%04d.jpg" % n for n in range(1, count + 1)])
        outlines.extend(
            _ANNOTATION_FOLDERS.get(name, name), [b"annotation_%04d.mat" % n for n in range(1, count + 1)]
        )
        labels += [number] * count
    parts: dict[str, Any] = {"image": image_column(files, decode)}
    if target_type != "annotation":
        parts["category"] = InMemoryColumn(np.array(labels, np.int64))
    if target_type != "category":
        parts["annotation"] = ComputedColumn(partial(_outline, outlines))
    return ColumnTable(len(files), parts, classes={name: number for number, name in enumerate(NAMES)})


def _outline(files: FileList, index: int) -> Any:
    path = files[index]
    try:
        return read_mat(path, ["obj_contour"])["obj_contour"]
    except KeyError:
        raise FormatError("Invalid file, there is no outline (obj_contour) in it", file=path) from None


_TEXT = """
Faces Faces_easy Leopards Motorbikes accordion airplanes anchor ant barrel bass beaver binocular bonsai
brain brontosaurus buddha butterfly camera cannon car_side ceiling_fan cellphone chair chandelier
cougar_body cougar_face crab crayfish crocodile crocodile_head cup dalmatian dollar_bill dolphin dragonfly
electric_guitar elephant emu euphonium ewer ferry flamingo flamingo_head garfield gerenuk gramophone
grand_piano hawksbill headphone hedgehog helicopter ibis inline_skate joshua_tree kangaroo ketch lamp laptop
llama lobster lotus mandolin mayfly menorah metronome minaret nautilus octopus okapi pagoda panda pigeon
pizza platypus pyramid revolver rhino rooster saxophone schooner scissors scorpion sea_horse snoopy
soccer_ball stapler starfish stegosaurus stop_sign strawberry sunflower tick trilobite umbrella watch
water_lilly wheelchair wild_cat windsor_chair wrench yin_yang
"""
NAMES = _TEXT.split()
