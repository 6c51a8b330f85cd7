"""Nets for sequences."""

import functools

import numpy as np

from tests.e2e.networks.families import adam, net
from tests.parity.runtime.nn.layers import make

TOKENS = make(2, 6, low=0, high=20, dtype="int32")
NEXT = make(2, 6, low=0, high=20, dtype="int32", seed=1)


@net("LSTM classifier", TOKENS, np.array([0, 1], np.int32), rate=0.02, by=adam)
def _(ms):
    nn, ops = ms.nn, ms.ops

    class Sentiment(nn.Cell):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20, 8)
            self.encoder = nn.LSTM(8, 6, num_layers=2, bidirectional=True, batch_first=True)
            self.decoder = nn.Dense(24, 2)

        def construct(self, tokens):
            output, _ = self.encoder(self.embedding(tokens))
            return self.decoder(ops.concat((output[:, 0], output[:, -1]), 1))

    return nn.WithLossCell(Sentiment(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))


@net("GRU seq2seq", TOKENS, NEXT, rate=0.02, by=adam)
def _(ms):
    nn, ops = ms.nn, ms.ops

    class Seq2Seq(nn.Cell):
        """The decoder looks at all outputs of the encoder."""

        def __init__(self):
            super().__init__()
            self.source, self.target = nn.Embedding(20, 8), nn.Embedding(20, 8)
            self.encoder, self.decoder = nn.GRU(8, 8, batch_first=True), nn.GRU(16, 8, batch_first=True)
            self.out, self.softmax = nn.Dense(16, 20), nn.Softmax(-1)

        def construct(self, tokens, targets):
            memory, state = self.encoder(self.source(tokens))
            total, before = 0.0, targets[:, 0:1]
            for place in range(1, 4):
                weights = self.softmax(ops.bmm(state.swapaxes(0, 1), memory.swapaxes(1, 2)))
                seen = ops.bmm(weights, memory)
                x, state = self.decoder(ops.concat((self.target(before), seen), -1), state)
                logits = self.out(ops.concat((x, seen), -1)).reshape(2, 20)
                total = total + ops.cross_entropy(logits, targets[:, place])
                before = targets[:, place : place + 1]
            return total

    return Seq2Seq()


def attention(ms, width, heads, causal):
    nn, ops = ms.nn, ms.ops

    class SelfAttention(nn.Cell):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (nn.Dense(width, width) for _ in range(3))
            self.dense, self.softmax = nn.Dense(width, width), nn.Softmax()

        def split(self, x):
            return x.reshape(x.shape[0], x.shape[1], heads, width // heads).transpose(0, 2, 1, 3)

        def construct(self, x):
            q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
            scores = ops.BatchMatMul(transpose_b=True)(q, k) / float(np.sqrt(width // heads))
            if causal:
                mask = np.triu(np.full((x.shape[1], x.shape[1]), -10000.0, np.float32), 1)
                scores = scores + ms.Tensor(mask)
            y = ops.BatchMatMul()(self.softmax(scores), v).transpose(0, 2, 1, 3)
            return self.dense(y.reshape(x.shape))

    return SelfAttention()


def block(ms, width, heads, causal, first, wide=2):
    nn = ms.nn

    class Block(nn.Cell):
        """`first`: norms stand before the steps, as in GPT and ViT; else after, as in BERT."""

        def __init__(self):
            super().__init__()
            self.attention = attention(ms, width, heads, causal)
            self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
            self.up, self.act, self.down = (
                nn.Dense(width, wide * width),
                nn.GELU(),
                nn.Dense(wide * width, width),
            )

        def construct(self, x):
            if first:
                x = x + self.attention(self.norm1(x))
                return x + self.down(self.act(self.up(self.norm2(x))))
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + self.down(self.act(self.up(x))))

    return Block()


def bert(ms, width, heads, layers, wide):
    nn, ops = ms.nn, ms.ops

    class Bert(nn.Cell):
        """Masked words, scored with the table of words, and whether one sentence follows the other."""

        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(20, width)
            self.places = ms.Parameter(ms.Tensor(np.zeros((6, width), np.float32)), name="places")
            self.norm = nn.LayerNorm((width,))
            self.blocks = nn.CellList([block(ms, width, heads, False, False, wide) for _ in range(layers)])
            self.pooler = nn.Dense(width, width, activation="tanh")
            self.transform, self.act = nn.Dense(width, width), nn.GELU()
            self.next = nn.Dense(width, 2)

        def construct(self, tokens, masked, follows):
            x = self.norm(self.words(tokens) + self.places)
            for each in self.blocks:
                x = each(x)
            y = self.act(self.transform(x)).reshape(-1, width)
            logits = ops.MatMul(transpose_b=True)(y, self.words.embedding_table)
            first = ops.cross_entropy(logits, masked.reshape(-1))
            return first + ops.cross_entropy(self.next(self.pooler(x[:, 0])), follows)

    return Bert()


SENTENCES = TOKENS, NEXT, np.array([0, 1], np.int32)


@net("BERT tiny", *SENTENCES, rate=0.01, by=functools.partial(adam, kind="AdamWeightDecay"))
def _(ms):
    return bert(ms, 16, 2, 2, 2)


@net("BERT base", *SENTENCES, rate=0.002)
def _(ms):
    return bert(ms, 768, 12, 1, 4)  # as wide as it is everywhere; one layer of its twelve


@net("GPT", TOKENS, NEXT, rate=0.1)
def _(ms):
    nn, ops = ms.nn, ms.ops

    class Gpt(nn.Cell):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(20, 16), nn.Embedding(6, 16)
            self.blocks = nn.CellList([block(ms, 16, 4, True, True) for _ in range(2)])
            self.norm, self.head = nn.LayerNorm((16,)), nn.Dense(16, 20, has_bias=False)

        def construct(self, tokens, targets):
            x = self.words(tokens) + self.places(ms.Tensor(np.arange(6, dtype=np.int32)))
            for each in self.blocks:
                x = each(x)
            return ops.cross_entropy(self.head(self.norm(x)).reshape(-1, 20), targets.reshape(-1))

    return Gpt()


@net("ViT", make(2, 3, 8, 8), np.array([0, 2], np.int32), rate=0.1)
def _(ms):
    nn, ops = ms.nn, ms.ops

    class Vit(nn.Cell):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 16, 4, 4, pad_mode="valid", has_bias=True)
            self.token = ms.Parameter(ms.Tensor(np.zeros((1, 1, 16), np.float32)), name="token")
            self.places = ms.Parameter(ms.Tensor(np.zeros((1, 5, 16), np.float32)), name="places")
            self.blocks = nn.SequentialCell([block(ms, 16, 2, False, True) for _ in range(2)])
            self.norm, self.head = nn.LayerNorm((16,)), nn.Dense(16, 4)

        def construct(self, x):
            x = self.patch(x).reshape(2, 16, 4).transpose(0, 2, 1)
            token = ops.broadcast_to(self.token, (2, 1, 16))
            x = self.blocks(ops.concat((token, x), 1) + self.places)
            return self.head(self.norm(x)[:, 0])

    return nn.WithLossCell(Vit(), nn.CrossEntropyLoss())
