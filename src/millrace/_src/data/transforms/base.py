"""What a transform is: typed fields, a pure ``row`` and, where it is random, ``params`` that hold all randomness.

A transform works alike eagerly (``op(image)``), in a pipeline, and inside composites. It never mutates its
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
    """Base of every transform.

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
    # a heavy row (decoding an image) wants few rows per chunk, so that one batch can use all workers
    is_expensive: ClassVar[bool] = False
    # its work is Python, which threads cannot do at the same time
    holds_gil: ClassVar[bool] = False
    # each row needs the one before: one worker runs them in turn, and each run has a copy of its own
    is_sequential: ClassVar[bool] = False
    # modules that it needs and that must not be imported while other threads work; see kernels/vision/libraries.py
    libraries: ClassVar[tuple[str, ...]] = ()
    # it runs the user's own code, which stays in the user's process unless the user says otherwise
    user_code: ClassVar[bool] = True
    # given several columns it does the same to each, with the same random numbers, as if each were alone
    is_per_column: ClassVar[bool] = False
    # a base that the package keeps to itself: what is derived from it directly is ours
    _is_builtin: ClassVar[bool] = False
    # `batch(xs, *params)`: a whole column at once, bit for bit what the rows one by one give; params are sequences with
    # a value per row. None as its answer declines (text, a shape it does not take, a row that is wrong): the rows run
    # one by one then, and the wrong one is named. None here: there is no such path.
    batch: ClassVar[Callable[..., Any] | None] = None
    # the types of column that `batch` takes: a dense column is an array of numbers whose first axis is the row; text
    # and rows of numbers of unequal length are Texts and Ragged of core/columns.py
    batch_column_types: ClassVar[tuple[type, ...]] = (np.ndarray,)
    # the family of the ids of ours (core/stable_ids.py), and the public module that has them
    _family: ClassVar[str] = "transforms"
    # values that `row` takes, None for any number
    num_inputs: ClassVar[int | None] = None
    # where it takes one value: several columns are an error, and do not each go through it
    single_column_only: ClassVar[bool] = False

    def __init_subclass__(cls, *, ours: bool = False, stable_name: str | None = None, **options: Any) -> None:
        """Ours are the classes that say so (``ours=True``) and those derived directly from a base with ``_ours``.

        A class that a user derives, from Transform or from a transform of ours, holds the user's own code. Ours have
        the id ``_family.name``; ``stable_name`` states the name for a class that was renamed.
        """
        super().__init_subclass__(**options)
        namespace = cls.__dict__
        if "batch" not in namespace and any(name in namespace for name in ("row", "row_function", "params")):
            cls.batch = None  # what it inherits does what its base does to a row
        cls.user_code = not (ours or any(base.__dict__.get("_is_builtin", False) for base in cls.__bases__))
        if not cls.user_code:
            register(cls, cls._family, stable_name)

    def params(self, rng: RandomStream) -> tuple[Sequence[Any], ...]:
        """One sequence per parameter with a value per row; everything random happens here."""
        return ()

    def row(self, *values: Any) -> Any:
        """The result for one row: one value, or a tuple for several columns."""
        raise TypeError(f"{type(self).__name__} does not define row()")

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        """A function of (i, *values) for the rows of a chunk, its parameters drawn."""
        if not self.random or rng is None:
            row = self.row
            return lambda i, *values: row(*values)
        params = self.params(rng)
        return lambda i, *values: self.row(*values, *(p[i] for p in params))

    def output_spec(self, *values: Any) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """(shape, type) of a row's result, where ``write`` can put it into an array of the engine's; else None."""
        return None

    def row_into(self, out: np.ndarray[Any, Any], *values: Any) -> None:
        """row(), with the result written into ``out``."""
        raise TypeError(f"{type(self).__name__} does not define write()")

    def fuse(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        """This transform and the first of ``following`` as one that does less work for the same result, or None."""
        return None

    def device_step(self) -> OffloadStep | None:
        """The form of it that a card does behind the batch, or None."""
        return None

    @property
    def device_target(self) -> str:
        """Where the user wants it to run (``device()``), "" where nothing was said."""
        return ""

    def fuse_decode(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        """The decoding of an image, this transform and the first of ``following`` as one, where that saves work.

        It takes encoded images, and those that are decoded already as they are.
        """
        return None

    def __call__(self, *values: Any) -> Any:
        rng = _eager_rng() if self.random else None
        return self.row_function(rng)(0, *[normalize_value(v) for v in values])

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({fields})"


class FusedTransform(Transform, ours=True):
    """Several transforms that a pass made one; each part keeps the random numbers it had alone."""

    _is_builtin = True

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.operations = tuple(parts)

    @property
    def is_expensive(self) -> bool:  # type: ignore[override]
        return any(part.is_expensive for part in self.operations)

    def fused_row_function(self, rngs: Sequence[RandomStream | None]) -> Callable[..., Any]:
        """A function of (i, *values), as ``rows`` gives, from one Draws for each part."""
        raise TypeError(f"{type(self).__name__} does not define rows_of()")

    @property
    def shown(self) -> str:
        """What to call it in messages."""
        return "+".join(display_name(part) for part in self.operations)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.operations))


@stable_id("transforms.PyFunc")
class PyFunc(Transform):
    """A user's function as a transform; what it promises is only what the user made of it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def random(self) -> bool:  # type: ignore[override]
        """Whether the function asks for random numbers, with a parameter ``rng``."""
        return rng_parameter_index(self.function) is not None

    def row(self, *values: Any) -> Any:
        return self.function(*values)

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        return super().row_function(None) if rng is None else with_rng(self.function, rng)

    def __repr__(self) -> str:
        return display_name(self.function)


def as_operation(operation: Any) -> Transform:
    """Transforms as they are, anything else callable as a PyFunc."""
    return operation if isinstance(operation, Transform) else PyFunc(operation)


def nested_transforms(operation: Transform) -> Iterator[Transform]:
    """The transform and, for one made of others, all that are inside it."""
    yield operation
    for part in getattr(operation, "operations", ()):
        yield from nested_transforms(part)


def is_ordered(operation: Transform) -> bool:
    """Whether it, or what is inside it, needs the rows one after the other."""
    return any(part.is_sequential for part in nested_transforms(operation))


def display_name(function: Any) -> str:
    """What to call a function or transform in messages."""
    if isinstance(function, FusedTransform):
        return function.shown
    if isinstance(function, PyFunc):
        function = function.function
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return str(name).rsplit("<locals>.", 1)[-1] if name else type(function).__name__


class _EagerStream:
    """Random numbers for eager calls: one id after the other, started anew by a new seed."""

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
