"""Text metrics: BLEU and perplexity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type

from .metric import Metric, as_array, check_input_count, no_samples_error, not_updated_error, rearrange_inputs

__all__ = ["BleuScore", "Perplexity"]


@public("nn", "train", "millrace")
class BleuScore(Metric):
    """BLEU score of translations against references, with n-grams of up to ``n_gram`` words.

    >>> metric = BleuScore(n_gram=2)
    >>> metric.update([["a", "mill", "by", "the", "race"]], [[["the", "mill", "by", "the", "race"]]])
    >>> round(float(metric.eval()), 4)
    0.7746
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        self.n_gram = check_argument_type(n_gram, "n_gram", "BleuScore", int)
        if not 1 <= n_gram <= 4:
            raise ArgumentValueError(
                f"For 'BleuScore', the argument 'n_gram' should range from 1 to 4, but got {n_gram}."
            )
        self.smooth = check_argument_type(smooth, "smooth", "BleuScore", bool)
        self.clear()

    def clear(self) -> None:
        self._numerator = np.zeros(self.n_gram)
        self._denominator = np.zeros(self.n_gram)
        self._length = 0.0
        self._reference_length = 0.0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        candidates, corpus = check_input_count(2, inputs, "BleuScore", "candidate_corpus, reference_corpus")
        if len(candidates) != len(corpus):
            raise ArgumentValueError(
                "For 'BleuScore.update', 'translate_corpus' (inputs[0]) and 'reference_corpus' (inputs[1]) should be "
                f"equal in length, but got {len(candidates)}, {len(corpus)}"
            )
        for candidate, references in zip(candidates, corpus, strict=True):
            if not len(references):
                raise ArgumentValueError(
                    "For 'BleuScore.update', each candidate needs at least one reference."
                )
            self._length += len(candidate)
            self._reference_length += min(map(len, references), key=lambda n: abs(len(candidate) - n))
            candidate_ngrams = self._runs(candidate)
            wanted: Counter[tuple[Any, ...]] = Counter()
            for reference in references:
                wanted |= self._runs(reference)
            for run, count in candidate_ngrams.items():
                self._denominator[len(run) - 1] += count
                self._numerator[len(run) - 1] += min(count, wanted[run])
        self._is_update = True

    def _runs(self, tokens: Sequence[Any]) -> Counter[tuple[Any, ...]]:
        """Counts of the n-grams of a sequence."""
        lengths = range(1, self.n_gram + 1)
        return Counter(tuple(tokens[at : at + n]) for n in lengths for at in range(len(tokens) - n + 1))

    def eval(self) -> Any:
        if not self._is_update:
            raise not_updated_error()
        if self._numerator.min() == 0.0:
            return np.array(0.0)
        extra = 1.0 if self.smooth else 0.0
        precision = (self._numerator + extra) / (self._denominator + extra)
        mean = np.exp((np.log(precision) / self.n_gram).sum())
        short = self._length <= self._reference_length
        return (np.exp(1 - self._reference_length / self._length) if short else 1.0) * mean


@public("nn", "train", "millrace")
class Perplexity(Metric):
    """Perplexity: exponential of the mean negative log probability of the labels; ``ignore_label`` is skipped.

    Predictions may have more than two axes, the last one being the classes (MindSpore takes two).

    >>> metric = Perplexity()
    >>> metric.update([[0.2, 0.8], [0.5, 0.5]], [1, 0])
    >>> round(metric.eval(), 4)
    1.5811
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        self.ignore_label = (
            None
            if ignore_label is None
            else check_argument_type(ignore_label, "ignore_label", "Perplexity", int)
        )
        self.clear()

    def clear(self) -> None:
        self._sum_metric = 0.0
        self._num_inst = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, labels = map(as_array, check_input_count(2, inputs, "Perplexity", "predicted value, label"))
        if scores.ndim == 0 or labels.size * scores.shape[-1] != scores.size:
            raise OperationError(
                "For 'Perplexity.update', predicted value (input[0]) and label (input[1]) should have the same shape "
                "but for the last axis of the predicted value, its classes; got predicted value shape "
                f"{scores.shape}, label shape {labels.shape}."
            )
        labels, scores = labels.reshape(-1).astype(int), scores.reshape(-1, scores.shape[-1])
        counts = np.ones(labels.shape, bool) if self.ignore_label is None else labels != self.ignore_label
        labels, scores = labels[counts], scores[counts]
        if labels.size and not (labels.min() >= 0 and labels.max() < scores.shape[-1]):
            raise IndexError(
                f"For 'Perplexity.update', labels must be in [0, {scores.shape[-1]}), but got {labels.min()} to "
                f"{labels.max()}."
            )
        right = np.take_along_axis(scores, labels[:, None], axis=1)
        self._sum_metric -= float(np.log(np.maximum(1e-10, right)).sum())
        self._num_inst += labels.size

    def eval(self) -> float:
        if self._num_inst == 0:
            raise no_samples_error("Perplexity")
        return math.exp(self._sum_metric / self._num_inst)
