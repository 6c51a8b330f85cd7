"""Tokenizers on any text: they never fail, offsets point at what they say, whole columns give what rows give."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millrace.dataset as ds
import millrace.dataset.text as text
from millrace._src.core.values.columns import StringColumn
from millrace._src.data.kernels.text import wordpiece
from tests.parity.data.text.inputs import STRINGS, WORDS

VOCAB = text.Vocab.from_list(WORDS)
# what decides in one tokenizer or another, among any characters
ODD = st.sampled_from(
    [*"[]CLSunused1 \t\n\x1c\x00\x85\u00ad\u0301\u200d\u302e\u1680", "[CLS]", "[unused1]", "中", "ﬁ", "İ"]
)
CHARS = st.characters(exclude_categories=("Cs",))
ANY = st.lists(st.one_of(CHARS, ODD, st.sampled_from(sorted(STRINGS.values()))), max_size=12).map("".join)

# the ones whose offsets are places in the text that was given
IN_TEXT = [
    text.WhitespaceTokenizer(True),
    text.UnicodeCharTokenizer(True),
    text.UnicodeScriptTokenizer(True, True),
    text.UnicodeScriptTokenizer(False, True),
    text.RegexTokenizer(r"\s+|\p{P}", r"\p{P}", True),
    text.RegexTokenizer(r"\b", "", True),
]
OTHERS = [
    text.BasicTokenizer(True, with_offsets=True),
    text.BasicTokenizer(False, True, text.NormalizeForm.NFKC, with_offsets=True),
    text.BertTokenizer(VOCAB, with_offsets=True),
    text.BertTokenizer(VOCAB, lower_case=True, unknown_token="", with_offsets=True),
]
PLAIN = [
    text.WhitespaceTokenizer(),
    text.UnicodeCharTokenizer(),
    text.UnicodeScriptTokenizer(),
    text.UnicodeScriptTokenizer(True),
    text.RegexTokenizer("[aeiou]", "e"),
    text.BasicTokenizer(),
    text.BasicTokenizer(True, True),
    text.BasicTokenizer(True, preserve_unused_token=False),
    text.BertTokenizer(VOCAB, lower_case=True),
    text.BertTokenizer(VOCAB, normalization_form=text.NormalizeForm.NFKD),
    text.BertTokenizer(VOCAB, lower_case=True, keep_whitespace=True),
    text.CaseFold(),
    text.NormalizeUTF8(text.NormalizeForm.NFC),
    text.NormalizeUTF8(text.NormalizeForm.NFKD),
    text.RegexReplace("(.)(.)", "$2$1"),
    text.FilterWikipediaXML(),
]


def named(ops):
    return [pytest.param(op, id=f"{type(op).__name__}-{i}") for i, op in enumerate(ops)]


def without_nul(value: str) -> str:
    """NumPy drops NUL characters at the end of a text."""
    return value.rstrip("\0")


@pytest.mark.parametrize("op", named(IN_TEXT))
@settings(max_examples=40, deadline=None)
@given(line=ANY)
def test_offsets_point_at_the_tokens(op, line):
    tokens, starts, limits = op(line)
    raw = without_nul(line).encode()
    assert (starts.dtype, limits.dtype) == (np.uint32, np.uint32)
    for token, start, limit in zip(tokens.tolist(), starts, limits, strict=True):
        assert without_nul(raw[start:limit].decode()) == token
    assert (starts[1:] >= limits[:-1]).all()


@pytest.mark.parametrize("op", named(OTHERS))
@settings(max_examples=40, deadline=None)
@given(line=ANY)
def test_offsets_rise_and_each_token_has_one(op, line):
    tokens, starts, limits = op(line)
    assert len(tokens) == len(starts) == len(limits) >= 1
    assert (starts <= limits).all()
    assert (starts[1:] >= limits[:-1]).all()


@pytest.mark.parametrize("op", named(IN_TEXT + OTHERS))
@settings(max_examples=30, deadline=None)
@given(line=ANY)
def test_with_and_without_offsets_the_tokens_are_the_same(op, line):
    fields = {k: v for k, v in vars(op).items() if not k.startswith("_")} | {"with_offsets": False}
    np.testing.assert_array_equal(type(op)(**fields)(line), op(line)[0])


@pytest.mark.parametrize("op", named(PLAIN + IN_TEXT + OTHERS))
@settings(max_examples=25, deadline=None)
@given(lines=st.lists(ANY.map(without_nul), min_size=1, max_size=5))
def test_a_whole_column_gives_what_its_rows_give(op, lines):
    made = op.batch(StringColumn.of(lines))
    parts = made if type(made) is tuple else (made,)
    for i, line in enumerate(lines):
        row = op(line)
        for one, two in zip(row if type(row) is tuple else (row,), parts, strict=True):
            value = np.asarray(two[i])
            assert (one.shape, one.dtype.kind) == (value.shape, value.dtype.kind)
            assert [without_nul(str(x)) for x in one.ravel()] == [without_nul(str(x)) for x in value.ravel()]


@settings(max_examples=60, deadline=None)
@given(words=st.lists(ANY.map(without_nul), min_size=1, max_size=4))
def test_pieces_of_many_words_are_those_of_each(words):
    op = text.WordpieceTokenizer(VOCAB, max_bytes_per_token=30, with_offsets=True)
    tokens, starts, limits = op(np.array(words))
    alone = [op(word) for word in words if word]
    assert tokens.tolist() == ([t for one in alone for t in one[0].tolist()] or [""])
    assert starts.tolist() == ([t for one in alone for t in one[1].tolist()] or [0])
    assert limits.tolist() == ([t for one in alone for t in one[2].tolist()] or [0])
    whole = op.batch(StringColumn.of_lists([words]))
    assert [without_nul(t) for t in whole[0][0].tolist()] == tokens.tolist()
    assert whole[2][0].tolist() == limits.tolist()


@settings(max_examples=80, deadline=None)
@given(line=ANY)
def test_basic_tokenizer_agrees_with_the_long_way(line):
    """Characters one by one give what Unicode's rules give for the whole text."""
    from millrace._src.data.kernels.text import basic_tokenizer as basic

    assert basic._lower_text(line) == basic._fold_text(line)


