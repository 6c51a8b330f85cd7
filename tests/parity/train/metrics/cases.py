"""Cases of metrics: what is made, the batches it sees, how it is asked. Imports nothing of ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

CASES: dict[str, Case] = {}


@dataclass
class Case:
    name: str
    made: tuple[tuple[Any, ...], dict[str, Any]]
    batches: list[tuple[Any, ...]]
    asked: dict[str, Any] = field(default_factory=dict)
    indexes: Any = None
    better: str = ""  # what MindSpore does wrong here; we must give a result


def case(name, batches, *args, asked=None, indexes=None, better="", **kwargs):
    count = sum(each.name == name for each in CASES.values())
    CASES[f"{name}/{count}"] = Case(name, (args, kwargs), batches, asked or {}, indexes, better)


def make(*shape, seed=0, dtype="float32", low=0, high=4):
    draw = np.random.RandomState(seed)
    if dtype == "int":
        return draw.randint(low, high, shape).astype(np.int32)
    return draw.uniform(0, 1, shape).astype(dtype)


def run(ms: Any, each: Case) -> dict[str, Any]:
    """What a case gives, as JSON; of an error its class and words."""
    try:
        return {"v": plain(value_of(ms, each))}
    except Exception as error:
        return {"e": type(error).__name__, "m": str(error)[:160]}


def value_of(ms: Any, each: Case) -> Any:
    args, kwargs = each.made
    if each.name == "auc":
        return ms.train.auc(*args, **kwargs)
    metric = getattr(ms.train, each.name)(*args, **kwargs)
    if each.indexes is not None:
        metric.set_indexes(each.indexes)
    for batch in each.batches:
        metric.update(*(live(ms, value) for value in batch))
    return metric.eval(**each.asked)


class Net:
    """Stands for a net with these weights, of either library."""

    def __init__(self, weights):
        self.weights = weights

    def build(self, ms):
        class Scores(ms.nn.Cell):
            def __init__(self, weights):
                super().__init__()
                self.weights = ms.Tensor(weights)

            def construct(self, x):
                return ms.ops.tanh(ms.ops.matmul(x.reshape((x.shape[0], -1)), self.weights))

        return Scores(self.weights)


class AsTensor:
    """Stands for a tensor of either library."""

    def __init__(self, array):
        self.array = array


def live(ms: Any, value: Any) -> Any:
    if isinstance(value, Net):
        return value.build(ms)
    return ms.Tensor(value.array) if isinstance(value, AsTensor) else value


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    array = np.asarray(value)
    return {"d": str(array.dtype), "s": list(array.shape), "x": [float(each) for each in array.reshape(-1)]}


P, L = make(6, 4), make(6, seed=1, dtype="int")
ONEHOT = np.eye(4)[L]
IMAGES, MASKS = make(2, 3, 5), make(2, 5, seed=2, dtype="int", high=3)
MANY, TRUE = make(5, 3, seed=3, dtype="int", high=2), make(5, 3, seed=4, dtype="int", high=2)
CUBE, CUBES = make(2, 3, 4, seed=5, dtype="int", high=2), make(2, 3, 4, seed=6, dtype="int", high=2)

for name in ("Accuracy", "Precision", "Recall", "F1"):
    case(name, [(P, L)])
    case(name, [(AsTensor(P), AsTensor(L))])
    case(name, [(P.tolist(), L.tolist())])
    case(name, [(P, ONEHOT), (P[:3], L[:3])])
    case(name, [(IMAGES, MASKS)])
    case(name, [])
    case(name, [(P,)])
    case(name, [(P, L), (P[:, :2], L)])
    case(name, [(P, "a")])
    case(name, [(1.0, L)])
    case(name, [(L, P)], indexes=[1, 0])
    case(name, [(0, L, P)], indexes=[2, 1])
    case(name, [(P, L)], indexes=(1, 0))
    case(name, [(P, L)], indexes=[1, 0.5])
for name in ("Accuracy", "Precision", "Recall"):
    case(name, [(MANY, TRUE)], "multilabel")
    case(name, [(MANY, TRUE), (TRUE, TRUE)], "multilabel")
    case(name, [(CUBE, CUBES)], eval_type="multilabel")
    case(name, [(P[:5, :3], TRUE)], "multilabel")
    case(name, [(MANY, TRUE[:, :2])], "multilabel")
    case(name, [(MANY, TRUE[0])], "multilabel")
    case(name, [], "many")
    case(name, [(P, L[:4])])
    case(name, [(P, P)])
    case(name, [(IMAGES, MASKS[:, :4])])
for name in ("Precision", "Recall", "F1"):
    case(name, [(P, L)], asked={"average": True})
    case(name, [(P, L)], asked={"average": 1})
    case(name, [(P, L + 2)])
    case(name, [(P, np.zeros(6, np.int64))])
for name in ("Precision", "Recall"):
    case(name, [(MANY, TRUE), (TRUE, TRUE)], "multilabel", asked={"average": True})
case("Fbeta", [(P, L)], 2)
case("Fbeta", [(P, L), (P[2:], L[1:5])], 0.5, asked={"average": True})
case("Fbeta", [], 0)
case("Fbeta", [(P, L[:3])], 1)

MORE, TEN = make(5, 8, seed=7), make(5, seed=8, dtype="int", high=8)
for name, args in (
    ("TopKCategoricalAccuracy", (2,)),
    ("Top1CategoricalAccuracy", ()),
    ("Top5CategoricalAccuracy", ()),
):
    case(name, [(MORE, TEN)], *args)
    case(name, [(MORE, np.eye(8)[TEN]), (MORE[:2], TEN[:2])], *args)
    case(name, [], *args)
    case(name, [(MORE,)], *args)
case("TopKCategoricalAccuracy", [(P, L)], 5)
case("TopKCategoricalAccuracy", [], 0)
case("TopKCategoricalAccuracy", [], 1.5)

case("Loss", [(np.array(0.5),), (np.array([1.0, 2.0]),)])
case("Loss", [(AsTensor(np.float32(0.25)),)])
case("Loss", [(P,)])
case("Loss", [])
case("Loss", [(P, P)])
case("Loss", [(1.0,)])
for name in ("MAE", "MSE"):
    case(name, [(P, P[::-1])])
    case(name, [(P[:, 0], P[:, :1]), (P[:3, 1], P[:3, 2])])
    case(name, [(L, L[::-1])])
    case(name, [(P, P[:3])])
    case(name, [])
    case(name, [(P,)])

case("ConfusionMatrix", [(L[::-1].copy(), L)], 4)
for normalize in ("target", "prediction", "all", "no_norm", "label"):
    case("ConfusionMatrix", [(P, L), (P[:2], L[:2])], 4, normalize)
case("ConfusionMatrix", [(make(6, seed=9), TRUE[:, 0].repeat(2)[:6])], 2, threshold=0.3)
case("ConfusionMatrix", [(IMAGES, MASKS)], num_classes=3, normalize="target")
case("ConfusionMatrix", [(P[None, None], L)], 4)
case("ConfusionMatrix", [(L, L)], 2)
case("ConfusionMatrix", [], 2)
case("ConfusionMatrix", [], 2.5)
case("ConfusionMatrix", [], 2, threshold=1)

MINE, YOURS = (
    np.eye(3)[make(4, seed=10, dtype="int", high=3)],
    np.eye(3)[make(4, seed=11, dtype="int", high=3)],
)
IMAGE = np.moveaxis(np.eye(3)[make(2, 5, seed=12, dtype="int", high=3)], -1, 1)
ANSWER = np.moveaxis(np.eye(3)[make(2, 5, seed=13, dtype="int", high=3)], -1, 1)
for name in (
    "sensitivity", "specificity", "precision", "negative predictive value", "miss_rate", "fall_out", "FDR", "for",
    "prevalence_threshold", "threat_score", "accuracy", "balanced_accuracy", "f1_score", "mcc",
    "fowlkes_mallows_index", "informedness", "markedness",
):  # fmt: skip
    case("ConfusionMatrixMetric", [(MINE, YOURS)], metric_name=name)
    case("ConfusionMatrixMetric", [(IMAGE, ANSWER), (ANSWER, ANSWER)], False, name, True)
for decrease in ("mean", "sum"):
    case("ConfusionMatrixMetric", [(IMAGE, ANSWER)], calculation_method=True, decrease=decrease)
case("ConfusionMatrixMetric", [(IMAGE, ANSWER), (ANSWER, IMAGE)], False)
WHOLE = "MindSpore fails with what is no single number"
for decrease in ("none", "mean_batch", "sum_batch", "mean_channel", "sum_channel"):
    case("ConfusionMatrixMetric", [(IMAGE, ANSWER)], calculation_method=True, decrease=decrease, better=WHOLE)
case(
    "ConfusionMatrixMetric",
    [(MINE, YOURS)],
    calculation_method=True,
    better="MindSpore fails on single labels",
)
case("ConfusionMatrixMetric", [], metric_name="nonsense")
case("ConfusionMatrixMetric", [], decrease="all")
case("ConfusionMatrixMetric", [], skip_channel=1)
case("ConfusionMatrixMetric", [], calculation_method=True)
case("ConfusionMatrixMetric", [(MINE, YOURS[:, :2])])
case("ConfusionMatrixMetric", [(MINE[0], YOURS[0])])
case("ConfusionMatrixMetric", [(MINE, P[:4, :3])])

S, B = make(8, seed=14), np.array([0, 1, 1, 0, 1, 0, 0, 1])
case("ROC", [(S, B)], pos_label=1)
case("ROC", [(S, B)])
case("ROC", [(np.round(S, 1), B)], pos_label=0)
case("ROC", [(S.reshape(2, 4), B.reshape(2, 4))], 1)
case("ROC", [(make(4, 4, seed=15), np.array([0, 1, 2, 3]))], class_num=4)
case("ROC", [(P, np.array([0, 1, 2, 3, 0, 1]))], class_num=4, better="MindSpore mixes rows and columns up")
case("ROC", [(S, np.ones(8))], pos_label=1)
case("ROC", [(S, np.zeros(8))], pos_label=1)
case("ROC", [(P, L)], class_num=3)
case("ROC", [(P, L)], class_num=4, pos_label=1)
case("ROC", [(S, B)], class_num=2)
case("ROC", [(P[None], B)], class_num=2)
case("ROC", [])
case("ROC", [], class_num=1.5)
for args in (
    (np.array([0.0, 0.2, 0.7, 1.0]), np.array([0.0, 0.5, 0.6, 1.0])),
    (np.array([1.0, 0.7, 0.2]), np.array([0.9, 0.5, 0.1])),
    (np.array([0.5, 0.7, 0.2]), np.array([0.9, 0.5, 0.1])),
    (np.array([0.5, 0.7, 0.2]), np.array([0.9, 0.5, 0.1]), True),
    (np.array([[0.1], [0.7]]), np.array([0.9, 0.5])),
    (np.array([0.5]), np.array([0.9])),
    (np.array([0.5, 0.6]), np.array([0.9])),
    (np.array(0.5), np.array(0.9)),
    (P, P),
    ([0.5, 0.6], [0.9, 0.6]),
):
    case("auc", [], *args)

case("Dice", [(MANY.astype("float32"), TRUE.astype("float32"))])
case("Dice", [(MANY.astype("float32"), TRUE.astype("float32")), (P, P)], smooth=0.5)
case("Dice", [(P, L)])
case("Dice", [])
case("Dice", [], 0.0)
case("Dice", [], 1)
SHAPE, OTHER = make(7, 9, seed=16, dtype="int", high=2), make(7, 9, seed=17, dtype="int", high=2)
ROUND, BALL = SHAPE.copy(), OTHER.copy()
ROUND[1:6, 2:8] = 1
BALL[0:5, 0:5] = 0
SOLID, SOLIDS = make(4, 5, 6, seed=18, dtype="int", high=3), make(4, 5, 6, seed=19, dtype="int", high=3)
SOLID[1:3, 1:4, 1:5] = 1
for distance in ("euclidean", "chessboard", "taxicab"):
    for a, b in ((SHAPE, OTHER), (ROUND, BALL), (BALL, ROUND), (SOLID, SOLIDS)):
        case("HausdorffDistance", [(a, b, 1)], distance)
        case("HausdorffDistance", [(a, b, 1)], distance, 75.0, True, False)
        for name in ("MeanSurfaceDistance", "RootMeanSquareDistance"):
            case(name, [(a, b, 1)], distance_metric=distance)
            case(name, [(a, b, 0)], True, distance)
for name in ("HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"):
    case(name, [(SHAPE, np.zeros_like(SHAPE), 1)])
    case(name, [(np.zeros_like(SHAPE), SHAPE, 1)])
    case(name, [(SHAPE, OTHER, 7)])
    case(name, [(SHAPE, OTHER, "a")])
    case(name, [(SHAPE, OTHER[:3], 1)])
    case(name, [(SHAPE, OTHER)])
    case(name, [], better="" if name[0] == "H" else "MindSpore gives infinity before the first update")
    case(name, [], distance_metric="far")
    case(name, [], distance_metric=3)
case("MeanSurfaceDistance", [], 1)
case("HausdorffDistance", [(SHAPE, OTHER, 1)], percentile=120.0)
case("HausdorffDistance", [], percentile=50)
case("HausdorffDistance", [], directed=1)

SAID = [["i", "have", "a", "pen", "on", "my", "desk"], ["it", "is", "a", "mill", "by", "the", "race"]]
MEANT = [
    [["i", "have", "a", "pen", "in", "my", "desk"], ["there", "is", "a", "pen", "on", "the", "desk"]],
    [
        ["it", "is", "a", "mill", "by", "the", "stream"],
        ["a", "mill", "by", "the", "race", "it", "is", "there"],
    ],
]
for grams in (1, 2, 3, 4):
    case("BleuScore", [(SAID, MEANT)], grams)
    case("BleuScore", [(SAID, MEANT), (SAID[:1], MEANT[:1])], grams, True)
case("BleuScore", [(SAID[:1], [[["nothing", "alike"]]])])
case("BleuScore", [([["i", "have"]], [[["i", "have", "a", "pen"]]])], 2)
case("BleuScore", [(SAID, MEANT[:1])])
case("BleuScore", [(SAID,)])
case("BleuScore", [])
case("BleuScore", [], 5)
case("BleuScore", [], 2.0)
case("BleuScore", [], smooth=1)
SHARES = P / P.sum(axis=1, keepdims=True)
case("Perplexity", [(SHARES, L)])
case("Perplexity", [(SHARES, L), (SHARES[:1], L[:1])], 0)
case("Perplexity", [(SHARES.astype("float64"), L.astype("float32"))], ignore_label=9)
case("Perplexity", [(SHARES.reshape(2, 3, 4), L.reshape(2, 3))], better="MindSpore takes two axes")
case("Perplexity", [(SHARES, L[:3])])
case("Perplexity", [(SHARES, L + 4)])
case("Perplexity", [(SHARES,)])
case("Perplexity", [])
case("Perplexity", [], ignore_label=1.5)

for similarity in ("cosine", "dot"):
    for reduction in ("none", "sum", "mean"):
        case("CosineSimilarity", [(P,)], similarity, reduction)
case("CosineSimilarity", [(P.tolist(),)], zero_diagonal=False)
case("CosineSimilarity", [(P[0],)], better="MindSpore fails in NumPy")
case("CosineSimilarity", [])
case("CosineSimilarity", [], "sine")
case("CosineSimilarity", [], reduction="all")
case("CosineSimilarity", [], zero_diagonal=1)

PICTURE = make(1, 1, 4, 5, seed=20)
LOOKING = Net(make(20, 3, seed=21) - 0.5)
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array(1))])
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array(2))], 0.5, 1, 7)
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array(0))], 0.0, 1, 2, [0, 0, 1, 2, 0, 3])
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array(0))], b_box=[-1, -1, 1, -1, -1, 3])
case(
    "OcclusionSensitivity",
    [(LOOKING, PICTURE, np.array([1]))],
    better="MindSpore fails with a label in a list",
)
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array([0]))], b_box=[0, 0, 1, 2])
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array([0]))], b_box=[0, 0, 1, 5, 0, 1])
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array([0]))], b_box=[0, 0, 3, 1, 0, 1])
case("OcclusionSensitivity", [(LOOKING, PICTURE, 1)], better="MindSpore refuses an int")
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array([1]))], margin=[1, 2, 1], better="MindSpore fails")
case("OcclusionSensitivity", [(LOOKING, PICTURE, np.array([1, 2]))])
case("OcclusionSensitivity", [(LOOKING, PICTURE.repeat(2, 0), np.array([1]))])
case("OcclusionSensitivity", [(3, PICTURE, np.array([1]))])
case("OcclusionSensitivity", [(LOOKING, PICTURE)])
case("OcclusionSensitivity", [])
case("OcclusionSensitivity", [], margin=1.5)
case("OcclusionSensitivity", [], 1)
case("OcclusionSensitivity", [], n_batch=1.5)
case("OcclusionSensitivity", [], b_box=(1, 2))
