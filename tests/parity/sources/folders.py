"""Small data sets in the layout of the real ones. No import of Millrace or MindSpore: both read what this writes.

FOLDERS: case -> (class, writer). The writer fills a folder and returns the arguments of the class, in which paths
are relative to the folder and stand in a ``Path``, so that they can be placed anywhere.
"""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .tf_bytes import example, records

Writer = Callable[[Path], dict[str, Any]]

FOLDERS: dict[str, tuple[str, Writer]] = {}


def case(kind: str, variant: str = "") -> Callable[[Writer], Writer]:
    def add(write: Writer) -> Writer:
        FOLDERS[f"{kind}: {variant}" if variant else kind] = (kind, write)
        return write

    return add


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --- text files ------------------------------------------------------------------------------------------------


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


# --- csv -------------------------------------------------------------------------------------------------------

QUOTED = [
    '"3","Wall St. Bears (Reuters)","Short-sellers, seeing green again."',
    '"4","Say ""hello"" twice","line one\nline two"',
    '"1","","empty title"',
    "2,plain,no quotes",
    '"2","back\\slash \\\\ n","tab\there"',
]


def three_columns(folder: Path) -> dict[str, Any]:
    put(folder / "train.csv", "\n".join(QUOTED) + "\n")
    put(folder / "test.csv", "\n".join(reversed(QUOTED)))
    return {"dataset_dir": str(folder)}


for _kind in ("AGNewsDataset", "AmazonReviewDataset", "DBpediaDataset", "SogouNewsDataset"):
    case(_kind)(three_columns)
    case(_kind, "train")(lambda folder: three_columns(folder) | {"usage": "train"})


@case("YelpReviewDataset")
def yelp(folder: Path) -> dict[str, Any]:
    put(folder / "train.csv", '"1","Unfortunately, the ""frustration"""\n"2","a\\nb\nc"\n')
    put(folder / "test.csv", '"2","Good, really"\n"1","bad"\n"1","worse"')
    return {"dataset_dir": str(folder)}


@case("YahooAnswersDataset")
def yahoo(folder: Path) -> dict[str, Any]:
    put(folder / "train.csv", '"4","title, one","content ""q""","best\\nanswer"\n"1","t","","a"\n')
    put(folder / "test.csv", '"9","why","","because"\n')
    return {"dataset_dir": str(folder)}


CSV_LINES = ["1,2.5,red,7", "-4,1e3,green,8", '5,.25,"bl""ue",9', '6,0,"a,b\nc",10', "7,-1.5,,11"]


@case("CSVDataset")
def csv_header(folder: Path) -> dict[str, Any]:
    put(folder / "1.csv", "i,f,s,t\n" + "\n".join(CSV_LINES) + "\n")
    return {"dataset_files": str(folder / "1.csv")}


@case("CSVDataset", "types")
def csv_types(folder: Path) -> dict[str, Any]:
    put(folder / "1.csv", "\n".join(CSV_LINES) + "\n")
    put(folder / "2.csv", "\r\n".join(CSV_LINES[:2]))
    return {
        "dataset_files": [str(folder / "2.csv"), str(folder / "1.csv")],
        "column_defaults": [0, 0.0, "", ""],
        "column_names": ["i", "f", "s", "t"],
    }


@case("CSVDataset", "empty fields")
def csv_empty(folder: Path) -> dict[str, Any]:
    put(folder / "1.csv", "1,2.5,x\n2,3,\n3,4,z\n")
    return {
        "dataset_files": str(folder / "1.csv"),
        "column_defaults": [7, 8.5, "none"],
        "column_names": ["i", "f", "s"],
    }


@case("CSVDataset", "delimiter")
def csv_delimiter(folder: Path) -> dict[str, Any]:
    put(folder / "1.csv", 'a@b,c@1\n\n d @e@2\n"x@y"@"z"@3\n')
    return {"dataset_files": str(folder / "1.csv"), "field_delim": "@", "column_names": ["p", "q", "r"]}


# --- tsv, json -------------------------------------------------------------------------------------------------


def sst2(folder: Path) -> dict[str, Any]:
    put(
        folder / "train.tsv",
        "sentence\tlabel\nhide new secretions \t0\ncontains no wit , only gags \t0\nbig\t1\n",
    )
    put(folder / "dev.tsv", "sentence\tlabel\nit 's a charming journey . \t1\nunflinchingly bleak\t0\n")
    put(folder / "test.tsv", "index\tsentence\n0\tuneasy mishmash .\n1\tthis film 's relationship\n2\tx\n")
    return {"dataset_dir": str(folder)}


