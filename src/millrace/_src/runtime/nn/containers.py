"""Containers: Cells in a row, in a list, under names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

from .cell import Cell

__all__ = ["CellDict", "CellList", "Identity", "SequentialCell"]


def _checked(cell: Any, owner: str) -> Cell:
    if not isinstance(cell, Cell):
        raise ArgumentTypeError(
            f"For '{owner}', each cell must be subclass of Cell, but got {type(cell).__name__}."
        )
    return cell


class _IndexedContainer(Cell):
    """What cells with numbers for names share."""

    def _keep(self, name: str, cell: Any) -> None:
        child = _checked(cell, type(self).__name__)
        if self._auto_prefix:
            child.update_parameters_name(f"{name}.")
        self._cells[name] = child

    def _renumber(self, cells: Iterable[Cell]) -> None:
        self._cells.clear()
        for number, cell in enumerate(cells):
            self._cells[str(number)] = cell

    def _place(self, index: Any) -> int:
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
            made = type(self)()
            made._renumber(cells[index])
            return made
        return cells[self._place(index)]

    def __setitem__(self, index: int, cell: Cell) -> None:
        self._keep(str(self._place(index)), cell)

    def __delitem__(self, index: Any) -> None:
        cells = list(self._cells.values())
        del cells[index if isinstance(index, slice) else self._place(index)]
        self._renumber(cells)

    def append(self, cell: Cell) -> Any:
        """Add a cell at the end."""
        self._keep(str(len(self)), cell)
        return self


@public("nn")
class SequentialCell(_IndexedContainer):
    """Cells one after the other: each takes what the one before gives.

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
                self._keep(name, cell)
        else:
            for number, cell in enumerate(args):
                self._keep(str(number), cell)

    def construct(self, input_data: Any) -> Any:
        for cell in self._cells.values():
            input_data = cell(input_data)
        return input_data

    def append(self, cell: Cell) -> None:
        """Add a cell at the end."""
        super().append(cell)

    def insert(self, index: int, cell: Cell) -> None:
        """Add a cell before another."""
        cells = list(self._cells.values())
        cells.insert(index, _checked(cell, "SequentialCell"))
        cell.update_parameters_name(f"{index}.")
        self._renumber(cells)


@public("nn")
class CellList(_IndexedContainer):
    """Cells in a list, whose parameters belong to the net; the net's ``construct`` calls them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(kwargs.get("auto_prefix", True))
        if len(args) == 1 and not isinstance(args[0], Cell):
            self.extend(args[0])
        elif args:
            self.extend(args)

    def extend(self, cells: Iterable[Cell]) -> CellList:
        """Add several cells at the end."""
        if isinstance(cells, (str, Cell)) or not isinstance(cells, Iterable):
            raise ArgumentTypeError(
                f"For 'CellList', the argument 'cells' must be a list, but got {cells!r}."
            )
        for cell in cells:
            self.append(cell)
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Add a cell before another."""
        place = index if index >= 0 else max(len(self) + index, 0)
        if place > len(self):
            raise IndexError(f"For 'CellList', index {index} is out of {len(self)} cells.")
        cells = list(self._cells.values())
        cells.insert(place, _checked(cell, "CellList"))
        if self._auto_prefix:
            cell.update_parameters_name(f"{place}.")
        self._renumber(cells)

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("a CellList computes nothing: call its cells")


@public("nn")
class CellDict(Cell):
    """Cells under names of their own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(kwargs.get("auto_prefix", True))
        if len(args) == 1:
            self.update(args[0])

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str) or not key or "." in key:
            raise ArgumentValueError(f"For 'CellDict', {key!r} is no name for a cell.")
        child = _checked(cell, "CellDict")
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
        """Forget all cells."""
        self._cells.clear()

    def pop(self, key: str) -> Cell:
        """Take a cell out."""
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
        """Add cells, from a mapping or from pairs."""
        pairs = cells.items() if isinstance(cells, (Mapping, OrderedDict, CellDict)) else cells
        for key, cell in pairs:
            self[key] = cell

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a CellDict computes nothing: call its cells")


@public("nn", "mint.nn")
class Identity(Cell):
    """The input itself, whatever the layer is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input
