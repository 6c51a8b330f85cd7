"""Texts that end in NUL: an array drops them, and so must a column of text, or whole columns would differ from rows."""

from __future__ import annotations

from pathlib import Path

import millrace.dataset as ds
from millrace.dataset import text


def test_whole_columns_see_what_rows_see(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\0\nb\0c\n\0\0d\0\0\n")
    lines = ds.TextFileDataset(str(tmp_path / "a.txt"), shuffle=False)
    whole = lines.map(text.UnicodeCharTokenizer(), "text")
    alone = lines.map(lambda line: text.UnicodeCharTokenizer()(line), "text")
    datasets = [
        [row["text"].tolist() for row in data.create_dict_iterator(1, output_numpy=True)]
        for data in (whole, alone)
    ]
    assert datasets[0] == datasets[1]
    assert [row["text"].item() for row in lines.create_dict_iterator(1, output_numpy=True)] == [
        "a",
        "b\0c",
        "\0\0d",
    ]
