"""The Transform base class: typed fields, a pure ``row`` and, if random, ``params`` that hold all randomness.

A transform gives the same results eagerly (``op(image)``), in a pipeline, and inside composites. It never mutates its
input, never reads global random state and may be called from any thread.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from millrace._src.core import settings
from millrace._src.core.random.rng import (
    RandomStream,
    fresh_seed,
    hash_integers,
    rng_parameter_index,
    with_rng,
)
from millrace._src.core.settings import Settings
from millrace._src.core.stable_ids import register, stable_id
from millrace._src.core.values.chunk import normalize_value
from millrace._src.core.values.offload import OffloadStep

__all__ = [
    "FusedTransform",
    "PyFunc",
    "Transform",
    "as_operation",
    "nested_transforms",
    "is_ordered",
    "display_name",
]


class Transform:
    """Base of all transforms.

    >>> class Shift(Transform):
    ...     def __init__(self, most):
    ...         self.most = most
    ...
    ...     random = True
    ...
    ...     def params(self, draws):
    ...         return (draws.integers(0, 0, self.most + 1),)
    ...
    ...     def row(self, x, by):
    ...         return x + by
    >>> 10 <= int(Shift(5)(np.array(10))) <= 15
    True
    """

    random: ClassVar[bool] = False
    # with expensive rows (decoding images), chunks have few rows, so that one batch can use all workers
    is_expensive: ClassVar[bool] = False
    # the work is Python code, which threads cannot run in parallel
    holds_gil: ClassVar[bool] = False
    # each row depends on the previous one: one worker runs them in order, and each run has a separate copy
    is_sequential: ClassVar[bool] = False
    # modules that must not be imported while other threads run; see kernels/vision/lazy_imports.py
    libraries: ClassVar[tuple[str, ...]] = ()
    # it runs the user's code, which stays in the user's process by default
    user_code: ClassVar[bool] = True
    # several columns are transformed separately, with the same random numbers
    is_per_column: ClassVar[bool] = False
    # an internal base class: its direct subclasses are built-in
    _is_builtin: ClassVar[bool] = False
    # `batch(xs, *params)` computes a whole column at once, with the same bits as row by row; params are sequences with
    # a value per row. It returns None for an unsupported column (text, another shape, an invalid row): then the rows
    # are computed one by one, and an error names the row. None here: there is no batch computation.
    batch: ClassVar[Callable[..., Any] | None] = None
    # the column types that `batch` supports: a dense column is an array of numbers whose first axis is the row; text
    # and rows of numbers of unequal length are StringColumn and RaggedColumn of core/values/columns.py
    batch_column_types: ClassVar[tuple[type, ...]] = (np.ndarray,)
    # the family of the ids of built-in classes (core/stable_ids.py), and their public module
    _family: ClassVar[str] = "transforms"
    # number of values that `row` takes, None for any number
    num_inputs: ClassVar[int | None] = None
    # for a transform of one value: several columns are an error, instead of being transformed separately
    single_column_only: ClassVar[bool] = False

    def __init_subclass__(cls, *, ours: bool = False, stable_name: str | None = None, **options: Any) -> None:
        """Register built-in classes: those with ``ours=True`` and direct subclasses of a base with ``_is_builtin``.

        A class that a user derives, from Transform or from a built-in transform, holds the user's code. Built-in
        classes have the id ``_family.name``; ``stable_name`` sets the name of a class that was renamed.
        """
        super().__init_subclass__(**options)
        namespace = cls.__dict__
        if "batch" not in namespace and any(name in namespace for name in ("row", "row_function", "params")):
            cls.batch = None  # the inherited function computes the base's rows
        cls.user_code = not (ours or any(base.__dict__.get("_is_builtin", False) for base in cls.__bases__))
        if not cls.user_code:
            register(cls, cls._family, stable_name)

    def params(self, rng: RandomStream) -> tuple[Sequence[Any], ...]:
        """Random parameters: one sequence per parameter with a value per row. All randomness is here."""
        return ()

    def row(self, *values: Any) -> Any:
        """Compute the result for one row: one value, or a tuple for several columns."""
        raise TypeError(f"{type(self).__name__} does not define row()")

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        """A function of (i, *values) for the rows of a chunk, with sampled parameters."""
        if not self.random or rng is None:
            row = self.row
            return lambda i, *values: row(*values)
        params = self.params(rng)
        return lambda i, *values: self.row(*values, *(p[i] for p in params))

    def output_spec(self, *values: Any) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """(shape, dtype) of a row's result, where ``row_into`` can write it into an array of the engine; else None."""
        return None

    def row_into(self, out: np.ndarray[Any, Any], *values: Any) -> None:
        """Compute ``row()`` and write the result into ``out``."""
        raise TypeError(f"{type(self).__name__} does not define row_into()")

    def fuse(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        """Fuse this transform with the first ones of ``following`` into one with less work and the same result.

        None where nothing can be fused.
        """
        return None

    def device_step(self) -> OffloadStep | None:
        """The step that runs this transform on a GPU after batching, or None."""
        return None

    @property
    def device_target(self) -> str:
        """The device that the user selected (``device()``), "" for none."""
        return ""

    def fuse_decode(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        """Fuse the decoding of an image, this transform and the first ones of ``following``, where that saves work.

        The result accepts encoded images, and decoded ones unchanged.
        """
        return None

    def __call__(self, *values: Any) -> Any:
        rng = _eager_rng() if self.random else None
        return self.row_function(rng)(0, *[normalize_value(v) for v in values])

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({fields})"


@stable_id("transforms.Joined")
class FusedTransform(Transform, ours=True):
    """Several transforms fused into one by a pass; each part keeps its random numbers."""

    _is_builtin = True

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.operations = tuple(parts)

    @property
    def is_expensive(self) -> bool:  # type: ignore[override]
        return any(part.is_expensive for part in self.operations)

    def fused_row_function(self, rngs: Sequence[RandomStream | None]) -> Callable[..., Any]:
        """A function of (i, *values), like ``row_function``, from one random stream for each part."""
        raise TypeError(f"{type(self).__name__} does not define fused_row_function()")

    @property
    def shown(self) -> str:
        """Display name in messages."""
        return "+".join(display_name(part) for part in self.operations)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.operations))


