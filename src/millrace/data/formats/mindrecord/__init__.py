"""MindRecord files: bytes <-> rows, usable without a pipeline."""

from .crypto import Cipher, set_dec_mode, set_enc_key, set_enc_mode
from .reader import MindRecordReader
from .rows import FileReader, MindPage
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
