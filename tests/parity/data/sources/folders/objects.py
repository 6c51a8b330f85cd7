"""Data sets of TSV and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .base import Writer, case, put


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
