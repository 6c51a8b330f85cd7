"""Damaged and hostile variants of a JSON value or of a byte string, the same for the same seed."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["HOSTILE", "mutated_bytes", "mutated_json"]


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


# What stands in the place of a value: wrong types, huge numbers, special floats, odd text, deep nesting.
HOSTILE: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**63,
    10**400,
    -(10**400),
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\x00",
    "\ud800",
    "İ\u202e名",
    "../../etc/passwd",
    "__class__",
    "a" * 5000,
    [],
    [[]],
    {},
    {"": {}},
    {"millrace": "array", "dtype": "O", "value": [1]},
    {"millrace": "array", "dtype": "<U268435455", "value": ["a"] * 50},
    {"millrace": "dtype", "value": "V9999999"},
    {"millrace": "type", "value": "__dict__"},
    {"millrace": "slice", "value": {}},
    {"millrace": ["Vocab"]},
    {"millrace": "Vocab", "value": {"a": -1}},
    {"millrace": "SentencePieceVocab", "value": "@"},
    {"tensor_op_name": "Plugin", "python_module": "millrace._src.data.transforms.generic"},
    {"tensor_op_name": "__init__", "python_module": "os", "tensor_op_params": {}},
    nested(70),
    nested(300),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value[:20]):
            yield from places(item, (*path, number))


def mutated_json(value: Any, rng: random.Random) -> Any:
    """A copy of a JSON value with one to three of its parts replaced, removed, repeated or renamed."""
    changed = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(list(places(changed)))
        if not path:
            if rng.random() < 0.1:
                return copy.deepcopy(rng.choice(HOSTILE))
            continue
        parent = changed
        for step in path[:-1]:
            parent = parent[step]
        last, what = path[-1], rng.random()
        if what < 0.15:
            del parent[last]
        elif what < 0.25 and isinstance(parent, dict):
            parent[rng.choice(["_function", "row", "__class__", "x" * 300, "名"])] = parent.pop(last)
        elif what < 0.35 and isinstance(parent, list):
            parent.extend(copy.deepcopy(parent[last : last + 1]) * rng.choice((1, 5, 100)))
        elif what < 0.45:
            parent[last] = [parent[last]]
        else:
            parent[last] = copy.deepcopy(rng.choice(HOSTILE))
    return changed


def mutated_bytes(seed: bytes, rng: random.Random) -> bytes:
    """A byte string with some bytes changed, removed, repeated, or replaced by lengths at the limits."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        place, what = rng.randrange(len(data) + 1), rng.randrange(8)
        if what == 0:
            data[place : place + 1] = bytes([rng.randrange(256)])
        elif what == 1 and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        elif what == 2:
            del data[place : place + rng.choice((1, 2, 4, 16, 256))]
        elif what == 3:
            data[place:place] = rng.randbytes(rng.choice((1, 4, 16)))
        elif what == 4:
            size = rng.choice((1, 2, 4, 8))
            number = rng.choice(
                (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
            )
            data[place : place + size] = (number % 256**size).to_bytes(size, rng.choice(("little", "big")))
        elif what == 5:
            data[place:] = b""
        elif what == 6:
            part = data[place : place + rng.choice((4, 32, 256))]
            where = rng.randrange(len(data) + 1)
            data[where:where] = part * rng.choice((1, 2, 8))
        else:
            data[place : place + 1] = rng.choice(
                (b"\x00", b"\xff", b"{", b"[", b'"', b"-", b"9" * 5000, b"\x1b[")
            )
        if not data:
            data = bytearray(rng.randbytes(4))
    return bytes(data)
