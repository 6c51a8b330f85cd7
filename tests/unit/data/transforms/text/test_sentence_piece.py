"""SentencePiece and Jieba in pipelines, their files, and what is wrong with them."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
import millrace.dataset.text as text
from millrace._src.core.errors import DataError, FormatError
from tests.parity.data.text.inputs import FILES

INT, STRING = text.SPieceTokenizerOutType.INT, text.SPieceTokenizerOutType.STRING
any_text = st.text(st.characters(exclude_categories=("Cs",)))


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("the mill turns the wheel\nthe wheel turns the stone\nthe river turns the mill\n" * 30)
    return str(path)


def rows(data):
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


# --- SentencePiece --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "size"), [("UNIGRAM", 20), ("BPE", 30), ("CHAR", 15), ("WORD", 8)])
def test_learn_save_load_and_cut(corpus, tmp_path, kind, size):
    vocab = text.SentencePieceVocab.from_file([corpus], size, 1.0, text.SentencePieceModel[kind], {})
    text.SentencePieceVocab.save_model(vocab, str(tmp_path), "mill.model")
    from_file = text.SentencePieceTokenizer(str(tmp_path / "mill.model"), STRING)
    assert (from_file.load_type.name, repr(vocab)) == ("FILE", f"SentencePieceVocab({size} pieces)")
    pieces = from_file("the mill turns").tolist()
    assert "".join(pieces).replace("▁", " ").strip() == "the mill turns"
    assert text.SentencePieceTokenizer(vocab, STRING)("the mill turns").tolist() == pieces
    ids = text.SentencePieceTokenizer(vocab, INT)("the mill turns")
    assert ids.dtype == np.int32
    assert [vocab.processor.id_to_piece(int(i)) for i in ids] == pieces


def test_learn_from_a_dataset(corpus, no_leaks):
    data = ds.TextFileDataset(corpus, shuffle=False)
    wanted = text.SentencePieceVocab.from_file([corpus], 30, 1.0, text.SentencePieceModel.BPE, {})
    made = text.SentencePieceVocab.from_dataset(data, ["text"], 30, 1.0, text.SentencePieceModel.BPE, {})
    pieces = [[v.processor.id_to_piece(i) for i in range(30)] for v in (made, wanted)]
    assert pieces[0] == pieces[1]
    with pytest.raises(RuntimeError, match="column name: none does not exist"):
        text.SentencePieceVocab.from_dataset(data, ["none"], 30, 1.0, text.SentencePieceModel.BPE, {})
    numbers = ds.NumpySlicesDataset({"n": [1, 2]})
    with pytest.raises(RuntimeError, match="only supports string type of input, but got numeric type"):
        text.SentencePieceVocab.from_dataset(numbers, ["n"], 30, 1.0, text.SentencePieceModel.BPE, {})
    with pytest.raises(TypeError, match="vocab_size must be provided"):
        text.SentencePieceVocab.from_dataset(data, ["text"], None, 1.0, text.SentencePieceModel.BPE, {})


def test_further_settings_of_the_trainer(corpus):
    short = {
        "max_sentencepiece_length": "3",
        "user_defined_symbols": "<mask>",
        "vocab_size": "9",
        "input": "none",
    }
    vocab = text.SentencePieceVocab.from_file([corpus], 30, 1.0, text.SentencePieceModel.BPE, short)
    pieces = [vocab.processor.id_to_piece(i) for i in range(30)]
    assert "<mask>" in pieces
    assert max(len(p) for p in pieces if p[0] != "<") <= 3


@pytest.mark.parametrize(
    ("size", "coverage", "params", "words"),
    [
        (5000, 1.0, {}, "Vocabulary size too high"),
        (30, 2.0, {}, "character_coverage"),
        (30, 1.0, {"nonsense": "4"}, 'unknown field name "nonsense"'),
    ],
)
def test_what_the_trainer_refuses(corpus, size, coverage, params, words):
    with pytest.raises(RuntimeError, match=words):
        text.SentencePieceVocab.from_file([corpus], size, coverage, text.SentencePieceModel.BPE, params)


@pytest.mark.parametrize("model", ["UNIGRAM", "BPE", "WORD"])
def test_error_names_the_largest_vocabulary_size_that_works(corpus, model):
    """Releases of SentencePiece differ in the largest size for one text; the error reports the one that holds."""

    def train(size):
        return text.SentencePieceVocab.from_file([corpus], size, 1.0, text.SentencePieceModel[model], {})

    with pytest.raises(DataError) as refused:
        train(5000)
    message = str(refused.value)
    assert "trainer_interface" not in message
    assert "got 5000. Reduce vocab_size" in message
    largest = int(re.search(r"expected at most (\d+)", message)[1])
    assert repr(train(largest)) == f"SentencePieceVocab({largest} pieces)"
    with pytest.raises(DataError, match=rf"expected at most {largest} for this text, got {largest + 1}\."):
        train(largest + 1)


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "control symbol"), (1, "control symbol"), (2, "control symbol"), (9, "at least 17")],
)
def test_error_of_a_vocabulary_size_that_is_too_low(corpus, size, words):
    with pytest.raises(
        DataError, match=f"Vocabulary size too low: expected .*{words}.*, got {size}. Increase"
    ):
        text.SentencePieceVocab.from_file([corpus], size, 1.0, text.SentencePieceModel.BPE, {})


def test_files_that_are_wrong(corpus, tmp_path):
    with pytest.raises(FormatError, match="No such file"):
        text.SentencePieceVocab.from_file([str(tmp_path / "no")], 9, 1.0, text.SentencePieceModel.BPE, {})
    with pytest.raises(ValueError, match="file_path should not be empty"):
        text.SentencePieceVocab.from_file([], 9, 1.0, text.SentencePieceModel.BPE, {})
    for path in (corpus, str(tmp_path / "none"), str(tmp_path)):
        with pytest.raises(FormatError, match="load vocab model file"):
            text.SentencePieceTokenizer(path, INT)
    vocab = text.SentencePieceVocab.from_file([corpus], 30, 1.0, text.SentencePieceModel.BPE, {})
    for folder in (str(tmp_path / "none"), corpus):
        with pytest.raises(FormatError, match="Get real path failed"):
            text.SentencePieceVocab.save_model(vocab, folder, "a")
    with pytest.raises(FormatError, match="cannot be written"):
        text.SentencePieceVocab.save_model(vocab, str(tmp_path), "none/a")
    for call in (
        lambda: text.SentencePieceVocab.save_model(text.SentencePieceVocab(), str(tmp_path), "a"),
        lambda: text.SentencePieceTokenizer(text.SentencePieceVocab(), INT),
    ):
        with pytest.raises(RuntimeError, match="has not built yet"):
            call()


@pytest.mark.parametrize("processes", [False, True])
def test_pieces_in_workers(no_leaks, processes):
    data = ds.NumpySlicesDataset({"t": ["the mill", "turns", "", "the wheel"] * 10}, shuffle=False)
    cut = text.SentencePieceTokenizer(f"{FILES}/pieces.model", INT)
    made = rows(data.map(cut, ["t"], num_parallel_workers=2, python_multiprocessing=processes))
    assert [row["t"].tolist() for row in made[:4]] == [cut(t).tolist() for t in ("the mill", "turns")] + [
        [],
        cut("the wheel").tolist(),
    ]


@given(any_text)
def test_any_text_is_cut_into_pieces(line):
    cut = text.SentencePieceTokenizer(f"{FILES}/pieces.model", STRING)
    ids = text.SentencePieceTokenizer(f"{FILES}/pieces.model", INT)
    assert len(cut(line)) == len(ids(line))


def test_vocabularies_travel(corpus):
    vocab = text.SentencePieceVocab.from_file([corpus], 30, 1.0, text.SentencePieceModel.BPE, {})
    again = pickle.loads(pickle.dumps(vocab))
    assert again == vocab
    assert hash(again) == hash(vocab)
    assert again != text.SentencePieceVocab()


# --- Jieba ----------------------------------------------------------------------------------------------


def jieba(mode=text.JiebaMode.MIX, **options):
    return text.JiebaTokenizer(f"{FILES}/hmm.txt", f"{FILES}/jieba.txt", mode, **options)


@given(any_text, st.sampled_from(list(text.JiebaMode)))
def test_words_are_all_of_the_text(line, mode):
    line = line.rstrip("\0")  # NumPy leaves out zeros at the end of a text
    words, starts, limits = jieba(mode, with_offsets=True)(line)
    data = line.encode()
    assert [data[a:b].decode().rstrip("\0") for a, b in zip(starts, limits, strict=True)] == words.tolist()
    assert b"".join(data[a:b] for a, b in zip(starts, limits, strict=True)) == data
    assert jieba(mode)(line).tolist() == words.tolist()


def test_words_of_the_user(tmp_path):
    cut = jieba(text.JiebaMode.MP)
    before = cut("今天天气很好")
    cut.add_word("天气很好")
    assert "天气很好" in cut("今天天气很好").tolist()
    assert before.tolist() == jieba(text.JiebaMode.MP)("今天天气很好").tolist()
    (tmp_path / "user.txt").write_text("今天天气 900\n* 5\nno good line\n\n很好99\n", encoding="utf-8")
    cut = jieba(text.JiebaMode.MP)
    cut.add_dict(str(tmp_path / "user.txt"))
    cut.add_dict({"清华": 3})
    assert cut.words == [("今天天气", 900), ("很好", 99), ("清华", 3)]
    assert cut("今天天气很好").tolist() == ["今天天气", "很好"]
    with pytest.raises(ValueError, match="Input freq is not within"):
        cut.add_word("a", -1)
    with pytest.raises(TypeError, match="must str or dict"):
        cut.add_dict(5)


@pytest.mark.parametrize("processes", [False, True])
def test_words_in_workers(no_leaks, processes):
    cut = jieba(with_offsets=True)
    cut.add_word("天气很好", 90)
    data = ds.NumpySlicesDataset({"t": ["今天天气很好", "我爱Python 3.14"] * 5}, shuffle=False)
    made = rows(
        data.map(cut, ["t"], ["t", "a", "b"], num_parallel_workers=2, python_multiprocessing=processes)
    )
    for name, wanted in zip("tab", cut("今天天气很好"), strict=True):
        assert made[0][name].tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("which", "data", "words"),
    [
        ("dict", "好 5 a\n坏\n", "line 2 of the dictionary is not 'word frequency tag': '坏'"),
        ("dict", "好 five a\n", "line 1 of the dictionary"),
        ("dict", "好 -5 a\n", "line 1 of the dictionary"),
        ("dict", "", "holds no words"),
        ("hmm", "", "a hidden Markov model has 4 probabilities"),
        ("hmm", "1 2 3\n", "a hidden Markov model has"),
        ("hmm", "1 2 3 4\n" * 5 + "好:x\n" * 4, "no hidden Markov model"),
        ("hmm", "1 2 3 4\n" * 5 + "好,1\n" * 4, "is not 'character:probability'"),
    ],
)
def test_files_of_jieba_that_are_wrong(tmp_path, which, data, words):
    path = tmp_path / "wrong.txt"
    path.write_text(data, encoding="utf-8")
    files = {"hmm_path": f"{FILES}/hmm.txt", "mp_path": f"{FILES}/jieba.txt"}
    files["mp_path" if which == "dict" else "hmm_path"] = str(path)
    with pytest.raises(FormatError) as raised:
        text.JiebaTokenizer(**files)("好")
    assert words in str(raised.value)
    assert str(path) in str(raised.value)
