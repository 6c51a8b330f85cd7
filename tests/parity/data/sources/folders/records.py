"""Data sets of CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import case, put

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
