"""A small GPT learns to count in words: documents packed into sequences, attention within each document.

Run it with: python examples/small_gpt.py
"""

import numpy as np

import millrace as ms
import millrace.dataset as ds
from millrace import Tensor, nn, ops

ms.set_seed(1)
ms.set_context(mode=ms.GRAPH_MODE)
SYMBOLS, LENGTH, WIDTH, HEADS, EACH, END = 12, 32, 48, 4, 12, 11


# 1. Documents that count by one or by two, modulo ten; several fit into one sequence.
def document(number):
    start, by, length = np.random.default_rng(int(number)).integers((0, 1, 5), (10, 3, 14))
    return ((start + by * np.arange(length)) % 10).astype(np.int32)


data = ds.NumpySlicesDataset({"ids": np.arange(800)}, shuffle=True).map(document, "ids")
data = data.pack(LENGTH + 1, "ids", end_token=END, pad_token=10).batch(16)


# 2. Blocks of attention and a small net; what a token may see is in its own document, and not after it.
class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norms = nn.CellList([nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))])
        self.qkv, self.out = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
        self.think = nn.SequentialCell(nn.Dense(WIDTH, 4 * WIDTH), nn.GELU(), nn.Dense(4 * WIDTH, WIDTH))

    def construct(self, x, hidden):
        parts = self.qkv(self.norms[0](x)).reshape(-1, LENGTH, 3, HEADS, EACH).transpose(2, 0, 3, 1, 4)
        scores = ops.matmul(parts[0], parts[1].swapaxes(-1, -2)) / EACH**0.5
        seen = ops.softmax(ops.masked_fill(scores, hidden, -1e4), axis=-1)
        x = x + self.out(ops.matmul(seen, parts[2]).swapaxes(1, 2).reshape(-1, LENGTH, WIDTH))
        return x + self.think(self.norms[1](x))


class Gpt(nn.Cell):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(SYMBOLS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.CellList([Block(), Block()])
        self.head = nn.SequentialCell(nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, SYMBOLS))
        self.later = Tensor(np.triu(np.ones((LENGTH, LENGTH), bool), 1))

    def construct(self, ids, segments, places):
        hidden = ops.logical_or(self.later, segments.expand_dims(1) != segments.expand_dims(2)).expand_dims(1)
        x = self.tokens(ids) + self.places(places)
        for block in self.blocks:
            x = block(x, hidden)
        return self.head(x)


# 3. The loss is on the next token of the same document.
class NextToken(Gpt):
    def construct(self, ids, segments, places, mask):
        scores = super().construct(ids[:, :-1], segments[:, :-1], places[:, :-1])
        counts = ops.logical_and(segments[:, 1:] == segments[:, :-1], mask[:, 1:]).astype(ms.float32)
        losses = ops.cross_entropy(scores.swapaxes(1, 2), ids[:, 1:], reduction="none")
        return (losses * counts).sum() / counts.sum()


net = NextToken()
step = nn.TrainOneStepCell(net, nn.AdamWeightDecay(net.trainable_params(), 0.003)).set_train()
for rows in data.epochs(8):
    print(f"loss {np.mean([float(step(*row)) for row in rows]):.2f}")

# 4. It goes on by itself, one symbol after the other.
said, places = [3, 5, 7], Tensor(np.arange(LENGTH)[None], ms.int32)
while len(said) < 10:
    ids = Tensor([said + [0] * (LENGTH - len(said))], ms.int32)
    scores = Gpt.construct(net, ids, ops.ones_like(ids), places)
    said.append(int(scores[0, len(said) - 1, :10].argmax()))
print("3 5 7 goes on with", *said[3:])