case("SST2Dataset")(sst2)
case("SST2Dataset", "dev")(lambda folder: sst2(folder) | {"usage": "dev"})
case("SST2Dataset", "test")(lambda folder: sst2(folder) | {"usage": "test"})


def _pair(one: str, two: str) -> dict[str, Any]:
    return {"sentence1": one, "sentence2": two}


TARGET = {"span2_index": 37, "span1_index": 5, "span1_text": "床", "span2_text": "它"}
CLUE: dict[str, dict[str, list[dict[str, Any]]]] = {
    "AFQMC": {
        "train": [_pair("蚂蚁借呗", 'a"b') | {"label": "0"}, _pair("x", "y\n") | {"label": "1"}],
        "test": [{"id": 0} | _pair("s", "t"), {"id": 1} | _pair("u", "v")],
        "eval": [_pair("e", "f") | {"label": "1"}, _pair("g", "h") | {"label": "0"}],
    },
    "TNEWS": {
        "train": [{"label": "102", "label_desc": "news_e", "sentence": "one", "keywords": "k,l"}] * 2,
        "test": [{"id": 5, "sentence": "one", "keywords": "k,l"}] * 2,
        "eval": [{"label": "102", "label_desc": "news_e", "sentence": "two", "keywords": ""}] * 2,
    },
    "IFLYTEK": {
        "train": [{"label": "11", "label_des": "薅羊毛", "sentence": "应用"}] * 2,
        "test": [{"id": 3, "sentence": "应用"}] * 2,
        "eval": [{"label": "11", "label_des": "d", "sentence": "s"}] * 2,
    },
    "CMNLI": {
        "train": [{"sentence1": "a", "sentence2": "b", "label": "neutral"}] * 2,
        "test": [{"id": 3, "sentence1": "a", "sentence2": "b"}] * 2,
        "eval": [{"sentence1": "a", "sentence2": "b", "label": "entailment"}] * 2,
    },
    "WSC": {
        "train": [{"target": TARGET, "idx": 261, "label": "false", "text": "这时候"}] * 2,
        "test": [{"target": TARGET, "idx": 261, "text": "这时候"}] * 2,
        "eval": [{"target": TARGET, "idx": 26, "label": "true", "text": "t"}] * 2,
    },
    "CSL": {
        "train": [
            {"id": 1, "abst": "abstract", "keyword": ["one", "two", "三"], "label": "0"},
            {"id": 2, "abst": "b", "keyword": ["x"], "label": "1"},
        ],
        "test": [{"id": 1, "abst": "abstract", "keyword": ["one", "two"]}] * 2,
        "eval": [{"id": 1, "abst": "abstract", "keyword": ["one", "two"], "label": "0"}] * 2,
    },
}


def _clue(task: str, usage: str) -> Writer:
    def write(folder: Path) -> dict[str, Any]:
        lines = [json.dumps(row, ensure_ascii=False) for row in CLUE[task][usage]]
        put(folder / f"{usage}.json", "\n".join(lines) + "\n")
        return {"dataset_files": [str(folder / f"{usage}.json")], "task": task, "usage": usage}

    return write


for _task, _usages in CLUE.items():
    for _usage in _usages:
        case("CLUEDataset", f"{_task} {_usage}")(_clue(_task, _usage))


def _answer(start: int, text: str) -> dict[str, Any]:
    return {"answer_start": start, "text": text}


def _squad(version: str, usages: tuple[str, ...]) -> Writer:
    def write(folder: Path) -> dict[str, Any]:
        for usage in ("train", "dev"):
            qas = [
                {
                    "answers": [_answer(5, f"to {usage}"), _answer(9, "Saint")],
                    "question": "To whom?",
                    "id": "1",
                },
                {"question": 'Wo, "what"?', "id": "2", "answers": [_answer(0, "one")]},
                {"question": "impossible?", "id": "3", "answers": [], "is_impossible": True},
            ]
            context = "Architecturally, 字\nthe school"
            paragraphs = [{"context": context, "qas": qas}, {"qas": qas[1:2], "context": "c2"}]
            data = [
                {"title": "University", "paragraphs": paragraphs},
                {"paragraphs": paragraphs[1:], "title": "B"},
            ]
            put(folder / f"{usage}-{version}.json", json.dumps({"data": data, "version": version[1:]}))
        return {"dataset_dir": str(folder)} | ({"usage": usages[0]} if len(usages) == 1 else {})

    return write


case("SQuADDataset")(_squad("v1.1", ("train", "dev")))
case("SQuADDataset", "v2 dev")(_squad("v2.0", ("dev",)))

# --- tagged words ----------------------------------------------------------------------------------------------


