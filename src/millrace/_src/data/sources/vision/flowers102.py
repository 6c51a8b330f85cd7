"""``Flowers102Dataset``: Oxford 102 Flowers classification and segmentation."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.mat import read_mat
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    check_readable,
    image_column,
    image_type,
)

__all__ = ["Flowers102Dataset"]


@public("dataset")
class Flowers102Dataset(TableDataset):
    """Flowers of 102 classes; with ``task`` "Segmentation" also the segmentation images.

    >>> import millrace.dataset as ds
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from millrace._src.data.formats.mat import write_mat
    >>> Path("jpg").mkdir()
    >>> _ = Path("jpg/image_00001.jpg").write_bytes(b"...")
    >>> write_mat("imagelabels.mat", {"labels": np.array([[77]], np.uint8)})
    >>> write_mat("setid.mat", {"trnid": np.array([[1]], np.uint16)})
    >>> [
    ...     row["label"].item()
    ...     for row in ds.Flowers102Dataset(".", usage="train").create_dict_iterator(num_epochs=1)
    ... ]
    [76]
    """

    @with_common_arguments(ImageOptions, without=("cache",), num_parallel_workers=1, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        task: Literal["Classification", "Segmentation"] | None = "Classification",
        usage: Literal["train", "valid", "test", "all"] | None = "all",
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        for name in ("imagelabels.mat", "setid.mat"):
            check_readable(os.path.join(dataset_dir, name))
        usage, task = usage or "all", task or "Classification"
        make = partial(_table, dataset_dir=dataset_dir, task=task, usage=usage, decode=decode)
        outline = {"segmentation": image_type(decode)} if task == "Segmentation" else {}
        if shared["num_parallel_workers"] == 1:  # choose automatically
            shared["num_parallel_workers"] = None
        self._open(make, {"image": image_type(decode)} | outline | {"label": UINT32}, shared)


_PARTS = {"train": ["trnid"], "test": ["tstid"], "valid": ["valid"], "all": ["trnid", "tstid", "valid"]}


def _table(dataset_dir: str, task: str, usage: str, decode: bool | None) -> ColumnTable:
    path = os.path.join(dataset_dir, "imagelabels.mat")
    parts_path = os.path.join(dataset_dir, "setid.mat")
    try:
        labels = read_mat(path, ["labels"])["labels"].ravel().astype(np.int64) - 1
        id_lists = read_mat(parts_path, _PARTS[usage])
        numbers = np.concatenate([id_lists[name].ravel() for name in _PARTS[usage]]).astype(np.int64)
        if len(numbers) and numbers.min() < 1:
            raise IndexError(f"there is no image {numbers.min()}")
        chosen = labels[numbers - 1].astype(np.uint32)
    except (KeyError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise FormatError(f"Invalid file, no labels or lists of images: {error}", file=parts_path) from error

    def files(folder: str, stem: str) -> Any:
        return image_column(
            [os.path.join(dataset_dir, folder, f"{stem}_{n:05d}.jpg") for n in numbers], decode
        )

    parts: dict[str, Any] = {"image": files("jpg", "image")}
    if task == "Segmentation":
        parts["segmentation"] = files("segmim", "segmim")
    return ColumnTable(
        len(numbers), parts | {"label": InMemoryColumn(chosen)}, classes=dict(zip(NAMES, range(102)))
    )


NAMES = (
    """
pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, tiger lily,
moon orchid, bird of paradise, monkshood, globe thistle, snapdragon, colt's foot, king protea, spear
thistle, yellow iris, globe-flower, purple coneflower, peruvian lily, balloon flower, giant white arum
lily, fire lily, pincushion flower, fritillary, red ginger, grape hyacinth, corn poppy, prince of wales
feathers, stemless gentian, artichoke, sweet william, carnation, garden phlox, love in the mist, mexican
aster, alpine sea holly, ruby-lipped cattleya, cape flower, great masterwort, siam tulip, lenten rose,
barbeton daisy, daffodil, sword lily, poinsettia, bolero deep blue, wallflower, marigold, buttercup,
oxeye daisy, common dandelion, petunia, wild pansy, primula, sunflower, pelargonium, bishop of llandaff,
gaura, geranium, orange dahlia, pink-yellow dahlia?, cautleya spicata, japanese anemone, black-eyed
susan, silverbush, californian poppy, osteospermum, spring crocus, bearded iris, windflower, tree poppy,
gazania, azalea, water lily, rose, thorn apple, morning glory, passion flower, lotus, toad lily,
anthurium, frangipani, clematis, hibiscus, columbine, desert-rose, tree mallow, magnolia, cyclamen,
watercress, canna lily, hippeastrum, bee balm, ball moss, foxglove, bougainvillea, camellia, mallow,
mexican petunia, bromelia, blanket flower, trumpet creeper, blackberry lily
""".strip()
    .replace("\n", " ")
    .split(", ")
)
