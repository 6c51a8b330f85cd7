"""MindRecord files, with MindSpore's import path: ``from millrace.mindrecord import FileWriter``."""

from millrace.formats.mindrecord import (
    FAILED,
    SUCCESS,
    FileReader,
    FileWriter,
    MindPage,
    set_dec_mode,
    set_enc_key,
    set_enc_mode,
)

__all__ = [
    "FAILED",
    "FileReader",
    "FileWriter",
    "MindPage",
    "SUCCESS",
    "set_dec_mode",
    "set_enc_key",
    "set_enc_mode",
]
