"""A pipeline as data: a tree of calls, and the Python text that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

FUNCTIONS = {"sampled"}  # take their one input as first argument


@dataclass(frozen=True)
class Call:
    """One call: `name(args, options)tail`, as a method of its input, or with its inputs as first argument."""

    name: str
    args: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    inputs: tuple[Call, ...] = ()
    tail: str = ""

    def text(self) -> str:
        words = [*self.args, *(f"{key}={value}" for key, value in self.options.items())]
        if len(self.inputs) == 1 and self.name in FUNCTIONS:
            return f"{self.name}({self.inputs[0].text()}, {', '.join(words)}){self.tail}"
        if len(self.inputs) == 1:
            return f"{self.inputs[0].text()}\n    .{self.name}({', '.join(words)}){self.tail}"
        if self.inputs:
            parts = ", ".join(part.text() for part in self.inputs)
            words.insert(0, f"({parts})")
        return f"{self.name}({', '.join(words)}){self.tail}"

    def count(self) -> int:
        return 1 + sum(part.count() for part in self.inputs)


@dataclass(frozen=True)
class Case:
    """A pipeline, how it is iterated, and what it is asked."""

    data: Call
    epochs: int = 1
    tuples: bool = False
    asked: tuple[str, ...] = ()
    ordered: bool = True

    def job(self) -> dict[str, Any]:
        """Return what a child process is sent."""
        return {
            "code": f"({self.data.text()})",
            "epochs": self.epochs,
            "tuples": self.tuples,
            "asked": list(self.asked),
        }

    def text(self) -> str:
        """Return the case as a person would write it."""
        maker = "create_tuple_iterator" if self.tuples else "create_dict_iterator"
        lines = [f"data = ({self.data.text()})", *(f"data.{name}()" for name in self.asked)]
        loop = f"iterator = data.{maker}(num_epochs={self.epochs}, output_numpy=True)"
        each = "list(iterator)" if self.epochs == 1 else f"[list(iterator) for _ in range({self.epochs})]"
        return "\n".join([*lines, loop, each])


def smaller(case: Case) -> Iterator[Case]:
    """Give cases that are a step simpler than this one, the boldest first."""
    for data in _smaller_calls(case.data):
        yield replace(case, data=data)
    for at in range(len(case.asked)):
        yield replace(case, asked=case.asked[:at] + case.asked[at + 1 :])
    if case.epochs > 1:
        yield replace(case, epochs=1)
    if case.tuples:
        yield replace(case, tuples=False)


def _smaller_calls(call: Call) -> Iterator[Call]:
    yield from call.inputs
    if len(call.inputs) > 2:
        for at in range(len(call.inputs)):
            yield replace(call, inputs=call.inputs[:at] + call.inputs[at + 1 :])
    for at, part in enumerate(call.inputs):
        for less in _smaller_calls(part):
            yield replace(call, inputs=(*call.inputs[:at], less, *call.inputs[at + 1 :]))
    for key in call.options:
        if key not in ("shuffle", "column_names"):
            less = {k: v for k, v in call.options.items() if k != key}
            yield replace(call, options=less | {"shuffle": "False"} if key == "sampler" else less)
    for at, arg in enumerate(call.args):
        for less in _smaller_numbers(arg):
            yield replace(call, args=(*call.args[:at], less, *call.args[at + 1 :]))


def _smaller_numbers(text: str) -> Iterator[str]:
    """Give the same argument with a smaller number, where it is one or ends in one: `table({...}, 7)`."""
    head, sign, last = text.rpartition(", ") if text.endswith(")") else ("", "", text)
    last, tail = (last[:-1], ")") if text.endswith(")") else (last, "")
    if last.isdigit() and int(last) > 1:
        for number in dict.fromkeys((1, int(last) // 2, int(last) - 1)):
            yield f"{head}{sign}{number}{tail}"
