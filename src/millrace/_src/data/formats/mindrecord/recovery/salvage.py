"""Recovery of rows from a damaged data file, by checksums, page lengths and index.

A checksum file proves a row. Without it, the lengths of a page prove its rows if they are consistent, and an index
(.db) proves rows whose offsets match the lengths. Each row is then decoded; a value that differs from the index is
rejected. Rows without proof are lost, never guessed. Without checksums, damage inside a value that keeps its length and
type is not detected.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.io.remote import RemotePath
from millrace._src.data.formats.mindrecord import encryption as crypto
from millrace._src.data.formats.mindrecord.atomic_commit import index_path
from millrace._src.data.formats.mindrecord.checksums import Checksums, read_checksums
from millrace._src.data.formats.mindrecord.encoding.blob_fields import (
    DUMMY_BLOB,
    ByteSlices,
    blob_columns,
    join,
)
from millrace._src.data.formats.mindrecord.encoding.msgpack import DUMMY_RAW, decode_columns
from millrace._src.data.formats.mindrecord.header import (
    BLOB,
    MAX_HEADER,
    RAW,
    Header,
    Page,
    parse_header_bytes,
)
from millrace._src.data.formats.mindrecord.remote_files import RemoteFile
from millrace._src.data.formats.mindrecord.shard import RemoteShard, ShardReader

from .index_evidence import IndexEvidence
from .row_spans import Ints, PageRun, fixed_size, validate_spans

__all__ = ["RecoveredBlock", "Salvage"]

_BLOCK_ROWS = 1024
_DAMAGED_DUMMY = (-1, -1)  # span of a damaged dummy
_BLOCK_BYTES = 16 << 20

# (raw start, raw end, blob start, blob end) of the payloads, or the reason why the row is lost
RowLocation = tuple[int, int, int, int] | str


@dataclasses.dataclass
class RecoveredBlock:
    """Consecutive rows: intact rows as stored bytes, lost rows as (page, row, reason).

    Notes describe rows that are intact although data next to them is damaged.
    """

    rows: int
    raw: list[bytes]
    blob: list[bytes]
    problems: list[tuple[int | None, int, str]]
    notes: list[tuple[int | None, int, str]] = dataclasses.field(default_factory=list)


class Salvage:
    """Reader of one data file that trusts neither its lengths nor its header."""

    def __init__(
        self,
        name: str,
        header: Header,
        data: Any,
        path: Path | None,
        shard: ShardReader | None = None,
        header_lost: bool = False,
    ) -> None:
        self.name, self.header, self.data, self.size = name, header, data, len(data)
        self._shard = shard
        self.header_lost = header_lost
        self.total_known = True  # False if an unknown number of rows may be lost
        self.sums: Checksums | None = None
        self.sums_problem = ""
        self.index: IndexEvidence | None = None
        if path is not None:
            checksums = read_checksums(path)
            if isinstance(checksums, str):
                self.sums_problem = checksums
            elif checksums.is_stale(data):
                self.sums_problem = (
                    "it was made for another state of the file: `millrace record checksum` renews it"
                )
            else:
                self.sums = checksums
                self.header_damaged = bytes(data[: len(checksums.front)]) != checksums.front
                self.header = checksums.header(name)
            self.index = IndexEvidence.of(index_path(path), path.name, self.header)

    header_damaged = False

    @classmethod
    def of_shard(cls, shard: ShardReader) -> Salvage:
        """Salvage of a file that could be opened."""
        local = shard.path if shard.is_local and not shard.encrypted else None
        data = shard.map() if shard.groups or local is not None else b""
        return cls(str(shard.path), shard.header, data, local, shard)

    @classmethod
    def of_file(cls, path: Path, cipher: crypto.Cipher, template: Header | None = None) -> Salvage:
        """Salvage of a possibly truncated file; a lost header is replaced by that of another file of the set."""
        data = _map_content(path, cipher)
        lost = False
        try:
            header = _parse_header(data, str(path))
        except FormatError:
            if template is None:
                raise
            header, lost = dataclasses.replace(template, pages=[]), True
        return cls(str(path), header, data, path if cipher.key is None else None, header_lost=lost)

    def close(self) -> None:
        """Close the index; blocks that were returned stay valid."""
        if self.index is not None:
            self.index.close()

    @staticmethod
    def header_of(path: Any, cipher: crypto.Cipher) -> Header:
        """The header of a file, independent of its pages."""
        if isinstance(path, RemotePath):
            return RemoteShard(path, RemoteFile(str(path)), cipher).header
        try:
            return _parse_header(_map_content(path, cipher), str(path))
        except FormatError:
            kept = read_checksums(path)
            if isinstance(kept, str):
                raise
            return kept.header(str(path))

    # --- rows -----------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[RecoveredBlock]:
        """Iterate over all rows in blocks."""
        start, locations, pages, size = 0, list[RowLocation](), list[int | None](), 0
        for location, page in self._row_locations():
            locations.append(location)
            pages.append(page)
            size += 0 if isinstance(location, str) else location[3] - location[2]
            if len(locations) == _BLOCK_ROWS or size > _BLOCK_BYTES:
                yield self._recover_block(start, locations, pages)
                start, locations, pages, size = start + len(locations), [], [], 0
        if locations:
            yield self._recover_block(start, locations, pages)

    def _row_locations(self) -> Iterator[tuple[RowLocation, int | None]]:
        if self.sums is not None:
            for entry in self.sums.rows:
                raw, blob = int(entry["raw"]), int(entry["blob"])
                spans = raw, raw + int(entry["raw_size"]), blob, blob + int(entry["blob_size"])
                yield spans, (blob - self.header.header_size) // self.header.page_size
            return
        if not self.header.pages:
            yield from self._rows_from_index()
            return
        raw_runs, first = self._raw_runs(), 0
        for page in self.header.pages:
            if page.type != BLOB or page.end_row <= page.start_row:
                continue
            if page.start_row != first or 8 * (page.end_row - page.start_row) > min(
                page.used, self.header.page_size
            ):
                self.total_known = False  # the header's own numbers contradict each other
                return
            first = page.end_row
            yield from self._group_locations(page, raw_runs.get(page.type_id))

    def _raw_runs(self) -> dict[int, tuple[int, int, int]]:
        """Row group -> (raw page, start, end), as far as the header is consistent."""
        runs: dict[int, tuple[int, int, int]] = {}
        for page in self.header.pages:
            ordered = sorted(page.groups, key=lambda group: group[1]) if page.type == RAW else []
            limits = [offset for _, offset in ordered[1:]] + [page.used]
            for (group, offset), limit in zip(ordered, limits):
                start = self.header.page_start(page.id)
                if offset <= limit <= self.header.page_size:
                    runs[group] = (page.id, start + offset, start + limit)
        return runs

    def _group_locations(
        self, page: Page, raw: tuple[int, int, int] | None
    ) -> Iterator[tuple[RowLocation, int | None]]:
        rows, start = page.end_row - page.start_row, self.header.page_start(page.id)
        blob_run = PageRun(page.id, start, start + page.used, rows)
        raw_run = PageRun(*raw, rows) if raw is not None else PageRun(None, 0, 0, rows)
        spans = [(run.start, min(run.end, self.size)) for run in (blob_run, raw_run)]
        with self._hold_ranges([span for span in spans if span[1] > span[0]]):
            blobs, all_blobs = validate_spans(
                self.data, self.size, blob_run, self._fixed_size_bounds(blob_run)
            )
            raws, all_raws = validate_spans(self.data, self.size, raw_run, None)
            if not (all_blobs and all_raws):
                known = self._index_bounds(page, blob_run, raw_run)
                if known is not None:
                    raws = raws if all_raws else validate_spans(self.data, self.size, raw_run, known[0])[0]
                    blobs = (
                        blobs if all_blobs else validate_spans(self.data, self.size, blob_run, known[1])[0]
                    )
        schema = self.header.schema
        # a part without fields in the schema is a dummy: nothing is lost without it
        raws = raws if schema.raw else [_DAMAGED_DUMMY if isinstance(span, str) else span for span in raws]
        blobs = (
            blobs if schema.blob else [_DAMAGED_DUMMY if isinstance(span, str) else span for span in blobs]
        )
        for raw_span, blob_span in zip(raws, blobs):
            if isinstance(blob_span, str):
                yield blob_span, page.id
            elif isinstance(raw_span, str):
                yield raw_span, raw_run.page
            else:
                yield (*raw_span, *blob_span), page.id

    def _fixed_size_bounds(self, run: PageRun) -> tuple[Ints, Ints] | None:
        """The bounds of rows of equal size; None if sizes vary."""
        size = fixed_size(self.header.schema)
        if size is None or (size + 8) * run.rows != run.end - run.start:
            return None
        starts = run.start + (size + 8) * np.arange(run.rows, dtype=np.int64)
        return starts, starts + size + 8

    def _index_bounds(
        self, page: Page, blob_run: PageRun, raw_run: PageRun
    ) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]] | None:
        """The bounds of the rows of a group in the index, if they are consistent with the header."""
        table = self.index.row_offsets(page.start_row, page.end_row) if self.index is not None else None
        if table is None:
            return None
        bounds = []
        for columns, run in ((table[:, 1:4], raw_run), (table[:, 4:7], blob_run)):
            if run.page is None or bool((columns[:, 0] != run.page).any()):
                return None
            starts, ends = (self.header.page_start(run.page) + columns[:, n] for n in (1, 2))
            if starts[0] != run.start or ends[-1] != run.end or bool((starts[1:] != ends[:-1]).any()):
                return None
            bounds.append((starts, ends))
        return bounds[0], bounds[1]

    def _hold_ranges(self, ranges: list[tuple[int, int]]) -> Any:
        return self._shard.hold_ranges(ranges) if self._shard is not None else contextlib.nullcontext()

    def _rows_from_index(self) -> Iterator[tuple[RowLocation, int | None]]:
        """The rows according to the index, for a file whose header is lost."""
        rows = self.index.rows if self.index is not None else 0
        table = self.index.row_offsets(0, rows) if self.index is not None and rows else None
        if table is None:
            self.total_known = not self.header_lost
            return
        spans = []
        for columns in (table[:, 1:4], table[:, 4:7]):
            starts, ends = (
                self.header.header_size + self.header.page_size * columns[:, 0] + columns[:, n]
                for n in (1, 2)
            )
            cuts = np.flatnonzero(starts[1:] != ends[:-1]) + 1
            runs = np.split(np.arange(rows), cuts)
            spans.append(
                [
                    span
                    for run in runs
                    for span in validate_spans(
                        self.data,
                        self.size,
                        PageRun(int(columns[run[0], 0]), int(starts[run[0]]), int(ends[run[-1]]), len(run)),
                        (starts[run], ends[run]),
                    )[0]
                ]
            )
        for raw, blob in zip(*spans):
            if isinstance(raw, str) or isinstance(blob, str):
                yield (raw if isinstance(raw, str) else blob), None
            else:
                yield (*raw, *blob), None

    # --- decoding -------------------------------------------------------------------------------------------

    def _recover_block(
        self, start: int, locations: list[RowLocation], pages: list[int | None]
    ) -> RecoveredBlock:
        good = [n for n, location in enumerate(locations) if not isinstance(location, str)]
        lost = [
            (pages[n], start + n, location)
            for n, location in enumerate(locations)
            if isinstance(location, str)
        ]
        spans = cast("list[tuple[int, int, int, int]]", [locations[n] for n in good])
        if not spans:
            return RecoveredBlock(len(locations), [], [], lost)
        ranges = [pair for s in spans for pair in ((s[0], s[1]), (s[2], s[3])) if pair != _DAMAGED_DUMMY]
        with self._shard.hold_ranges(ranges) if self._shard is not None else contextlib.nullcontext():
            raw, blob = self._read_payloads(spans)
            notes = self._notes(spans)
        if self.sums is not None:
            bad = self._find_changed(start, good)
        else:
            bad = self._find_undecodable(raw, blob)
            bad |= self._find_index_mismatches(start, good, raw, bad)
        lost += [(pages[good[n]], start + good[n], text) for n, text in bad.items()]
        kept = [n for n in range(len(good)) if n not in bad]
        whole = [(pages[n], start + n, text) for n, text in notes.items() if n not in bad]
        return RecoveredBlock(
            len(locations),
            [raw[n] for n in kept],
            [blob[n] for n in kept],
            sorted(lost, key=lambda p: p[1]),
            whole,
        )

    def _notes(self, spans: list[tuple[int, int, int, int]]) -> dict[int, str]:
        """Notes on rows that are intact although data next to them is damaged."""
        dummy = "the dummy part of the row is damaged; its values are intact"
        notes = {n: dummy for n, span in enumerate(spans) if -1 in span}
        if self.sums is not None:
            length = "its length is damaged; the checksums match, so the row is intact"
            for n, (a, b, c, d) in enumerate(spans):
                if any(self.data[s - 8 : s] != (e - s).to_bytes(8, "little") for s, e in ((a, b), (c, d))):
                    notes[n] = length
        return notes

    def _find_changed(self, start: int, good: list[int]) -> dict[int, str]:
        """Rows that do not match their checksums."""
        assert self.sums is not None
        parts = self.sums.parts(self.name)
        return {
            n: "its checksum does not match"
            for n, row in enumerate(good)
            if not self.sums.matches(self.data, start + row, parts)
        }

    def _find_index_mismatches(
        self, start: int, good: list[int], raw: list[bytes], bad: dict[int, str]
    ) -> dict[int, str]:
        """Rows whose indexed values differ from the index."""
        fields = self.header.schema.raw
        if self.index is None or not fields:
            return {}
        mismatches: dict[int, str] = {}
        position = {row: n for n, row in enumerate(good) if n not in bad}
        for first, last in _runs(list(position)):
            part = [position[row] for row in range(first, last)]
            columns = decode_columns(*join([raw[n] for n in part]), fields, self.header.index_fields)
            bad_rows = self.index.find_mismatches(start + first, columns, len(part))
            mismatches |= {part[n]: text for n, text in bad_rows.items()}
        return mismatches

    def _read_payloads(self, spans: list[tuple[int, int, int, int]]) -> tuple[list[bytes], list[bytes]]:
        schema = self.header.schema
        raw = [self.data[s[0] : s[1]] if schema.raw else DUMMY_RAW for s in spans]
        return raw, [self.data[s[2] : s[3]] if schema.blob else DUMMY_BLOB for s in spans]

    def _find_undecodable(self, raw: list[bytes], blob: list[bytes]) -> dict[int, str]:
        """Row -> why it cannot be decoded. Bisection: blocks without damage need one pass."""
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
                pieces = ByteSlices(blob, [0] * len(blob), [len(b) for b in blob])
                blob_columns(pieces, schema.blob, [f.name for f in schema.blob], self.header.version >= "3.0")
        except FormatError as error:
            column = error.context.get("column")
            return error.message + (f" (field '{column}')" if column else "")
        return None


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of consecutive numbers as [first, last)."""
    for _, part in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in part]
        yield run[0], run[-1] + 1


def _map_content(path: Path, cipher: crypto.Cipher) -> Any:
    """Memory-map a file, decrypted if it is encrypted."""
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


def _parse_header(data: Any, name: str) -> Header:
    length = int.from_bytes(data[:8], "little")
    front = bytes(data[: 8 + min(length, MAX_HEADER)])
    header = parse_header_bytes(front, len(data), name)
    listed = json.loads(front[8:])["schema"][0].get("blob_fields")
    if isinstance(listed, list) and listed != [field.name for field in header.schema.blob]:
        raise FormatError(
            f"the header is damaged: 'blob_fields' {listed} does not match its schema", file=name
        )
    return header
