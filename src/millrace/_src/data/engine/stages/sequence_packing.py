"""Sequence packing: fills fixed-length token sequences with documents.

A full sequence leaves the stage.
"""

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

# A sequence that has been open for this many documents per open sequence leaves before a fuller one.
PATIENCE = 16


class DocumentStep:
    """Selects and checks the packed columns: each value is a 1-D array, as long as the others of its row."""

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
            dtype = getattr(value, "dtype", None)
            if dtype is None or dtype.kind not in "iufb" or value.ndim != 1:
                got = type(value).__name__ if dtype is None else f"{dtype} of shape {list(value.shape)}"
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
                "set pack(..., too_long='cut'), 'drop' or 'split', or split=True to fill every "
                "sequence completely"
            )


class _OpenSequence:
    """An open sequence; each document is written into it once."""

    def __init__(self, length: int, values: dict[str, Any], pads: dict[str, Any]) -> None:
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: np.full(length, pads[name], value.dtype) for name, value in values.items()
        }
        self.segments = np.zeros(length, np.int32)
        self.positions = np.zeros(length, np.int32)
        self.used, self.count = 0, 0
        # its documents by number, and the state that leads back to the first
        self.documents: list[int] = []
        self.resume_state: State = None
        self.id = np.zeros(1, np.uint64)
        self.origin = np.zeros(1, np.int64)

    def put(self, values: dict[str, Any], start: int, stop: int, ends: dict[str, Any]) -> None:
        """Append tokens [start, stop) of a document; the last one may be its end token."""
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
    """Packs documents, numbered in each epoch, into sequences.

    The state lists which documents are in which open sequence, and leads back to the oldest of them; a restored stage
    reads from there and puts them back.
    """

    def __init__(self, upstream: Stage, stats: StageStats, node: Pack) -> None:
        super().__init__(upstream, stats)
        self.node, self.rows, self.name = (
            node,
            RowBuffer(upstream),
            f"pack({node.length}) at {node.call_site}",
        )
        self.open: list[_OpenSequence] = []
        # finished documents, finished tokens of the next document, and delivered sequences
        self.position, self.offset, self.num_sequences, self.epoch = 0, 0, 0, 0
        self._documents: Chunk | None = None
        self._values: dict[str, Sequence[Any]] = {}
        self._at, self._before = 0, None
        self._dtypes: dict[str, np.dtype[Any]] = {}
        self._pads: dict[str, Any] = {}
        self._ends: dict[str, Any] = {}

    def pull(self) -> StageOutput:
        while True:
            signal = self._load_document()
            if signal is END_OF_DATA:
                return END_OF_DATA
            if signal is END_OF_EPOCH:
                if self.open and not self.node.drop_remainder:
                    return self._emit(self.open[0])
                self.rows.take_signal()
                self._next_epoch()
                return END_OF_EPOCH
            full = self._pack_document()
            if full is not None:
                return self._emit(full)

    # documents --------------------------------------------------------------------------------------

    def _load_document(self) -> Signal | None:
        """Load the next document; returns the signal if there is none."""
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
        """The values of the current document."""
        values = {name: column[self._at] for name, column in self._values.items()}
        for name, value in values.items():
            known = self._dtypes.get(name)
            if known is None:
                self._set_column_dtype(name, value.dtype)
            elif known != value.dtype:
                raise DataError(
                    f"column {name!r} is {value.dtype} here and {known} in the documents before; give all documents "
                    "one type, for example with map(lambda x: x.astype(np.int32))",
                    op=self.name,
                    row=self._origin(),
                    column=name,
                )
        return values

    def _set_column_dtype(self, name: str, dtype: np.dtype[Any]) -> None:
        self._dtypes[name] = dtype
        for what, option, kept in (
            ("pad_token", self.node.pad_token, self._pads),
            ("end_token", self.node.end_token, self._ends),
        ):
            value = option[name] if isinstance(option, dict) else option
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

    def _finish_document(self) -> None:
        """Advance to the next document."""
        self._at, self.position, self.offset = self._at + 1, self.position + 1, 0

    # sequences --------------------------------------------------------------------------------------

    def _pack_document(self) -> _OpenSequence | None:
        """Write the current document, or part of it, into a sequence. Returns the sequence that is to leave, if any."""
        values, length = self._document(), self.node.length
        tokens = self._tokens(values)
        if tokens == 0 or (tokens > length and self.node.drops):
            self._finish_document()
            return None
        if self.node.split:
            sequence = self.open[0] if self.open else self._open_sequence(values)
            stop = min(tokens, self.offset + length - sequence.used)
        else:
            stop = self._document_end(tokens)
            if stop - self.offset >= length:  # it fills a sequence alone
                sequence, stop = self._open_sequence(values, alone=True), self.offset + length
            else:
                fitting = self._find_fitting(stop - self.offset)
                if fitting is None and len(self.open) == self.node.bins:
                    return self._choose_leaving()
                sequence = self._open_sequence(values) if fitting is None else fitting
        sequence.put(values, self.offset, stop, self._ends)
        sequence.documents.append(self.position)
        self.offset = stop
        if stop == self._document_end(tokens):
            self._finish_document()
        return sequence if sequence.used == length else None

    def _document_end(self, tokens: int) -> int:
        """End of the packed part of a document."""
        return min(tokens, self.node.length) if self.node.cuts else tokens

    def _open_sequence(self, values: dict[str, Any], *, alone: bool = False) -> _OpenSequence:
        assert self._documents is not None
        sequence = _OpenSequence(self.node.length, values, self._pads)
        sequence.resume_state = advance_state(self._before, self._at)
        sequence.origin = self._documents.origin[self._at : self._at + 1]
        sequence.id = derive_row_ids(
            self._documents.ids[self._at : self._at + 1], self.node.op_id, self.offset
        )
        if not alone:
            self.open.append(sequence)
        return sequence

    def _find_fitting(self, tokens: int) -> _OpenSequence | None:
        """The fullest open sequence with enough space for this many tokens."""
        max_used = self.node.length - tokens
        return max(
            (sequence for sequence in self.open if sequence.used <= max_used),
            key=lambda sequence: sequence.used,
            default=None,
        )

    def _choose_leaving(self) -> _OpenSequence:
        """The sequence to emit when none has space: the fullest, unless the oldest has waited too long."""
        oldest = self.open[0]
        if self.position - oldest.documents[0] > PATIENCE * self.node.bins:
            return oldest
        return max(self.open, key=lambda sequence: sequence.used)

    def _emit(self, full: _OpenSequence) -> Chunk:
        self.open = [sequence for sequence in self.open if sequence is not full]
        columns: dict[str, Column] = {name: column[None] for name, column in full.columns.items()}
        columns["segment_ids"], columns["positions"] = full.segments[None], full.positions[None]
        columns["mask"] = full.segments[None] > 0
        self.num_sequences += 1
        self.stats.rows += 1
        self.stats.chunks += 1
        return Chunk(columns, full.id, full.origin, self.epoch, self.num_sequences - 1)

    # position ---------------------------------------------------------------------------------------

    def _next_epoch(self) -> None:
        self.open, self._documents = [], None
        self.position, self.offset, self.num_sequences, self.epoch = 0, 0, 0, self.epoch + 1

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self._next_epoch()

    def state(self) -> State:
        # sequences are in the order of their first documents
        base = self.open[0].documents[0] if self.open else self.position
        if self.open:
            back = self.open[0].resume_state
        elif self._documents is not None and self._at < len(self._documents):
            back = advance_state(self._before, self._at)
        else:
            back = self.rows.state()
        waiting = [[number - base for number in sequence.documents] for sequence in self.open]
        position = {
            "position": self.position,
            "offset": self.offset,
            "given": self.num_sequences,
            "epoch": self.epoch,
        }
        return {"rows": back, "base": base, "waiting": waiting, **position}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.open, self._documents = [], None
        self.position, self.num_sequences, self.epoch = state["base"], state["given"], state["epoch"]
        sequence_indices = {
            number: index for index, waiting in enumerate(state["waiting"]) for number in waiting
        }
        while self.position < state["position"]:
            self._load_document()
            index = sequence_indices.get(self.position - state["base"])
            if index is not None:
                self._put_back(index)
            self._finish_document()
        self.offset = state["offset"]

    def _put_back(self, index: int) -> None:
        values = self._document()
        tokens = self._tokens(values)
        stop = self._document_end(tokens)
        # for a split document, the remainder after whole sequences
        self.offset = stop - stop % self.node.length if stop > self.node.length else 0
        sequence = self.open[index] if index < len(self.open) else self._open_sequence(values)
        sequence.put(values, self.offset, stop, self._ends)
        sequence.documents.append(self.position)


@register_stage(Pack)
def _pack(context: StageContext) -> Stage:
    node, stats = context.node, context.stats
    documents = SequentialStepStage(
        context.upstream, stats, DocumentStep(node), context.row_error_handler(context.upstream), whole=True
    )
    return PackStage(documents, stats, node)
