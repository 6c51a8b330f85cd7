"""Rows of a damaged data file: as many as can be proven whole.

Rows are found by following their lengths through each page. Where that breaks off, the index is asked for the
places of the rest; a place counts when the length in front of the row agrees with it. Each row is decoded
before it is trusted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from millrace.core.errors import FormatError

from . import crypto
from .blobs import DUMMY_BLOB, Pieces, blob_columns, join
from .commit import index_path
from .header import BLOB, MAX_HEADER, RAW, Header, parse_header_bytes
from .index import all_places
from .msgpack import decode_columns
from .remote import RemoteFile, RemotePath
from .scan import chain
from .shard import RemoteShard, Shard

__all__ = ["Block", "Salvage"]

_LENGTH = struct.Struct("<Q")
_BLOCK_ROWS = 1024
_BLOCK_BYTES = 16 << 20

# (raw start, raw end, blob start, blob end) of payloads in the file, or why the row is lost
Place = tuple[int, int, int, int] | str


@dataclasses.dataclass
class Block:
    """Some neighbouring rows: the good ones as stored bytes, the bad ones as (page, row, reason)."""

    rows: int
    raw: list[bytes]
    blob: list[bytes]
    problems: list[tuple[int | None, int, str]]


class Salvage:
    """The rows of one data file, read without trust in its lengths or its header's."""

    def __init__(
        self, name: str, header: Header, data: Any, size: int, path: Path | None, shard: Shard | None
    ) -> None:
        self.name, self.header, self.data, self.size, self.path = name, header, data, size, path
        self._shard = shard
        self._index: np.ndarray[Any, Any] | None = None

    @classmethod
    def of_shard(cls, shard: Shard) -> Salvage:
        """The rows of a file that could be opened."""
        local = shard.path if shard.is_local and not shard.encrypted else None
        return cls(
            str(shard.path), shard.header, shard.map() if shard.groups else b"", shard.size, local, shard
        )

    @classmethod
    def of_file(cls, path: Path, cipher: crypto.Cipher, template: Header | None = None) -> Salvage:
        """The rows of a file that may be cut short; a header that is lost is taken from another file of the set."""
        data = _content(path, cipher)
        try:
            header = _header(data, str(path))
        except FormatError:
            if template is None:
                raise
            header = dataclasses.replace(template, pages=[])
        return cls(str(path), header, data, len(data), path if cipher.key is None else None, None)

    @staticmethod
    def header_of(path: Any, cipher: crypto.Cipher) -> Header:
        """The header of a file, whatever the pages are like."""
        if isinstance(path, RemotePath):
            return RemoteShard(path, RemoteFile(str(path)), cipher).header
        return _header(_content(path, cipher), str(path))

    # --- rows -----------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[Block]:
        """All rows in order, some at a time."""
        start, places, pages = 0, list[Place](), list[int | None]()
        for place, page in self._places():
            places.append(place)
            pages.append(page)
            if len(places) == _BLOCK_ROWS or self._bytes(places) > _BLOCK_BYTES:
                yield self._block(start, places, pages)
                start, places, pages = start + len(places), [], []
        if places:
            yield self._block(start, places, pages)

    @staticmethod
    def _bytes(places: list[Place]) -> int:
        last = places[-1]
        return 0 if isinstance(last, str) else (last[3] - last[2]) * len(places)

    def _places(self) -> Iterator[tuple[Place, int | None]]:
        pages = [page for page in self.header.pages if page.type == BLOB]
        if not pages:
            yield from self._indexed_only()
            return
        raw_at = {
            group: (
                page.id,
                self.header.page_start(page.id) + offset,
                self.header.page_start(page.id) + page.used,
            )
            for page in self.header.pages
            if page.type == RAW
            for group, offset in page.groups
        }
        for page in pages:
            rows = page.end_row - page.start_row
            start = self.header.page_start(page.id)
            blobs = self._walk(start, start + page.used, rows, page.id, fills=True)
            raw_page, raw_start, raw_end = raw_at.get(page.type_id, (None, 0, 0))
            raws = self._walk(raw_start, raw_end, rows, raw_page)
            for row in range(rows):
                raw, blob = raws[row], blobs[row]
                if isinstance(raw, str) or isinstance(blob, str):
                    other = self._by_index(page.start_row + row)
                    if other is not None:
                        yield other, page.id
                        continue
                if isinstance(raw, str):
                    yield raw, raw_page
                elif isinstance(blob, str):
                    yield blob, page.id
                else:
                    yield (*raw, *blob), page.id

    def _walk(
        self, start: int, end: int, rows: int, page: int | None, fills: bool = False
    ) -> list[tuple[int, int] | str]:
        """The places of rows that follow each other, as far as they lead; they may have to fill the page."""
        if page is None:
            return ["its row group has no page of scalars"] * rows
        if not rows:
            return []
        limit = min(end, self.size)
        with self._holding(start, max(start, limit)):
            try:
                begins, ends = chain(self.data, start, limit, rows)
                found: list[tuple[int, int] | str] = list(zip(begins.tolist(), ends.tolist()))
            except (FormatError, ValueError):
                found = self._step_by_step(start, limit, rows)
        if len(found) < rows:
            cut = end > self.size
            text = "the file is cut short before it" if cut else "a length before it or its own is damaged"
            return found + [text] * (rows - len(found))
        last = found[-1]
        if fills and not isinstance(last, str) and last[1] != end:
            found[-1] = f"the rows of the page end {end - last[1]} bytes before its used part does"
        return found

    def _step_by_step(self, start: int, limit: int, rows: int) -> list[tuple[int, int] | str]:
        found: list[tuple[int, int] | str] = []
        while len(found) < rows and start + 8 <= limit:
            end = start + 8 + _LENGTH.unpack_from(self.data, start)[0]
            if end > limit:
                break
            found.append((start + 8, end))
            start = end
        return found

    def _holding(self, start: int, end: int) -> Any:
        return self._shard.holding([(start, end)]) if self._shard is not None else contextlib.nullcontext()

    def _indexed(self) -> np.ndarray[Any, Any]:
        if self._index is None:
            known = all_places(index_path(self.path), self.path.name) if self.path is not None else None
            self._index = np.empty((0, 7), np.int64) if known is None else known
        return self._index

    def _by_index(self, row: int) -> tuple[int, int, int, int] | None:
        """Where the index says a row lies, if the lengths in the file say so too."""
        known = self._indexed()
        if row >= len(known) or int(known[row, 0]) != row:
            return None
        _, raw_page, raw, raw_end, blob_page, blob, blob_end = known[row].tolist()
        raw_start, blob_start = self.header.page_start(raw_page), self.header.page_start(blob_page)
        spans = ((raw_start + raw, raw_start + raw_end), (blob_start + blob, blob_start + blob_end))
        for start, end in spans:
            if start < 0 or end > self.size or end - start < 8:
                return None
            if _LENGTH.unpack_from(self.data, start)[0] != end - start - 8:
                return None
        return spans[0][0] + 8, spans[0][1], spans[1][0] + 8, spans[1][1]

    def _indexed_only(self) -> Iterator[tuple[Place, int | None]]:
        for row in range(len(self._indexed())):
            found = self._by_index(row)
            yield ("the header is lost, and the index does not lead to it" if found is None else found), None

    # --- decoding -------------------------------------------------------------------------------------------

    def _block(self, start: int, places: list[Place], pages: list[int | None]) -> Block:
        good = [n for n, place in enumerate(places) if not isinstance(place, str)]
        lost = [(pages[n], start + n, place) for n, place in enumerate(places) if isinstance(place, str)]
        spans = cast("list[tuple[int, int, int, int]]", [places[n] for n in good])
        if not spans:
            return Block(len(places), [], [], lost)
        ranges = [(s[0], s[1]) for s in spans] + [(s[2], s[3]) for s in spans]
        with self._shard.holding(ranges) if self._shard is not None else contextlib.nullcontext():
            raw, blob = self._cut(spans)
        bad = self._undecodable(raw, blob)
        lost += [(pages[good[n]], start + good[n], text) for n, text in bad.items()]
        kept = [n for n in range(len(good)) if n not in bad]
        return Block(
            len(places), [raw[n] for n in kept], [blob[n] for n in kept], sorted(lost, key=lambda p: p[1])
        )

    def _cut(self, spans: list[tuple[int, int, int, int]]) -> tuple[list[bytes], list[bytes]]:
        return [self.data[s[0] : s[1]] for s in spans], [self.data[s[2] : s[3]] for s in spans]

    def _undecodable(self, raw: list[bytes], blob: list[bytes]) -> dict[int, str]:
        """Row -> why it cannot be decoded; found by halving, so that good blocks cost one pass."""
        bad: dict[int, str] = {}
        parts = [(0, len(raw))]
        while parts:
            first, last = parts.pop()
            text = self._decode(raw[first:last], blob[first:last])
            if text is None:
                continue
            if last - first == 1:
                bad[first] = text
            else:
                middle = (first + last) // 2
                parts += [(first, middle), (middle, last)]
        return bad

    def _decode(self, raw: Sequence[bytes], blob: Sequence[bytes]) -> str | None:
        schema = self.header.schema
        try:
            if schema.raw:
                decode_columns(*join(list(raw)), schema.raw, [f.name for f in schema.raw])
            if schema.blob:
                pieces = Pieces(blob, [0] * len(blob), [len(b) for b in blob])
                blob_columns(pieces, schema.blob, [f.name for f in schema.blob], self.header.version >= "3.0")
            elif any(b != DUMMY_BLOB for b in blob):
                return "the place of its blob holds something else"
        except FormatError as error:
            column = error.context.get("column")
            return error.message + (f" (field '{column}')" if column else "")
        return None


def _content(path: Path, cipher: crypto.Cipher) -> Any:
    """A file as a map, decrypted if it is encrypted."""
    try:
        source = open(path, "rb")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise FormatError(f"the file cannot be opened: {error.strerror}", file=str(path)) from None
    with source:
        if crypto.is_encrypted(source.fileno()) is None:
            if os.fstat(source.fileno()).st_size == 0:
                return b""
            return mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        if cipher.key is None:
            raise FormatError("the file is encrypted: give its key to set_enc_key()", file=str(path))
        with tempfile.TemporaryFile() as plain:
            crypto.decrypt(source, cast(BinaryIO, plain), cipher, str(path))
            return mmap.mmap(plain.fileno(), 0, access=mmap.ACCESS_READ)


def _header(data: Any, name: str) -> Header:
    length = int.from_bytes(data[:8], "little")
    return parse_header_bytes(bytes(data[: 8 + min(length, MAX_HEADER)]), len(data), name)
