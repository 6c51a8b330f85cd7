"""One call on one input, and how lists of them are made: what the suites of transforms share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """`call` makes an op (`V.Resize(5)`), `inputs` names what it is called on ("-": nothing)."""

    call: str
    inputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.call}({', '.join(self.inputs)})"


def each(calls: str, inputs: str) -> list[Case]:
    """Each call (one a line) on each input (parted by spaces; a comma joins several into one call)."""
    lines = [line.strip() for line in calls.splitlines() if line.strip()]
    return [Case(line, tuple(one.split(","))) for line in lines for one in inputs.split()]
