"""Argument parser of all commands: one-line errors with a suggestion for misspelled names."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from millrace._src.core.io.terminal_escape import escape_controls

from .terminal_output import say

__all__ = ["Parser", "count", "fail", "suggest", "no_such_path", "number", "path_nearby", "seconds"]

_N = TypeVar("_N", int, float)

# a file of a record set: the name of the set and the file number
_SHARD = re.compile(r"(.*\D)\d+")


class Parser(argparse.ArgumentParser):
    """argparse with one-line errors and examples that keep their formatting."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        unknown = "unrecognized arguments: "
        if message.startswith(unknown):
            argument = message.removeprefix(unknown).split()[0]
            known = [option for action in self._actions for option in action.option_strings]
            message = (
                f"unknown option {argument}"
                if argument.startswith("-")
                else f"unexpected argument {argument!r}"
            )
            message += suggest(argument.partition("=")[0], known)
        say(f"{self.prog}: {escape_controls(message)} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject an invalid choice; argparse's message differs between versions and has no suggestion."""
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            near = suggest(str(value), known) or f". Choose one of {', '.join(known)}"
            what = action.metavar if isinstance(action.metavar, str) else action.dest
            raise argparse.ArgumentError(None, f"there is no {what.lower()} {str(value)!r}{near}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Report an unknown option by the sub-command that it follows, not by the parent command."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return parsed, rest


def suggest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?" if a known name is similar, else "".

    >>> suggest("quikstart", ["doctor", "quickstart"])
    "; did you mean 'quickstart'?"
    >>> suggest("x", ["doctor"])
    ''
    """
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def fail(command: str, message: str) -> int:
    """Print why a command failed in one line; returns the exit status."""
    lines = [line.strip() for line in message.splitlines()]
    say(f"millrace {command}: {escape_controls(', '.join(filter(None, lines)))}", file=sys.stderr)
    return 2


def no_such_path(path: str) -> str:
    """Message for a path that does not exist, with a suggestion.

    >>> no_such_path("/no/such/folder")
    '/no/such/folder does not exist'
    """
    return f"{path} does not exist{path_nearby(path)}"


def path_nearby(path: str) -> str:
    """ "; did you mean ...?" if a name in the same folder is similar, else ""; shards count as one set."""
    folder, name = os.path.split(path.rstrip("/"))
    try:
        there = os.listdir(folder or ".")
    except OSError:
        return ""
    # a set of three files counts as one name: the name it was written under
    sets: dict[str, list[str]] = {}
    for entry in there:
        if match := _SHARD.fullmatch(entry):
            sets.setdefault(match[1], []).append(entry)
    sets = {base: sorted(shards) for base, shards in sets.items() if len(shards) > 1}
    alone = [entry for entry in there if not any(entry in shards for shards in sets.values())]
    if name in sets:
        close = [name]
    else:
        close = difflib.get_close_matches(name, [*sets, *alone], 1, 0.6)
    if not close:
        return ""
    if close[0] not in sets:
        return f"; did you mean {os.path.join(folder, close[0])!r}?"
    shards = sets[close[0]]
    first = os.path.join(folder, shards[0])
    return f"; did you mean the set of {len(shards)} files {close[0]}*? Name its first file, {first!r}"


def number(text: str, number_type: type[_N], legal: Callable[[_N], bool], what: str) -> _N:
    """Parse a numeric option; an invalid value raises a one-line error."""
    try:
        value = number_type(text)
    except ValueError:
        pass
    else:
        if legal(value):
            return value
    raise argparse.ArgumentTypeError(f"{text} is not {what}")


def count(text: str) -> int:
    """Parse an option that is a positive integer."""
    return number(text, int, lambda n: n >= 1, "a positive number")


def seconds(text: str) -> float:
    """Parse an option that is a duration in seconds."""
    return number(text, float, lambda n: 0 < n < 86_400, "a number of seconds")
