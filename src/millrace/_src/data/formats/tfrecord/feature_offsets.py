"""Vectorized location of features in many serialized ``tf.train.Example`` messages.

Records of one dataset have the same features, mostly in the same order; only lengths differ. One entry of one record
is parsed in Python. Its constant bytes (tags, key) are then compared in all records at once, and the lengths are read
from each. A record that does not match is parsed individually.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.data.formats.files.byte_ranges import Ints, slice_fixed_width

__all__ = ["BYTES", "FLOATS", "INTS", "FeatureOffsets", "locate_features", "varints"]

BYTES, FLOATS, INTS = 0x0A, 0x12, 0x1A
Bytes = npt.NDArray[np.uint8]

# Patterns tried per entry before the remaining records are parsed individually.
MAX_PATTERNS = 12
MAX_SLOTS = 4096
# Bytes that may be read after a record before its end is known.
MARGIN = 16


@dataclass
class FeatureOffsets:
    """Offset, size and type of the list of each feature; rows in ``odd`` must be parsed individually."""

    starts: dict[bytes, Ints] = field(default_factory=dict)
    sizes: dict[bytes, Ints] = field(default_factory=dict)
    list_types: dict[bytes, Bytes | int] = field(default_factory=dict)
    odd: list[int] = field(default_factory=list)


class _EntryPattern:
    """Prefix of an entry: constant bytes with three varint lengths between them."""

    def __init__(self, head: bytes, key: bytes, list_type: int, lengths: list[tuple[int, int]]) -> None:
        self.key, self.list_type, self.lengths, self.width = key, list_type, lengths, len(head)
        mask = np.full(len(head), 0xFF, np.uint8)
        for offset, size in lengths:
            mask[offset : offset + size] = 0x80  # of a length only the continuation bits
        self.mask, self.want = mask, np.frombuffer(head, np.uint8) & mask

    def match(self, raw: Bytes, offsets: Ints) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Which offsets match the pattern, and the size of the list at each."""
        seen = slice_fixed_width(raw, offsets, self.width)
        same = (seen & self.mask) == self.want
        fits = np.ones(len(offsets), bool) if bool(same.all()) else same.all(axis=1)
        entry, value, items = (_decode_length(seen, *length) for length in self.lengths)
        (_, entry_size), (_, _), (_, items_size) = self.lengths
        fits &= (entry == items + (self.width - 1 - entry_size)) & (value == items + 1 + items_size)
        return fits, items


def _decode_length(seen: Bytes, offset: int, size: int) -> Ints:
    value = (seen[:, offset] & 0x7F).astype(np.int64)
    for n in range(1, size):
        value |= (seen[:, offset + n] & 0x7F).astype(np.int64) << (7 * n)
    return value


def varints(raw: Bytes, offsets: Ints) -> tuple[Ints, Ints]:
    """Decode the varints at these offsets; return values and end offsets. More than five bytes give -1."""
    byte = raw[offsets]
    if not bool((byte & 0x80).any()):
        return byte.astype(np.int64), offsets + 1
    values, ends, pending = np.zeros(len(offsets), np.int64), offsets.copy(), np.ones(len(offsets), bool)
    for n in range(5):
        bytes_here = raw[np.minimum(ends, len(raw) - 1)].astype(np.int64)
        values[pending] |= (bytes_here[pending] & 0x7F) << (7 * n)
        ends[pending] += 1
        pending &= bytes_here >= 0x80
        if not pending.any():
            return values, ends
    values[pending] = -1
    return values, ends


def locate_features(raw: Bytes, starts: Ints, stops: Ints, forms: dict[int, Any]) -> FeatureOffsets:
    """Locate the features of every record.

    ``raw`` must have spare bytes after the last record. The caller keeps ``forms`` between blocks.
    """
    layout = FeatureOffsets()
    size, offsets = varints(raw, starts + 1)
    good = (raw[starts] == 0x0A) & (offsets + size == stops) & (size >= 0)
    if not good.all():
        layout.odd += np.flatnonzero(~good).tolist()
    offsets, slot = offsets.copy(), 0
    if not layout.odd:
        offsets, slot = _match_uniform_slots(raw, offsets, stops, forms, layout)
    active = np.flatnonzero(good)
    for number in range(slot, MAX_SLOTS):
        active = active[offsets[active] < stops[active]]
        if not len(active):
            break
        active = _match_slot(raw, offsets, stops, active, forms, number, layout)
    else:
        layout.odd += active.tolist()
    return layout