def test_basic_then_pieces_is_bert():
    basic = text.BasicTokenizer(True, with_offsets=True)
    pieces = text.WordpieceTokenizer(VOCAB, with_offsets=True)
    bert = text.BertTokenizer(VOCAB, lower_case=True, with_offsets=True)
    for line in STRINGS.values():
        for one, two in zip(pieces(*basic(line)), bert(line), strict=True):
            np.testing.assert_array_equal(one, two)


def lines_through(op, columns=("text",), **options):
    lines = np.array(sorted(STRINGS.values()))
    data = ds.NumpySlicesDataset({"text": lines}, shuffle=False).map(op, "text", list(columns), **options)
    return list(data.create_dict_iterator(1, output_numpy=True))


@pytest.mark.parametrize("op", named([PLAIN[0], PLAIN[8], PLAIN[11]]))
def test_in_a_pipeline_with_workers(op, no_leaks):
    rows = lines_through(op, num_parallel_workers=2)
    for row, line in zip(rows, sorted(STRINGS.values()), strict=True):
        np.testing.assert_array_equal(row["text"], op(line))


@pytest.mark.parametrize("op", named([*PLAIN, OTHERS[0]]))
def test_a_pipeline_works_on_whole_columns(op, monkeypatch, no_leaks):
    kind, seen = type(op), []
    whole = kind.batch

    def watched(self, column):
        seen.append(len(column))
        return whole(self, column)

    monkeypatch.setattr(kind, "batch", watched)
    names = ["token", "start", "limit"] if getattr(op, "with_offsets", False) else ["text"]
    rows = lines_through(op, names)
    assert sum(seen) == len(STRINGS) > len(seen)
    for row, line in zip(rows, sorted(STRINGS.values()), strict=True):
        made = op(line)
        for name, value in zip(names, made if type(made) is tuple else (made,), strict=True):
            np.testing.assert_array_equal(row[name], value)


def test_offsets_are_columns_of_a_pipeline(no_leaks):
    op = text.BertTokenizer(VOCAB, lower_case=True, with_offsets=True)
    rows = lines_through(op, ("token", "start", "limit"))
    for row, line in zip(rows, sorted(STRINGS.values()), strict=True):
        for name, value in zip(("token", "start", "limit"), op(line), strict=True):
            np.testing.assert_array_equal(row[name], value)


