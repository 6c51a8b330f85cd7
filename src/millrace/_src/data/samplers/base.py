"""Base class of samplers: a description that maps a number of rows to an order of rows.

``order(size, key)`` is pure: the same size and key give the same order on every machine, worker and shard.
Samplers can be chained: the child runs first, and the parent selects from the child's sequence.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.random.permutation import ArrayOrder, ComposedOrder, IndexOrder, Indices
from millrace._src.core.random.rng import hash_integers
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.stable_ids import register

from .argument_types import check_count, check_rows

__all__ = ["BuiltinSampler", "LabelProvider", "Sampler"]

log = get_logger(__name__)

# Returns the class label of every row of the source; called only by samplers that sample by class.
LabelProvider: TypeAlias = Callable[[], npt.NDArray[Any]]

S = TypeVar("S", bound="BuiltinSampler")

# The samplers that can be created from JSON.
SAMPLER_TYPES: dict[str, type[BuiltinSampler]] = {}


class BuiltinSampler:
    """Base class of all samplers.

    A subclass lists its arguments in ``_fields`` and implements ``_order`` and ``_count``; chaining, equality,
    printing and JSON are defined here.

    >>> from millrace._src.data.samplers import SequentialSampler, SubsetSampler
    >>> sampler = SequentialSampler(start_index=1, num_samples=2)
    >>> sampler.add_child(SubsetSampler([4, 3, 2, 1]))
    >>> sampler.order(5, key=0).at(0, 9).tolist()
    [3, 2]
    """

    # Arguments of the constructor in JSON.
    _fields: ClassVar[tuple[str, ...]] = ("num_samples",)

    # Class-level, so that a user's subclass that never calls super().__init__() still works.
    child_sampler: BuiltinSampler | None = None
    num_samples: int | None = None

    def __init_subclass__(cls, *, ours: bool = False, stable_name: str | None = None, **options: Any) -> None:
        """``ours=True``: a sampler of this package, which JSON may name.

        Its id is ``sampler.name``; ``stable_name`` states the name for a class that was renamed.
        """
        super().__init_subclass__(**options)
        if ours:
            SAMPLER_TYPES[cls.__name__] = cls
            register(cls, "sampler", stable_name)

    def __init__(self, num_samples: int | None = None) -> None:
        check_count(num_samples)
        self.child_sampler = None
        self.num_samples = num_samples

    # --- for subclasses ---------------------------------------------------------------------------------

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        raise NotImplementedError(f"{type(self).__name__} must implement _order.")

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        return min(self.num_samples, size) if self.num_samples else size

    # --- order ------------------------------------------------------------------------------------------

    def order(self, size: int, key: int, labels: LabelProvider | None = None) -> IndexOrder:
        """The rows to read, of ``size`` in the source, as an order with access to any block.

        ``key`` is a hash of seed, epoch and op number. ``labels`` returns the class of every source row.

        >>> from millrace._src.data.samplers import DistributedSampler
        >>> DistributedSampler(2, 1, shuffle=False).order(5, key=0).at(0, 3).tolist()
        [1, 3, 0]
        """
        chain = list(self._chain())
        composed: IndexOrder | None = None
        for depth in reversed(range(len(chain))):
            here = size if composed is None else composed.size
            seen = labels if composed is None or labels is None else _labels_of_rows(labels, composed)
            outer = chain[depth]._order(here, key if depth == 0 else hash_integers(key, depth), seen)
            composed = outer if composed is None else ComposedOrder(outer, composed)
        assert composed is not None
        return composed

    # whether its order depends on earlier calls, as that of a user's class may
    stateful: ClassVar[bool] = False

    def copy_for_run(self, *shared: Any) -> BuiltinSampler:
        """The sampler for one iterator: a copy if a user's class in the chain may have state.

        ``shared`` are objects that are not copied even if the sampler holds them, such as the source.

        >>> from millrace._src.data.samplers import SequentialSampler
        >>> sampler = SequentialSampler()
        >>> sampler.copy_for_run() is sampler
        True
        """
        if not any(sampler.stateful for sampler in self._chain()):
            return self
        try:
            return copy.deepcopy(self, {id(one): one for one in shared})
        except Exception as error:  # a user's object may raise anything when it is copied
            log.debug("%r cannot be copied and serves all iterators: %s", self, error)
            return self

    def reset_all(self) -> None:
        """Call reset() of the user's classes in the chain after an epoch or one pass of a repeat."""
        for sampler in self._chain():
            if isinstance(sampler, Sampler):
                sampler.reset()

    def count(self, size: int, labels: LabelProvider | None = None) -> int:
        """The number of rows of the order.

        >>> from millrace._src.data.samplers import DistributedSampler
        >>> DistributedSampler(2, 1).count(5)
        3
        """
        here = size
        for sampler in reversed(list(self._chain())):
            seen, child = labels, sampler.child_sampler
            if labels is not None and child is not None and sampler._needs_labels:
                # the classes in the output of the child depend on its rows; for a random child they may differ
                # between epochs, and this is the number for one of them
                seen = _labels_of_rows(labels, child.copy_for_run().order(size, 0, labels))
            here = sampler._count(here, seen)
        return here

    _needs_labels: ClassVar[bool] = False

    @property
    def class_column(self) -> str:
        """The column of class labels, for a PKSampler here or further down the chain."""
        return "label" if self.child_sampler is None else self.child_sampler.class_column

    # --- chaining ---------------------------------------------------------------------------------------

    def add_child(self, sampler: BuiltinSampler | None) -> None:
        """Let another sampler run first; this one then selects from its sequence.

        >>> from millrace._src.data.samplers import SequentialSampler, SubsetSampler
        >>> sampler = SubsetSampler([0, 2])
        >>> sampler.add_child(SequentialSampler(1, 3))
        >>> sampler.order(5, key=0).at(0, 2).tolist()
        [1, 3]
        """
        if self.child_sampler is not None:
            raise PlanError("Cannot add child sampler, this sampler already has a child.")
        self._adopt(sampler)

    def _adopt(self, sampler: BuiltinSampler | None) -> None:
        if sampler is None:
            return
        if not isinstance(sampler, BuiltinSampler):
            raise ArgumentTypeError(
                f"a child sampler must be a sampler, but got {type(sampler).__name__}: {sampler!r}; "
                "a list or an iterable goes through SubsetSampler or IterSampler"
            )
        if any(below is self for below in sampler._chain()):
            raise ArgumentValueError("a sampler cannot be its own child")
        self.child_sampler = sampler

    def get_child(self) -> BuiltinSampler | None:
        """The sampler that runs before this one.

        >>> from millrace._src.data.samplers import SequentialSampler
        >>> SequentialSampler().get_child() is None
        True
        """
        return self.child_sampler

    def _chain(self) -> Iterator[BuiltinSampler]:
        """This sampler, its child, the child of that, and so on."""
        sampler: BuiltinSampler | None = self
        while sampler is not None:
            yield sampler
            sampler = sampler.child_sampler

    # --- properties -------------------------------------------------------------------------------------

    def get_num_samples(self) -> int | None:
        """The limit on rows from here and the chain below; None without one.

        >>> from millrace._src.data.samplers import SequentialSampler
        >>> SequentialSampler(num_samples=3).get_num_samples()
        3
        """
        below = None if self.child_sampler is None else self.child_sampler.get_num_samples()
        limits = [limit for limit in (self._limit(), below) if limit is not None]
        return min(limits, default=None)

    def _limit(self) -> int | None:
        return self.num_samples

    def get_shuffle_mode(self) -> Shuffle:
        """The shuffle mode of this sampler.

        >>> from millrace._src.data.samplers import RandomSampler
        >>> RandomSampler().get_shuffle_mode()
        <Shuffle.GLOBAL: 'global'>
        """
        return Shuffle.FALSE

    def is_shuffled(self) -> bool:
        """Whether the order is random, here or in the chain below.

        >>> from millrace._src.data.samplers import RandomSampler
        >>> RandomSampler().is_shuffled()
        True
        """
        raise NotImplementedError("Sampler must implement is_shuffled.")

    def varies_by_epoch(self) -> bool:
        """Whether rows or their order may differ between epochs: for random samplers and classes of the user.

        >>> from millrace._src.data.samplers import PKSampler, SequentialSampler
        >>> SequentialSampler().varies_by_epoch(), PKSampler(2).varies_by_epoch()
        (False, True)
        """
        return self.is_shuffled() or any(
            sampler.stateful or sampler._needs_labels for sampler in self._chain()
        )

    def is_sharded(self) -> bool:
        """Whether only one of several shards is read.

        >>> from millrace._src.data.samplers import DistributedSampler
        >>> DistributedSampler(2, 0).is_sharded()
        True
        """
        raise NotImplementedError("Sampler must implement is_sharded.")

    def must_iterate_to_count(self) -> bool:
        """Whether the number of rows is known only after iterating.

        >>> from millrace._src.data.samplers import IterSampler, SequentialSampler
        >>> IterSampler(iter([1, 2])).must_iterate_to_count(), SequentialSampler().must_iterate_to_count()
        (True, False)
        """
        return self._child_predicate("must_iterate_to_count")

    def _child_predicate(self, question: str) -> bool:
        return self.child_sampler is not None and bool(getattr(self.child_sampler, question)())

    # --- values -----------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The sampler as a dict for JSON.

        >>> from millrace._src.data.samplers import SequentialSampler
        >>> SequentialSampler(1, 2).to_dict()
        {'sampler_name': 'SequentialSampler', 'num_samples': 2, 'start_index': 1}
        """
        description: dict[str, Any] = {
            "sampler_name": type(self).__name__,
            "num_samples": self.num_samples or 0,
        }
        description |= {
            name: _json_value(getattr(self, name)) for name in self._fields if name != "num_samples"
        }
        if self.child_sampler is not None:
            description["child_sampler"] = [self.child_sampler.to_dict()]
        return description

    @classmethod
    def _from_dict(cls: type[S], values: Mapping[str, Any]) -> S:
        known = {name: values[name] for name in cls._fields if name in values}
        known["num_samples"] = known.get("num_samples") or None
        return cls(**known)

    def parse(self, num_samples: int | None = None) -> dict[str, Any]:
        """The sampler's description (MindSpore builds its C++ object here)."""
        return self.to_dict()

    def parse_child(self) -> dict[str, Any] | None:
        """The child's description."""
        return None if self.child_sampler is None else self.child_sampler.to_dict()

    def parse_for_minddataset(self) -> dict[str, Any]:
        """The sampler's description."""
        return self.to_dict()

    def parse_child_for_minddataset(self) -> dict[str, Any] | None:
        """The child's description."""
        return self.parse_child()

    def _identity(self) -> dict[str, Any]:
        """The values that determine its order, for fingerprints."""
        return {name: getattr(self, name) for name in (*self._fields, "child_sampler")}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in (*self._fields, "child_sampler"))

    def __hash__(self) -> int:
        # samplers can change (add_child, set_offset); the type alone never does
        return hash(type(self))

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in self._fields)
        inside = [f"{name}={_short(value)}" for name, value in shown if value is not None]
        if self.child_sampler is not None:
            inside.append(f"child={self.child_sampler!r}")
        return f"{type(self).__name__}({', '.join(inside)})"


