"""text.HuggingFaceTokenizer beside the library it stands on."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.text as text
from millrace._src.core import settings
from tests.contracts.transforms.text_examples import LINES

tokenizers = pytest.importorskip("tokenizers")

OUTPUTS = ["ids", "attention_mask", "type_ids", "special_tokens_mask", "offsets", "tokens"]


def make(path: Path, *, cut: int | None = None, pad: dict[str, Any] | None = None) -> str:
    """A BPE tokenizer over bytes, with special tokens around the text, made and saved by the library."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["[CLS]", "[SEP]", "[PAD]"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(LINES, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
    )
    if cut is not None:
        made.enable_truncation(cut)
    if pad is not None:
        made.enable_padding(pad_id=2, pad_token="[PAD]", **pad)
    made.save(str(path))
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return make(tmp_path / "tokenizer.json")


def test_the_same_as_the_library_for_every_output(file: str) -> None:
    library = tokenizers.Tokenizer.from_file(file)
    ours = text.HuggingFaceTokenizer(file, OUTPUTS)
    for line in LINES:
        wanted = library.encode(line)
        got = dict(zip(OUTPUTS, ours(line), strict=True))
        for name in OUTPUTS[:4]:
            assert got[name].dtype == np.int32
            assert got[name].tolist() == getattr(wanted, name)
        assert [tuple(pair) for pair in got["offsets"].tolist()] == wanted.offsets
        assert got["tokens"].tolist() == wanted.tokens
        for (start, stop), token in zip(got["offsets"].tolist(), got["tokens"].tolist(), strict=True):
            if line.isascii() and not token.startswith("["):
                assert line[start:stop].replace(" ", "Ġ").replace("\n", "Ċ").replace("\t", "ĉ") == token


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_a_column_at_a_time_gives_the_same(file: str, executor: str) -> None:
    settings.update(executor=executor)
    ours = text.HuggingFaceTokenizer(file, OUTPUTS)
    data = ds.NumpySlicesDataset({"x": list(LINES) * 5}, shuffle=False).map(ours, "x", OUTPUTS)
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    for line, row in zip(LINES * 5, rows, strict=True):
        for one, two in zip(ours(line), row.values(), strict=True):
            assert one.dtype == two.dtype
            assert np.array_equal(one, two)


def test_pairs(file: str) -> None:
    wanted = tokenizers.Tokenizer.from_file(file).encode("the end", "hi")
    ids, kinds = text.HuggingFaceTokenizer(file, ["ids", "type_ids"])("the end", "hi")
    assert (ids.tolist(), kinds.tolist()) == (wanted.ids, wanted.type_ids)
    data = ds.NumpySlicesDataset({"a": ["the end"], "b": ["hi"]}).map(
        text.HuggingFaceTokenizer(file), ["a", "b"], ["ids"]
    )
    assert [row[0].tolist() for row in data] == [wanted.ids]


def test_nothing_and_no_special_tokens(file: str) -> None:
    plain = text.HuggingFaceTokenizer(file, OUTPUTS, special_tokens=False)
    assert [value.shape for value in plain("")] == [(0,), (0,), (0,), (0,), (0, 2), (0,)]
    assert plain("the")[0].tolist() == text.HuggingFaceTokenizer(file)("the").tolist()[1:-1]


def test_cut_and_pad_as_the_file_says_or_otherwise(tmp_path: Path) -> None:
    path = make(tmp_path / "both.json", cut=5, pad={"length": 8})
    line = "a b c d e f g h"
    asks = text.HuggingFaceTokenizer
    whole = asks(path, truncation=None, padding=None)(line).tolist()
    assert len(whole) > 8
    assert asks(path)(line).tolist() == [*whole[:4], 1, 2, 2, 2]
    assert asks(path, truncation=4, padding=None)(line).tolist() == [*whole[:3], 1]
    assert asks(path, padding=6)(line).tolist() == [*whole[:4], 1, 2]
    ids, mask = asks(path, ["ids", "attention_mask"], padding=7)("a")
    assert (len(ids), int(mask.sum())) == (7, 3)


def test_a_row_is_never_padded_to_its_neighbours(tmp_path: Path) -> None:
    path = make(tmp_path / "longest.json", pad={})
    data = ds.NumpySlicesDataset({"x": ["a", "a b c d"]}, shuffle=False)
    rows = [row[0].tolist() for row in data.map(text.HuggingFaceTokenizer(path), "x")]
    assert [len(row) for row in rows] == [3, 9]
    assert 2 not in rows[0]


