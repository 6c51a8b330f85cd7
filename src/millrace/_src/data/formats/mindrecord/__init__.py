"""MindRecord files: reader, writer, verification, repair and converters, usable without a pipeline."""

from .encryption import Cipher, set_dec_mode, set_enc_key, set_enc_mode
from .file_reader import FileReader, MindPage
from .reader import MindRecordReader
from .writer import FAILED, SUCCESS, FileWriter, MSRStatus

__all__ = [
    "Cipher",
    "FAILED",
    "FileReader",
    "FileWriter",
    "MSRStatus",
    "MindPage",
    "MindRecordReader",
    "SUCCESS",
    "set_dec_mode",
    "set_enc_key",
    "set_enc_mode",
]
