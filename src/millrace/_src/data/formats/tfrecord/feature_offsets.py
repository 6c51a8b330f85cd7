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
MOST_FORMS = 12
MOST_SLOTS = 4096
# What may be looked at behind a record before its end is known.
MARGIN = 16


@dataclass
class FeatureOffsets:
    """For each feature where its list lies in the bytes, and of which kind it is; ``odd`` rows are not in it."""

    starts: dict[bytes, Ints] = field(default_factory=dict)
    sizes: dict[bytes, Ints] = field(default_factory=dict)
    kinds: dict[bytes, Bytes | int] = field(default_factory=dict)
    odd: list[int] = field(default_factory=list)


class _Form:
    """How an entry begins: bytes that are always the same, and three lengths between them."""

    def __init__(self, head: bytes, key: bytes, kind: int, lengths: list[tuple[int, int]]) -> None:
        self.key, self.kind, self.lengths, self.width = key, kind, lengths, len(head)
        mask = np.full(len(head), 0xFF, np.uint8)
        for place, size in lengths:
            mask[place : place + size] = 0x80  # of a length only whether another byte follows
        self.mask, self.want = mask, np.frombuffer(head, np.uint8) & mask

    def match(self, raw: Bytes, at: Ints) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Which of these places look like this form, and how long the list of each is."""
        seen = slice_fixed_width(raw, at, self.width)
        same = (seen & self.mask) == self.want
        fits = np.ones(len(at), bool) if bool(same.all()) else same.all(axis=1)
        entry, value, items = (_number(seen, *length) for length in self.lengths)
        (_, entry_size), (_, _), (_, items_size) = self.lengths
        fits &= (entry == items + (self.width - 1 - entry_size)) & (value == items + 1 + items_size)
        return fits, items


def _number(seen: Bytes, place: int, size: int) -> Ints:
    found = (seen[:, place] & 0x7F).astype(np.int64)
    for n in range(1, size):
        found |= (seen[:, place + n] & 0x7F).astype(np.int64) << (7 * n)
    return found


def varints(raw: Bytes, at: Ints) -> tuple[Ints, Ints]:
    """The lengths at these places and where they end; one of more than five bytes comes out as -1."""
    byte = raw[at]
    if not bool((byte & 0x80).any()):
        return byte.astype(np.int64), at + 1
    found, after, more = np.zeros(len(at), np.int64), at.copy(), np.ones(len(at), bool)
    for n in range(5):
        bytes_here = raw[np.minimum(after, len(raw) - 1)].astype(np.int64)
        found[more] |= (bytes_here[more] & 0x7F) << (7 * n)
        after[more] += 1
        more &= bytes_here >= 0x80
        if not more.any():
            return found, after
    found[more] = -1
    return found, after


def locate_features(raw: Bytes, starts: Ints, stops: Ints, forms: dict[int, Any]) -> FeatureOffsets:
    """Find the features of every record. ``raw`` has some bytes to spare behind the last record; ``forms`` is kept
    by the caller from block to block."""
    made = FeatureOffsets()
    size, at = varints(raw, starts + 1)
    good = (raw[starts] == 0x0A) & (at + size == stops) & (size >= 0)
    if not good.all():
        made.odd += np.flatnonzero(~good).tolist()
    at, slot = at.copy(), 0
    if not made.odd:
        at, slot = _in_step(raw, at, stops, forms, made)
    active = np.flatnonzero(good)
    for number in range(slot, MOST_SLOTS):
        active = active[at[active] < stops[active]]
        if not len(active):
            break
        active = _slot(raw, at, stops, active, forms, number, made)
    else:
        made.odd += active.tolist()
    return made


def _in_step(
    raw: Bytes, at: Ints, stops: Ints, forms: dict[int, Any], made: FeatureOffsets
) -> tuple[Ints, int]:
    """As long as the entry of every record has the form that was seen last: whole arrays, nothing to pick."""
    for slot in range(MOST_SLOTS):
        known = forms.get(slot)
        if not known or bool((at >= stops).any()):
            return at, slot
        form = known[-1]
        fits, sizes = form.match(raw, at)
        begins = at + form.width
        after = begins + sizes
        if not bool((fits & (after <= stops)).all()) or form.key in made.starts:
            return at, slot
        made.starts[form.key], made.sizes[form.key], made.kinds[form.key] = begins, sizes, form.kind
        at = after
    return at, MOST_SLOTS


def _slot(
    raw: Bytes, at: Ints, stops: Ints, active: Ints, forms: dict[int, Any], slot: int, made: FeatureOffsets
) -> Ints:
    """Go over one entry of each record; returns the records that are still in step."""
    left, kept = active, []
    known = list(forms.get(slot, ()))
    for number in range(MOST_FORMS):
        if not len(left):
            break
        form = known[number] if number < len(known) else _form(raw, int(at[left[0]]), int(stops[left[0]]))
        if form is None:
            made.odd.append(int(left[0]))
            left = left[1:]
            continue
        fits, sizes = form.match(raw, at[left])
        begins = at[left] + form.width
        fits &= begins + sizes <= stops[left]
        if number >= len(known):
            if not fits[0]:  # its own lengths contradict each other
                made.odd.append(int(left[0]))
                left = left[1:]
                continue
            forms.setdefault(slot, []).append(form)
            known.append(form)
        rows = left if fits.all() else left[fits]
        if not len(rows):
            continue
        if len(rows) != len(left):
            begins, sizes = begins[fits], sizes[fits]
        if isinstance(made.kinds.get(form.key), int):  # seen before in all records: the last one counts
            made.kinds[form.key] = np.full(len(stops), made.kinds[form.key], np.uint8)
        if form.key not in made.starts:
            count = len(stops)
            made.starts[form.key] = np.full(count, -1, np.int64)
            made.sizes[form.key] = np.zeros(count, np.int64)
            made.kinds[form.key] = np.zeros(count, np.uint8)
        made.starts[form.key][rows], made.sizes[form.key][rows] = begins, sizes
        kinds = made.kinds[form.key]
        assert isinstance(kinds, np.ndarray)
        kinds[rows] = form.kind
        at[rows] = begins + sizes
        kept.append(rows)
        left = left[:0] if len(rows) == len(left) else left[~fits]
    made.odd += left.tolist()
    return kept[0] if len(kept) == 1 else np.sort(np.concatenate([left[:0], *kept]))


def _form(raw: Bytes, at: int, stop: int) -> _Form | None:
    """The form of the entry at one place: tag, length, key, value, kind, list; None when it is another."""
    data = raw[at : min(stop, at + 1024)].tobytes()
    lengths: list[tuple[int, int]] = []
    place = 0

    def length() -> int:
        nonlocal place
        value = size = 0
        while place + size < len(data) and size < 5:
            byte = data[place + size]
            value |= (byte & 0x7F) << (7 * size)
            size += 1
            if byte < 0x80:
                lengths.append((place, size))
                place += size
                return value
        return -1

    def tag(*wanted: int) -> bool:
        nonlocal place
        place += 1
        return place <= len(data) and data[place - 1] in wanted

    if not tag(0x0A) or length() < 0 or not tag(0x0A):
        return None
    size = length()
    if size < 0 or place + size > len(data):
        return None
    lengths.pop()  # the length of the key is the same in all
    key = data[place : place + size]
    place += size
    if not tag(0x12) or length() < 0 or not tag(BYTES, FLOATS, INTS):
        return None
    kind = data[place - 1]
    return None if length() < 0 else _Form(data[:place], key, kind, lengths)
