"""Header of a MindRecord data file: parsing with validation, and serialization."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError

from .schema import RecordSchema

__all__ = ["BLOB", "RowGroup", "Header", "MAX_HEADER", "Page", "RAW", "parse_header", "parse_header_bytes"]

BLOB, RAW = "BLOB_DATA", "RAW_DATA"
MAX_HEADER = 128 << 20
_MAX_PAGE_SIZE = 1 << 31
_VERSIONS = ("2.0", "3.0")
_MAX_INT = 2**62


@dataclasses.dataclass
class Page:
    """One page: number, type, used size, and the rows or row groups it holds."""

    id: int
    type: str
    type_id: int
    used: int = 0
    start_row: int = 0
    end_row: int = 0
    groups: list[tuple[int, int]] = dataclasses.field(default_factory=list)

    def as_json(self, shard: int) -> dict[str, Any]:
        groups = self.groups if self.type == RAW else [(0, 0)]
        return {
            "end_row_id": self.end_row,
            "page_id": self.id,
            "page_size": self.used,
            "page_type": self.type,
            "page_type_id": self.type_id,
            "row_group_ids": [{"id": group, "offset": offset} for group, offset in groups],
            "shard_id": shard,
            "start_row_id": self.start_row,
        }


@dataclasses.dataclass(frozen=True)
class RowGroup:
    """A row group by offsets in the file: blob rows in [blob, blob_end), raw rows inside [raw, raw_end)."""

    start_row: int
    rows: int
    id: int
    blob_page: int
    blob: int
    blob_end: int
    raw_page: int
    raw: int
    raw_end: int


@dataclasses.dataclass
class Header:
    """The content of the JSON header of a data file."""

    schema: RecordSchema
    header_size: int
    page_size: int
    index_fields: list[str]
    addresses: list[str]
    shard_id: int = 0
    pages: list[Page] = dataclasses.field(default_factory=list)
    compression_size: int = 0
    version: str = "3.0"

    @property
    def rows(self) -> int:
        return max((p.end_row for p in self.pages if p.type == BLOB), default=0)

    def page_start(self, page: int) -> int:
        return self.header_size + self.page_size * page

    def identity(self) -> tuple[Any, ...]:
        """Values that must be equal in all files of a set."""
        return (self.header_size, self.page_size, self.version, tuple(self.index_fields), self.schema.fields)

    def to_bytes(self) -> bytes:
        """Serialize the header: length and JSON text, byte for byte as MindSpore writes them."""
        index = [{"index_field": name, "schema_id": 0} for name in self.index_fields]
        document = {
            "header_size": self.header_size,
            "index_fields": index or None,
            "page": [page.as_json(self.shard_id) for page in self.pages] or None,
            "page_size": self.page_size,
            "compression_size": max(self.compression_size, 0),
            "schema": [self.schema.as_json()],
            "shard_addresses": self.addresses,
            "shard_id": self.shard_id,
            "statistics": None,
            "version": self.version,
        }
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        return len(text).to_bytes(8, "little") + text

    def groups(self, file_size: int, file: str) -> list[RowGroup]:
        """The row groups in row order, after checks that pages lie inside the file and are consistent."""
        if not self.pages and file_size > self.header_size:
            raise FormatError("the header lists no pages, and there are bytes where pages lie", file=file)
        raw_ranges = _raw_ranges(self, file_size, file)
        row_groups: list[RowGroup] = []
        row = 0
        for page in self.pages:
            if page.type != BLOB:
                continue
            start, rows = self.page_start(page.id), page.end_row - page.start_row
            _check_page_bounds(self, page, file_size, file)
            if page.start_row != row or rows < 0 or rows * 8 > page.used or (page.used and not rows):
                text = f"rows {page.start_row} to {page.end_row} do not follow row {row} or do not fit"
                raise FormatError(text, file=file, page=page.id)
            row = page.end_row
            if rows:
                if page.type_id not in raw_ranges:
                    text = f"row group {page.type_id} has no raw rows"
                    raise FormatError(text, file=file, page=page.id)
                raw_page, raw, raw_end = raw_ranges.pop(page.type_id)
                if rows * 8 > raw_end - raw:
                    text = f"{rows} rows cannot fit in {raw_end - raw} bytes"
                    raise FormatError(text, file=file, page=raw_page)
                end = start + page.used
                row_groups.append(
                    RowGroup(page.start_row, rows, page.type_id, page.id, start, end, raw_page, raw, raw_end)
                )
        return row_groups


def _check_page_bounds(header: Header, page: Page, file_size: int, file: str) -> None:
    if page.used > header.page_size:
        text = f"a page uses {page.used} bytes, but pages have {header.page_size}"
        raise FormatError(text, file=file, page=page.id)
    end = header.page_start(page.id) + page.used
    if page.used and end > file_size:
        text = f"the file is cut short: page {page.id} ends at byte {end}, the file has {file_size}"
        raise FormatError(text, file=file, page=page.id)


def _raw_ranges(header: Header, file_size: int, file: str) -> dict[int, tuple[int, int, int]]:
    """Row group -> (raw page, start offset, end offset of the group)."""
    ids = {page.id for page in header.pages}
    if len(ids) != len(header.pages):
        raise FormatError("two pages have the same number", file=file)
    ranges: dict[int, tuple[int, int, int]] = {}
    for page in header.pages:
        if page.type != RAW:
            continue
        _check_page_bounds(header, page, file_size, file)
        start = header.page_start(page.id)
        ordered = sorted(page.groups, key=lambda group: group[1])
        limits = [offset for _, offset in ordered[1:]] + [page.used]
        for (group, offset), limit in zip(ordered, limits):
            if offset > limit:
                raise FormatError(f"row group {group} lies outside its page", file=file, page=page.id)
            if group in ranges:
                raise FormatError(f"row group {group} has two offsets", file=file, page=page.id)
            ranges[group] = (page.id, start + offset, start + limit)
    return ranges


def parse_header(fd: int, file: str, size: int | None = None) -> Header:
    """Read the header of an open data file; invalid content raises a FormatError with the file name."""
    size = os.fstat(fd).st_size if size is None else size
    length = int.from_bytes(os.pread(fd, 8, 0), "little") if size >= 8 else 0
    front = os.pread(fd, 8 + min(length, MAX_HEADER), 0)
    return parse_header_bytes(front, size, file)


def parse_header_bytes(front: bytes, size: int, file: str) -> Header:
    """Parse the header from the first bytes of a file of this size; ``front`` must contain the whole header."""
    if size < 8:
        raise FormatError(
            f"this is not a MindRecord file: it has {size} bytes, and a header has at least 8", file=file
        )
    length = int.from_bytes(front[:8], "little")
    if length > MAX_HEADER or 8 + length > size:
        text = (
            f"this is not a MindRecord file, or it is cut short: the header claims {length} bytes of {size}"
        )
        raise FormatError(text, file=file)
    text_bytes = front[8 : 8 + length]
    try:
        document = json.loads(text_bytes.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the header is not JSON: {error}", file=file) from None
    if not isinstance(document, dict):
        raise FormatError("the header is not a JSON object", file=file)
    try:
        header = _parse_document(document)
    except _InvalidHeader as error:
        raise FormatError(f"the header is damaged: {error}", file=file) from None
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise FormatError(f"the header's schema is damaged: {error}", file=file) from None
    if 8 + length > header.header_size:
        raise FormatError(f"the header has {8 + length} bytes, more than its {header.header_size}", file=file)
    return header


class _InvalidHeader(Exception):
    """A value of the header is invalid."""


def _get_int(entry: Mapping[str, Any], key: str, low: int = 0, high: int = _MAX_INT) -> int:
    value = entry.get(key)
    if type(value) is not int or not low <= value <= high:
        raise _InvalidHeader(f"'{key}' is {_short_repr(value)}, expected an int from {low} to {high}")
    return value


def _get_list(entry: Mapping[str, Any], key: str, item_type: type, null_ok: bool = False) -> list[Any]:
    value = entry.get(key)
    if value is None and null_ok and key in entry:
        return []
    if not isinstance(value, list) or not all(isinstance(item, item_type) for item in value):
        raise _InvalidHeader(f"'{key}' is {_short_repr(value)}, expected a list of {item_type.__name__}")
    return value


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _parse_document(document: dict[str, Any]) -> Header:
    version = document.get("version")
    if version not in _VERSIONS:
        raise _InvalidHeader(f"version {_short_repr(version)}; this reader knows {' and '.join(_VERSIONS)}")
    schemas = _get_list(document, "schema", dict)
    if len(schemas) != 1 or not isinstance(schemas[0].get("schema"), dict):
        raise _InvalidHeader("'schema' must hold exactly one schema")
    desc = schemas[0].get("desc", "")
    schema = RecordSchema.parse(schemas[0]["schema"], desc if isinstance(desc, str) else "")
    index = [entry.get("index_field") for entry in _get_list(document, "index_fields", dict, null_ok=True)]
    scalars = {f.name for f in schema.raw}
    if any(not isinstance(name, str) or name not in scalars for name in index) or len(set(index)) != len(
        index
    ):
        raise _InvalidHeader(
            f"'index_fields' {_short_repr(index)} are not different scalar fields of the schema"
        )
    addresses = _get_list(document, "shard_addresses", str)
    if not addresses or any(not name or os.path.basename(name) != name or "\0" in name for name in addresses):
        raise _InvalidHeader("'shard_addresses' must be file names without folders")
    pages = [_parse_page(entry) for entry in _get_list(document, "page", dict, null_ok=True)]
    compression = document.get("compression_size", 0)
    return Header(
        schema=schema,
        header_size=_get_int(document, "header_size", 8, 1 << 31),
        page_size=_get_int(document, "page_size", 1, _MAX_PAGE_SIZE),
        index_fields=[str(name) for name in index],
        addresses=addresses,
        shard_id=_get_int(document, "shard_id") if "shard_id" in document else 0,
        pages=pages,
        compression_size=compression if type(compression) is int else 0,
        version=str(version),
    )


def _parse_page(entry: dict[str, Any]) -> Page:
    page_type = entry.get("page_type")
    if page_type not in (BLOB, RAW):
        raise _InvalidHeader(f"'page_type' is {_short_repr(page_type)}")
    page = Page(
        _get_int(entry, "page_id", high=1 << 31),
        page_type,
        _get_int(entry, "page_type_id"),
        _get_int(entry, "page_size"),
    )
    if page_type == BLOB:
        page.start_row, page.end_row = _get_int(entry, "start_row_id"), _get_int(entry, "end_row_id")
    else:
        groups = _get_list(entry, "row_group_ids", dict)
        page.groups = [(_get_int(group, "id"), _get_int(group, "offset")) for group in groups]
    return page
