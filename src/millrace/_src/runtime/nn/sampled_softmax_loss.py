"""Sampled softmax loss."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.array.concat_split import concat as cat
from millrace._src.runtime.ops.array.gather import gather
from millrace._src.runtime.ops.array.sorting import topk
from millrace._src.runtime.ops.linalg.matmul import matmul
from millrace._src.runtime.ops.math.elementwise_unary import log
from millrace._src.runtime.ops.nn.softmax import softmax
from millrace._src.runtime.ops.random.uniform_normal import uniform

from .loss import LossBase

__all__ = ["SampledSoftmaxLoss"]


@public("nn")
class SampledSoftmaxLoss(LossBase):
    """Softmax cross entropy over the true classes and `num_sampled` uniformly sampled classes.

    Called with the weights and biases of all classes, labels, and the inputs of the last layer. `reduction`
    is applied (MindSpore returns one loss per sample); `remove_accidental_hits` excludes true classes from
    the samples.

    >>> loss = SampledSoftmaxLoss(num_sampled=4, num_classes=7, seed=1)
    >>> loss(Tensor([[0.1, 0.2]] * 7), Tensor([0.0] * 7), Tensor([0, 3]), Tensor([[1.0, 2.0]] * 2)).shape
    (2,)
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Any = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: str = "none",
    ) -> None:
        super().__init__(reduction)
        owner = type(self).__name__
        for name, value, least in (("num_true", num_true, 1), ("seed", seed, 0)):
            if value < least:
                raise ArgumentValueError(
                    f"For '{owner}', the '{name}' must be greater than or equal to {least}, but got {value}."
                )
        for name, value in (("num_sampled", num_sampled), ("num_true", num_true)):
            if value > num_classes:
                raise ArgumentValueError(
                    f"For '{owner}', the '{name}' must be smaller than or equal to 'num_classes', but got "
                    f"'{name}': {value} and 'num_classes': {num_classes}."
                )
        if sampled_values is not None:
            if not isinstance(sampled_values, (list, tuple)):
                raise ArgumentTypeError(
                    f"For '{owner}', the type of 'sampled_values' must be a list or tuple, but got "
                    f"{type(sampled_values).__name__}."
                )
            if len(sampled_values) != 3:
                raise ArgumentValueError(
                    f"For '{owner}', the length of 'sampled_values' must be equal to 3, but got "
                    f"{len(sampled_values)}."
                )
        self.num_sampled, self.num_classes, self.num_true = num_sampled, num_classes, num_true
        self.sampled_values, self.remove_accidental_hits, self.seed = (
            sampled_values,
            remove_accidental_hits,
            seed,
        )

    def construct(self, weights: Any, biases: Any, labels: Any, logits: Any) -> Any:
        self._tensors(weights=weights, biases=biases, labels=labels, logits=logits)
        if labels.dtype not in (mstype.int32, mstype.int64):
            raise ArgumentTypeError(
                f"For '{type(self).__name__}', the 'labels' should be one of [mindspore.int32, mindspore.int64], but "
                f"got '{labels.dtype}'."
            )
        labels = labels.reshape((-1, self.num_true))
        sampled, true_count, sampled_count = self.sampled_values or self._sample_classes(labels)
        true_scores = (logits.expand_dims(1) * gather(weights, labels, 0)).sum(-1) + gather(biases, labels, 0)
        sampled_scores = matmul(logits, gather(weights, sampled, 0).T) + gather(biases, sampled, 0)
        scores = cat((true_scores - log(true_count), sampled_scores - log(sampled_count)), 1)
        log_probabilities = log(softmax(scores, 1) + 1e-20)
        return self.get_loss(-log_probabilities[:, : self.num_true].sum(1) / self.num_true)

    def _sample_classes(self, labels: Any) -> tuple[Any, Any, Any]:
        """Classes sampled without replacement, and the expected counts of the true and the sampled classes."""
        order = uniform((self.num_classes,), Tensor(0.0), Tensor(1.0), self.seed)
        if self.remove_accidental_hits:
            order = order.index_fill(0, labels.reshape((-1,)), -1.0)
        sampled = topk(order, self.num_sampled)[1]
        # the expected number of trials of sampling with replacement
        count = (
            1 - math.exp(self.num_sampled * math.log1p(-1 / self.num_classes))
            if self.num_classes > 1
            else 1.0
        )
        return sampled, Tensor(count), Tensor(count)
