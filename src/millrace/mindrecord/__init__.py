"""MindRecord files under MindSpore's import path: ``from millrace.mindrecord import FileWriter``."""

from millrace._src.data.formats.mindrecord import (
    FAILED,
    SUCCESS,
    FileReader,
    FileWriter,
    MindPage,
    set_dec_mode,
    set_enc_key,
    set_enc_mode,
)
from millrace._src.data.formats.mindrecord.convert import (
    Cifar10ToMR,
    Cifar100ToMR,
    CsvToMR,
    ImageFolderToMR,
    ImageNetToMR,
    MnistToMR,
    TFRecordToMR,
)

# as in MindSpore they can be had from here, too, and are in no `import *`
from millrace._src.data.formats.mindrecord.exceptions import *  # noqa: F403

__all__ = [
    "Cifar100ToMR",
    "Cifar10ToMR",
    "CsvToMR",
    "FAILED",
    "FileReader",
    "FileWriter",
    "ImageFolderToMR",
    "ImageNetToMR",
    "MindPage",
    "MnistToMR",
    "SUCCESS",
    "TFRecordToMR",
    "set_dec_mode",
    "set_enc_key",
    "set_enc_mode",
]