def conll(folder: Path) -> dict[str, Any]:
    sentence = "Confidence NN B-NP\nin IN B-PP\nthe DT B-NP\n. . O\n\n"
    put(folder / "train.txt", sentence + "Chancellor NNP O\n's POS B-NP\n\nA B C\n\n")
    put(folder / "test.txt", "Rockwell NNP B-NP\nsaid VBD B-VP\n\nThe DT B-NP\n\n")
    return {"dataset_dir": str(folder)}


case("CoNLL2000Dataset")(conll)
case("CoNLL2000Dataset", "test")(lambda folder: conll(folder) | {"usage": "test"})


def udpos(folder: Path) -> dict[str, Any]:
    for part in ("train", "dev", "test"):
        rows = f"Al\tPROPN\tNNP\n-\tPUNCT\tHYPH\n{part}\tNOUN\tNN\n\nOne\tNUM\tCD\n\nTwo words\tX\tFW\nb\tADJ\tJJ\n\n"
        put(folder / f"en-ud-tag.v2.{part}.txt", rows)
    return {"dataset_dir": str(folder)}


case("UDPOSDataset")(udpos)
case("UDPOSDataset", "valid")(lambda folder: udpos(folder) | {"usage": "valid"})

# --- translations ----------------------------------------------------------------------------------------------


def multi30k(folder: Path) -> dict[str, Any]:
    for place, stem in (("training", "train"), ("validation", "val"), ("mmt16_task1_test", "test")):
        put(folder / place / f"{stem}.en", f"Two young men in {stem}.\nA man in a blue shirt. \n\nlast\n")
        put(
            folder / place / f"{stem}.de", f"Zwei junge Männer {stem}.\nEin Mann im blauen Hemd.\n\nletzter\n"
        )
    return {"dataset_dir": str(folder)}


case("Multi30kDataset")(multi30k)
case("Multi30kDataset", "test de en")(
    lambda f: multi30k(f) | {"usage": "test", "language_pair": ["de", "en"]}
)
case("Multi30kDataset", "train")(lambda f: multi30k(f) | {"usage": "train"})

TAGS = """<url>http://www.ted.com/talks/1</url>
<keywords>talks</keywords>
<title>{0}: title</title>
{0} first line.
 {0} second & line.\x20
<reviewer>x</reviewer>
<translator>y</translator>
{0} third
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<srcset setid="t" srclang="x">
<doc docid="1" genre="lectures">
<url>http://www.ted.com</url>
<title>{0}</title>
<seg id="1"> {0} one &amp; two </seg>
<seg id="2">{0} two.</seg>
</doc>
<doc docid="2" genre="lectures">
<seg id="1"> {0} three </seg>
</doc>
</srcset>
</mteval>
"""


def _iwslt(folder: Path, year: str, sets: tuple[str, ...]) -> None:
    for one, two in (("de", "en"), ("en", "de")):
        pair = f"{one}-{two}"
        if year == "16":
            place = folder / "texts" / one / two / pair
        else:
            place = folder / "texts" / "DeEnItNlRo" / "DeEnItNlRo" / "DeEnItNlRo-DeEnItNlRo"
        for language in (one, two):
            put(place / f"train.tags.{pair}.{language}", TAGS.format(f"{pair} {language}"))
            for name in sets:
                put(place / f"IWSLT{year}.TED.{name}.{pair}.{language}.xml", XML.format(f"{name} {language}"))


