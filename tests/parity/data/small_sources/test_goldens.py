"""The same folders give the same rows as in MindSpore 2.7.0; every difference is named here, with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.sources.fake_data import find
from tests.parity.data.small_sources.record import GOLDENS, all_cases, encode, filled

RECORDED = json.loads(GOLDENS.read_text())
CASES = all_cases()

# MindSpore insists on files with the full number of rows; we read what is there.
NOT_RECORDED = ("QMnist(usage=test10k)", "Cifar10(", "Cifar100(")
# MindSpore gives the order in which the file system lists; we sort.
UNSORTED = ("YesNo(", "LibriTTS(", "GTZAN(")
# MindSpore's reader of SPHERE files gives zeros.
WAVEFORM_DIFFERS = ("Tedlium(",)


def same_value(got: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(got.get(key) == wanted.get(key) for key in ("type", "shape", "value", "hash"))


@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith(NOT_RECORDED)])
def test_same_rows(name: str, tmp_path: Path) -> None:
    kind, maker, arguments = CASES[name]
    wanted = RECORDED[name]
    maker(tmp_path)
    data = find(kind + "Dataset")(shuffle=False, **filled(tmp_path, arguments))
    assert data.get_col_names() == wanted["columns"]
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert data.get_dataset_size() == len(rows) == len(wanted["rows"])
    got = [{column: encode(value) for column, value in row.items()} for row in rows]
    expected = wanted["rows"]
    if name.startswith(UNSORTED):
        got, expected = (
            sorted(part, key=lambda row: json.dumps(row, sort_keys=True)) for part in (got, expected)
        )
    for number, (one, two) in enumerate(zip(got, expected, strict=True)):
        for column, value in two.items():
            if column == "waveform" and name.startswith(WAVEFORM_DIFFERS):
                assert one[column]["shape"] == value["shape"]
            else:
                assert same_value(one[column], value), f"row {number}, {column}: {one[column]} is not {value}"
    if "error" not in (wanted["get_class_indexing"] or {}):
        assert data.get_class_indexing() == wanted["get_class_indexing"]
        assert data.num_classes() == wanted["num_classes"] or kind == "LSUN"
    else:
        with pytest.raises(NotImplementedError) as caught:
            data.get_class_indexing()
        assert str(caught.value) == wanted["get_class_indexing"]["error"][1]
