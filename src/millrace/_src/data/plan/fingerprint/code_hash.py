"""Canonical bytes of a function's code without file names and line numbers, and the outer variables that it uses."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from .canonical_bytes import NotCanonical, canonical_bytes, path_of

__all__ = ["VariableUse", "code_bytes", "outer_variables"]

# The relevant flags of a code object: *args, **kwargs, generator, coroutine; not those of annotations.
_FLAGS = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200


class VariableUse(NamedTuple):
    """An outer variable and the accesses to it: ``args.scale`` is ("args", (("attribute", "scale"),))."""

    name: str
    steps: tuple[tuple[str, Any], ...] = ()

    @property
    def text(self) -> str:
        return self.name + "".join(
            f".{key}" if access == "attribute" else f"[{key!r}]" for access, key in self.steps
        )


def code_bytes(code: types.CodeType, doc: str | None = None) -> bytes:
    """The instructions, constants, names and parameters, without the docstring."""
    constants = code.co_consts
    if doc is not None and constants and constants[0] == doc:
        constants = (None, *constants[1:])
    count = code.co_argcount + code.co_kwonlyargcount
    shape = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FLAGS]
    names = [code.co_names, code.co_varnames[:count], code.co_freevars]
    parts = [code.co_code, code.co_exceptiontable, canonical_bytes(shape), canonical_bytes(names)]
    for constant in constants:
        try:
            parts.append(
                code_bytes(constant) if isinstance(constant, types.CodeType) else canonical_bytes(constant)
            )
        except NotCanonical:
            parts.append(path_of(type(constant)))
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


@functools.lru_cache(maxsize=1024)
def outer_variables(code: types.CodeType) -> tuple[VariableUse, ...]:
    """Global and closure variables of the code and of nested code, sorted; without those that it assigns."""
    uses, assigned = _scan(code)
    kept = {(use.text, use) for use in uses if use.name not in assigned}
    whole = {use.name for _, use in kept if not use.steps}
    # if the whole variable is used, uses of its parts are redundant
    return tuple(use for _, use in sorted(kept, key=lambda p: p[0]) if not use.steps or use.name not in whole)


# Instructions that load or store an outer variable, whichever of them this Python has.
_OUTER = {
    *("STORE_GLOBAL", "STORE_DEREF", "LOAD_GLOBAL", "LOAD_NAME"),
    *("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
}
_OUTER_CODES = frozenset(dis.opmap[name] for name in _OUTER if name in dis.opmap)


def _scan(code: types.CodeType) -> tuple[list[VariableUse], set[str]]:
    uses: list[VariableUse] = []
    assigned: set[str] = set()
    outer = set(code.co_freevars)
    # disassembling is slow; every other byte is an instruction (or inline cache), and most code uses no outer variable
    steps = [] if _OUTER_CODES.isdisjoint(code.co_code[::2]) else list(dis.get_instructions(code))
    for index, step in enumerate(steps):
        if step.opname == "STORE_GLOBAL" or (step.opname == "STORE_DEREF" and step.argval in outer):
            assigned.add(step.argval)
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME") or (
            step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
            and step.argval in outer
        ):
            uses.append(VariableUse(step.argval, tuple(_steps(steps, index + 1))))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, stored = _scan(constant)
            local = set(code.co_cellvars)  # defined here: not outer variables
            freed = set(constant.co_freevars)
            uses += [use for use in inner if use.name not in local or use.name not in freed]
            assigned |= {name for name in stored if name not in local or name not in freed}
    return uses, assigned


def _steps(steps: list[dis.Instruction], index: int) -> Iterator[tuple[str, Any]]:
    """The attributes and constant items taken right after a variable was loaded."""
    while index < len(steps):
        step = steps[index]
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield ("attribute", step.argval)
            index += 1
        elif step.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and type(step.argval) in (str, int):
            following = steps[index + 1] if index + 1 < len(steps) else None
            if following is None or not (
                following.opname == "BINARY_SUBSCR"
                or (following.opname == "BINARY_OP" and following.argrepr == "[]")
            ):
                return
            yield ("item", step.argval)
            index += 2
        else:
            return
