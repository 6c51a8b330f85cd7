"""Nets for tables and graphs, and two nets against each other."""

import numpy as np

from tests.e2e.networks.families import adam, net
from tests.parity.runtime.nn.layers import make


@net(
    "DeepFM",
    make(4, 5, low=0, high=30, dtype="int32"),
    make(4, 5, low=0.0),
    np.array([[1], [0], [1], [1]], np.float32),
    rate=0.02,
    by=adam,
)
def _(ms):
    nn, P = ms.nn, ms.ops

    class DeepFM(nn.Cell):
        """Single features, pairs of them, and a deep net over all; with a penalty on the tables."""

        def __init__(self):
            super().__init__()
            self.single, self.pairs = nn.Embedding(30, 1), nn.Embedding(30, 4)
            self.deep = nn.SequentialCell(nn.Dense(20, 16, activation="relu"), nn.Dense(16, 1))
            self.sum, self.square, self.mul = P.ReduceSum(keep_dims=False), P.Square(), P.Mul()
            self.loss, self.l2 = P.SigmoidCrossEntropyWithLogits(), P.L2Loss()

        def construct(self, ids, values, labels):
            mask = P.ExpandDims()(values, 2)
            linear = self.sum(self.mul(self.single(ids), mask), 1)
            x = self.mul(self.pairs(ids), mask)
            crossed = self.square(self.sum(x, 1)) - self.sum(self.square(x), 1)
            out = linear + 0.5 * P.ReduceSum(True)(crossed, 1) + self.deep(P.Reshape()(x, (4, 20)))
            penalty = self.l2(self.pairs.embedding_table) + self.l2(self.single.embedding_table)
            return P.ReduceMean()(self.loss(out, labels)) + 1e-3 * penalty

    return DeepFM()


LINKS = (make(6, 6, low=0.0) > 0.5).astype(np.float32) + np.eye(6, dtype=np.float32)


@net("GCN", LINKS / LINKS.sum(1, keepdims=True), make(6, 8), np.array([0, 1, 2, 0, 1, 2], np.int32), rate=0.5)
def _(ms):
    nn, ops = ms.nn, ms.ops

    class Gcn(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(8, 8, has_bias=False), nn.Dense(8, 3)

        def construct(self, links, features, labels):
            x = ops.relu(ops.matmul(links, self.first(features)))
            x = ops.matmul(links, self.second(x))
            return ops.nll_loss(ops.log_softmax(x, -1), labels)

    return Gcn()


@net("GAN", make(4, 6), make(4, 1, 8, 8), rate=0.01, by=adam)
def _(ms):
    nn, ops = ms.nn, ms.ops

    class Gan(nn.Cell):
        """Both losses of one step; the discriminator's does not reach the generator."""

        def __init__(self):
            super().__init__()
            self.generator = nn.SequentialCell(
                nn.Dense(6, 32), nn.BatchNorm1d(32), nn.LeakyReLU(0.2), nn.Dense(32, 64), nn.Tanh()
            )
            self.discriminator = nn.SequentialCell(
                nn.Flatten(), nn.Dense(64, 16), nn.LeakyReLU(0.2), nn.Dense(16, 1), nn.Sigmoid()
            )
            self.loss = nn.BCELoss(reduction="mean")

        def construct(self, noise, real):
            fake = self.generator(noise).reshape(real.shape)
            ones, zeros = ops.ones((4, 1), ms.float32), ops.zeros((4, 1), ms.float32)
            true = self.loss(self.discriminator(real), ones)
            false = self.loss(self.discriminator(ops.stop_gradient(fake)), zeros)
            return self.loss(self.discriminator(fake), ones) + (true + false) / 2

    return Gan()
