"""Metrics as a user meets them."""

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace
from millrace import Tensor, nn, train
from millrace._src.train.metrics.registry import get_metrics
from millrace._src.train.metrics.segmentation import distance_to


def test_metrics_stand_at_three_places():
    assert millrace.Accuracy is nn.Accuracy is train.Accuracy
    assert nn.rearrange_inputs is train.rearrange_inputs


def test_a_metric_of_ones_own_takes_the_inputs_that_were_chosen():
    class Sum(train.Metric):
        def clear(self):
            self.total = 0.0

        @train.rearrange_inputs
        def update(self, *inputs):
            self.total += sum(self._convert_data(each).sum() for each in inputs)

        def eval(self):
            return self.total

    metric = Sum()
    assert metric.indexes is None
    assert metric.set_indexes([2, 0]) is metric
    assert metric.indexes == [2, 0]
    assert metric(Tensor([1.0]), Tensor([100.0]), np.array([2.0])) == 3.0
    with pytest.raises(IndexError, match=r"chose \[2, 0\], but there are 2 inputs"):
        metric.update([1.0], [2.0])


def test_a_metric_must_say_all_three():
    class Half(train.Metric):
        def clear(self): ...

    with pytest.raises(TypeError, match="abstract"):
        Half()


def test_a_metric_without_init_has_no_indexes():
    class Plain(train.Metric):
        def __init__(self): ...

        def clear(self): ...

        def update(self, *inputs): ...

        def eval(self):
            return 1

    assert Plain().indexes is None
    assert Plain()() == 1


def test_metrics_by_name():
    assert get_metrics(None) is None
    assert isinstance(get_metrics({"acc"})["acc"], train.Accuracy)
    mine = {"top2": train.TopKCategoricalAccuracy(2)}
    assert get_metrics(mine) is mine
    for wrong in ({1: train.Loss()}, {"loss": 1}, ["loss"], "loss"):
        with pytest.raises(TypeError, match="get_metrics"):
            get_metrics(wrong)
    with pytest.raises(KeyError, match="unsupported metric 'nonsense'"):
        train.get_metric_fn("nonsense")
    assert len(train.names()) == 23


def test_asking_twice_gives_the_same():
    metric = train.CosineSimilarity(reduction="mean")
    metric.update(np.eye(3) + 1)
    assert np.array_equal(metric.eval(), metric.eval())


def test_bfloat16_is_taken():
    scores = Tensor([[0.25, 0.75], [0.5, 0.25]]).astype(millrace.bfloat16)
    assert train.Accuracy()(scores, Tensor([1, 0])) == 1.0


@pytest.mark.parametrize("metric", ["euclidean", "chessboard", "taxicab"])
def test_distances_are_those_to_the_nearest(metric):
    mask = np.random.RandomState(3).uniform(size=(7, 6, 9)) < 0.02
    there = np.argwhere(mask)
    steps = np.abs(np.argwhere(np.ones_like(mask))[:, None] - there[None])
    each = {"euclidean": np.sqrt((steps**2).sum(-1)), "chessboard": steps.max(-1), "taxicab": steps.sum(-1)}
    assert np.allclose(distance_to(mask, metric), each[metric].min(1).reshape(mask.shape))
