"""Plan fingerprint: everything that determines the rows and their order, and nothing else.

Workers, executors, chunk sizes and the memory budget are not part of it, nor are files and lines of the user's script.
A source is identified by its arguments and its size; the contents of its rows are included only in a cache key
(:func:`cache_key`). There, files are identified by their size and modification time.

Arguments with their default value are omitted. A saved state has a few characters for each part of each op, which is
enough to name the op and the part that differ from another plan.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

from millrace._src.core.errors import MillraceError
from millrace._src.core.settings import Settings
from millrace._src.core.stable_ids import naming_of_0_2_0
from millrace._src.data.plan.node import Node, walk
from millrace._src.data.plan.nodes.read import Read

from .file_state import files_state
from .value_hash import LeafHash, hash_leaves

__all__ = ["Fingerprint", "compute_fingerprint", "cache_key"]

# Fields about execution and speed, and those that `bind` and the passes derive from the tree.
EXCLUDED_FIELDS = frozenset(("inputs", "num_workers", "wants_processes", "gate_id", "passes", "cache"))
# Fields that had another name in version 0.2.0: fingerprints and saved states contain the old one.
STORED_NAMES = {"from_batch_sampler": "whole", "max_rows": "most_rows", "pad_to_equal": "even"}
# Fields that determine which rows come in which order, but not their contents.
ORDER_FIELDS = frozenset(("sampler", "batch_sampler"))
# Arguments of sources that do the same.
ORDER_ARGUMENTS = frozenset(("num_samples", "shuffle", "num_shards", "shard_id", "shard_equal_rows", "limit"))
# Settings that change the rows of a run, and those that change the contents of a row.
ROW_SETTINGS = ("error_samples_mode", "decode_tolerance")
SINGLE_ROW_SETTINGS = ("decode_tolerance",)
# Parts of an op that are stored separately in a state; further ones are combined.
MAX_PARTS = 40
MARK = 3


@dataclasses.dataclass(frozen=True)
class OpFingerprint:
    """The fingerprint of one op: its name, its call site, and its parts."""

    label: str
    where: str
    inputs: int
    leaves: tuple[LeafHash, ...]
    size: LeafHash | None = None

    def parts(self) -> list[LeafHash]:
        leaves = [*self.leaves, *([self.size] if self.size is not None else [])]
        if len(leaves) <= MAX_PARTS:
            return leaves
        rest = hashlib.sha256(b"".join(leaf.digest for leaf in leaves[MAX_PARTS - 1 :])).digest()
        return [
            *leaves[: MAX_PARTS - 1],
            LeafHash(leaves[MAX_PARTS - 1].path, "it, or a part that follows", rest),
        ]

    def digests(self) -> list[str]:
        """A few characters for each part: a hash of its path and value."""
        parts = [f"{leaf.path}\n{leaf.description}\n".encode() + leaf.digest for leaf in self.parts()]
        return [base64.urlsafe_b64encode(hashlib.sha256(p).digest())[:MARK].decode() for p in parts]

    @property
    def name(self) -> str:
        return f"{self.label} at {self.where}" if self.where else self.label


class Fingerprint:
    """The identity of a plan. Objects are hashed on creation, sizes of sources when they are first needed."""

    def __init__(self, root: Node, settings: Settings, contents: bool = False, ordered: bool = True) -> None:
        self._arguments = (root, settings, contents, ordered)
        chosen = {
            name: getattr(settings, name) for name in (ROW_SETTINGS if ordered else SINGLE_ROW_SETTINGS)
        }
        leaves = [leaf for name, value in chosen.items() for leaf in hash_leaves(name, value)]
        self._settings = OpFingerprint("config", "", 0, tuple(leaves))
        excluded = EXCLUDED_FIELDS if ordered else EXCLUDED_FIELDS | ORDER_FIELDS
        nodes = [node for node in walk(root) if ordered or node.order_step() is None]
        if contents:  # a cache does not change rows
            nodes = [node for node in nodes if not hasattr(node, "logical_input")]
        self._nodes = [(node, _leaves(node, contents, excluded)) for node in nodes]
        self._ops: list[OpFingerprint] | None = None
        self._text = ""

    @property
    def ops(self) -> list[OpFingerprint]:
        if self._ops is None:
            fingerprints = [
                OpFingerprint(node.label, node.call_site, len(node.inputs), leaves, _size(node))
                for node, leaves in self._nodes
            ]
            self._ops = [self._settings, *fingerprints]
        return self._ops

    @property
    def text(self) -> str:
        """One hash of all parts; equal for equal plans, in any process."""
        if not self._text:
            hasher = hashlib.sha256()
            for op in self.ops:
                hasher.update(f"{op.label}/{op.inputs}/{len(op.leaves)}\n".encode())
                for leaf in [*op.leaves, *([op.size] if op.size is not None else [])]:
                    hasher.update(f"{leaf.path}\n".encode() + leaf.digest)
            self._text = hasher.hexdigest()[:32]
        return self._text

    def of_0_2_0(self) -> Fingerprint:
        """The fingerprint of the same plan in version 0.2.0: with module paths instead of ids."""
        with naming_of_0_2_0():
            return Fingerprint(*self._arguments)

    def marks(self) -> list[str]:
        """The hashes that a saved state stores, to describe differences later."""
        return [f"{op.label}:{''.join(op.digests())}" for op in self.ops]

    def differences(self, saved: Sequence[str]) -> str:
        """Describe how this plan differs from the one with these stored hashes."""
        ops = self.ops
        before = [str(mark).rpartition(":") for mark in saved]
        labels = [label for label, _, _ in before]
        if labels != [op.label for op in ops]:
            return (
                f"it was {_chain(labels[1:])}, this one is {_chain([op.label for op in ops[1:]])}"
                if labels[1:] != [op.label for op in ops[1:]]
                else "its settings differ"
            )
        differing = [
            f"{op.name}: {part}"
            for op, (_, _, marks) in zip(ops, before, strict=True)
            for part in _changed_parts(op, marks)
        ]
        return "; ".join(differing[:3]) + ("; and more" if len(differing) > 3 else "")


def _chain(labels: list[str]) -> str:
    return " -> ".join(labels) or "empty"


def _changed_parts(op: OpFingerprint, saved: str) -> list[str]:
    """The parts of an op whose hashes are not in the saved ones."""
    remaining = [saved[start : start + MARK] for start in range(0, len(saved), MARK)]
    changed: list[str] = []
    for part, mark in zip(op.parts(), op.digests(), strict=True):
        if mark in remaining:
            remaining.remove(mark)
        else:
            changed.append(str(part))
    return changed or ["it had an argument that has its default now"] * bool(remaining)


def _leaves(node: Node, contents: bool, excluded: frozenset[str] = EXCLUDED_FIELDS) -> tuple[LeafHash, ...]:
    leaves: list[LeafHash] = []
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if field.metadata.get("added") or field.name in excluded or _is_default(value, field.default):
            continue  # so that a new argument of an op does not invalidate saved states
        if field.name == "source":
            leaves += _source(value, contents, ordered="sampler" not in excluded)
        elif field.name == "callbacks":
            # their code does not matter; their presence does, since it keeps a shuffle above them from moving
            leaves += hash_leaves("callbacks", bool(value))
        else:
            leaves += hash_leaves(STORED_NAMES.get(field.name, field.name), value, whole=contents)
    return tuple(leaves)


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and (value is default or value == default)


def _source(source: Any, contents: bool, ordered: bool) -> list[LeafHash]:
    arguments = getattr(source, "_identity", source.arguments)()
    if not ordered:
        arguments = {name: value for name, value in arguments.items() if name not in ORDER_ARGUMENTS}
    leaves = hash_leaves("class", type(source))
    for name, value in sorted(arguments.items()):
        leaves += hash_leaves(name, value, shallow=True)
    if contents:
        holds = getattr(source, "contents", None)
        leaves += hash_leaves("files", files_state(arguments))
        leaves += hash_leaves("contents", None if holds is None else holds(), whole=True)
    return leaves


def _size(node: Node) -> LeafHash | None:
    if not isinstance(node, Read):
        return None
    try:
        rows = node.source.size()
    except MillraceError:  # the same error is raised when the first row is read
        rows = None
    return hash_leaves("size", rows)[0]


def compute_fingerprint(root: Node, settings: Settings) -> Fingerprint:
    """The identity of the tree below a node, as the user wrote it."""
    return Fingerprint(root, settings)


def cache_key(root: Node, settings: Settings, *, ordered: bool = True) -> str:
    """One hash for the output rows of a node: equal in every process for equal pipelines over equal data.

    If not ``ordered``, it is the key for rows stored by their number in the source, independent of their order.
    """
    return Fingerprint(root, settings, contents=True, ordered=ordered).text
