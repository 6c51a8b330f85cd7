"""The text data sets and the standard formats: the folders of the parity suite, with the rows MindSpore gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.sources.folders import FOLDERS

from . import Fake

GOLDENS = Path(__file__).parents[2] / "parity" / "sources" / "goldens"


def golden(name: str) -> dict[str, Any]:
    return json.loads((GOLDENS / (name.replace(": ", "-").replace(" ", "_") + ".json")).read_text())


def rows_of(recorded: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            name: np.array(cell["value"], None if cell["dtype"] == "str" else cell["dtype"])
            for name, cell in row.items()
        }
        for row in recorded["rows"]
    ]


def cut(pattern: str, keep: int) -> Callable[[Path], str]:
    """Cut a file short."""

    def damage(folder: Path) -> str:
        path = sorted(folder.rglob(pattern))[0]
        path.write_bytes(path.read_bytes()[:keep])
        return path.name

    return damage


def write(pattern: str, data: bytes) -> Callable[[Path], str]:
    """Put other bytes in the place of a file."""

    def damage(folder: Path) -> str:
        path = sorted(folder.rglob(pattern))[0]
        path.write_bytes(data)
        return path.name

    return damage


def flip(pattern: str, place: int) -> Callable[[Path], str]:
    """Change one byte."""

    def damage(folder: Path) -> str:
        path = sorted(folder.rglob(pattern))[0]
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)
        return path.name

    return damage


NO_TEXT = b"good\n\xff\xfe\n"
DAMAGE: dict[str, Callable[[Path], str]] = {
    "TextFileDataset": write("a.txt", NO_TEXT),
    "EnWik9Dataset": write("enwik9", NO_TEXT),
    "PennTreebankDataset": write("ptb.train.txt", NO_TEXT),
    "WikiTextDataset": write("wiki.train.tokens", NO_TEXT),
    "AGNewsDataset": write("train.csv", b'"1","two"\n'),
    "AmazonReviewDataset": write("train.csv", b'"1","two","three","four"\n'),
    "DBpediaDataset": write("train.csv", b'1,"two","three\n'),
    "SogouNewsDataset": write("train.csv", b'1,"two"x,three\n'),
    "YelpReviewDataset": write("train.csv", b'1,a"b\n'),
    "YahooAnswersDataset": write("train.csv", b"1,2,3,\xff\n"),
    "CSVDataset: types": write("1.csv", b"one,2.5,x,y\n"),
    "SST2Dataset": write("train.tsv", b"sentence\tlabel\none\n"),
    "CLUEDataset: AFQMC train": write("train.json", b'{"sentence1": 1'),
    "SQuADDataset": cut("train-v1.1.json", 100),
    "CoNLL2000Dataset": write("train.txt", b"word NN\n\n"),
    "UDPOSDataset": write("en-ud-tag.v2.train.txt", b"word\tNN\n\n"),
    "Multi30kDataset": write("train.de", b"one line\n"),
    "IWSLT2016Dataset": cut("IWSLT16.TED.tst2013.de-en.de.xml", 50),
    "IWSLT2017Dataset": cut("IWSLT17.TED.dev2010.de-en.de.xml", 50),
    "IMDBDataset": write("train/neg/10_7.txt", b"\xff"),
    "ManifestDataset": write("data.manifest", b"{nope\n"),
    "TFRecordDataset": flip("1.tfrecord", 30),
    "TFRecordDataset: columns": flip("1.tfrecord", 9),
    "TFRecordDataset: ragged": cut("r.tfrecord", 100),
    "TFRecordDataset: gzip": cut("1.gz", 60),
    "TFRecordDataset: zlib": write("1.z", b"no zlib"),
}


ONE_FILE = ("TFRecordDataset: ragged", "TFRecordDataset: gzip", "TFRecordDataset: zlib")
# the schema cuts the rows before they are shuffled
LEFT_OUT = ("TFRecordDataset: schema with rows",)


def fake(name: str) -> Fake | None:
    recorded = golden(name)
    if "rows" not in recorded.get("all", {}):
        return None
    rows = rows_of(recorded["all"])
    types = {column: recorded["all"]["rows"][0][column]["dtype"] for column in rows[0]}
    shards = "files" if name.startswith("TFRecord") else "rows"
    if name in ONE_FILE:
        shards = "none"
    return Fake(FOLDERS[name][1], rows, types, damage=DAMAGE.get(name), shards=shards)


FAKES = {name: made for name in FOLDERS if name not in LEFT_OUT and (made := fake(name)) is not None}
