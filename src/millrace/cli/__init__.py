"""The ``millrace`` command. One file per sub-command: a table here, the rest there."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from millrace import __version__

__all__ = ["COMMANDS", "main"]

# name -> one line of help; the module of the same name has add_arguments(parser) and run(arguments).
COMMANDS = {
    "quickstart": "make a small image set, run a pipeline on it, show what happened",
    "record": "inspect, verify, repair, reindex and make MindRecord files",
    "version": "show the versions of Millrace, Python and the libraries it uses",
}

HELP = """\
usage: millrace COMMAND [OPTIONS]

Millrace: a training-data engine with MindSpore's programming interface.

commands:
{commands}

options:
  -h, --help   show this; after a command, show its options
  --version    show the version

examples:
  millrace quickstart                  a first pipeline, in less than half a minute
  millrace quickstart --images 2000    the same with more images
  millrace version                     what to put into a bug report

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


class _Parser(argparse.ArgumentParser):
    """The top parser, whose help is written by hand: it is the first thing a user sees."""

    def format_help(self) -> str:
        return HELP.format(commands="\n".join(f"  {name:<12} {text}" for name, text in COMMANDS.items()))

    def format_usage(self) -> str:
        return HELP.splitlines()[0] + "\n"


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="millrace")
    parser.add_argument("--version", action="version", version=f"millrace {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=argparse.ArgumentParser)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, description=f"{text[0].upper()}{text[1:]}.")
        if name in words:  # the others are not imported: help must be quick
            importlib.import_module(f"{__name__}.{name}").add_arguments(command)
    return parser
