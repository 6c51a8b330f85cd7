"""Losses, in every reduction."""

import numpy as np

from tests.parity.runtime.nn.layers import layer, make

X, Y = make(4, 5), make(4, 5, seed=1)
P, Q = make(4, 5, low=0.05, high=0.95), make(4, 5, low=0.05, high=0.95, seed=1)
N = make(4, low=0, high=5, dtype="int32")
SIGNS = np.sign(make(4, 5, seed=2)).astype(np.float32)
ROWS = np.sign(make(4, seed=3)).astype(np.int32)
W = make(5, low=0.5, high=1.5)
ONES = Q / Q.sum(-1, keepdims=True)
NONE = "MindSpore has no kernel for it on the CPU"


def both(name, *args, options=(), grads=True, ways=("none", "mean", "sum"), **more):
    """One loss in all its reductions."""
    for way in ways:
        layer(f"{name}.{way}", *args, grads=grads, **more)(_build(name, dict(options), way))


def _build(name, options, way):
    def build(ms):
        given = {k: ms.Tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        return getattr(ms.nn, name.partition("/")[0])(**given, reduction=way)

    build.__module__ = __name__
    return build


both("SoftmaxCrossEntropyWithLogits", X, ONES, by=(0,))
both("SoftmaxCrossEntropyWithLogits/sparse", X, N, options={"sparse": True})
both("MSELoss", X, Y)
both("MSELoss/broadcast", X, make(5))
both("L1Loss", X, Y)
both("MAELoss", X, Y)
both("SmoothL1Loss", X, Y)
both("SmoothL1Loss/beta", X, Y, options={"beta": 0.3})
both("HuberLoss", X, Y, options={"delta": 0.5})
both("BCELoss", P, Q)
both("BCELoss/weight", P, Q, options={"weight": np.abs(Y)})
both("BCEWithLogitsLoss", X, Q)
both("BCEWithLogitsLoss/weights", X, Q, options={"weight": np.abs(Y), "pos_weight": W})
both("CrossEntropyLoss", X, N)
both("CrossEntropyLoss/weight", X, N, options={"weight": W, "ignore_index": 1, "label_smoothing": 0.1})
both("CrossEntropyLoss/probabilities", X, ONES)
both("CrossEntropyLoss/images", make(2, 5, 3, 3), make(2, 3, 3, low=0, high=5, dtype="int32"))
both("NLLLoss", np.log(P), N)
both("NLLLoss/weight", np.log(P), N, options={"weight": W, "ignore_index": 2})
both("KLDivLoss", np.log(P), Q, by=(0,), ways=("none", "mean", "sum", "batchmean"))
both("SoftMarginLoss", X, SIGNS, better=NONE)
both("MultiLabelSoftMarginLoss", X, (SIGNS > 0).astype(np.float32), options={"weight": W})
both("MultiMarginLoss", X, N.astype(np.int64))
both("MultiMarginLoss/2", X, N.astype(np.int64), options={"p": 2, "margin": 0.5})
both("MultilabelMarginLoss", X, np.array([[1, 2, -1, 0, 0]] * 4, np.int32), better=NONE)
both("CosineEmbeddingLoss", X, Y, ROWS, options={"margin": 0.2})
both("MarginRankingLoss", X, Y, SIGNS, options={"margin": 0.2})
both("HingeEmbeddingLoss", X, SIGNS, options={"margin": 0.5}, better=NONE)
both("TripletMarginLoss", X, Y, make(4, 5, seed=4), better=NONE)
both("TripletMarginLoss/swap", X, Y, make(4, 5, seed=4), options={"swap": True, "p": 3}, better=NONE)
both("TripletMarginWithDistanceLoss", X, Y, make(4, 5, seed=4), options={"swap": True})
both("PoissonNLLLoss", X, np.abs(Y) * 3, options={"full": True})
both("PoissonNLLLoss/plain", P, np.abs(Y), options={"log_input": False})
both("GaussianNLLLoss", X, Y, np.abs(make(4, 5, seed=5)) + 0.1, options={"full": True})
both("FocalLoss", X, N[:, None])
both("FocalLoss/weight", X, N[:, None], options={"weight": W, "gamma": 1.0})
both("FocalLoss/classes", X, (SIGNS > 0).astype(np.int32))
both("FocalLoss/images", make(2, 3, 4, 4), make(2, 1, 4, 4, low=0, high=3, dtype="int32"))


@layer("RMSELoss", X, Y)
def _(ms):
    return ms.nn.RMSELoss()


@layer("DiceLoss", P, Q)
def _(ms):
    return ms.nn.DiceLoss()


@layer("MultiClassDiceLoss", X, Q)
def _(ms):
    return ms.nn.MultiClassDiceLoss()


@layer("MultiClassDiceLoss.weights", X, Q)
def _(ms):
    weights = ms.Tensor(make(5, 5, low=0.1, high=1.0))
    return ms.nn.MultiClassDiceLoss(weights=weights, ignore_indiex=1, activation="sigmoid")


@layer(
    "CTCLoss",
    np.log(P.reshape(5, 2, 2)),
    np.array([[1, 1], [1, 1]], np.int32),
    np.array([5, 5], np.int32),
    np.array([2, 1], np.int32),
    grads=False,
)
def _(ms):
    return ms.nn.CTCLoss()


@layer("LossBase", X)
def _(ms):
    class Own(ms.nn.LossBase):
        def construct(self, x):
            return self.get_loss(x * x, 2.0)

    return Own()