@stable_id("transforms.PyFunc")
class PyFunc(Transform):
    """A user's function as a transform; it has only the guarantees of the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def random(self) -> bool:  # type: ignore[override]
        """Whether the function takes random numbers, with a parameter ``rng``."""
        return rng_parameter_index(self.function) is not None

    def row(self, *values: Any) -> Any:
        return self.function(*values)

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        return super().row_function(None) if rng is None else with_rng(self.function, rng)

    def __repr__(self) -> str:
        return display_name(self.function)


def as_operation(operation: Any) -> Transform:
    """Return a transform unchanged, and wrap any other callable in a PyFunc."""
    return operation if isinstance(operation, Transform) else PyFunc(operation)


def nested_transforms(operation: Transform) -> Iterator[Transform]:
    """Iterate over the transform and, for a composite, all transforms inside it."""
    yield operation
    for part in getattr(operation, "operations", ()):
        yield from nested_transforms(part)


def is_ordered(operation: Transform) -> bool:
    """Whether the transform, or one inside it, needs the rows in order."""
    return any(part.is_sequential for part in nested_transforms(operation))


def display_name(function: Any) -> str:
    """Name of a function or transform in messages."""
    if isinstance(function, FusedTransform):
        return function.shown
    if isinstance(function, PyFunc):
        function = function.function
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return str(name).rsplit("<locals>.", 1)[-1] if name else type(function).__name__


class _EagerStream:
    """Random numbers for eager calls: consecutive row ids, restarted by a new seed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seed_key: tuple[int | None, int] | None = None
        self._seed = 0
        self._count = itertools.count()

    def next(self) -> RandomStream:
        current = settings.current()
        with self._lock:
            if self._seed_key != (current.seed, current.seed_generation):
                self._seed_key, self._count = (current.seed, current.seed_generation), itertools.count()
                self._seed = fresh_seed() if current.seed is None else current.seed
            number = next(self._count)
        return RandomStream.for_rows(
            np.array([number], dtype=np.uint64), seed=self._seed, epoch=0, op=hash_integers(0xEA6E)
        )


_eager = _EagerStream()


def _eager_rng() -> RandomStream:
    return _eager.next()
