"""Text: sentences about mills and about ships are told apart, with pretrained word vectors.

Run it with: python examples/classify_text.py
"""

import tempfile
from pathlib import Path

import numpy as np

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.text as text
import millrace.dataset.transforms as transforms
from millrace import nn, ops, train

ms.set_seed(1)
WORDS = {
    0: ["mill", "wheel", "water", "stone", "grain", "flour", "miller", "sluice", "pond", "bread"],
    1: ["ship", "sail", "mast", "harbour", "crew", "captain", "anchor", "deck", "wave", "cargo"],
    2: ["the", "a", "of", "and", "in", "by", "old", "new", "small", "every"],  # in both
}


# 1. Sentences, and a file of word vectors such as GloVe: words of one kind lie near each other.
def sentences(count, seed):
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 2, count).astype(np.int32)
    made = [draw.choice(WORDS[2] * 2 + WORDS[label], draw.integers(6, 12)) for label in labels]
    return {"text": [" ".join(words) for words in made], "label": labels}


draw, folder = np.random.default_rng(0), tempfile.TemporaryDirectory()
file = Path(folder.name) / "glove.8d.txt"
centres = draw.normal(size=(3, 8))
file.write_text(
    "".join(
        f"{word} {' '.join(f'{n:.4f}' for n in centres[kind] + draw.normal(size=8) / 2)}\n"
        for kind, words in WORDS.items()
        for word in words
    )
)

# 2. A vocabulary, and the table of the embedding: a row for each word of it.
words = ds.NumpySlicesDataset(sentences(400, seed=1), shuffle=True).map(text.WhitespaceTokenizer(), "text")
vocab = text.Vocab.from_dataset(words, "text", special_tokens=["<pad>", "<unk>"])
table = text.ToVectors(text.GloVe.from_file(str(file)))(vocab.ids_to_tokens(list(range(len(vocab.vocab())))))


def pipeline(data):
    return data.map([text.Lookup(vocab, "<unk>"), transforms.PadEnd([12], 0)], "text").batch(20)


# 3. The mean of a sentence's vectors, padding left out, and one layer on it.
class Classifier(nn.Cell):
    def __init__(self):
        super().__init__()
        size, width = table.shape
        self.embedding = nn.Embedding(size, width, embedding_table=ms.Tensor(table, ms.float32))
        self.head = nn.Dense(width, 2)

    def construct(self, ids):
        seen = (ids > 0).astype(ms.float32).expand_dims(-1)
        return self.head((self.embedding(ids) * seen).sum(1) / ops.maximum(seen.sum(1), 1.0))


net = Classifier()
model = train.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.02), metrics={"accuracy"})
model.train(6, pipeline(words))
held_out = ds.NumpySlicesDataset(sentences(200, seed=2), shuffle=False)
print(model.eval(pipeline(held_out.map(text.WhitespaceTokenizer(), "text"))))
folder.cleanup()
