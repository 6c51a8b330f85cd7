"""One call on named inputs, and how lists of them are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """`call` makes an op, `inputs` names what it is called on ("-": nothing).

    In `call` are T (text), C (transforms), D (dtype), np, WORDS (a list of tokens) and F (the folder of files).
    `better` says why the result here is another than MindSpore's, on purpose; "" where they must be the same. For many
    cases at once, a file has a list BETTER.
    """

    call: str
    inputs: tuple[str, ...]
    better: str = ""

    @property
    def name(self) -> str:
        return f"{self.call}({', '.join(self.inputs)})"


@dataclass(frozen=True)
class Better:
    """Cases whose name matches may give something else than MindSpore, for this reason, and at least one does.

    `same_tokens`: only the places may differ, and there is one for each token.
    """

    pattern: str
    reason: str
    same_tokens: bool = False


def each(calls: str, inputs: str, better: str = "") -> list[Case]:
    """Each call (one a line) on each input (parted by spaces; a comma joins several into one call)."""
    lines = [line.strip() for line in calls.splitlines() if line.strip()]
    return [Case(line, tuple(one.split(",")), better) for line in lines for one in inputs.split()]


def bad(call: str, arguments: str, better: str = "") -> list[Case]:
    """A call that is refused, once for each of the arguments (parted by ;), which stand for {}."""
    return each("\n".join(call.format(one.strip()) for one in arguments.split(";")), "-", better)
