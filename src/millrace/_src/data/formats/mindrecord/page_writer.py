"""Page writer: places raw and blob rows into pages and row groups of one shard."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from millrace._src.core.errors import ArgumentValueError, FormatError

from .header import BLOB, RAW, Header, Page
from .shard import ShardReader

__all__ = ["ShardWriter"]

_CHUNK = 8 << 20


class ShardWriter:
    """Writer of one data file under its temporary name."""

    def __init__(self, path: Path, header: Header, *, existing: bool = False) -> None:
        self.path, self.header = path, header
        flags = os.O_RDWR | os.O_CLOEXEC | (0 if existing else os.O_CREAT | os.O_EXCL)
        self.fd = os.open(path, flags, 0o600)
        blobs = [page for page in header.pages if page.type == BLOB]
        raws = [page for page in header.pages if page.type == RAW]
        self.blob: Page | None = max(blobs, key=lambda page: page.type_id, default=None)
        self.raw: Page | None = raws[-1] if raws else None
        self.sums: dict[tuple[str, int], int] = {}
        if self.blob is not None and self.raw is not None:
            start = header.page_start(self.raw.id)
            group, offset = self.raw.groups[-1]
            self.sums[BLOB, self.blob.type_id] = self._crc32(header.page_start(self.blob.id), self.blob.used)
            self.sums[RAW, group] = self._crc32(start + offset, self.raw.used - offset)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    # --- rows -----------------------------------------------------------------------------------------------

    def check_sizes(self, payloads: Sequence[bytes]) -> None:
        """Refuse a row that is larger than a page."""
        longest = max(map(len, payloads), default=0) + 8
        if longest > self.header.page_size:
            raise ArgumentValueError(
                f"a row takes {longest} bytes, a page holds {self.header.page_size}: call set_page_size() "
                "with a larger number before the first write"
            )

    def write(self, raw: Sequence[bytes], blob: Sequence[bytes]) -> None:
        """Add rows. The last row group may move to a new raw page; other data stays in place."""
        if not raw:
            return
        cuts = self._find_group_starts(raw, blob)
        bounds = list(zip([0, *cuts], [*cuts, len(raw)]))
        new_pages = len(self.header.pages)
        group_ids = [
            self._append_blob_rows(blob[a:b], first=not number) for number, (a, b) in enumerate(bounds)
        ]
        first, last = bounds[0]
        if last > first:
            self._move_last_group(sum(map(len, raw[first:last])) + 8 * (last - first))
        for number, (a, b) in enumerate(bounds):
            if b > a:
                self._append_raw_rows(raw[a:b], None if number == 0 else group_ids[number])
        if len(self.header.pages) > new_pages:
            self._check_header()

    def _find_group_starts(self, raw: Sequence[bytes], blob: Sequence[bytes]) -> list[int]:
        """Row indices at which new row groups begin; rows before the first one continue the last group."""
        limit = self.header.page_size
        used_blob = self.blob.used if self.blob else 0
        used_raw = self.raw.used - self.raw.groups[-1][1] if self.raw and self.raw.groups else 0
        cuts = []
        for row, (raw_row, blob_row) in enumerate(zip(raw, blob)):
            size_raw, size_blob = len(raw_row) + 8, len(blob_row) + 8
            if not used_blob or used_blob + size_blob > limit or used_raw + size_raw > limit:
                cuts.append(row)
                used_blob = used_raw = 0
            used_blob += size_blob
            used_raw += size_raw
        return cuts

    def _new_page(self, page_type: str, type_id: int) -> Page:
        page = Page(len(self.header.pages), page_type, type_id)
        self.header.pages.append(page)
        return page

    def _append_blob_rows(self, rows: Sequence[bytes], first: bool) -> int:
        """Write the blob rows of one group; return the group id."""
        if first:
            if not rows:
                return -1
        else:
            previous = self.blob
            self.blob = self._new_page(BLOB, previous.type_id + 1 if previous else 0)
            self.blob.start_row = self.blob.end_row = previous.end_row if previous else 0
        page = self.blob
        assert page is not None
        page.used = self._append(page, rows, (BLOB, page.type_id))
        page.end_row += len(rows)
        return page.type_id

    def _new_raw_page(self) -> Page:
        self.raw = self._new_page(RAW, self.raw.id + 1 if self.raw else 0)
        return self.raw

    def _move_last_group(self, size: int) -> None:
        """Move the last row group to a new page if its page is too small for it."""
        old = self.raw
        assert old is not None
        if old.used + size <= self.header.page_size:
            return
        group, offset = old.groups.pop()
        data = os.pread(self.fd, old.used - offset, self.header.page_start(old.id) + offset)
        if len(data) != old.used - offset:
            raise FormatError("the file was cut short while it was written", file=str(self.path))
        old.used = offset
        new = self._new_raw_page()
        self._pwrite(data, self.header.page_start(new.id))
        new.groups, new.used = [(group, 0)], len(data)

    def _append_raw_rows(self, rows: Sequence[bytes], group: int | None) -> None:
        size = sum(map(len, rows)) + 8 * len(rows)
        page = self.raw
        if page is None or page.used + size > self.header.page_size:
            page = self._new_raw_page()
        if group is not None:
            page.groups.append((group, page.used))
        page.used = self._append(page, rows, (RAW, page.groups[-1][0]))

    # --- bytes ----------------------------------------------------------------------------------------------

    def _append(self, page: Page, rows: Sequence[bytes], name: tuple[str, int]) -> int:
        """Append length-prefixed rows to a page; return the new end of its used part."""
        offset = page.used
        start = self.header.page_start(page.id)
        pending: list[bytes] = []
        size = 0
        for row in rows:
            pending += [len(row).to_bytes(8, "little"), row]
            size += 8 + len(row)
            if size >= _CHUNK:
                offset = self._flush(pending, start, offset, name)
                pending, size = [], 0
        return self._flush(pending, start, offset, name)

    def _flush(self, parts: list[bytes], start: int, offset: int, name: tuple[str, int]) -> int:
        data = b"".join(parts)
        self._pwrite(data, start + offset)
        self.sums[name] = zlib.crc32(data, self.sums.get(name, 0))
        return offset + len(data)

    def _pwrite(self, data: bytes, offset: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self.fd, view, offset)
            view, offset = view[written:], offset + written

    def _crc32(self, start: int, size: int) -> int:
        total = 0
        while size > 0:
            data = os.pread(self.fd, min(size, _CHUNK), start)
            if not data:
                raise FormatError("the file is shorter than what was written", file=str(self.path))
            total = zlib.crc32(data, total)
            start, size = start + len(data), size - len(data)
        return total

    # --- the end --------------------------------------------------------------------------------------------

    def _check_header(self) -> bytes:
        data = self.header.to_bytes()
        if len(data) > self.header.header_size:
            raise ArgumentValueError(
                f"the header needs {len(data)} bytes for {len(self.header.pages)} pages, but its size is "
                f"{self.header.header_size}: call set_header_size() or set_page_size() with a larger number"
            )
        return data

    def finish(self) -> None:
        """Write the header and sync the file."""
        data = self._check_header()
        self._pwrite(data + bytes(max(0, self._old_header() - len(data))), 0)
        os.fsync(self.fd)

    def _old_header(self) -> int:
        """Size of the header now in the file, which the new header must overwrite completely."""
        front = os.pread(self.fd, 8, 0)
        length = int.from_bytes(front, "little") if len(front) == 8 else 0
        return min(8 + length, self.header.header_size) if length else 0

    def verify(self, shard: ShardReader) -> None:
        """Compare the file with the checksums computed while writing."""
        if shard.rows != self.header.rows:
            raise FormatError(f"{shard.rows} rows read back, {self.header.rows} written", file=str(self.path))
        for group in shard.groups:
            spans = [(BLOB, group.blob, group.blob_end), (RAW, group.raw, group.raw_end)]
            for page_type, start, end in spans:
                known = self.sums.get((page_type, group.id))
                if known is not None and self._crc32(start, end - start) != known:
                    page = group.blob_page if page_type == BLOB else group.raw_page
                    raise FormatError(
                        "what was read back is not what was written", file=str(self.path), page=page
                    )