def _match_uniform_slots(
    raw: Bytes, offsets: Ints, stops: Ints, forms: dict[int, Any], layout: FeatureOffsets
) -> tuple[Ints, int]:
    """Match entries while all records have the most recent pattern, without index arrays."""
    for slot in range(MAX_SLOTS):
        known = forms.get(slot)
        if not known or bool((offsets >= stops).any()):
            return offsets, slot
        form = known[-1]
        fits, sizes = form.match(raw, offsets)
        begins = offsets + form.width
        after = begins + sizes
        if not bool((fits & (after <= stops)).all()) or form.key in layout.starts:
            return offsets, slot
        layout.starts[form.key], layout.sizes[form.key], layout.list_types[form.key] = (
            begins,
            sizes,
            form.list_type,
        )
        offsets = after
    return offsets, MAX_SLOTS


def _match_slot(
    raw: Bytes,
    offsets: Ints,
    stops: Ints,
    active: Ints,
    forms: dict[int, Any],
    slot: int,
    layout: FeatureOffsets,
) -> Ints:
    """Match one entry of each record; return the records that matched."""
    left, kept = active, []
    known = list(forms.get(slot, ()))
    for number in range(MAX_PATTERNS):
        if not len(left):
            break
        form = (
            known[number]
            if number < len(known)
            else _parse_entry_pattern(raw, int(offsets[left[0]]), int(stops[left[0]]))
        )
        if form is None:
            layout.odd.append(int(left[0]))
            left = left[1:]
            continue
        fits, sizes = form.match(raw, offsets[left])
        begins = offsets[left] + form.width
        fits &= begins + sizes <= stops[left]
        if number >= len(known):
            if not fits[0]:  # its lengths contradict each other
                layout.odd.append(int(left[0]))
                left = left[1:]
                continue
            forms.setdefault(slot, []).append(form)
            known.append(form)
        rows = left if fits.all() else left[fits]
        if not len(rows):
            continue
        if len(rows) != len(left):
            begins, sizes = begins[fits], sizes[fits]
        if isinstance(layout.list_types.get(form.key), int):  # repeated feature: the last one counts
            layout.list_types[form.key] = np.full(len(stops), layout.list_types[form.key], np.uint8)
        if form.key not in layout.starts:
            count = len(stops)
            layout.starts[form.key] = np.full(count, -1, np.int64)
            layout.sizes[form.key] = np.zeros(count, np.int64)
            layout.list_types[form.key] = np.zeros(count, np.uint8)
        layout.starts[form.key][rows], layout.sizes[form.key][rows] = begins, sizes
        list_types = layout.list_types[form.key]
        assert isinstance(list_types, np.ndarray)
        list_types[rows] = form.list_type
        offsets[rows] = begins + sizes
        kept.append(rows)
        left = left[:0] if len(rows) == len(left) else left[~fits]
    layout.odd += left.tolist()
    return kept[0] if len(kept) == 1 else np.sort(np.concatenate([left[:0], *kept]))


def _parse_entry_pattern(raw: Bytes, at: int, stop: int) -> _EntryPattern | None:
    """The pattern of the entry at one offset (tag, length, key, value, type, list); None if it differs."""
    data = raw[at : min(stop, at + 1024)].tobytes()
    lengths: list[tuple[int, int]] = []
    position = 0

    def length() -> int:
        nonlocal position
        value = size = 0
        while position + size < len(data) and size < 5:
            byte = data[position + size]
            value |= (byte & 0x7F) << (7 * size)
            size += 1
            if byte < 0x80:
                lengths.append((position, size))
                position += size
                return value
        return -1

    def tag(*wanted: int) -> bool:
        nonlocal position
        position += 1
        return position <= len(data) and data[position - 1] in wanted

    if not tag(0x0A) or length() < 0 or not tag(0x0A):
        return None
    size = length()
    if size < 0 or position + size > len(data):
        return None
    lengths.pop()  # the length of the key is constant
    key = data[position : position + size]
    position += size
    if not tag(0x12) or length() < 0 or not tag(BYTES, FLOATS, INTS):
        return None
    list_type = data[position - 1]
    return None if length() < 0 else _EntryPattern(data[:position], key, list_type, lengths)
