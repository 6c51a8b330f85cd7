"""The ``millrace`` command. One file per sub-command: a table here, the rest there."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

__all__ = ["COMMANDS", "main"]

# name -> one line of help; the module of the same name has add_arguments(parser) and run(arguments).
COMMANDS = {
    "quickstart": "make a small image set, run a pipeline on it, show what happened",
    "version": "show the versions of Millrace, Python and the libraries it uses",
}

EXAMPLES = """\
examples:
  millrace quickstart                   a first pipeline, in half a minute
  millrace quickstart --images 2000     the same with more images
  millrace version                      what to put into a bug report

A script written for MindSpore runs with:
  python -m millrace.as_mindspore script.py
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(words)
    arguments = parser.parse_args(words)
    if arguments.command is None:
        parser.print_help()
        return 2
    try:
        return int(importlib.import_module(f"{__name__}.{arguments.command}").run(arguments))
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has left; nothing more may be written, at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="millrace",
        description="Millrace: a training-data engine with MindSpore's programming interface.",
        epilog=EXAMPLES,
        formatter_class=_Layout,
    )
    parser.add_argument("--version", action="store_const", const="version", dest="command", help="show the version")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name in words:  # the others are not imported: help must be quick
            importlib.import_module(f"{__name__}.{name}").add_arguments(command)
    return parser


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Help in two columns, without the line that only repeats the title of the commands."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=100)

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        if isinstance(action, argparse._SubParsersAction):
            text = "\n".join(line for line in text.split("\n") if line.strip() != "COMMAND")
        return text