def iwslt2016(folder: Path) -> dict[str, Any]:
    _iwslt(folder, "16", ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"))
    return {"dataset_dir": str(folder)}


def iwslt2017(folder: Path) -> dict[str, Any]:
    _iwslt(folder, "17", ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014", "tst2015"))
    return {"dataset_dir": str(folder)}


case("IWSLT2016Dataset")(iwslt2016)
case("IWSLT2016Dataset", "train")(lambda f: iwslt2016(f) | {"usage": "train", "language_pair": ["de", "en"]})
case("IWSLT2016Dataset", "valid")(lambda f: iwslt2016(f) | {"usage": "valid", "valid_set": "dev2010"})
case("IWSLT2016Dataset", "test")(
    lambda f: iwslt2016(f) | {"usage": "test", "test_set": "tst2012", "language_pair": ("en", "de")}
)
case("IWSLT2017Dataset")(iwslt2017)
case("IWSLT2017Dataset", "train")(lambda f: iwslt2017(f) | {"usage": "train"})
case("IWSLT2017Dataset", "valid")(lambda f: iwslt2017(f) | {"usage": "valid", "language_pair": ["en", "de"]})
case("IWSLT2017Dataset", "test")(lambda f: iwslt2017(f) | {"usage": "test"})

# --- a file per row --------------------------------------------------------------------------------------------


def imdb(folder: Path) -> dict[str, Any]:
    for part in ("train", "test"):
        for mood in ("pos", "neg"):
            for name in ("0_9", "10_7", "2_8"):
                put(folder / part / mood / f"{name}.txt", f"{part} {mood} {name}<br />two lines, 字")
    put(folder / "README", "no data")
    return {"dataset_dir": str(folder)}


case("IMDBDataset")(imdb)
case("IMDBDataset", "test")(lambda f: imdb(f) | {"usage": "test"})


def png(shade: int) -> bytes:
    """An image of two by two pixels."""
    rows = (b"\0" + bytes([shade, 1, 2]) * 2) * 2

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


IMAGES = [
    ("train", "cat"),
    ("train", "dog"),
    ("eval", "cat"),
    ("train", "ant"),
    ("train", "dog"),
    ("inference", "x"),
]


def manifest(folder: Path) -> dict[str, Any]:
    lines = []
    for n, (usage, label) in enumerate(IMAGES):
        put(folder / f"{n}.png", png(n * 20))
        note = {"type": "modelarts/image_classification", "name": label, "property": {}}
        row = {"source": str(folder / f"{n}.png"), "usage": usage, "inference-loc": "", "annotation": [note]}
        lines.append(json.dumps(row))
    put(folder / "data.manifest", "\n".join(lines) + "\n")
    return {"dataset_file": str(folder / "data.manifest")}


case("ManifestDataset")(manifest)
case("ManifestDataset", "decoded")(lambda f: manifest(f) | {"decode": True})
case("ManifestDataset", "classes")(
    lambda f: manifest(f) | {"class_indexing": {"cat": 11, "dog": 1, "ant": 7}}
)

# --- TFRecord --------------------------------------------------------------------------------------------------


def tf_rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "number": [n],
            "floats": [n + 0.5, -n, 1e-3],
            "name": [f"row {n}".encode()],
            "pair": [n, -n],
            "words": [b"a" * (n % 3 + 1), b"bc"],
        }
        for n in range(start, start + count)
    ]


@case("TFRecordDataset")
def tfrecord(folder: Path) -> dict[str, Any]:
    put(folder / "1.tfrecord", records([example(row) for row in tf_rows(5)]))
    put(folder / "0.tfrecord", records([example(row) for row in tf_rows(3, 5)]))
    return {"dataset_files": str(folder / "*.tfrecord")}


@case("TFRecordDataset", "columns")
def tfrecord_columns(folder: Path) -> dict[str, Any]:
    return tfrecord(folder) | {"columns_list": ["pair", "number"]}


@case("TFRecordDataset", "schema")
def tfrecord_schema(folder: Path) -> dict[str, Any]:
    columns = {
        "number": {"type": "int32", "rank": 0, "shape": []},
        "floats": {"type": "float32", "rank": 1, "shape": [3]},
        "name": {"type": "uint8", "rank": 1, "shape": [-1]},
        "pair": {"type": "int16", "rank": 2, "shape": [1, 2]},
    }
    put(folder / "schema.json", json.dumps({"datasetType": "TF", "columns": columns}))
    return tfrecord(folder) | {"schema": str(folder / "schema.json")}


@case("TFRecordDataset", "schema with rows")
def tfrecord_rows(folder: Path) -> dict[str, Any]:
    columns = {"number": {"type": "int64", "rank": 1, "shape": [-1]}}
    put(folder / "schema.json", json.dumps({"datasetType": "TF", "numRows": 6, "columns": columns}))
    return tfrecord(folder) | {"schema": str(folder / "schema.json")}


@case("TFRecordDataset", "ragged")
def tfrecord_ragged(folder: Path) -> dict[str, Any]:
    rows = [
        {"x": list(range(n + 1)), "y": [float(n)] * (3 - n % 3), "z": [b"q"] * (n % 2 + 1)} for n in range(5)
    ]
    put(folder / "r.tfrecord", records([example(row) for row in rows]))
    return {"dataset_files": str(folder / "r.tfrecord")}


@case("TFRecordDataset", "gzip")
def tfrecord_gzip(folder: Path) -> dict[str, Any]:
    put(folder / "1.gz", gzip.compress(records([example(row) for row in tf_rows(4)])))
    return {
        "dataset_files": str(folder / "1.gz"),
        "compression_type": "GZIP",
        "columns_list": ["number", "name"],
    }


@case("TFRecordDataset", "zlib")
def tfrecord_zlib(folder: Path) -> dict[str, Any]:
    put(folder / "1.z", zlib.compress(records([example(row) for row in tf_rows(4)])))
    return {
        "dataset_files": str(folder / "1.z"),
        "compression_type": "ZLIB",
        "columns_list": ["number", "name"],
    }
