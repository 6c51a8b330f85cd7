"""The vision data sets."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.sources_vision import folders

from . import Fake
from .recorded import damage, fake


def cifar(maker: Any, files: list[str], labels: list[str], broken: str) -> Fake:
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
    return Fake(write, rows, types, {"image": (32, 32, 3)}, damage(broken, "text"))


def records(maker: Any, file: str, labels: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        maker(Path(folder))
        return np.fromfile(Path(folder, file), np.uint8).reshape(-1, labels + 3072)


TRAIN = [f"data_batch_{n}.bin" for n in range(1, 6)]
TOKENS = "Flickr(annotation_file=tokens.txt)"
BOXES = "Coco(annotation_file=instances.json, task=Detection)"

FAKES: dict[str, Fake] = {
    "ImageFolderDataset": fake("ImageFolder()"),
    "ImageFolderDataset: decode": fake("ImageFolder(decode=True)", "cat/x.bmp", "text"),
    "MnistDataset": fake("Mnist()", "train-images-idx3-ubyte", "cut"),
    "FashionMnistDataset": fake("FashionMnist(usage=train)", "train-labels-idx1-ubyte", "cut"),
    "KMnistDataset": fake("KMnist()", "train-labels-idx1-ubyte", "text"),
    "QMnistDataset": fake("QMnist(usage=all)", "xnist-labels-idx2-int", "gone"),
    "EMnistDataset": fake("EMnist(name=letters)", "emnist-letters-test-images-idx3-ubyte", "text"),
    "Cifar10Dataset": cifar(folders.cifar10, [*TRAIN, "test_batch.bin"], ["label"], "data_batch_3.bin"),
    "Cifar100Dataset": cifar(
        folders.cifar100, ["test.bin", "train.bin"], ["coarse_label", "fine_label"], "test.bin"
    ),
    "CelebADataset": fake("CelebA()", "list_attr_celeba.txt", "cut"),
    "CocoDataset": fake(BOXES, "instances.json", "cut"),
    "CocoDataset: captions": fake("Coco(annotation_file=captions.json, task=Captioning)", "captions.json", "text"),
    "VOCDataset": fake("VOC()", "SegmentationClass/2007_000027.png"),
    "VOCDataset: boxes": fake("VOC(task=Detection)", "Annotations/2007_000033.xml", "cut"),
    "Flowers102Dataset": fake("Flowers102()", "setid.mat", "cut"),
    "Caltech101Dataset": fake("Caltech101(target_type=all, decode=True)", "Annotations/ant/annotation_0001.mat", "cut"),
    "Caltech256Dataset": fake("Caltech256(decode=True)", "001.ak47/001_0003.jpg", "text"),
    "CityscapesDataset": fake("Cityscapes()", "leftImg8bit/train/aachen/aachen_000000_000019_leftImg8bit.png"),
    "CityscapesDataset: polygon": fake(
        "Cityscapes(usage=test, task=polygon)", "gtFine/test/aachen/aachen_000000_000019_gtFine_polygons.json", "cut"
    ),
    "DIV2KDataset": fake("DIV2K()", "DIV2K_train_LR_bicubic/X2/0002x2.png"),
    "FlickrDataset": fake(TOKENS, "images/2.jpg"),
    "Food101Dataset": fake("Food101()", "images/cake/1.jpg"),
    "KITTIDataset": fake("KITTI()", "data_object_label_2/training/label_2/000001.txt", "text"),
    "LFWDataset": fake("LFW(task=people, usage=all)", "lfw_funneled/Zoe_Oz/Zoe_Oz_0001.jpg"),
    "LFWDataset: pairs": fake("LFW(task=pairs, usage=10fold)", "pairs.txt"),
    "LSUNDataset": fake("LSUN(usage=train)"),
    "OmniglotDataset": fake("Omniglot()"),
    "PhotoTourDataset": fake("PhotoTour(name=liberty, usage=test)", "liberty/patches0001.bmp", "text"),
    "Places365Dataset": fake("Places365()", "data_256_standard/b/bar/00000002.jpg"),
    "RenderedSST2Dataset": fake("RenderedSST2(usage=test, decode=True)", "test/positive/0001.png", "text"),
    "SBDataset": fake("SB()", "cls/2008_000051.mat", "cut"),
    "SBUDataset": fake("SBU()", "SBU_captioned_photo_dataset_captions.txt", "text"),
    "SemeionDataset": fake("Semeion()", "semeion.data", "text"),
    "STL10Dataset": fake("STL10()", "train_y.bin"),
    "SUN397Dataset": fake("SUN397(decode=True)", "a/abbey/sun_b.jpg", "text"),
    "SVHNDataset": fake("SVHN()", "extra_32x32.mat", "cut"),
    "USPSDataset": fake("USPS()", "usps.t", "text"),
    "WIDERFaceDataset": fake("WIDERFace()", "wider_face_split/wider_face_val_bbx_gt.txt", "text"),
}  # fmt: skip