def test_pad_token_where_the_file_names_none(file: str) -> None:
    assert text.HuggingFaceTokenizer(file, padding=4, pad_token="[PAD]")("a").tolist()[3:] == [2]
    with pytest.raises(ValueError, match=r"defines no padding token\. Set pad_token"):
        text.HuggingFaceTokenizer(file, padding=4)
    with pytest.raises(ValueError, match=r"pad_token='\[NO\]' is not in the vocabulary"):
        text.HuggingFaceTokenizer(file, padding=4, pad_token="[NO]")


def test_the_file_is_read_once(file: str) -> None:
    ours = text.HuggingFaceTokenizer(file)
    wanted = ours("the end").tolist()
    Path(file).unlink()
    assert pickle.loads(pickle.dumps(ours))("the end").tolist() == wanted
    data = ds.NumpySlicesDataset({"x": ["the end"] * 3}, shuffle=False)
    mapped = data.map(ours, "x", num_parallel_workers=2, python_multiprocessing=True)
    assert [row[0].tolist() for row in mapped] == [wanted] * 3


def test_a_pipeline_is_known_by_what_is_in_the_file(file: str, tmp_path: Path) -> None:
    def pipeline(path: str) -> ds.Dataset:
        data = ds.NumpySlicesDataset({"x": ["a", "b", "c"]}, shuffle=False)
        return data.map(text.HuggingFaceTokenizer(path), "x")

    iterator = pipeline(file).create_tuple_iterator(num_epochs=1)
    next(iterator)
    state = iterator.state()
    moved = shutil.copy(file, tmp_path / "moved.json")
    assert len(list(pipeline(moved).create_tuple_iterator(num_epochs=1, state=state))) == 2
    other = make(tmp_path / "other.json", cut=5)
    with pytest.raises(ValueError, match="contents"):
        pipeline(other).create_tuple_iterator(num_epochs=1, state=state)


def test_as_json(file: str) -> None:
    source = ds.RandomDataset(total_rows=2)
    data = source.map(text.HuggingFaceTokenizer(file, ["ids", "tokens"], truncation=7), "c0", ["a", "b"])
    again = ds.deserialize(json.loads(json.dumps(ds.serialize(data))))
    assert again is not None
    assert ds.compare(data, again)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b'{"version": "1.0"}', b"[1, 2]"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(damage)
    with pytest.raises(RuntimeError, match=r"broken\.json") as caught:
        text.HuggingFaceTokenizer(str(path))
    assert "HuggingFaceTokenizer: this is not a tokenizer" in str(caught.value)


def test_a_file_that_is_cut_off_is_named(file: str) -> None:
    whole = Path(file).read_bytes()
    Path(file).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RuntimeError, match=r"tokenizer\.json"):
        text.HuggingFaceTokenizer(file)


def test_without_the_library_it_is_said_how_to_install_it(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(
        ImportError, match=r"HuggingFaceTokenizer needs 'tokenizers'.*pip install .*'tokenizers>=0.20'"
    ):
        text.HuggingFaceTokenizer(file)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"tokenizer_file": 3}, TypeError, "tokenizer_file"),
        ({"tokenizer_file": "none.json"}, ValueError, r"none\.json does not exist"),
        ({"outputs": "words"}, ValueError, "outputs should be of"),
        ({"outputs": []}, ValueError, "each output once"),
        ({"outputs": ["ids", "ids"]}, ValueError, "each output once"),
        ({"truncation": 0}, ValueError, "truncation should be at least 1"),
        ({"truncation": 2}, ValueError, "truncation=2 is too short"),
        ({"padding": "longest"}, TypeError, "padding should be a length, None or 'file'"),
        ({"special_tokens": 1}, TypeError, "special_tokens"),
    ],
)
def test_bad_arguments(file: str, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        text.HuggingFaceTokenizer(**{"tokenizer_file": file, **arguments})


def test_bad_rows_are_named(file: str) -> None:
    ours = text.HuggingFaceTokenizer(file)
    with pytest.raises(RuntimeError, match="HuggingFaceTokenizer: the input shape should be scalar"):
        ours(np.array(["a", "b"]))
    with pytest.raises(RuntimeError, match="one column, or two for pairs, but got 3"):
        ours("a", "b", "c")
    data = ds.GeneratorDataset([np.array("a"), np.array(3)], "x", shuffle=False).map(ours, "x")
    with pytest.raises(RuntimeError, match="datatype should be string") as caught:
        list(data)
    assert caught.value.context["row"] == 1  # type: ignore[attr-defined]
    halves = ds.GeneratorDataset([np.array("a\ud800")], "x", shuffle=False).map(ours, "x")
    with pytest.raises(RuntimeError, match="halves of surrogate pairs"):
        list(halves)
