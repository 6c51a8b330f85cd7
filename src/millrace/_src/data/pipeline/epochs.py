"""Epoch and Epochs: iterate over the epochs of one run."""

from __future__ import annotations

from typing import Any, Self

from .iterators import Iterator

__all__ = ["Epoch", "Epochs"]


class Epoch:
    """The rows of one epoch; created by ``Dataset.epochs``. It can be iterated once, and left early.

    >>> import millrace.dataset as ds
    >>> [epoch.number for epoch in ds.NumpySlicesDataset([1, 2]).epochs(2)]
    [0, 1]
    """

    def __init__(self, iterator: Iterator, number: int) -> None:
        self._iterator = iterator
        self._over = False
        # counted from 0, also when the run was resumed in a later one
        self.number = number

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        row = None if self._over else self._iterator._next()
        if row is None:
            self._over = True
            raise StopIteration
        return row

    def _leave(self) -> None:
        if not self._over:
            self._over = True
            self._iterator._skip_to_next_epoch()


class Epochs:
    """Iterator over the :class:`Epoch` objects of one run; created by ``Dataset.epochs``.

    >>> import millrace.dataset as ds
    >>> with ds.NumpySlicesDataset([1, 2, 3], shuffle=False).epochs(2) as epochs:
    ...     [[row[0].item() for row in rows] for rows in epochs]
    [[1, 2, 3], [1, 2, 3]]
    """

    def __init__(self, iterator: Iterator, count: int) -> None:
        self._iterator, self._count = iterator, count
        self._current: Epoch | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Epoch:
        if self._current is not None:
            self._current._leave()
        number = self._iterator._run.epoch
        if number >= self._count:
            raise StopIteration
        self._current = Epoch(self._iterator, number)
        return self._current

    def state(self) -> dict[str, Any]:
        """The position of the run as a small JSON-able dict; ``epochs(count, state=...)`` resumes with the next row.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False)
        >>> epochs = data.epochs(2)
        >>> _ = next(next(epochs))
        >>> [(rows.number, [row[0].item() for row in rows]) for rows in data.epochs(2, state=epochs.state())]
        [(0, [2, 3]), (1, [1, 2, 3])]
        >>> epochs.stop()
        """
        return self._iterator.state()

    def stop(self) -> None:
        """End the run now and release everything it holds; ``with`` does it at the end of its block.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).epochs(2).stop()
        """
        self._iterator.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
