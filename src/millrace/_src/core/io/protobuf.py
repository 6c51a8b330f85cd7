"""Fields of protocol buffers as bytes: for checkpoints, summaries, printed values and TFRecord examples."""

from __future__ import annotations

__all__ = ["field", "varint"]

_BYTES = 2  # wire type of a field with a length prefix


def varint(value: int) -> bytes:
    """Encode an integer with seven bits per byte; a negative one as 64 bits.

    >>> varint(300).hex(" ")
    'ac 02'
    """
    value &= 0xFFFFFFFFFFFFFFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def field(number: int, content: bytes) -> bytes:
    """Encode a field of bytes, a text or a message.

    >>> field(1, b"w").hex(" ")
    '0a 01 77'
    """
    return varint(number << 3 | _BYTES) + varint(len(content)) + content
