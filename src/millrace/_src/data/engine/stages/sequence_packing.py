"""pack: documents fill sequences of one length; a full one leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError
from millrace._src.core.random.rng import derive_row_ids
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.data.engine.segment.failures import RowErrors
from millrace._src.data.engine.segment.map_step import row_values
from millrace._src.data.engine.segment.row_errors import map_rows
from millrace._src.data.plan.nodes.order_ops import Pack

from .base import END_OF_DATA, END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .rebatch import RowBuffer, advance_state
from .sequential_step import SequentialStepStage
from .stage_registry import StageContext, register_stage

__all__ = ["DocumentStep", "PackStage"]

# A sequence that has been open for this many documents, for each that may be open, leaves before a fuller one.
PATIENCE = 16


class DocumentStep:
    """The columns that are packed, each value checked: an array of one dimension, as long as the others of its row."""

    def __init__(self, node: Pack) -> None:
        self.node, self.name = node, f"pack({node.length}) at {node.call_site}"

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        names = self.node.packed(list(chunk.columns))
        check = partial(self._check, names)
        good, _, bad = map_rows(chunk, failures, names, check, self.name, "pack operation")
        return failures.fill_replacements(
            good.with_columns({name: good.columns[name] for name in names}), bad
        )

    def _check(self, names: list[str], *values: Any) -> None:
        for name, value in zip(names, values, strict=True):
            kind = getattr(value, "dtype", None)
            if kind is None or kind.kind not in "iufb" or value.ndim != 1:
                got = type(value).__name__ if kind is None else f"{kind} of shape {list(value.shape)}"
                raise DataError(
                    f"pack takes documents as arrays of numbers with one dimension, but got {got}; tokenize in map() "
                    "first, and name the columns to pack: pack(length, columns=[...])",
                    column=name,
                )
            if len(value) != len(values[0]):
                raise DataError(
                    f"pack needs columns of one length in each row, but {names[0]!r} has {len(values[0])} values and "
                    f"{name!r} has {len(value)}",
                    column=name,
                )
        tokens = len(values[0]) + (self.node.end_token is not None)
        if tokens > self.node.length and self.node.too_long == "error" and not self.node.split:
            raise DataError(
                f"a document of {tokens} tokens does not fit into a sequence of {self.node.length}: "
                "pack(..., too_long='cut'), 'drop' or 'split' says what to do with it, or split=True fills every "
                "sequence to its end"
            )


class _Open:
    """A sequence that fills: each document is written into it once."""

    def __init__(self, length: int, values: dict[str, Any], pads: dict[str, Any]) -> None:
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: np.full(length, pads[name], value.dtype) for name, value in values.items()
        }
        self.segments = np.zeros(length, np.int32)
        self.positions = np.zeros(length, np.int32)
        self.used, self.count = 0, 0
        # the documents inside, by number, and the way back to the first
        self.documents: list[int] = []
        self.back: State = None
        self.id = np.zeros(1, np.uint64)
        self.origin = np.zeros(1, np.int64)

    def put(self, values: dict[str, Any], start: int, stop: int, ends: dict[str, Any]) -> None:
        """Tokens [start, stop) of a document; the last one may be its end token."""
        at, size = self.used, stop - start
        for name, value in values.items():
            body = value[start:stop]
            self.columns[name][at : at + len(body)] = body
            if len(body) < size:
                self.columns[name][at + len(body)] = ends[name]
        self.count += 1
        self.segments[at : at + size] = self.count
        self.positions[at : at + size] = np.arange(size)
        self.used += size


class PackStage(UnaryStage):
    """Documents are numbered in each epoch. The state says which of them wait in which sequence, and leads back to the
    oldest of those; a restored stage reads from there and puts them where they were.
    """

    def __init__(self, up: Stage, stats: StageStats, node: Pack) -> None:
        super().__init__(up, stats)
        self.node, self.rows, self.name = node, RowBuffer(up), f"pack({node.length}) at {node.call_site}"
        self.open: list[_Open] = []
        # documents done with, tokens of the next one that are, and sequences given
        self.position, self.offset, self.given, self.epoch = 0, 0, 0, 0
        self._documents: Chunk | None = None
        self._values: dict[str, Sequence[Any]] = {}
        self._at, self._before = 0, None
        self._kinds: dict[str, np.dtype[Any]] = {}
        self._pads: dict[str, Any] = {}
        self._ends: dict[str, Any] = {}

    def pull(self) -> StageOutput:
        while True:
            signal = self._load()
            if signal is END_OF_DATA:
                return END_OF_DATA
            if signal is END_OF_EPOCH:
                if self.open and not self.node.drop_remainder:
                    return self._give(self.open[0])
                self.rows.take_signal()
                self._next_epoch()
                return END_OF_EPOCH
            full = self._place()
            if full is not None:
                return self._give(full)

    # documents --------------------------------------------------------------------------------------

    def _load(self) -> Signal | None:
        """Have a document at hand; the signal when there is none."""
        if self._documents is not None and self._at < len(self._documents):
            return None
        signal = self.rows.fill(1)
        if signal is not None:
            return signal
        self._before = self.rows.state()
        self._documents = self.rows.take(len(self.rows.peek()))
        self._values = {name: row_values(column) for name, column in self._documents.columns.items()}
        self._at = 0
        return None

    def _document(self) -> dict[str, Any]:
        """The values of the document at hand."""
        values = {name: column[self._at] for name, column in self._values.items()}
        for name, value in values.items():
            known = self._kinds.get(name)
            if known is None:
                self._learn(name, value.dtype)
            elif known != value.dtype:
                raise DataError(
                    f"column {name!r} is {value.dtype} here and {known} in the documents before; give all documents "
                    "one type, for example with map(lambda x: x.astype(np.int32))",
                    op=self.name,
                    row=self._origin(),
                    column=name,
                )
        return values

    def _learn(self, name: str, dtype: np.dtype[Any]) -> None:
        self._kinds[name] = dtype
        for what, given, kept in (
            ("pad_token", self.node.pad_token, self._pads),
            ("end_token", self.node.end_token, self._ends),
        ):
            value = given[name] if isinstance(given, dict) else given
            with np.errstate(invalid="ignore"):
                fits = value is None or np.array(value).astype(dtype) == value
            if not fits:
                raise DataError(
                    f"{what}={value} is no value of column {name!r}, which is {dtype}",
                    op=self.name,
                    column=name,
                )
            kept[name] = value

    def _origin(self) -> int:
        assert self._documents is not None
        return int(self._documents.origin[self._at])

    def _tokens(self, values: dict[str, Any]) -> int:
        return len(next(iter(values.values()))) + (self.node.end_token is not None)

    def _next(self) -> None:
        """Done with the document at hand."""
        self._at, self.position, self.offset = self._at + 1, self.position + 1, 0

    # sequences --------------------------------------------------------------------------------------

    def _place(self) -> _Open | None:
        """Put the document at hand, or a part of it, where it belongs; the sequence that is to leave, if one is."""
        values, length = self._document(), self.node.length
        tokens = self._tokens(values)
        if tokens == 0 or (tokens > length and self.node.drops):
            self._next()
            return None
        if self.node.split:
            here = self.open[0] if self.open else self._begin(values)
            stop = min(tokens, self.offset + length - here.used)
        else:
            stop = self._stop(tokens)
            if stop - self.offset >= length:  # it is a sequence by itself
                here, stop = self._begin(values, alone=True), self.offset + length
            else:
                found = self._fitting(stop - self.offset)
                if found is None and len(self.open) == self.node.bins:
                    return self._leaving()
                here = self._begin(values) if found is None else found
        here.put(values, self.offset, stop, self._ends)
        here.documents.append(self.position)
        self.offset = stop
        if stop == self._stop(tokens):
            self._next()
        return here if here.used == length else None

    def _stop(self, tokens: int) -> int:
        """Where a document ends, for its sequences."""
        return min(tokens, self.node.length) if self.node.cuts else tokens

    def _begin(self, values: dict[str, Any], *, alone: bool = False) -> _Open:
        assert self._documents is not None
        made = _Open(self.node.length, values, self._pads)
        made.back = advance_state(self._before, self._at)
        made.origin = self._documents.origin[self._at : self._at + 1]
        made.id = derive_row_ids(self._documents.ids[self._at : self._at + 1], self.node.op_id, self.offset)
        if not alone:
            self.open.append(made)
        return made

    def _fitting(self, tokens: int) -> _Open | None:
        """The fullest open sequence that has room for so many."""
        room = self.node.length - tokens
        return max((one for one in self.open if one.used <= room), key=lambda one: one.used, default=None)

    def _leaving(self) -> _Open:
        """The one that makes room: the fullest, unless the oldest has waited long."""
        oldest = self.open[0]
        if self.position - oldest.documents[0] > PATIENCE * self.node.bins:
            return oldest
        return max(self.open, key=lambda one: one.used)

    def _give(self, full: _Open) -> Chunk:
        self.open = [one for one in self.open if one is not full]
        made: dict[str, Column] = {name: column[None] for name, column in full.columns.items()}
        made["segment_ids"], made["positions"] = full.segments[None], full.positions[None]
        made["mask"] = full.segments[None] > 0
        self.given += 1
        self.stats.rows += 1
        self.stats.chunks += 1
        return Chunk(made, full.id, full.origin, self.epoch, self.given - 1)

    # position ---------------------------------------------------------------------------------------

    def _next_epoch(self) -> None:
        self.open, self._documents = [], None
        self.position, self.offset, self.given, self.epoch = 0, 0, 0, self.epoch + 1

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self._next_epoch()

    def state(self) -> State:
        # sequences stand in the order in which they were begun
        base = self.open[0].documents[0] if self.open else self.position
        if self.open:
            back = self.open[0].back
        elif self._documents is not None and self._at < len(self._documents):
            back = advance_state(self._before, self._at)
        else:
            back = self.rows.state()
        waiting = [[number - base for number in one.documents] for one in self.open]
        place = {"position": self.position, "offset": self.offset, "given": self.given, "epoch": self.epoch}
        return {"rows": back, "base": base, "waiting": waiting, **place}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.open, self._documents = [], None
        self.position, self.given, self.epoch = state["base"], state["given"], state["epoch"]
        homes = {number: home for home, waiting in enumerate(state["waiting"]) for number in waiting}
        while self.position < state["position"]:
            self._load()
            home = homes.get(self.position - state["base"])
            if home is not None:
                self._put_back(home)
            self._next()
        self.offset = state["offset"]

    def _put_back(self, home: int) -> None:
        values = self._document()
        tokens = self._tokens(values)
        stop = self._stop(tokens)
        # of one that was split, what is left over after whole sequences
        self.offset = stop - stop % self.node.length if stop > self.node.length else 0
        here = self.open[home] if home < len(self.open) else self._begin(values)
        here.put(values, self.offset, stop, self._ends)
        here.documents.append(self.position)


@register_stage(Pack)
def _pack(making: StageContext) -> Stage:
    node, stats = making.node, making.stats
    documents = SequentialStepStage(
        making.up, stats, DocumentStep(node), making.row_error_handler(making.up), whole=True
    )
    return PackStage(documents, stats, node)
