"""Trials of a loaded model: whether extreme values in some rows of a batch change the bits of other rows.

For each batch size a batch of random rows is computed. Then some of its rows are replaced, by NaN, infinities, the
largest numbers or other random rows, and the rest of the results must keep its bits. Rows are replaced by the bits of
their index and by the complement, so that for any two rows there is a trial that replaces one and keeps the other:
``2 * ceil(log2(size))`` trials cover every pair. The number of rows itself may change the last bits of a result; every
comparison is therefore between batches of one size.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from millrace._src.core.random.rng import RandomStream

from .runners.runner import ModelRunner
from .tensor_codec import DATATYPES, Array, TensorSpec

__all__ = ["Trials", "run_trials"]

# Batch sizes in addition to the largest.
SIZES = (2, 3, 5)
# Seconds after which no further optional trial starts.
SECONDS = 1.0
# Replacement values of floating-point inputs; others use the smallest, the largest or a random value.
FILLS = ("nan", "largest", "random", "inf", "-inf", "-largest")
# Ranges of integer inputs such as token numbers; the first range that the model accepts is used.
HIGHS = (1000, 100, 20, 8, 2, 1)
# Lengths of dynamic inner axes; likewise.
LENGTHS = (8, 3, 1)
# Results of a row alone may differ by this share of the largest: rounding, also of quantised models.
TOLERANCE = 0.05
# Share of integer or text results that may differ between a row alone and the row in a batch.
DIFFERENT = 0.25


class Trials(NamedTuple):
    """Result of the trials: number run and planned, seconds, and the problem, if any."""

    ran: int
    planned: int
    seconds: float
    problem: str | None

    def __str__(self) -> str:
        return f"{self.ran} of {self.planned} trials with replaced rows in {self.seconds:.2f} s"


class _Failed(Exception):
    """The model failed on inputs of a trial."""


class _Trial(NamedTuple):
    size: int
    replaced: Array
    fill: str


def run_trials(runner: ModelRunner, max_batch: int, compare_single: bool) -> Trials:
    """Try a model with batches of several sizes; `compare_single`: compare with single rows, too."""
    began = time.perf_counter()
    required, optional = _plan_trials(max_batch)
    ran = 0

    def ended(problem: str | None) -> Trials:
        return Trials(ran, len(required) + len(optional), time.perf_counter() - began, problem)

    try:
        inputs = _Inputs(runner)
        batches = {size: _Batch(runner, inputs, size) for size in sorted({trial.size for trial in required})}
        for batch in batches.values():
            problem = batch.problem(compare_single)
            if problem:
                return ended(problem)
        for number, trial in enumerate((*required, *optional)):
            if number >= len(required) and time.perf_counter() - began > SECONDS:
                break
            changed = batches[trial.size].try_replacing(trial)
            ran += 1
            if changed is not None:
                return ended(
                    f"row {changed} of a batch of {trial.size} has other results with {trial.fill} values in other rows"
                )
    except _Failed as error:
        return ended(f"it fails on test inputs: {error}")
    return ended(None)


def _plan_trials(max_batch: int) -> tuple[list[_Trial], list[_Trial]]:
    """Plan the required trials, and the optional ones that run while there is time."""
    sizes = sorted({*(size for size in SIZES if size <= max_batch), max_batch})
    required: list[_Trial] = []
    optional: list[_Trial] = []
    for size in sizes:
        for number, replaced in enumerate(_subsets(size)):
            for index, fill in enumerate(FILLS):
                always = index == (number + size) % len(FILLS) and (size in SIZES or number < 2)
                (required if always else optional).append(_Trial(size, replaced, fill))
    return required, optional


def _subsets(size: int) -> Iterator[Array]:
    """Masks of rows such that for any two rows one mask includes the first and not the second."""
    indices = np.arange(size)
    for bit in range(max(1, (size - 1).bit_length())):
        chosen = (indices >> bit) & 1 == 1
        yield chosen
        yield ~chosen


class _Inputs:
    """Random inputs that the model accepts."""

    def __init__(self, runner: ModelRunner) -> None:
        self.specs = runner.inputs
        self._random = RandomStream.for_rows(np.zeros(1, np.uint64), seed=27, epoch=0, op=6).generator(0)
        self.highs = dict.fromkeys((spec.name for spec in self.specs), 1)
        self.length = LENGTHS[-1]
        self._error: Exception | None = None
        self._choose(runner)

    def _choose(self, runner: ModelRunner) -> None:
        """Choose the longest dynamic lengths and the widest integer ranges that the model accepts."""
        open_lengths = any(length < 0 for spec in self.specs for length in spec.shape[1:])
        self.length = self._first(
            LENGTHS if open_lengths else LENGTHS[-1:], lambda n: self._accepts(runner, length=n)
        )
        names = [spec.name for spec in self.specs if DATATYPES[spec.datatype].kind in "iu"]
        together = (
            self._first(HIGHS, lambda n: self._accepts(runner, highs=dict.fromkeys(names, n))) if names else 1
        )
        self.highs |= dict.fromkeys(names, together)
        for name in names if together < HIGHS[0] and len(names) > 1 else ():
            self.highs[name] = self._first(HIGHS, functools.partial(self._accepts_high, runner, name))

    def _accepts_high(self, runner: ModelRunner, name: str, high: int) -> bool:
        return self._accepts(runner, highs={name: high})

    def _accepts(
        self, runner: ModelRunner, length: int | None = None, highs: dict[str, int] | None = None
    ) -> bool:
        kept = self.length, self.highs
        self.length, self.highs = length or self.length, {**self.highs, **(highs or {})}
        try:
            runner.run(self.rows(2, "largest"))
            runner.run(self.rows(2))
        except Exception as error:
            self._error = error
            return False
        finally:
            self.length, self.highs = kept
        return True

    def _first(self, choices: Sequence[int], accepts: Callable[[int], bool]) -> int:
        for choice in choices:
            if accepts(choice):
                return choice
        raise _Failed(str(self._error).strip()[:200])

    def rows(self, count: int, fill: str = "random") -> list[Array]:
        """Rows of every input; 'largest' is random for floating-point inputs here."""
        return [self._values(spec, count, "random" if _is_float(spec) else fill) for spec in self.specs]

    def fill(self, count: int, fill: str) -> list[Array]:
        return [self._values(spec, count, fill) for spec in self.specs]

    def _values(self, spec: TensorSpec, count: int, fill: str) -> Array:
        shape = (count, *(length if length >= 0 else self.length for length in spec.shape[1:]))
        dtype = DATATYPES[spec.datatype]
        if dtype.hasobject:
            texts = np.empty(shape, object)
            texts.reshape(-1)[:] = [b"t%d" % n for n in self._random.integers(0, 1000, texts.size)]
            return texts
        if dtype.kind == "f":
            if fill == "random":
                return self._random.standard_normal(shape).astype(dtype)
            largest = float(np.finfo(dtype).max)
            values = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "largest": largest, "-largest": -largest}
            return np.full(shape, values[fill], dtype)
        high = 2 if dtype.kind == "b" else min(self.highs[spec.name], int(np.iinfo(dtype).max))
        if fill in ("random", "nan"):
            return self._random.integers(0, high, shape).astype(dtype)
        return np.full(shape, 0 if fill.startswith("-") else high - 1, dtype)


def _is_float(spec: TensorSpec) -> bool:
    return DATATYPES[spec.datatype].kind == "f"


class _Batch:
    """A batch of random rows, and the results that its rows must keep."""

    def __init__(self, runner: ModelRunner, inputs: _Inputs, size: int) -> None:
        self.runner, self.inputs, self.size = runner, inputs, size
        self.arrays = inputs.rows(size)
        self.results = _compute(runner, self.arrays)

    def problem(self, compare_single: bool) -> str | None:
        """The problem of the batch before rows are replaced; None if there is none."""
        for spec, result in zip(self.runner.outputs, self.results, strict=True):
            if result.shape[:1] != (self.size,):
                return f"output '{spec.name}' has the shape {list(result.shape)} for {self.size} rows"
        if self.size == SIZES[0] and _different_rows(self.results, _compute(self.runner, self.arrays)).any():
            return "the same inputs give different results"
        return self._compare_single() if compare_single else None

    def _compare_single(self) -> str | None:
        rows = range(self.size) if self.size in SIZES else (0, self.size - 1)
        different = total = 0
        for row in rows:
            alone = _compute(self.runner, [array[row : row + 1] for array in self.arrays])
            for spec, one, batch in zip(self.runner.outputs, alone, self.results, strict=True):
                if one.shape[1:] != batch.shape[1:]:
                    return f"output '{spec.name}' has another shape in a batch of {self.size} rows"
                if one.dtype.kind != "f":
                    different += int(np.count_nonzero(one[0] != batch[row]))
                    total += one.size
                elif not _is_close(one[0], batch[row]):
                    return f"row {row} has other results in a batch of {self.size} rows than alone"
        if different > DIFFERENT * total:
            return f"rows have other results in a batch of {self.size} rows than alone"
        return None

    def try_replacing(self, trial: _Trial) -> int | None:
        """The first kept row whose result changed; None if there is none."""
        arrays = [array.copy() for array in self.arrays]
        replaced = trial.replaced
        for array, values in zip(
            arrays, self.inputs.fill(int(np.count_nonzero(replaced)), trial.fill), strict=True
        ):
            array[replaced] = values
        try:
            results = _compute(self.runner, arrays)
        except _Failed:
            if trial.fill == "random":
                raise
            return None  # a failing batch is computed again request by request, so rows are not mixed
        if any(a.shape != b.shape for a, b in zip(results, self.results, strict=True)):
            return int(np.flatnonzero(~replaced)[0])
        changed = np.flatnonzero(_different_rows(results, self.results) & ~replaced)
        return int(changed[0]) if changed.size else None


def _compute(runner: ModelRunner, arrays: list[Array]) -> list[Array]:
    try:
        # copies: a model may write to its inputs
        return [np.array(result) for result in runner.run([array.copy() for array in arrays])]
    except Exception as error:
        raise _Failed(f"{type(error).__name__}: {str(error).strip()[:200]}") from error


def _different_rows(results: Sequence[Array], references: Sequence[Array]) -> Array:
    """Which rows differ in at least one bit of one result."""
    different = np.zeros(len(results[0]), bool)
    for result, reference in zip(results, references, strict=True):
        different |= (_bits(result) != _bits(reference)).any(axis=1)
    return different


def _bits(result: Array) -> Array:
    flat = np.ascontiguousarray(result).reshape(len(result), -1)
    if flat.dtype.hasobject or not flat.size:
        return flat
    bits: Array = flat.view(np.uint8)
    return bits


def _is_close(one: Array, second: Array) -> bool:
    a, b = one.astype(np.float64), second.astype(np.float64)
    known = np.isfinite(a)
    if not (known == np.isfinite(b)).all():
        return False
    scale = np.abs(a[known]).max(initial=0.0)
    return bool((np.abs(a[known] - b[known]) <= TOLERANCE * scale).all())
