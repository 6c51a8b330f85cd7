"""Data sets of lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import case, put


@case("TextFileDataset")
def text_file(folder: Path) -> dict[str, Any]:
    put(folder / "b.txt", "This is a text file.\n\nAnother file.\n  spaced \n")
    put(folder / "a.txt", "Be happy every day.\r\nEnd of file.\nno newline at the end, naïve 字")
    put(folder / "c.txt", "\n\n\nlast one\n")
    return {"dataset_files": [str(folder / name) for name in ("b.txt", "a.txt", "c.txt")]}


@case("TextFileDataset", "pattern")
def text_pattern(folder: Path) -> dict[str, Any]:
    for n in range(4):
        put(folder / f"part{n}.txt", "".join(f"file {n} line {m}\n" for m in range(n + 2)))
    return {"dataset_files": str(folder / "part*.txt")}


@case("EnWik9Dataset")
def enwik9(folder: Path) -> dict[str, Any]:
    put(folder / "enwik9", "<mediawiki>\n  <siteinfo>\n\n    <sitename>Wikipedia</sitename>\n\n  </siteinfo>")
    return {"dataset_dir": str(folder)}


@case("PennTreebankDataset")
def penn(folder: Path) -> dict[str, Any]:
    for part in ("train", "valid", "test"):
        put(folder / f"ptb.{part}.txt", f" no it was n't {part} \n\n clark 's <unk> {part} \n two \n")
    return {"dataset_dir": str(folder)}


@case("PennTreebankDataset", "valid")
def penn_valid(folder: Path) -> dict[str, Any]:
    return penn(folder) | {"usage": "valid"}


@case("WikiTextDataset")
def wikitext(folder: Path) -> dict[str, Any]:
    for part in ("train", "valid", "test"):
        put(folder / f"wiki.{part}.tokens", f" \n = Title {part} = \n \n It <unk> text . \n\n end {part}\n")
    return {"dataset_dir": str(folder)}


@case("WikiTextDataset", "test")
def wikitext_test(folder: Path) -> dict[str, Any]:
    return wikitext(folder) | {"usage": "test"}
