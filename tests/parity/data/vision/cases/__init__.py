"""Lists of cases, one file per family."""

from __future__ import annotations

from tests.parity.calls import Case
from tests.parity.data.vision.cases import (
    boxes,
    colour,
    crops,
    decode,
    errors,
    files,
    generic,
    layout,
    video,
    warps,
)


def load() -> dict[str, list[Case]]:
    """Every case, by the name of its file."""
    modules = (decode, crops, layout, colour, warps, generic, boxes, files, video, errors)
    return {module.__name__.rpartition(".")[2]: module.CASES for module in modules}
