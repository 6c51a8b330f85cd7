"""Detection of programs that must not serve requests: captured in training mode, or writing to their
parameters.
"""

from __future__ import annotations

from typing import Any

from millrace._src.runtime.graph.capture import Slot
from millrace._src.runtime.graph.program_serialization import SerializedProgram
from millrace._src.runtime.tensor.backend.torch_private import PRIVATE_OPERATORS, operator_schema

from .state import bind_arguments

__all__ = ["AliasRoots", "find_training", "operator_name", "written_arguments"]

# Operators that return views without an alias annotation in their schema.
_HIDDEN_VIEWS = PRIVATE_OPERATORS["views"] | {"aten::unsafe_split", "aten::unsafe_split_with_sizes"}
_DROPOUT = frozenset(
    {"aten::native_dropout", "aten::dropout", "aten::feature_dropout", "aten::alpha_dropout"}
)
_BATCH_NORM = PRIVATE_OPERATORS["batch_norm"] | {"aten::native_batch_norm", "aten::batch_norm"}


def operator_name(func: Any) -> str:
    """The name of an operator with its overload."""
    schema = operator_schema(func)
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def written_arguments(func: Any) -> list[str]:
    """The arguments that an operator writes to."""
    return [
        argument.name
        for argument in operator_schema(func).arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    ]


class AliasRoots:
    """Aliasing of tensors: for each slot the first slot with the same memory."""

    def __init__(self) -> None:
        self._roots: dict[Slot, Slot] = {}
        self._members: dict[Slot, set[Slot]] = {}

    def root(self, slot: Slot) -> Slot:
        return self._roots.get(slot, slot)

    def shared(self, slot: Slot) -> bool:
        """Whether another tensor uses the memory of this one."""
        return len(self._members.get(self.root(slot), {slot})) > 1

    def add(self, call: Any) -> None:
        """Record the results of a call that are views of an argument."""
        schema = operator_schema(call.func)
        viewed = [argument.name for argument in schema.arguments if argument.alias_info is not None]
        if schema.name in _HIDDEN_VIEWS:
            viewed = [schema.arguments[0].name]
        elif not any(result.alias_info is not None for result in schema.returns):
            viewed = []
        bound = bind_arguments(call.func, call.args, call.kwargs)
        for name in viewed:
            if isinstance(bound[name], Slot):
                for result in call.results:
                    if result is not None:
                        self._join(self.root(bound[name]), result)

    def _join(self, root: Slot, slot: Slot) -> None:
        if self.root(slot) == root:
            self._members.setdefault(root, {root}).add(slot)
            return
        self._roots[slot] = root
        self._members.setdefault(root, {root}).add(slot)


def find_training(graph: SerializedProgram) -> str | None:
    """Why a program must not serve: the operator that is in training mode or writes to a parameter; None if
    there is none.
    """
    roots = AliasRoots()
    for call in graph.calls:
        schema = operator_schema(call.func)
        bound = bind_arguments(call.func, call.args, call.kwargs)
        name = operator_name(call.func)
        if schema.name in _DROPOUT and bound.get("train") is not False and bound.get("p") != 0.0:
            return f"{name} is in training mode: it drops elements at random"
        if schema.name.startswith("aten::bernoulli"):
            return f"{name} drops elements at random, as Dropout does in training mode"
        if schema.name in _BATCH_NORM and bound.get("training") and bound.get("running_mean") is not None:
            layer = _parameter(graph, [bound.get("weight"), bound["running_mean"]])
            return f"{name}{layer} is in training mode: it uses and updates the statistics of each batch"
        for argument in written_arguments(call.func):
            target = bound[argument]
            if isinstance(target, Slot) and roots.root(target).source == "out":
                layer = _parameter(graph, [roots.root(target)])
                return f"{name}{layer} writes to a tensor of the network, which the next request would read"
        roots.add(call)
    return None


def _parameter(graph: SerializedProgram, slots: list[Any]) -> str:
    """The name of the first parameter among slots, in brackets."""
    for slot in slots:
        if isinstance(slot, Slot) and slot.source == "out" and 0 <= slot.number < len(graph.names):
            name = graph.names[slot.number]
            if name:
                return f" ('{name}')"
    return ""
