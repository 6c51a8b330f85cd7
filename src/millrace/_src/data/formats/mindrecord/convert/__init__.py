"""Converters from other formats to MindRecord."""

from .cifar import Cifar10ToMR, Cifar100ToMR
from .csv import CsvToMR
from .image_folder import ImageFolderToMR
from .imagenet import ImageNetToMR
from .mnist import MnistToMR
from .tfrecord import TFRecordToMR

__all__ = [
    "Cifar100ToMR",
    "Cifar10ToMR",
    "CsvToMR",
    "ImageFolderToMR",
    "ImageNetToMR",
    "MnistToMR",
    "TFRecordToMR",
]
