"""Encrypted files of version 2 (mode "AES-GCM-STREAM"): every block is bound to its file and to its position.

MindSpore's format (``core/io/encryption.py``) authenticates each block separately. Blocks of one file, or of several
files under one key, can therefore be exchanged, repeated or dropped, and decrypt without an error. Here they cannot::

    header   magic u32 | version u16 | cipher u8 | key bytes u8 | block size u32 | file id, 32 random bytes
    blocks   plain bytes of the block size (the last one may be shorter), encrypted, then a tag of 16 bytes

All numbers are little-endian. The key of a file is HKDF-SHA256(user's key, salt=file id, info=header). The nonce of a
block is its number (u64), then 1 for the last block and 0 for the others (u32). The associated data are the header and
the nonce. A changed header, a block of another file or of another position, and a file that ends after any block but
the last one therefore fail the authentication. A file has at least one block.

It cannot prevent that a whole file is replaced by another whole file under the same key, for example an older one.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core.optional import require

from .encryption import DecryptionError

__all__ = ["BLOCK", "HEADER", "MAGIC", "MODE", "StreamWriter", "decrypt_blocks"]

MODE = "AES-GCM-STREAM"
MAGIC = 0x3253524D
BLOCK = 1 << 20
LARGEST_BLOCK = 64 << 20
HEADER = struct.Struct("<IHBBI32s")
_VERSION, _AES_GCM, _TAG = 2, 1, 16
_NONCE = struct.Struct("<QI")
_WRONG = "the key is not the right one, or the file was changed: a block is damaged, moved, of another file, or missing"


class StreamWriter:
    """Encrypt what is written, in blocks; ``finish`` writes the last one, without which a file cannot be read.

    >>> parts = []
    >>> writer = StreamWriter(parts.append, b"0123456789abcdef")
    >>> writer.write(b"secret")
    >>> writer.finish()
    >>> file = b"".join(parts)
    >>> b"".join(decrypt_blocks(lambda start, end: file[start:end], len(file), b"0123456789abcdef"))
    b'secret'
    """

    def __init__(self, write: Callable[[bytes], Any], key: bytes, block: int = BLOCK) -> None:
        self._write, self._block = write, block
        self._header = HEADER.pack(MAGIC, _VERSION, _AES_GCM, len(key), block, os.urandom(32))
        self._cipher = _file_cipher(key, self._header)
        self._pending = bytearray()
        self._number = 0
        write(self._header)

    def write(self, data: bytes | memoryview) -> None:
        """Add plain bytes."""
        view = memoryview(data)
        while view:
            if len(self._pending) == self._block:  # more bytes follow, so that it is not the last block
                self._flush(last=False)
            if not self._pending and len(view) > self._block:
                self._encrypt(view[: self._block], last=False)
                view = view[self._block :]
                continue
            available = self._block - len(self._pending)
            self._pending += view[:available]
            view = view[available:]

    def finish(self) -> None:
        """Write the last block."""
        self._flush(last=True)

    def _flush(self, last: bool) -> None:
        plain, self._pending = bytes(self._pending), bytearray()
        self._encrypt(plain, last)

    def _encrypt(self, plain: bytes | memoryview, last: bool) -> None:
        nonce = _NONCE.pack(self._number, last)
        self._write(self._cipher.encrypt(nonce, plain, self._header + nonce))
        self._number += 1


def decrypt_blocks(read: Callable[[int, int], Any], size: int, key: bytes) -> Iterator[bytes]:
    """The plain blocks of a file of ``size`` bytes; ``read(start, end)`` returns bytes of it.

    The file is whole only when the iterator has ended: use no block before that.
    """
    header = bytes(read(0, HEADER.size)) if size >= HEADER.size else b""
    if len(header) < HEADER.size:
        raise DecryptionError("the header of the encrypted file is cut short")
    magic, version, cipher_id, key_bytes, block, _ = HEADER.unpack(header)
    if magic != MAGIC or cipher_id != _AES_GCM or not 0 < block <= LARGEST_BLOCK:
        raise DecryptionError("the header of the encrypted file is damaged")
    if version != _VERSION:
        raise DecryptionError(
            f"the encrypted file has format version {version}, this release reads {_VERSION}"
        )
    if key_bytes != len(key):
        raise DecryptionError(
            f"the file was encrypted with a key of {key_bytes} bytes, got one of {len(key)}"
        )
    invalid = require("cryptography.exceptions", "crypto", "reading encrypted files").InvalidTag
    cipher = _file_cipher(key, header)
    start, number = HEADER.size, 0
    while True:
        end = min(size, start + block + _TAG)
        if end - start < _TAG:
            raise DecryptionError("the last block of the encrypted file is cut short")
        nonce = _NONCE.pack(number, end == size)
        try:
            yield cipher.decrypt(nonce, read(start, end), header + nonce)
        except invalid:
            raise DecryptionError(_WRONG) from None
        if end == size:
            return
        start, number = end, number + 1


def _file_cipher(key: bytes, header: bytes) -> Any:
    """AES-GCM with the key of one file."""
    hkdf = require("cryptography.hazmat.primitives.kdf.hkdf", "crypto", "encrypted files").HKDF
    sha256 = require("cryptography.hazmat.primitives.hashes", "crypto", "encrypted files").SHA256()
    derived = hkdf(algorithm=sha256, length=len(key), salt=header[-32:], info=header).derive(key)
    return require("cryptography.hazmat.primitives.ciphers.aead", "crypto", "encrypted files").AESGCM(derived)
