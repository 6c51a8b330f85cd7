"""Where the features of many Example messages lie, found for all of them at once.

Records of one data set have the same features, mostly in the same order; what differs are lengths. So one entry
of one record is taken apart in Python, and what must be the same in the others (tags, key) is compared in all
records at once, while the lengths are read out of them. A record that does not fit is parsed by itself.
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

# Ways in which one place of the records may be written before the rest is parsed one by one.
MAX_PATTERNS = 12
MAX_SLOTS = 4096
# What may be looked at behind a record before its end is known.
MARGIN = 16


@dataclass
class FeatureOffsets:
    """For each feature where its list lies in the bytes, and of which kind it is; ``odd`` rows are not in it."""

    starts: dict[bytes, Ints] = field(default_factory=dict)
    sizes: dict[bytes, Ints] = field(default_factory=dict)
    list_types: dict[bytes, Bytes | int] = field(default_factory=dict)
    odd: list[int] = field(default_factory=list)


class _EntryPattern:
    """How an entry begins: bytes that are always the same, and three lengths between them."""

    def __init__(self, head: bytes, key: bytes, list_type: int, lengths: list[tuple[int, int]]) -> None:
        self.key, self.list_type, self.lengths, self.width = key, list_type, lengths, len(head)
        mask = np.full(len(head), 0xFF, np.uint8)
        for offset, size in lengths:
            mask[offset : offset + size] = 0x80  # of a length only whether another byte follows
        self.mask, self.want = mask, np.frombuffer(head, np.uint8) & mask

    def match(self, raw: Bytes, offsets: Ints) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Which of these places look like this form, and how long the list of each is."""
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
    """The lengths at these places and where they end; one of more than five bytes comes out as -1."""
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
    """Find the features of every record. ``raw`` has some bytes to spare behind the last record; ``forms`` is kept
    by the caller from block to block."""
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
    """As long as the entry of every record has the form that was seen last: whole arrays, nothing to pick."""
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
    """Go over one entry of each record; returns the records that are still in step."""
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
            if not fits[0]:  # its own lengths contradict each other
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
        if isinstance(
            layout.list_types.get(form.key), int
        ):  # seen before in all records: the last one counts
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
    """The form of the entry at one position: tag, length, key, value, kind, list; None when it is another."""
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
    lengths.pop()  # the length of the key is the same in all
    key = data[position : position + size]
    position += size
    if not tag(0x12) or length() < 0 or not tag(BYTES, FLOATS, INTS):
        return None
    list_type = data[position - 1]
    return None if length() < 0 else _EntryPattern(data[:position], key, list_type, lengths)
