"""Encrypted blocks in MindSpore's format: a header with lengths, then the encrypted bytes.

MindRecord files and checkpoints are made of such blocks. The libraries come with the extra 'crypto'.
"""

from __future__ import annotations

import os
import struct
from typing import Any

from millrace._src.core.optional import require

__all__ = ["BLOCK", "MAGIC", "MODES", "DecryptionError", "block_size", "encrypt_block", "decrypt_block"]

# Plain bytes in a block; the encrypted block is slightly longer.
BLOCK = 64 << 20
MAGIC = {"AES-GCM": 0x7F3A5ED8, "AES-CBC": 0x7F3A5ED9, "SM4-CBC": 0x7F3A5EDA}
MODES = tuple(MAGIC)
_LENGTHS = struct.Struct("<ii16si")
_TAG = 16


class DecryptionError(Exception):
    """A block that cannot be decrypted: damaged, or encrypted with another key."""


def encrypt_block(plain: bytes, key: bytes, mode: str) -> bytes:
    """Encrypt one block.

    >>> block = encrypt_block(b"secret", b"0123456789abcdef", "AES-CBC")
    >>> decrypt_block(block, b"0123456789abcdef", "AES-CBC")
    b'secret'
    """
    vector = os.urandom(16)
    tag = b""
    body: bytes
    if mode == "AES-GCM":
        encrypted = _gcm(key).encrypt(vector[:12], plain, None)  # sixteen bytes are stored, twelve are used
        body, tag = encrypted[:-_TAG], encrypted[-_TAG:]
    else:
        padder = _padding().PKCS7(128).padder()
        encryptor = _cbc(key, vector, mode).encryptor()
        body = encryptor.update(padder.update(plain) + padder.finalize()) + encryptor.finalize()
    head = struct.pack("<I", MAGIC[mode])
    return head + tag + _LENGTHS.pack(24 + len(body), 16, vector, len(body)) + body


def block_size(head: bytes, mode: str) -> int:
    """The size in bytes of a block, from its header."""
    tag = _TAG if mode == "AES-GCM" else 0
    if len(head) < 4 + tag + _LENGTHS.size:
        raise DecryptionError("an encrypted block is cut short")
    total: int
    count: int
    total, iv_size, _, count = _LENGTHS.unpack_from(head, 4 + tag)
    if head[:4] != struct.pack("<I", MAGIC[mode]) or iv_size != 16 or count < 0 or total != 24 + count:
        raise DecryptionError("an encrypted block is damaged")
    return 4 + tag + _LENGTHS.size + count


def decrypt_block(block: bytes, key: bytes, mode: str) -> bytes:
    """Decrypt one block."""
    if block_size(block, mode) != len(block):
        raise DecryptionError("an encrypted block is damaged")
    tag = _TAG if mode == "AES-GCM" else 0
    vector = _LENGTHS.unpack_from(block, 4 + tag)[2]
    body = block[4 + tag + _LENGTHS.size :]
    if mode == "AES-GCM":
        invalid = require("cryptography.exceptions", "crypto", "reading encrypted files").InvalidTag
        try:
            return bytes(_gcm(key).decrypt(vector[:12], body + block[4 : 4 + tag], None))
        except invalid:
            raise DecryptionError("the key is not the right one, or the file was changed") from None
    decryptor = _cbc(key, vector, mode).decryptor()
    padder = _padding().PKCS7(128).unpadder()
    try:
        return bytes(padder.update(decryptor.update(body) + decryptor.finalize()) + padder.finalize())
    except ValueError:
        raise DecryptionError("the key is not the right one, or the file was changed") from None


def _gcm(key: bytes) -> Any:
    return require("cryptography.hazmat.primitives.ciphers.aead", "crypto", "encrypted files").AESGCM(key)


def _padding() -> Any:
    return require("cryptography.hazmat.primitives.padding", "crypto", "encrypted files")


def _cbc(key: bytes, vector: bytes, mode: str) -> Any:
    ciphers = require("cryptography.hazmat.primitives.ciphers", "crypto", "encrypted files")
    algorithms = require("cryptography.hazmat.primitives.ciphers.algorithms", "crypto", "encrypted files")
    algorithm = algorithms.AES(key) if mode == "AES-CBC" else algorithms.SM4(key)
    return ciphers.Cipher(algorithm, ciphers.modes.CBC(vector))
