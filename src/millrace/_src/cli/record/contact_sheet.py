"""Contact sheet of the first images of a record set."""

from __future__ import annotations

import io
import math
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.data.formats.mindrecord import MindRecordReader
from millrace._src.data.kernels.vision.image_header import check_size, image_format, image_size

__all__ = ["write_sheet"]

_TILE = 160
_GAP = 4
_LINE = 14


def write_sheet(reader: MindRecordReader, path: str, count: int, column: str | None) -> dict[str, Any]:
    """Write a PNG file; returns the image column and the number of images."""
    from PIL import Image, ImageDraw

    chosen = _choose_column(reader, column)
    number = max(0, min(count, len(reader)))
    across = max(1, math.ceil(math.sqrt(number)))
    down = max(1, math.ceil(number / across))
    height = _TILE + _LINE
    sheet = Image.new("RGB", (across * (_TILE + _GAP) + _GAP, down * (height + _GAP) + _GAP), "white")
    canvas = ImageDraw.Draw(sheet)
    labels = [f.name for f in reader.schema.raw if f.name in ("label", "file_name", "fine_label")]
    for n, row in enumerate(reader.rows(0, number, [chosen, *labels])):
        left, top = _GAP + n % across * (_TILE + _GAP), _GAP + n // across * (height + _GAP)
        tile = _create_tile(row[chosen])
        if tile is None:
            canvas.rectangle((left, top, left + _TILE - 1, top + _TILE - 1), outline="red")
            canvas.text((left + 4, top + 4), "no image", fill="red")
        else:
            sheet.paste(tile, (left + (_TILE - tile.width) // 2, top + (_TILE - tile.height) // 2))
        text = " ".join([f"{n}:", *(str(row[name]) for name in labels)])
        canvas.text(
            (left, top + _TILE), text[:26].encode("latin-1", "replace").decode("latin-1"), fill="black"
        )
    sheet.save(path, "PNG")
    return {"file": path, "column": chosen, "images": number}


def _choose_column(reader: MindRecordReader, column: str | None) -> str:
    names = [field.name for field in reader.schema.fields if field.type == "bytes"]
    if column is not None:
        if column not in names:
            raise ArgumentValueError(
                f"there is no column {column!r} of bytes; the columns of bytes are {names}"
            )
        return column
    for name in names:
        if len(reader) and image_format(reader.read([0], [name])[name][0]):
            return name
    raise ArgumentValueError(
        f"no column holds images (the columns of bytes are {names}); name one with --column"
    )


def _create_tile(data: bytes) -> Any:
    from PIL import Image

    size = image_size(data) if image_format(data) else None
    if size is None:
        return None
    try:
        check_size("millrace record sheet", size)
        with Image.open(io.BytesIO(data)) as image:
            image.draft("RGB", (_TILE, _TILE))
            small = image.convert("RGB")
            small.thumbnail((_TILE, _TILE))
            return small
    except Exception:  # a damaged image gets a placeholder
        return None
