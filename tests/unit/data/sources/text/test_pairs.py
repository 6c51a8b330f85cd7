"""Translations: line n of one file belongs to line n of the other, whatever is empty.

MindSpore pairs the same way, but counts only the lines of the first language that are not empty, and so loses rows at
the end; it cuts the longer of two files without a word, and refuses empty lines of IWSLT.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millrace.dataset as ds
from millrace._src.core.errors import FormatError

PAIRS = {
    "empty on the left": ("a\n\nc\n", "x\ny\nz\n", [("a", "x"), ("", "y"), ("c", "z")]),
    "empty on the right": ("a\nb\nc\n", "x\n\nz\n", [("a", "x"), ("b", ""), ("c", "z")]),
    "empty in both": ("a\n\nc\n", "x\n\nz\n", [("a", "x"), ("c", "z")]),
    "empty in different places": (
        "a\n\nc\nd\n",
        "x\ny\n\nw\n",
        [("a", "x"), ("", "y"), ("c", ""), ("d", "w")],
    ),
    "empty lines at the end": ("a\nb\n\n\n", "x\ny\n", [("a", "x"), ("b", "y")]),
    "no newline at the end": ("a\nb", "x\ny\n", [("a", "x"), ("b", "y")]),
}


def rows(data: Any) -> list[tuple[str, str]]:
    return [
        (str(row["text"]), str(row["translation"]))
        for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)
    ]


def multi30k(folder: Path, en: str, de: str) -> Any:
    (folder / "training").mkdir()
    (folder / "training/train.en").write_text(en)
    (folder / "training/train.de").write_text(de)
    return ds.Multi30kDataset(str(folder), usage="train", shuffle=False)


def iwslt(folder: Path, de: str, en: str) -> Any:
    pair_folder = folder / "texts/de/en/de-en"
    pair_folder.mkdir(parents=True)
    (pair_folder / "train.tags.de-en.de").write_text(de)
    (pair_folder / "train.tags.de-en.en").write_text(en)
    return ds.IWSLT2016Dataset(str(folder), usage="train", language_pair=["de", "en"], shuffle=False)


@pytest.mark.parametrize("make", [multi30k, iwslt])
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, make: Any, tmp_path: Path) -> None:
    one, two, wanted = PAIRS[name]
    data = make(tmp_path, one, two)
    assert rows(data) == wanted
    assert data.get_dataset_size() == len(wanted)


@pytest.mark.parametrize("make", [multi30k, iwslt])
@pytest.mark.parametrize(("one", "two"), [("a\nb\n", "x\ny\nz\n"), ("a\nb\nc\n", "x\n")])
def test_files_of_different_length(make: Any, one: str, two: str, tmp_path: Path) -> None:
    with pytest.raises(
        FormatError,
        match=r"differ in their numbers of rows: .*has \d and .*has \d.*Find the first line that does not",
    ) as caught:
        rows(make(tmp_path, one, two))
    assert str(caught.value).count(str(tmp_path)) >= 2


def test_only_known_tags_are_tags(tmp_path: Path) -> None:
    """The tags that MindSpore 2.7.0 leaves out; it keeps every other line that begins with a sign of less."""
    tags = (
        "url",
        "keywords",
        "talkid",
        "description",
        "reviewer",
        "translator",
        "title",
        "speaker",
        "doc",
        "/doc",
    )
    text = "".join(f"<{tag} x>y\n" for tag in tags) + " <title>x\n<seg>x\n<3 is a heart\n< a\nlast\n"
    wanted = ["<seg>x", "<3 is a heart", "< a", "last"]
    assert rows(iwslt(tmp_path, text, text)) == [(line, line) for line in wanted]


def test_segments_that_are_empty_are_rows(tmp_path: Path) -> None:
    pair_folder = tmp_path / "texts/de/en/de-en"
    pair_folder.mkdir(parents=True)
    for language, texts in (("de", ("a", "", "c")), ("en", ("A", "", ""))):
        inside = "\n".join(f'<seg id="{n}">{text}</seg>' for n, text in enumerate(texts))
        (pair_folder / f"IWSLT16.TED.tst2013.de-en.{language}.xml").write_text(f"<doc>{inside}</doc>")
    data = ds.IWSLT2016Dataset(str(tmp_path), usage="valid", language_pair=["de", "en"], shuffle=False)
    assert rows(data) == [("a", "A"), ("", ""), ("c", "")]