@public("dataset")
class Sampler(BuiltinSampler, ours=True):
    """Base class of user-defined samplers: implement ``__iter__`` (row numbers one by one) or ``get_indices`` (all).

    ``self.dataset_size`` is the number of rows, set before the iteration starts. Each iterator has a copy of the
    sampler; it is iterated once per epoch and per pass of a repeat, with a ``reset()`` after each. ``__len__``, or
    else ``num_samples``, is the expected number of rows; fewer are an error. Without either, rows are counted on a
    copy.

    >>> class Backwards(Sampler):
    ...     def __iter__(self):
    ...         return iter(range(self.dataset_size - 1, -1, -1))
    >>> Backwards().order(3, key=0).at(0, 3).tolist()
    [2, 1, 0]
    """

    dataset_size: int = 0
    stateful = True

    def __init__(self, num_samples: int | None = None) -> None:
        self.child_sampler = None
        self.num_samples = num_samples
        self.dataset_size = 0
        if num_samples is None:
            try:
                self.num_samples = self._length()
            except (
                AttributeError
            ):  # __len__ needs attributes that the subclass sets later; it is called again then
                pass

    def _length(self) -> int | None:
        length = getattr(type(self), "__len__", None)
        return None if length is None else int(length(self))

    def _promised(self) -> int | None:
        """The number of rows from ``num_samples`` or ``__len__``."""
        if isinstance(self.num_samples, int) and self.num_samples > 0:
            return self.num_samples
        return self._length()

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def reset(self) -> None:
        """Called after each epoch and each pass of a repeat; the default does nothing.

        >>> Sampler().reset()
        """

    def get_indices(self) -> npt.NDArray[Any]:
        """All row numbers, at most ``num_samples``.

        >>> from millrace._src.data.samplers import IterSampler
        >>> IterSampler([3, 1, 2], num_samples=2).get_indices().tolist()
        [3, 1]
        """
        limit = self.num_samples if isinstance(self.num_samples, int) and self.num_samples > 0 else None
        return np.array(list(itertools.islice(iter(self), limit)))

    def get_num_samples(self) -> int | None:
        if self.num_samples is not None or self.child_sampler is not None:
            return super().get_num_samples()
        promised = self._promised()
        return len(self._detached_copy()._indices()) if promised is None else promised

    def _detached_copy(self) -> Sampler:
        """A copy that can be iterated without changing this sampler."""
        duplicate = self.copy_for_run()
        assert isinstance(duplicate, Sampler)
        return duplicate

    def is_shuffled(self) -> bool:
        return self._child_predicate("is_shuffled")

    def is_sharded(self) -> bool:
        return self._child_predicate("is_sharded")

    def must_iterate_to_count(self) -> bool:
        return self._promised() is None or super().must_iterate_to_count()

    def add_child(self, sampler: BuiltinSampler | None) -> None:
        """Let another sampler run first; it replaces an earlier child.

        >>> from millrace._src.data.samplers import IterSampler, SubsetSampler
        >>> sampler = IterSampler([1, 0])
        >>> sampler.add_child(SubsetSampler([8, 9]))
        >>> sampler.order(10, key=0).at(0, 2).tolist()
        [9, 8]
        """
        self._adopt(sampler)

    def _indices(self) -> npt.NDArray[Any]:
        cls = type(self)
        if cls.__iter__ is Sampler.__iter__ and cls.get_indices is Sampler.get_indices:
            raise PlanError(
                "Call get_num_samples method failed: NotImplementedError: "
                f"{cls.__name__} implements neither __iter__ nor get_indices"
            )
        return np.asarray(self.get_indices())

    def _rows(self, size: int) -> Indices:
        self.dataset_size = size
        indices = self._indices().reshape(-1)
        promised = self._promised()
        if promised is not None and len(indices) < promised:
            raise PlanError(
                f"The actual amount of data read from generator {len(indices)} is different from generator.len "
                f"{promised}, you should adjust generator.len to make them match: {type(self).__name__} promised "
                f"{promised} rows (num_samples or __len__), its __iter__ gave {len(indices)}."
            )
        if not len(indices):
            return np.empty(0, np.int64)
        if indices.dtype.kind not in "iu":
            name = "string" if indices.dtype.kind in "US" else indices.dtype.name
            raise PlanError(f"Python sampler should return index of type integer, but got: {name}")
        rows = indices.astype(np.int64)
        if isinstance(self.num_samples, int) and self.num_samples > 0:
            rows = rows[: self.num_samples]
        # negative numbers count from the end, as in source[-1], which MindSpore calls with them
        rows = np.where((rows < 0) & (rows >= -size), rows + size, rows)
        check_rows(rows, size)
        return rows

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        promised = self._promised()
        return len(self._detached_copy()._rows(size)) if promised is None else promised

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        return ArrayOrder(self._rows(size))

    def _identity(self) -> dict[str, Any]:
        held = {name: value for name, value in vars(self).items() if name != "dataset_size"}
        return held | {"num_samples": self.num_samples, "child_sampler": self.child_sampler}

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = BuiltinSampler.__hash__


def _labels_of_rows(labels: LabelProvider, rows: IndexOrder) -> LabelProvider:
    """The labels of the rows in an order, in that order."""

    def select_labels() -> npt.NDArray[Any]:
        selected: npt.NDArray[Any] = np.asarray(labels())[rows.at(0, rows.size)]
        return selected

    return select_labels


def _json_value(value: Any) -> Any:
    """Convert the value of a field for JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Shuffle):
        return value.value
    if isinstance(value, list):
        return [item.item() if isinstance(item, np.generic) else item for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, Shuffle):
        return str(value)
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) > 8:
        start = ", ".join(map(repr, list(value[:6])))
        return f"[{start}, ... {len(value)} in all]"
    return repr(value)
