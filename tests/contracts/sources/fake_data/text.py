"""The text data sets and the standard formats: the folders of the parity suite, with the rows MindSpore gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.data.sources.folders import FOLDERS

from . import Fake
from .damage import Damage, changed, cut, dangling, gone, put, words

GOLDENS = Path(__file__).parents[3] / "parity" / "data" / "sources" / "goldens"


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


NO_TEXT = b"good\n\xff\xfe\n"
TED16 = "texts/{0}/{1}/{0}-{1}/"
TED17 = "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo/"


def talk(folder: str, name: str) -> list[Damage]:
    return [
        cut(folder + name, "rows" if "tags" in name else "<seg>", keep=120 if "tags" in name else 50),
        gone(folder + name),
    ]


def not_text(file: str) -> list[Damage]:
    return [put(file, NO_TEXT, "line 2", "UTF-8"), gone(file)]


def csv(data: bytes, *says: str) -> list[Damage]:
    return [put("train.csv", data, *says), gone("train.csv")]


def json_line(name: str) -> list[Damage]:
    """A line cut short, and one without the keys of the task."""
    file = name.rpartition(" ")[2] + ".json"
    return [
        cut(file, "Invalid json", keep=20),
        put(file, b"{}\n", "failed to find key", "line 1"),
        gone(file),
    ]


FRAMES = [changed("1.tfrecord", 30, "record 1"), cut("1.tfrecord", "cut short"), words("1.tfrecord")]
DAMAGE: dict[str, list[Damage]] = {
    "TextFileDataset": not_text("a.txt"),
    "TextFileDataset: pattern": [put("part1.txt", NO_TEXT, "line 2", "UTF-8")],
    "EnWik9Dataset": not_text("enwik9"),
    "PennTreebankDataset": not_text("ptb.train.txt"),
    "PennTreebankDataset: valid": not_text("ptb.valid.txt"),
    "WikiTextDataset": not_text("wiki.train.tokens"),
    "WikiTextDataset: test": not_text("wiki.test.tokens"),
    "AGNewsDataset": csv(b'"1","two"\n', "2 fields"),
    "AmazonReviewDataset": csv(b'"1","two","three","four"\n', "4 fields"),
    "DBpediaDataset": csv(b'1,"two","three\n', "never closed"),
    "SogouNewsDataset": csv(b'1,"two"x,three\n', "quote"),
    "YelpReviewDataset": csv(b'1,a"b\n'),
    "YahooAnswersDataset": csv(b"1,2,3,\xff\n", "UTF-8"),
    "CSVDataset": [put("1.csv", b"i,f,s,t\n1,2,3\n", "3 fields", "line 1"), gone("1.csv")],
    "CSVDataset: types": [put("1.csv", b"one,2.5,x,y\n", "'one' is not a number"), gone("1.csv")],
    "CSVDataset: empty fields": [put("1.csv", b"99999999999,2.5,x\n", "int32")],
    "CSVDataset: delimiter": [put("1.csv", b"a@b\n", "2 fields")],
    "SST2Dataset": [put("train.tsv", b"sentence\tlabel\none\n", "1 fields"), gone("train.tsv")],
    "SST2Dataset: dev": [put("dev.tsv", b"sentence\tlabel\none\n", "1 fields"), gone("dev.tsv")],
    "SST2Dataset: test": [put("test.tsv", b"index\tsentence\none\n", "1 fields"), gone("test.tsv")],
    "SQuADDataset": [cut("train-v1.1.json", keep=100), put("train-v1.1.json", b"{}"), gone("dev-v1.1.json")],
    "SQuADDataset: v2 dev": [cut("dev-v2.0.json", keep=100), gone("dev-v2.0.json")],
    "CoNLL2000Dataset": [put("train.txt", b"word NN\n\n", "sentence 1"), gone("train.txt")],
    "CoNLL2000Dataset: test": [put("test.txt", b"word NN\n\n", "sentence 1"), gone("test.txt")],
    "UDPOSDataset": [
        put("en-ud-tag.v2.train.txt", b"word\tNN\n\n", "sentence 1"),
        gone("en-ud-tag.v2.train.txt"),
    ],
    "UDPOSDataset: valid": [put("en-ud-tag.v2.dev.txt", b"word\tNN\n\n"), gone("en-ud-tag.v2.dev.txt")],
    "Multi30kDataset": [put("training/train.de", b"one line\n", "rows"), gone("training/train.de")],
    "Multi30kDataset: train": [
        put("training/train.en", b"\xff\nb\n\nc\n", "line 1", "UTF-8"),
        gone("training/train.en"),
    ],
    "Multi30kDataset: test de en": [put("mmt16_task1_test/test.en", b""), gone("mmt16_task1_test/test.en")],
    "IWSLT2016Dataset": talk(TED16.format("de", "en"), "IWSLT16.TED.tst2013.de-en.de.xml"),
    "IWSLT2016Dataset: train": talk(TED16.format("de", "en"), "train.tags.de-en.en"),
    "IWSLT2016Dataset: valid": talk(TED16.format("de", "en"), "IWSLT16.TED.dev2010.de-en.en.xml"),
    "IWSLT2016Dataset: test": talk(TED16.format("en", "de"), "IWSLT16.TED.tst2012.en-de.de.xml"),
    "IWSLT2017Dataset": talk(TED17, "IWSLT17.TED.dev2010.de-en.de.xml"),
    "IWSLT2017Dataset: train": talk(TED17, "train.tags.de-en.de"),
    "IWSLT2017Dataset: valid": talk(TED17, "IWSLT17.TED.dev2010.en-de.en.xml"),
    "IWSLT2017Dataset: test": talk(TED17, "IWSLT17.TED.tst2010.de-en.en.xml"),
    "IMDBDataset": [put("train/neg/10_7.txt", b"\xff", "UTF-8"), dangling("train/neg/10_7.txt")],
    "IMDBDataset: test": [put("test/neg/10_7.txt", b"\xff", "UTF-8")],
    "ManifestDataset": [put("data.manifest", b"{nope\n", "line 1"), gone("0.png", "data.manifest names it")],
    "ManifestDataset: decoded": [words("1.png", "row"), cut("1.png"), gone("data.manifest")],
    "ManifestDataset: classes": [
        put("data.manifest", b'{"usage": "train"}\n', "'source' is missing", "line 1")
    ],
    "TFRecordDataset": FRAMES,
    "TFRecordDataset: columns": [changed("1.tfrecord", 9, "record 1"), *FRAMES],
    "TFRecordDataset: schema": [*FRAMES, cut("schema.json"), gone("schema.json")],
    "TFRecordDataset: ragged": [cut("r.tfrecord", keep=100), gone("r.tfrecord")],
    "TFRecordDataset: gzip": [cut("1.gz", "GZIP", keep=60), words("1.gz", "GZIP"), gone("1.gz")],
    "TFRecordDataset: zlib": [put("1.z", b"no zlib", "ZLIB"), cut("1.z", "ends too early"), gone("1.z")],
}
# the same files as of the case without the variant
DAMAGE |= {
    f"{name}: train": DAMAGE[name] for name in ("AGNewsDataset", "AmazonReviewDataset", "DBpediaDataset")
}
DAMAGE["SogouNewsDataset: train"] = DAMAGE["SogouNewsDataset"]
DAMAGE |= {name: json_line(name) for name in FOLDERS if name.startswith("CLUEDataset")}

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
    return Fake(FOLDERS[name][1], rows, types, DAMAGE.get(name, []), shards=shards)


FAKES = {name: made for name in FOLDERS if name not in LEFT_OUT and (made := fake(name)) is not None}
