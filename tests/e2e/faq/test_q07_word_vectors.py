"""Q07: how are pretrained word vectors used? Up to the table that an embedding layer is made with."""

from __future__ import annotations

import numpy as np
import pytest

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.text as text
import millrace.dataset.transforms as transforms

LINES = "the 0.1 0.2 0.3\nmill 1 2 3\nturns -1 -2 -3\nwheel 7 8 9\n"
FILES = {"glove.6B.3d.txt": text.GloVe, "wiki.vec": text.FastText, "vectors.txt": text.Vectors}


@pytest.fixture(params=FILES)
def vectors(request, tmp_path):
    path = tmp_path / request.param
    path.write_text(("4 3\n" if request.param == "wiki.vec" else "") + LINES)
    return FILES[request.param].from_file(str(path))


def test_the_table_of_an_embedding_and_the_numbers_that_look_into_it(vectors, no_leaks):
    lines = ds.NumpySlicesDataset({"text": ["the mill turns", "the stone turns the wheel"]}, shuffle=False)
    words = lines.map(text.WhitespaceTokenizer(), ["text"])
    vocab = text.Vocab.from_dataset(words, special_tokens=["<pad>", "<unk>"])

    table = text.ToVectors(vectors)(vocab.ids_to_tokens(list(range(len(vocab)))))
    assert (table.shape, table.dtype) == ((len(vocab), 3), np.float32)
    assert not table[vocab.tokens_to_ids(["<pad>", "<unk>", "stone"])].any()

    ids = words.map(
        [text.Lookup(vocab, "<unk>"), transforms.PadEnd([5], vocab.tokens_to_ids("<pad>"))], ["text"]
    )
    batch = next(ids.batch(2).create_dict_iterator(num_epochs=1, output_numpy=True))["text"]
    looked_up = table[batch]  # what the layer does
    assert looked_up.shape == (2, 5, 3)
    np.testing.assert_array_equal(looked_up[0, 1], [1, 2, 3])
    np.testing.assert_array_equal(looked_up[1, 4], [7, 8, 9])
    assert not looked_up[0, 3:].any()


def test_vectors_instead_of_numbers(vectors, no_leaks):
    words = ds.NumpySlicesDataset({"text": [["mill", "moon"], ["wheel", "The"]]}, shuffle=False)
    found = words.map(text.ToVectors(vectors, unk_init=[5, 5, 5], lower_case_backup=True), ["text"])
    batch = next(found.batch(2).create_dict_iterator(num_epochs=1, output_numpy=True))["text"]
    the = np.array([0.1, 0.2, 0.3], np.float32).tolist()
    assert batch.tolist() == [[[1, 2, 3], [5, 5, 5]], [[7, 8, 9], the]]


def test_the_first_words_alone(vectors):
    few = type(vectors).from_file(vectors.file_path, max_vectors=2)
    assert list(few.table) == ["the", "mill"]


def test_vectors_of_pieces_of_words(tmp_path):
    (tmp_path / "ngrams.txt").write_text("2gram-#BEGIN#m 2 4\n3gram-ill 4 8\n")
    ngrams = text.CharNGram.from_file(str(tmp_path / "ngrams.txt"))
    assert text.ToVectors(ngrams)(["mill", "xyz"]).tolist() == [[3, 6], [0, 0]]


def test_the_layers_that_look_into_the_table(vectors):
    """nn.Embedding(..., embedding_table=array) and EmbeddingLookup, in both modes."""
    pytest.importorskip("torch")
    table = text.ToVectors(vectors)(list(vectors.table))
    ids = np.array([[0, 1], [3, 2]], np.int32)
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            embed = ms.nn.Embedding(4, 3, embedding_table=ms.Tensor(table))
            assert np.array_equal(embed(ms.Tensor(ids)).asnumpy(), table[ids])
            lookup = ms.nn.EmbeddingLookup(4, 3, param_init=ms.Tensor(table))
            assert np.array_equal(lookup(ms.Tensor(ids)).asnumpy(), table[ids])
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    assert [param.name for param in embed.trainable_params()] == ["embedding_table"]


def test_vectors_stay_as_they_are_or_learn(vectors):
    pytest.importorskip("torch")
    table = ms.Tensor(text.ToVectors(vectors)(list(vectors.table)))
    embed = ms.nn.Embedding(4, 3, embedding_table=table)
    ids = ms.Tensor(np.array([1, 1, 2], np.int32))
    grads = ms.grad(lambda: embed(ids).sum(), None, embed.trainable_params())()
    assert grads[0].asnumpy().tolist() == [[0] * 3, [2] * 3, [1] * 3, [0] * 3]
    embed.embedding_table.requires_grad = False
    assert embed.trainable_params() == []
