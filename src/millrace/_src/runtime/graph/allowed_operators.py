"""Operators that a serialized program may call: an exact list, resolved once, with the types of their
arguments.

``operator_table.py`` is the list. ``tests/unit/runtime/graph/record_operators.py`` generates it from the
operators that the exporter emits. A name in a file is looked up in a dictionary and nowhere else.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from millrace._src.core.errors import FormatError
from millrace._src.runtime.tensor.backend.torch_private import operator_overload, schema_text

from .operator_table import TABLE, TABLE_VERSION

__all__ = [
    "DENIED",
    "UNDECLARED_WRITES",
    "Argument",
    "Operator",
    "denial_reason",
    "is_emitted",
    "operators",
    "refusal_message",
    "resolve_operator",
]

# Families that never enter the table, with the reason. A pattern matches the whole name without namespace and overload.
DENIED: dict[str, str] = {
    r"from_file|_?from_blob|save|load": "it reads or writes files or foreign memory",
    r"set_.*|set_data|data|_?resize.*|resize_as.*|storage.*|_copy_from.*|lift.*": "it replaces the storage of a tensor",
    r"_?as_strided.*|_reshape_alias.*|_new_zeros_with_same_feature_meta|_nested_view.*": "it sets strides freely",
    r"(new_)?empty.*|_empty.*|_efficientzerotensor": "it returns uninitialised memory",
    r"_unsafe_(?!view$).*": "its kernel does not check indices",
    r"_?embedding_bag.*|_?segment_reduce.*|_embedding_bag.*": "its kernel does not check offsets",
    r"_ctc_loss.*|_cudnn.*|cudnn.*|miopen.*": "its kernel does not check labels and lengths",
    r"fractional_max_pool.*": "its kernel does not check the random samples that position its windows",
    r"lu_unpack|linalg_lu_solve|_?lu_with.*|linalg_ldl.*": "its kernel does not check pivots",
    r"geqrf": "it has no meta kernel that computes the size of its results",
    r".*sparse.*|.*coalesce.*|_?indices|_?values|.*_csr.*|to_dense": "it takes unchecked indices of sparse tensors",
    r".*quant.*|q_.*|fbgemm.*|int_repr|_make_per.*": "it handles quantised storage",
    r"nonzero.*|masked_select|repeat_interleave|_?unique.*|bincount|argwhere|histogram.*":
        "the size of its result depends on values",
    r"_local_scalar_dense|item|equal|is_nonzero|allclose|rename.*|record_stream|pin_memory|_pin_memory":
        "its result is no tensor, or it concerns a device",
    r"_foreach.*|_fused.*|.*_out|_amp.*|_assert.*|_print|_backward|requires_grad_|_.*_backward.*":
        "inference does not use it",
    r"__.*__": "it is a Python special name",
}  # fmt: skip
# Operators that write into arguments without a mark in the schema -> the argument that enables it, and those written.
UNDECLARED_WRITES = {"aten::native_batch_norm": ("training", ("running_mean", "running_var"))}
_PATTERNS = [(re.compile(pattern), reason) for pattern, reason in DENIED.items()]
# Python special names that are plain arithmetic.
_ARITHMETIC = frozenset({"__and__", "__or__", "__xor__", "__lshift__", "__rshift__"})

_SIGNATURE = re.compile(r"aten::(\w+(?:\.\w+)?)\((.*)\) -> (.*)", re.DOTALL)
_PLAIN_NAME = re.compile(r"aten::[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?")


class Argument(NamedTuple):
    """A parameter of an operator: its name and its schema type without alias annotations."""

    name: str
    type: str
    optional: bool  # None is accepted
    required: bool
    keyword_only: bool
    written: bool  # the operator writes into this tensor


class Operator(NamedTuple):
    """An allowed operator with its parameters and the structure of its results."""

    name: str
    func: Any
    arguments: tuple[Argument, ...]
    form: str  # "one", "many" or "none"
    # per result: the index of the parameter, if the operator returns an argument that it has written to
    returned: tuple[int | None, ...]


def denial_reason(name: str) -> str | None:
    """Why an operator, ``aten::name.overload``, may never be in a serialized program; None if it may."""
    base = name.removeprefix("aten::").partition(".")[0]
    if base in _ARITHMETIC:
        return None
    return next((reason for pattern, reason in _PATTERNS if pattern.fullmatch(base)), None)


@functools.cache
def operators() -> dict[str, Any]:
    """Name -> overload, for every table entry that the installed PyTorch has."""
    resolved = {name: operator_overload(name) for name in TABLE}
    return {name: func for name, func in resolved.items() if func is not None}


def is_emitted(name: str) -> bool:
    """Whether the exporter may write this operator."""
    return name in operators()


def resolve_operator(name: Any) -> Operator:
    """The operator of a name in a file; raises FormatError if it is not in the table."""
    func = operators().get(name) if isinstance(name, str) else None
    if func is None:
        raise FormatError(refusal_message(name))
    return _parse_operator(name)


def refusal_message(name: Any) -> str:
    """Why a name in a file is rejected."""
    shown = ascii(name)[:120]
    if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name):
        return f"the archive's program: expected the name of an operator, got {shown}. The file is damaged or hostile"
    if name in TABLE:
        return f"the archive's program: the installed PyTorch has no operator {shown}. Export the network again with it"
    reason = denial_reason(name) or "the exporter does not emit it"
    return (
        f"the archive's program calls {shown}, which is not in the operator table (version {TABLE_VERSION}): {reason}. "
        "If Millrace 0.2.0 wrote the archive, export the network again with this version"
    )


@functools.cache
def _parse_operator(name: str) -> Operator:
    func = operators()[name]
    parsed = _SIGNATURE.fullmatch(schema_text(func))
    if parsed is None:
        raise FormatError(f"the schema of {name} cannot be read with the installed PyTorch")
    arguments: list[Argument] = []
    aliases: dict[str, int] = {}
    keyword_only = False
    for part in _split(parsed[2]):
        if part == "*":
            keyword_only = True
            continue
        declared, _, default = part.partition("=")
        full_type, _, argument = declared.rpartition(" ")
        mark = re.search(r"\((\w+)!", full_type)
        plain = re.sub(r"\([^)]*\)", "", full_type)
        if mark:
            aliases[mark[1]] = len(arguments)
        optional = plain.endswith("?")
        arguments.append(
            Argument(argument, plain.removesuffix("?"), optional, not default, keyword_only, bool(mark))
        )
    form, returned = _parse_returns(parsed[3], aliases)
    return Operator(name, func, tuple(arguments), form, returned)


def _parse_returns(text: str, aliases: dict[str, int]) -> tuple[str, tuple[int | None, ...]]:
    if text == "()":
        return "none", ()
    single = not text.startswith("(")
    parts = [text] if single else _split(text[1:-1])
    types = [re.sub(r"\([^)]*\)", "", part).split(" ")[0] for part in parts]
    if single and types == ["Tensor[]"]:
        return "many", ()
    if set(types) != {"Tensor"}:
        raise FormatError(f"an operator that returns {text} is not allowed in a serialized program")
    marks = [re.search(r"\((\w+)!", part) for part in parts]
    returned = tuple(aliases.get(mark[1]) if mark else None for mark in marks)
    return ("one" if single else "many"), returned


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append(text[begin:index].strip())
            begin = index + 1
    return [part for part in (*parts, text[begin:].strip()) if part]
