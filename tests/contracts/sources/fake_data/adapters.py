"""What other libraries write."""

from __future__ import annotations

import importlib.util
import io
import tarfile
from pathlib import Path
from typing import Any

from . import Fake
from .damage import cut, gone, words

ROWS = [{"__key__": f"{n:03d}", "cls": n % 3, "txt": f"text of {n}"} for n in range(5)]
TABLE = [{"x": n, "word": f"word {n}"} for n in range(7)]


def write_tar(folder: Path) -> dict[str, Any]:
    with tarfile.open(folder / "a.tar", "w") as archive:
        for row in ROWS:
            for ending in ("cls", "txt"):
                data = str(row[ending]).encode()
                member = tarfile.TarInfo(f"{row['__key__']}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return {"dataset_files": str(folder / "a.tar")}


def write_parquet(folder: Path) -> dict[str, Any]:
    arrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(TABLE), folder / "a.parquet", row_group_size=3)
    return {"dataset_files": str(folder / "a.parquet")}


FAKES = {
    "WebDataset": Fake(
        write_tar,
        ROWS,
        {"__key__": "str", "cls": "int64", "txt": "str"},
        [words("a.tar"), cut("a.tar", keep=1500), gone("a.tar")],
    )
}
if importlib.util.find_spec("pyarrow"):
    types = {"x": "int64", "word": "str"}
    FAKES["ParquetDataset"] = Fake(
        write_parquet, TABLE, types, [cut("a.parquet"), words("a.parquet"), gone("a.parquet")]
    )