def test_words_and_places_go_on_to_the_pieces(no_leaks):
    data = ds.NumpySlicesDataset({"text": np.array(["Unwanted x", "running"])}, shuffle=False)
    names = ["token", "start", "limit"]
    data = data.map(text.BasicTokenizer(True, with_offsets=True), "text", names)
    data = data.map(text.WordpieceTokenizer(VOCAB, with_offsets=True), names, names)
    rows = [[row[name].tolist() for name in names] for row in data.create_dict_iterator(1, output_numpy=True)]
    assert rows == [
        [["un", "##want", "##ed", "x"], [0, 2, 6, 9], [2, 6, 8, 10]],
        [["run", "##ning"], [0, 3], [3, 7]],
    ]


def test_a_wrong_row_is_named(no_leaks):
    data = ds.GeneratorDataset([(np.array("a b"),), (np.array(["a", "b"]),)], ["text"], shuffle=False)
    rows = data.map(text.WhitespaceTokenizer(), "text").create_dict_iterator(1, output_numpy=True)
    assert next(rows)["text"].tolist() == ["a", "b"]
    with pytest.raises(RuntimeError, match=r"WhitespaceTokenizer.*should be scalar(.|\n)*row: 1"):
        next(rows)


def test_two_columns_are_an_error(no_leaks):
    data = ds.NumpySlicesDataset({"a": np.array(["x y"]), "b": np.array(["z"])}, shuffle=False)
    with pytest.raises(RuntimeError, match="one column"):
        next(data.map(text.WhitespaceTokenizer(), ["a", "b"]).create_dict_iterator(1, output_numpy=True))


def test_what_is_remembered_is_bounded_and_not_pickled():
    op = text.BertTokenizer(VOCAB, lower_case=True)
    fresh = pickle.dumps(op)
    op("unaffable running")
    assert pickle.dumps(op) == fresh
    assert repr(op) == repr(pickle.loads(fresh))
    few = wordpiece.MemoDict(tuple, max_entries=3)
    for word in ("a", "b", "c", "d", "e"):
        assert few[word] == (word,)
        assert len(few) <= 3
    assert few["long" * 100] == tuple("long" * 100)
    assert "long" * 100 not in few


def test_many_threads_at_once():
    op = text.BertTokenizer(VOCAB, lower_case=True)
    lines = list(STRINGS.values()) * 3
    wanted = [text.BertTokenizer(VOCAB, lower_case=True)(line).tolist() for line in lines]
    results: dict[int, list[list[str]]] = {}

    def work(number: int) -> None:
        results[number] = [op(line).tolist() for line in lines]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(made == wanted for made in results.values())
    assert len(results) == 4


def test_a_function_as_a_tokenizer():
    op = text.PythonTokenizer(lambda line: line.split(","))
    assert op(np.array("a,b")).tolist() == ["a", "b"]
    assert op(np.array(b"caf\xc3\xa9,b")).tolist() == ["café", "b"]
    assert op(np.array(["a,b", "c,d"])).tolist() == [["a", "b"], ["c", "d"]]
    assert text.PythonTokenizer(lambda line: [])(np.array("a")).shape == (0,)
    with pytest.raises(TypeError, match="should be a NumPy array"):
        op("a,b")
    with pytest.raises(RuntimeError, match="as many tokens"):
        op(np.array(["a,b", "c"]))
    with pytest.raises(RuntimeError, match="division by zero"):
        text.PythonTokenizer(lambda line: 1 / 0)(np.array("a"))
    with pytest.raises(RuntimeError, match="returns a list of tokens, but got 5"):
        text.PythonTokenizer(lambda line: 5)(np.array("a"))
    with pytest.raises(TypeError, match="not a callable"):
        text.PythonTokenizer(5)


def test_a_pattern_that_is_none_is_named_with_its_reason():
    with pytest.raises(RuntimeError, match=r"error pattern: '\[z-a\]' \(.*range"):
        text.RegexTokenizer("[z-a]")("text")
    with pytest.raises(RuntimeError, match=r"RegexReplace failed: '\$7' \(\$7 names no group\)"):
        text.RegexReplace("e", "$7")("text")
