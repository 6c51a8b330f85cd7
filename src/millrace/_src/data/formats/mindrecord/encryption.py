"""Encryption of MindRecord sets: AES-GCM or user functions.

The whole data file and the whole index are encrypted in blocks of 64 MiB. The cipher is AES-GCM, AES-GCM-STREAM, or a
user's function of (file to read, its size, file to write, key). AES-GCM is MindSpore's format: it detects a changed
block, but not blocks that were exchanged, repeated or dropped, nor a block of another file under the same key.
AES-GCM-STREAM (``core/io/encrypted_stream.py``) detects these too; MindSpore cannot read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.io import encrypted_stream
from millrace._src.core.io import encryption as sealed
from millrace._src.core.public import public

__all__ = [
    "AES",
    "STREAM",
    "Cipher",
    "decrypt",
    "encrypt",
    "is_encrypted",
    "set_dec_mode",
    "set_enc_key",
    "set_enc_mode",
]

AES = "AES-GCM"
STREAM = encrypted_stream.MODE
# The trailer of a file stores the mode in seven characters.
_STREAM_MARK = "AES-STR"
_UDF = "UDF-ENC"
_END = b"ENCRYPT"
_BLOCK = sealed.BLOCK
_MAX_CIPHER = _BLOCK + (1 << 20)

Mode = str | Callable[[BinaryIO, int, BinaryIO, str], Any]


class Cipher:
    """Key and modes of encryption; the ``set_*`` functions change one process-wide instance.

    >>> Cipher("0123456789abcdef").key
    b'0123456789abcdef'
    """

    def __init__(self, key: str | None = None, enc_mode: Mode = AES, dec_mode: Mode | None = None) -> None:
        self.key = None if key is None else key.encode()
        self.enc_mode, self.dec_mode = enc_mode, dec_mode

    def state(self) -> tuple[str | None, Mode, Mode | None]:
        """State that recreates the cipher in another process."""
        return None if self.key is None else self.key.decode(), self.enc_mode, self.dec_mode

    def copy(self) -> Cipher:
        """A copy that later calls of the ``set_*`` functions do not change."""
        return Cipher(*self.state())

    @classmethod
    def from_state(cls, state: tuple[str | None, Mode, Mode | None]) -> Cipher:
        """The cipher of :meth:`state`."""
        return cls(*state)

    def seal(self, plain: bytes) -> bytes:
        """Encrypt one block."""
        return sealed.encrypt_block(plain, self.key or b"", AES)

    def unseal(self, block: bytes, file: str) -> bytes:
        """Decrypt one block."""
        try:
            return sealed.decrypt_block(block, self.key or b"", AES)
        except sealed.DecryptionError as error:
            raise FormatError(f"cannot decrypt: {error}", file=file) from None


def is_encrypted(fd: int) -> str | None:
    """The encryption mode in the trailer of a file, or None for a plain file."""
    size = os.fstat(fd).st_size
    return sealed_mode(os.pread(fd, 14, size - 14) if size >= 18 else b"", size)


def sealed_mode(tail: bytes, size: int) -> str | None:
    """The encryption mode from the last bytes of a file of this size, or None."""
    tail = tail[-14:] if size >= 18 else b""
    mode = tail[:7].decode("ascii", "replace")
    return mode if tail[7:] == _END and mode in (AES, _STREAM_MARK, _UDF) else None


def encrypt(source: BinaryIO, target: BinaryIO, cipher: Cipher) -> None:
    """Encrypt a plain file."""
    mode = AES
    if callable(cipher.enc_mode):
        mode = _UDF
        cipher.enc_mode(source, os.fstat(source.fileno()).st_size, target, (cipher.key or b"").decode())
    elif cipher.enc_mode == STREAM:
        mode = _STREAM_MARK
        writer = encrypted_stream.StreamWriter(target.write, cipher.key or b"")
        while plain := source.read(encrypted_stream.BLOCK):
            writer.write(plain)
        writer.finish()
    else:
        while plain := source.read(_BLOCK):
            block = cipher.seal(plain)
            target.write(len(block).to_bytes(4, "big") + block)
    target.write(b"\0\0\0\0" + mode.encode() + _END)


def decrypt(source: BinaryIO, target: BinaryIO, cipher: Cipher, file: str) -> None:
    """Decrypt a file; runs of zeros are written as holes."""
    size = os.fstat(source.fileno()).st_size
    mode = is_encrypted(source.fileno())
    if mode is None:
        raise FormatError("a key is set, and the file is not encrypted: call set_enc_key(None)", file=file)
    if mode == _UDF:
        if not callable(cipher.dec_mode):
            text = "encrypted by a function: give the function that decrypts it to set_dec_mode()"
            raise FormatError(text, file=file)
        cipher.dec_mode(source, size - len(_END), target, (cipher.key or b"").decode())
        target.flush()
        return
    if callable(cipher.dec_mode):
        raise FormatError(
            f"the file is encrypted with {_NAMES[mode]}, but set_dec_mode() selects another mode", file=file
        )
    expected = cipher.dec_mode or (AES if callable(cipher.enc_mode) else cipher.enc_mode)
    if _NAMES[mode] != expected:
        text = f"expected a file encrypted with {expected}, got {_NAMES[mode]}. Call set_dec_mode({_NAMES[mode]!r})"
        raise FormatError(text, file=file)
    blocks = (
        _stream_blocks(source, size, cipher, file)
        if mode == _STREAM_MARK
        else _blocks(source, size, cipher, file)
    )
    done = 0
    for plain in blocks:
        done += len(plain)
        for begin in range(0, len(plain), 1 << 16):
            part = plain[begin : begin + (1 << 16)]
            if part.count(0) == len(part):
                target.seek(len(part), 1)
            else:
                target.write(part)
    target.truncate(done)
    target.flush()


_NAMES = {AES: AES, _STREAM_MARK: STREAM}


def _blocks(source: BinaryIO, size: int, cipher: Cipher, file: str) -> Iterator[bytes]:
    """Decrypt the blocks of a file in MindSpore's format."""
    while True:
        head = source.read(4)
        count = int.from_bytes(head, "big", signed=True) if len(head) == 4 else -1
        left = size - 14 - source.tell()
        if count == 0 and left == 0:
            return
        if not 0 < count <= min(_MAX_CIPHER, left):
            raise FormatError("the blocks of an encrypted file do not add up: it is damaged", file=file)
        yield cipher.unseal(source.read(count), file)


