"""Write TFRecord files without TensorFlow: tf.train.Example messages of integers and floats."""

import struct

import numpy as np

CRC = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    CRC.append(number)


def checksum(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = CRC[(value ^ byte) & 0xFF] ^ value >> 8
    value ^= 0xFFFFFFFF
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number):
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values):
    if values.dtype.kind == "f":
        return field(2, field(1, values.astype("<f4").tobytes()))
    return field(3, field(1, b"".join(varint(int(value)) for value in values)))


def write_tfrecord(path, examples):
    with open(path, "wb") as file:
        for example in examples:
            entries = (
                field(1, field(1, name.encode()) + field(2, feature(np.asarray(values))))
                for name, values in example.items()
            )
            data = field(1, b"".join(entries))
            head = struct.pack("<Q", len(data))
            file.write(head + checksum(head) + data + checksum(data))
