"""The ``millrace`` command. One file per sub-command: a table here, the rest there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from millrace import __version__

from .exit_status import exit_status
from .parser import Parser

__all__ = ["COMMANDS", "main", "parser_of"]

# name -> one line of help; the module of the same name has add_arguments(parser) and run(arguments).
COMMANDS = {
    "quickstart": "make images, run a pipeline on them, train a net, serve it",
    "bench": "measure how fast your own data loads, and say what holds it back",
    "run": "start a training script in several processes",
    "serve": "answer requests to trained models, over HTTP and gRPC",
    "watch": "show a run in the browser or the terminal, now or afterwards",
    "doctor": "look at this machine, and say what to mend and how",
    "cache": "start, stop and look into the server of the shared cache",
    "record": "inspect, verify, repair, reindex and make MindRecord files",
    "inspect": "count the parameters of a checkpoint, by layer",
    "convert": "turn weights of PyTorch into a checkpoint, and back",
    "version": "show the versions of Millrace, Python and the libraries it uses",
}

HELP = """\
usage: millrace COMMAND [OPTIONS]

Millrace: data, training and serving, with MindSpore's programming interface.

commands:
{commands}

options:
  -h, --help   show this; after a command, its options; --version: the version

examples:
  millrace quickstart           a first pipeline, in less than half a minute
  millrace run -n 4 train.py    a training in four processes
  millrace serve net.mindir     the trained net, behind HTTP
  python -m millrace.as_mindspore script.py     MindSpore's script, as it is
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    command_line = list(sys.argv[1:] if argv is None else argv)
    return exit_status(lambda: _main(command_line))


def _main(command_line: list[str]) -> int:
    parser = _build_parser(command_line)
    arguments = parser.parse_args(command_line)
    if arguments.command is None:
        parser.print_help()
        return 2
    return int(importlib.import_module(f"{__package__}.{arguments.command}").run(arguments))


def parser_of(name: str) -> Parser:
    """The parser of one command, as its help and the reference show it."""
    text = COMMANDS[name]
    parser = Parser(prog=f"millrace {name}", description=f"{text[0].upper()}{text[1:]}.")
    importlib.import_module(f"{__package__}.{name}").add_arguments(parser)
    return parser


class _Top(Parser):
    """The top parser, whose help is written by hand: it is the first thing a user sees."""

    def format_help(self) -> str:
        return HELP.format(commands="\n".join(f"  {name:<12} {text}" for name, text in COMMANDS.items()))


def _build_parser(command_line: list[str]) -> Parser:
    parser = _Top(prog="millrace")
    parser.add_argument("--version", action="version", version=f"millrace {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, description=f"{text[0].upper()}{text[1:]}.")
        if name in command_line:  # the others are not imported: help must be quick
            importlib.import_module(f"{__package__}.{name}").add_arguments(command)
    return parser
