"""From sentences to answers: a net learns to tell them apart, is saved with its tokenizer, and is asked over HTTP.

Run it with: python examples/serve_text.py
"""

import tempfile
from pathlib import Path

import numpy as np

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.text as text
import millrace.dataset.transforms as transforms
from millrace import nn, serve, train

ms.set_seed(1)
LENGTH, KINDS = 12, ["mill", "ship"]
WORDS = {
    "mill": ["wheel", "water", "stone", "grain", "flour", "miller", "sluice", "pond", "bread"],
    "ship": ["sail", "mast", "harbour", "crew", "captain", "anchor", "deck", "wave", "cargo"],
}
COMMON = ["the", "a", "of", "and", "in", "by", "old", "new", "small", "every"]


# 1. Data: sentences with words of their kind among common ones.
def sentences(count, seed):
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 2, count).astype(np.int32)
    made = [draw.choice(COMMON * 2 + WORDS[KINDS[kind]], draw.integers(5, LENGTH)) for kind in labels]
    return {"text": [" ".join(words).capitalize() + "." for words in made], "label": labels}


# 2. What is done to a sentence, said once: for learning, for judging, and for the server.
split = text.BasicTokenizer(lower_case=True)
learned = ds.NumpySlicesDataset(sentences(400, seed=1), shuffle=True)
vocab = text.Vocab.from_dataset(learned.map(split, "text"), "text", special_tokens=["<pad>", "<unk>"])
prepared = [split, text.Lookup(vocab, "<unk>"), transforms.PadEnd([LENGTH + 1], 0)]


# 3. A net, trained; killed and started again it would go on from the folder.
class Classifier(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(vocab.vocab()), 16, padding_idx=0)
        self.rnn, self.head = nn.GRU(16, 24, batch_first=True), nn.Dense(24, 2)

    def construct(self, ids):
        seen, _ = self.rnn(self.embedding(ids))
        return self.head(seen.max(axis=1))


net = Classifier()
model = train.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01), metrics={"accuracy"})
with tempfile.TemporaryDirectory() as folder:
    model.train(
        4, learned.map(prepared, "text").batch(20), train.ModelCheckpoint("text", folder), resume=folder
    )
    held_out = ds.NumpySlicesDataset(sentences(200, seed=2), shuffle=False).map(prepared, "text").batch(20)
    print(f"held-out accuracy {model.eval(held_out)['accuracy']:.2f}")

    # 4. One file: the net with its tokenizer and its vocabulary. `millrace serve text.mindir` serves it, too.
    file = str(Path(folder) / "text.mindir")
    inputs = [ms.Tensor(shape=[None, LENGTH + 1], dtype=ms.int32)]
    after = [serve.ArgMax(), serve.Labels(KINDS)]
    serve.Servable(net, inputs, prepared, after).save(file)

    # 5. A server, and a client that sends text.
    with serve.start(serve.Config({"text": file}, port=0)) as server, serve.Client(server.url) as client:
        for line in (
            "The crew and the captain of a small cargo.",
            "Every miller and the old wheel by a pond.",
        ):
            print(f"{line} -> {client.infer('text', [line])[0].decode()}")
