"""Which classes read the folders of folders.py, and how.

A case is (class name without "Dataset", maker, keyword arguments); "{root}" in an argument is the folder.
"""

from __future__ import annotations

from typing import Any

from tests.parity.data.small_sources import folders

R = {"dataset_dir": "{root}"}


def _of(name: str, maker: Any, *variants: dict[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    return [(name, maker, R | more) for more in variants]


FOLDS = ("all", "train", "test", "10fold")

CASES: list[tuple[str, Any, dict[str, Any]]] = [
    *_of(
        "ImageFolder",
        folders.image_folder,
        {},
        {"decode": True},
        {"extensions": [".png"]},
        {"class_indexing": {"cat": 7, "dog": 3}},
        {"extensions": [".txt", ".jpg"]},
    ),
    *_of("Mnist", folders.mnist, {}, {"usage": "train"}, {"usage": "test"}),
    *_of("FashionMnist", folders.mnist, {}, {"usage": "train"}),
    *_of("KMnist", folders.mnist, {}, {"usage": "test"}),
    *_of(
        "QMnist",
        folders.qmnist,
        *[{"usage": u} for u in ("train", "test", "nist", "all", "test10k")],
        {"usage": "train", "compat": False},
    ),
    *_of("EMnist", folders.emnist, {"name": "letters"}, {"name": "letters", "usage": "test"}),
    *_of("Cifar10", folders.cifar10, {}, {"usage": "train"}, {"usage": "test"}),
    *_of("Cifar100", folders.cifar100, {}, {"usage": "train"}, {"usage": "test"}),
    *_of(
        "CelebA",
        folders.celeba,
        {},
        {"decode": True},
        {"usage": "train"},
        {"usage": "valid"},
        {"extensions": [".jpg"]},
    ),
    *[
        (
            "Coco",
            folders.coco,
            {"dataset_dir": "{root}/train", "annotation_file": "{root}/" + f, "task": t} | more,
        )
        for f, t, more in [
            ("instances.json", "Detection", {}),
            ("instances.json", "Detection", {"decode": True}),
            ("instances.json", "Detection", {"extra_metadata": True}),
            ("instances.json", "Stuff", {}),
            ("keypoints.json", "Keypoint", {}),
            ("panoptic.json", "Panoptic", {}),
            ("captions.json", "Captioning", {}),
            ("keypoints.json", "Keypoint", {"extra_metadata": True}),
            ("panoptic.json", "Panoptic", {"extra_metadata": True}),
            ("captions.json", "Captioning", {"extra_metadata": True}),
        ]
    ],
    *_of(
        "VOC",
        folders.voc,
        {"task": "Detection"},
        {},
        {"decode": True},
        {"task": "Detection", "extra_metadata": True},
        {"extra_metadata": True},
        {"task": "Detection", "class_indexing": {"person": 4, "train": 2}},
    ),
    *_of(
        "Flowers102",
        folders.flowers,
        {},
        {"usage": "train"},
        {"usage": "valid", "task": "Segmentation"},
        {"decode": True},
    ),
    *_of(
        "Caltech101",
        folders.caltech101,
        {},
        {"target_type": "annotation"},
        {"target_type": "all", "decode": True},
    ),
    *_of("Caltech256", folders.caltech256, {}, {"decode": True}),
    *_of(
        "Cityscapes",
        folders.cityscapes,
        {},
        {"usage": "all", "task": "semantic"},
        {"usage": "test", "task": "polygon"},
        {"quality_mode": "coarse", "task": "color", "decode": True},
        {"quality_mode": "coarse", "usage": "all"},
        {"quality_mode": "coarse", "usage": "train_extra"},
        {"decode": True, "task": "polygon", "usage": "val"},
    ),
    *_of(
        "DIV2K",
        folders.div2k,
        {},
        {"usage": "all", "scale": 3, "downgrade": "unknown"},
        {"usage": "valid", "scale": 8},
        {"scale": 4, "downgrade": "wild", "decode": True},
        {"scale": 4, "downgrade": "difficult"},
    ),
    *[
        (
            "Flickr",
            folders.flickr,
            {"dataset_dir": "{root}/images", "annotation_file": "{root}/tokens.txt"} | more,
        )
        for more in ({}, {"decode": True})
    ],
    *_of("Food101", folders.food101, {}, {"usage": "train"}, {"usage": "test", "decode": True}),
    *_of("KITTI", folders.kitti, {}, {"usage": "test"}, {"decode": True}),
    *_of(
        "LFW",
        folders.lfw,
        *[{"task": t, "usage": u} for t in ("people", "pairs") for u in FOLDS],
        {"image_set": "original", "decode": True},
        {"image_set": "deepfunneled", "task": "pairs", "usage": "test"},
    ),
    *_of(
        "LSUN",
        folders.lsun,
        {},
        {"usage": "train"},
        {"usage": "valid"},
        {"usage": "test"},
        {"usage": "train", "classes": ["classroom", "bedroom"], "decode": True},
    ),
    *_of("Omniglot", folders.omniglot, {}, {"background": False, "decode": True}),
    *_of("PhotoTour", folders.photo_tour, {"name": "liberty", "usage": "test"}, {"name": "liberty"}),
    *_of(
        "Places365",
        folders.places365,
        {},
        {"usage": "train-challenge"},
        {"usage": "val", "decode": True},
        {"small": False},
    ),
    *_of(
        "RenderedSST2",
        folders.rendered_sst2,
        {},
        {"usage": "train"},
        {"usage": "val"},
        {"usage": "test", "decode": True},
    ),
    *_of(
        "SB",
        folders.sbd,
        {},
        {"task": "Segmentation", "usage": "train"},
        {"usage": "val", "decode": True},
        {"usage": "train_noval"},
    ),
    *_of("SBU", folders.sbu, {}, {"decode": True}),
    *_of("Semeion", folders.semeion, {}),
    *_of(
        "STL10",
        folders.stl10,
        {},
        {"usage": "train"},
        {"usage": "test"},
        {"usage": "unlabeled"},
        {"usage": "train+unlabeled"},
    ),
    *_of("SUN397", folders.sun397, {}, {"decode": True}),
    *_of("SVHN", folders.svhn, {}, {"usage": "train"}, {"usage": "extra"}),
    *_of("USPS", folders.usps, {}, {"usage": "train"}, {"usage": "test"}),
    *_of(
        "WIDERFace",
        folders.wider_face,
        {},
        {"usage": "train"},
        {"usage": "valid", "decode": True},
        {"usage": "test"},
    ),
]