def _stream_blocks(source: BinaryIO, size: int, cipher: Cipher, file: str) -> Iterator[bytes]:
    """Decrypt the blocks of an encrypted stream. No data is used before the last block is verified."""

    def read(start: int, end: int) -> bytes:
        source.seek(start)
        return source.read(end - start)

    try:
        yield from encrypted_stream.decrypt_blocks(read, size - 18, cipher.key or b"")
    except sealed.DecryptionError as error:
        raise FormatError(f"cannot decrypt: {error}", file=file) from None


_current = Cipher()


def current() -> Cipher:
    """The cipher configured by the ``set_*`` functions."""
    return _current


@public("mindrecord")
def set_enc_key(enc_key: str | None) -> None:
    """Encrypt and decrypt with this key of 16, 24 or 32 characters; None turns encryption off.

    >>> set_enc_key("too short")
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentValueError: enc_key must be a str of 16, 24 or 32 bytes, got 9
    """
    if enc_key is not None and not isinstance(enc_key, str):
        raise ArgumentValueError(f"enc_key must be a str or None, got {type(enc_key).__name__}")
    if enc_key is not None and len(enc_key.encode()) not in (16, 24, 32):
        raise ArgumentValueError(f"enc_key must be a str of 16, 24 or 32 bytes, got {len(enc_key.encode())}")
    _current.key = None if enc_key is None else enc_key.encode()


@public("mindrecord")
def set_enc_mode(enc_mode: Mode = AES) -> None:
    """How to encrypt: "AES-GCM", "AES-GCM-STREAM", or a function of (file to read, its size, file to write, key).

    "AES-GCM" is MindSpore's format. It does not detect blocks of 64 MiB that were exchanged, repeated or dropped, nor
    blocks of another file under the same key. "AES-GCM-STREAM" does; only Millrace reads it.

    >>> set_enc_mode("AES-GCM")
    """
    _current.enc_mode = _mode(enc_mode, "enc_mode")


@public("mindrecord")
def set_dec_mode(dec_mode: Mode | None = AES) -> None:
    """How to decrypt: "AES-GCM", "AES-GCM-STREAM", None for the mode of set_enc_mode, or a function like its.

    A file of another mode is refused.

    >>> set_dec_mode("AES-GCM")
    """
    _current.dec_mode = None if dec_mode is None else _mode(dec_mode, "dec_mode")


def _mode(mode: Mode, name: str) -> Mode:
    if not callable(mode) and mode not in (AES, STREAM):
        raise ArgumentValueError(f"{name} must be '{AES}', '{STREAM}' or a function, got {mode!r}")
    return mode
