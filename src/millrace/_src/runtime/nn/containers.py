"""Containers: SequentialCell, CellList, CellDict, and Identity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

from .cell import Cell

__all__ = ["CellDict", "CellList", "Identity", "SequentialCell"]


def _check_cell(cell: Any, owner: str) -> Cell:
    if not isinstance(cell, Cell):
        raise ArgumentTypeError(
            f"For '{owner}', each cell must be subclass of Cell, but got {type(cell).__name__}."
        )
    return cell


class _IndexedContainer(Cell):
    """Base class of containers with indices as names."""

    def _insert_cell(self, name: str, cell: Any) -> None:
        child = _check_cell(cell, type(self).__name__)
        if self._auto_prefix:
            child.update_parameters_name(f"{name}.")
        self._cells[name] = child

    def _renumber(self, cells: Iterable[Cell]) -> None:
        self._cells.clear()
        for number, cell in enumerate(cells):
            self._cells[str(number)] = cell

    def _normalize_index(self, index: Any) -> int:
        if not isinstance(index, int) or isinstance(index, bool):
            raise ArgumentTypeError(f"For '{type(self).__name__}', an index must be int, but got {index!r}.")
        if not -len(self) <= index < len(self):
            raise IndexError(f"For '{type(self).__name__}', index {index} is out of {len(self)} cells.")
        return index % len(self)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def __getitem__(self, index: Any) -> Any:
        cells = list(self._cells.values())
        if isinstance(index, slice):
            container = type(self)()
            container._renumber(cells[index])
            return container
        return cells[self._normalize_index(index)]

    def __setitem__(self, index: int, cell: Cell) -> None:
        self._insert_cell(str(self._normalize_index(index)), cell)

    def __delitem__(self, index: Any) -> None:
        cells = list(self._cells.values())
        del cells[index if isinstance(index, slice) else self._normalize_index(index)]
        self._renumber(cells)

    def append(self, cell: Cell) -> Any:
        """Append a Cell."""
        self._insert_cell(str(len(self)), cell)
        return self


@public("nn")
class SequentialCell(_IndexedContainer):
    """Cells in sequence: each gets the output of the previous one.

    >>> from millrace._src.runtime.nn.linear import Dense
    >>> [p.name for p in SequentialCell(Dense(2, 3), Dense(3, 1)).get_parameters()]
    ['0.weight', '0.bias', '1.weight', '1.bias']
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, cell in args[0].items():
                self._insert_cell(name, cell)
        else:
            for number, cell in enumerate(args):
                self._insert_cell(str(number), cell)

    def construct(self, input_data: Any) -> Any:
        for cell in self._cells.values():
            input_data = cell(input_data)
        return input_data

    def append(self, cell: Cell) -> None:
        """Append a Cell."""
        super().append(cell)

    def insert(self, index: int, cell: Cell) -> None:
        """Insert a Cell before an index."""
        cells = list(self._cells.values())
        cells.insert(index, _check_cell(cell, "SequentialCell"))
        cell.update_parameters_name(f"{index}.")
        self._renumber(cells)


@public("nn")
class CellList(_IndexedContainer):
    """A list of Cells, whose parameters belong to the network; the network's ``construct`` calls them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(kwargs.get("auto_prefix", True))
        if len(args) == 1 and not isinstance(args[0], Cell):
            self.extend(args[0])
        elif args:
            self.extend(args)

    def extend(self, cells: Iterable[Cell]) -> CellList:
        """Append several Cells."""
        if isinstance(cells, (str, Cell)) or not isinstance(cells, Iterable):
            raise ArgumentTypeError(
                f"For 'CellList', the argument 'cells' must be a list, but got {cells!r}."
            )
        for cell in cells:
            self.append(cell)
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Insert a Cell before an index."""
        position = index if index >= 0 else max(len(self) + index, 0)
        if position > len(self):
            raise IndexError(f"For 'CellList', index {index} is out of {len(self)} cells.")
        cells = list(self._cells.values())
        cells.insert(position, _check_cell(cell, "CellList"))
        if self._auto_prefix:
            cell.update_parameters_name(f"{position}.")
        self._renumber(cells)

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("a CellList computes nothing: call its cells")


@public("nn")
class CellDict(Cell):
    """A dict of Cells."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(kwargs.get("auto_prefix", True))
        if len(args) == 1:
            self.update(args[0])

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str) or not key or "." in key:
            raise ArgumentValueError(f"For 'CellDict', {key!r} is no name for a cell.")
        child = _check_cell(cell, "CellDict")
        if self._auto_prefix:
            child.update_parameters_name(f"{key}.")
        self._cells[key] = child

    def __delitem__(self, key: str) -> None:
        del self._cells[key]

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __contains__(self, key: str) -> bool:
        return key in self._cells

    def clear(self) -> None:
        """Remove all Cells."""
        self._cells.clear()

    def pop(self, key: str) -> Cell:
        """Remove a Cell and return it."""
        return self._cells.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._cells.keys()

    def values(self) -> Iterable[Cell]:
        """The cells."""
        return self._cells.values()

    def items(self) -> Iterable[tuple[str, Cell]]:
        """Names and cells."""
        return self._cells.items()

    def update(self, cells: Any) -> None:
        """Add Cells from a mapping or from pairs."""
        pairs = cells.items() if isinstance(cells, (Mapping, OrderedDict, CellDict)) else cells
        for key, cell in pairs:
            self[key] = cell

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a CellDict computes nothing: call its cells")


@public("nn", "mint.nn")
class Identity(Cell):
    """Identity: returns its input and accepts any constructor arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input
