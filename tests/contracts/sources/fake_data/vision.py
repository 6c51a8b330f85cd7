"""The vision data sets."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.data.small_sources import folders

from . import Fake
from .damage import Damage, cut, dangling, empty, gone, put, words
from .recorded import fake


def cifar(maker: Any, files: list[str], labels: list[str], *damage: Damage) -> Fake:
    """CIFAR: what the maker writes, since MindSpore reads only files of the full size."""

    def write(folder: Path) -> dict[str, Any]:
        maker(folder)
        return {"dataset_dir": str(folder)}

    rows = []
    for file in files:
        for record in records(maker, file, len(labels)):
            pixels = record[len(labels) :].reshape(3, 32, 32).transpose(1, 2, 0)
            rows.append({"image": pixels} | {label: record[i] for i, label in enumerate(labels)})
    types = {"image": "uint8"} | dict.fromkeys(labels, "uint32")
    return Fake(write, rows, types, list(damage), {"image": (32, 32, 3)})


def records(maker: Any, file: str, labels: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        maker(Path(folder))
        return np.fromfile(Path(folder, file), np.uint8).reshape(-1, labels + 3072)


TRAIN = [f"data_batch_{n}.bin" for n in range(1, 6)]
TOKENS = "Flickr(annotation_file=tokens.txt)"
BOXES = "Coco(annotation_file=instances.json, task=Detection)"
CITY = "leftImg8bit/train/aachen/aachen_000000_000019_leftImg8bit.png"
POLYGONS = "gtFine/test/aachen/aachen_000000_000019_gtFine_polygons.json"
FACES = "wider_face_split/wider_face_val_bbx_gt.txt"
OUTLINE = "Annotations/ant/annotation_0001.mat"
CAPTIONS = "SBU_captioned_photo_dataset_captions.txt"
LABELS = "data_object_label_2/training/label_2/000001.txt"


def idx(case: str, stem: str = "train") -> Fake:
    """Two files of one format: each is broken in its own way."""
    images, labels = f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte"
    return fake(
        case,
        cut(images, "declared"),
        words(images, "not an IDX file"),
        put(images, b"\0\0\x08\x03" + b"\x7f\xff\xff\xff" + b"\0\0\0\x1c" * 2, "declared"),
        cut(labels),
        empty(labels, "not an IDX file"),
    )


FAKES: dict[str, Fake] = {
    "ImageFolderDataset": fake("ImageFolder()", dangling("cat/x.bmp", "failed to open", "row")),
    "ImageFolderDataset: decode": fake(
        "ImageFolder(decode=True)",
        words("cat/x.bmp", "row"),
        cut("cat/x.bmp"),
        empty("cat/x.bmp"),
        dangling("cat/x.bmp"),
    ),
    "MnistDataset": idx("Mnist()"),
    "FashionMnistDataset": idx("FashionMnist(usage=train)"),
    "KMnistDataset": idx("KMnist()"),
    "QMnistDataset": fake(
        "QMnist(usage=all)",
        gone("xnist-labels-idx2-int"),
        words("xnist-labels-idx2-int"),
        cut("xnist-images-idx3-ubyte"),
    ),
    "EMnistDataset": idx("EMnist(name=letters)", "emnist-letters-test"),
    "Cifar10Dataset": cifar(
        folders.cifar10,
        [*TRAIN, "test_batch.bin"],
        ["label"],
        words("data_batch_3.bin", "not a multiple of the record size"),
        cut("data_batch_3.bin", keep=4000),
        empty("data_batch_3.bin"),
        gone("data_batch_3.bin"),
    ),
    "Cifar100Dataset": cifar(
        folders.cifar100,
        ["test.bin", "train.bin"],
        ["coarse_label", "fine_label"],
        words("test.bin", "not a multiple of the record size"),
        cut("test.bin", keep=4000),
        gone("train.bin"),
    ),
    "CelebADataset": fake(
        "CelebA()",
        cut("list_attr_celeba.txt", "attributes"),
        empty("list_attr_celeba.txt"),
        gone("list_attr_celeba.txt"),
    ),
    "CocoDataset": fake(
        BOXES, cut("instances.json", "json"), put("instances.json", b"[]"), gone("instances.json")
    ),
    "CocoDataset: captions": fake(
        "Coco(annotation_file=captions.json, task=Captioning)",
        words("captions.json"),
        put("captions.json", b'{"images": [], "annotations": [{}]}', "image_id"),
    ),
    "VOCDataset": fake(
        "VOC()",
        gone("SegmentationClass/2007_000027.png", "train.txt names it", "row"),
        empty("ImageSets/Segmentation/train.txt"),
        words("ImageSets/Segmentation/train.txt", "nothing.jpg"),
    ),
    "VOCDataset: boxes": fake(
        "VOC(task=Detection)",
        cut("Annotations/2007_000033.xml", "failed to parse"),
        put("Annotations/2007_000033.xml", b"<annotation><object/></annotation>", "Invalid annotation"),
        words("ImageSets/Main/train.txt"),
    ),
    "Flowers102Dataset": fake(
        "Flowers102()", cut("setid.mat", "damaged"), words("setid.mat"), gone("setid.mat")
    ),
    "Caltech101Dataset": fake(
        "Caltech101(target_type=all, decode=True)", cut(OUTLINE), words(OUTLINE, "MATLAB"), gone(OUTLINE)
    ),
    "Caltech256Dataset": fake(
        "Caltech256(decode=True)",
        words("001.ak47/001_0003.jpg", "row"),
        cut("001.ak47/001_0003.jpg", keep=100),
    ),
    "CityscapesDataset": fake("Cityscapes()", gone(CITY, "row")),
    "CityscapesDataset: polygon": fake("Cityscapes(usage=test, task=polygon)", cut(POLYGONS, "json", "row")),
    "DIV2KDataset": fake("DIV2K()", gone("DIV2K_train_LR_bicubic/X2/0002x2.png")),
    "FlickrDataset": fake(
        TOKENS, gone("images/2.jpg", "tokens.txt names it"), words("tokens.txt"), empty("tokens.txt")
    ),
    "Food101Dataset": fake(
        "Food101()",
        gone("images/cake/1.jpg", "names it", "row"),
        words("meta/train.txt", "nothing of the kind"),
        gone("meta/test.txt"),
    ),
    "KITTIDataset": fake("KITTI()", words(LABELS), cut(LABELS), gone(LABELS)),
    "LFWDataset": fake(
        "LFW(task=people, usage=all)",
        gone("lfw_funneled/Zoe_Oz/Zoe_Oz_0001.jpg", "names it"),
        put("peopleDevTrain.txt", b"1\nAnn_Bee\t1000000000\n", "images of one person"),
        gone("lfw-names.txt"),
    ),
    "LFWDataset: pairs": fake(
        "LFW(task=pairs, usage=10fold)", gone("pairs.txt"), put("pairs.txt", b"a\tb\tc\n")
    ),
    "LSUNDataset": fake("LSUN(usage=train)", dangling("bridge_train/5.jpg", "failed to open", "row")),
    "OmniglotDataset": fake("Omniglot()", dangling("images_background/Greek/character01/01.png", "row")),
    "PhotoTourDataset": fake(
        "PhotoTour(name=liberty, usage=test)",
        words("liberty/patches0001.bmp", "not a BMP"),
        gone("liberty/patches0000.bmp", "no such file"),
        gone("liberty/patches0001.bmp"),
        words("liberty/m50_100000_100000_0.txt"),
    ),
    "Places365Dataset": fake(
        "Places365()",
        gone("data_256_standard/b/bar/00000002.jpg", "names it"),
        words("places365_train_standard.txt"),
    ),
    "RenderedSST2Dataset": fake(
        "RenderedSST2(usage=test, decode=True)",
        words("test/positive/0001.png"),
        cut("test/positive/0001.png"),
    ),
    "SBDataset": fake(
        "SB()", cut("cls/2008_000051.mat"), gone("cls/2008_000051.mat"), words("val.txt", "names it")
    ),
    "SBUDataset": fake("SBU()", words(CAPTIONS), cut("SBU_captioned_photo_dataset_urls.txt", "captions")),
    "SemeionDataset": fake("Semeion()", words("semeion.data", "row 1"), cut("semeion.data", keep=3000)),
    "STL10Dataset": fake(
        "STL10()", gone("train_y.bin"), words("train_y.bin", "labels"), cut("train_X.bin", keep=9999)
    ),
    "SUN397Dataset": fake(
        "SUN397(decode=True)", words("a/abbey/sun_b.jpg"), cut("ClassName.txt", "is not a folder")
    ),
    "SVHNDataset": fake("SVHN()", cut("extra_32x32.mat", "damaged"), words("extra_32x32.mat")),
    "USPSDataset": fake("USPS()", words("usps.t", "row 1"), cut("usps", "row"), gone("usps")),
    "WIDERFaceDataset": fake("WIDERFace()", words(FACES, "line 1"), cut(FACES), gone(FACES)),
}
