"""Layers for second-order optimizers, and the sampled loss."""

from tests.parity.runtime.nn.layers import Later, cases_of, make

case = cases_of(__name__)

TRAIN = {"train": True}
case("DenseThor", [make(5, 3)], 3, 2, options=TRAIN)
case("DenseThor", [make(5, 3)], 3, 2, has_bias=False, activation="relu", options=TRAIN)
case("DenseThor", [make(5, 3)], 0, 2)
case("DenseThor", [make(5, 3)], 3, 2, weight_init=make(3, 2))
IDS = make(2, 3, dtype="int32", low=0, high=5)
TABLE = {"train": True, "text": False}  # the table prints itself
case("EmbeddingThor", [IDS], 5, 3, options=TABLE)
case("EmbeddingThor", [IDS], 5, 3, True, options=TABLE)
case("EmbeddingThor", [IDS], 5, 3, padding_idx=1, options=TABLE)
case("EmbeddingThor", [IDS], 5.5, 3)
case(
    "EmbeddingLookupThor", [IDS], 5, 3, options={"tolerance": 1e-3, "text": False, "grads": False}
)  # theirs are rows
case(
    "EmbeddingLookupThor",
    [IDS],
    5,
    3,
    target="DEVICE",
    sparse=False,
    options={"tolerance": 1e-3, "text": False, "grads": False, "train": True},
)
case("EmbeddingLookupThor", [IDS], 5, 3, sparse=False)
case("EmbeddingLookupThor", [IDS], 5, 3, target="GPU")
case("Conv2dThor", [make(2, 2, 5, 4)], 2, 3, 3)
case("Conv2dThor", [make(2, 2, 5, 4)], 2, 3, (3, 2), 2, has_bias=True)
case("Conv2dThor", [make(2, 2, 5, 4)], 2, 3, 3, group=2)
W, B, L, X = make(6, 4), make(6), make(3, 2, dtype="int32", low=0, high=6), make(3, 4)


def drawn(true):
    counts = ([[0.4] * true] * 3, [0.4, 0.3])
    return (Later("Tensor", ([3, 4],)), *(Later("Tensor", (count,)) for count in counts))


def sampled(true, **kwargs):
    from tests.parity.runtime.nn.layers import layer

    name = f"SampledSoftmaxLoss/{true}" + "".join(f" {k}" for k in kwargs)

    @layer(name, W, B, L[:, :true].copy(), X, text=False, by=(0, 1, 3))
    def _(ms):
        return ms.nn.SampledSoftmaxLoss(2, 6, true, tuple(each.of(ms) for each in drawn(true)), **kwargs)


sampled(1)
sampled(2)
sampled(1, remove_accidental_hits=False)
case("SampledSoftmaxLoss", [W, B, L, X], 7, 6)
case("SampledSoftmaxLoss", [W, B, L, X], 3, 6, 0)
case("SampledSoftmaxLoss", [W, B, L, X], 3, 6, seed=-1)
case("SampledSoftmaxLoss", [W, B, L, X], 3, 6, 1, (1, 2))
case("SampledSoftmaxLoss", [W, B, L, X], 3, 6, 1, 3)
case("SampledSoftmaxLoss", [W, B, L.astype("float32"), X], 3, 6, 2)
case("SampledSoftmaxLoss", [W, B, L, X], 3, 6, reduction="all")
