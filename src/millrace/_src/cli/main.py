"""The ``millrace`` command. Each sub-command is one module; this is their table."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from millrace import __version__

from .exit_status import exit_status
from .parser import Parser

__all__ = ["COMMANDS", "main", "parser_of"]

# name -> one line of help; the module of this name has add_arguments(parser) and run(arguments).
COMMANDS = {
    "quickstart": "create images, run a pipeline on them, train a model, serve it",
    "bench": "measure how fast your data loads, and find the bottleneck",
    "run": "start a training script in several processes",
    "serve": "serve trained models over HTTP and gRPC",
    "watch": "show a run in the browser or terminal, live or afterwards",
    "doctor": "check this machine for problems and suggest fixes",
    "cache": "start, stop and inspect the shared cache server",
    "record": "inspect, verify, repair, reindex and create MindRecord files",
    "inspect": "count the parameters of a checkpoint, by layer",
    "convert": "convert PyTorch weights to a checkpoint, and back",
    "version": "show the versions of Millrace, Python and the libraries it uses",
}

HELP = """\
usage: millrace COMMAND [OPTIONS]

Millrace: data loading, training and serving with MindSpore's API.

commands:
{commands}

options:
  -h, --help   show this help, or the options of a command
  --version    show the version

examples:
  millrace quickstart           run a first pipeline in less than half a minute
  millrace run -n 4 train.py    train in four processes
  millrace serve net.mindir     serve a trained model over HTTP
  python -m millrace.as_mindspore script.py    run a MindSpore script unchanged
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
    """The parser of one command, for its help and the reference."""
    text = COMMANDS[name]
    parser = Parser(prog=f"millrace {name}", description=f"{text[0].upper()}{text[1:]}.")
    importlib.import_module(f"{__package__}.{name}").add_arguments(parser)
    return parser


class _Top(Parser):
    """The top-level parser with a custom help text."""

    def format_help(self) -> str:
        return HELP.format(commands="\n".join(f"  {name:<12} {text}" for name, text in COMMANDS.items()))


def _build_parser(command_line: list[str]) -> Parser:
    parser = _Top(prog="millrace")
    parser.add_argument("--version", action="version", version=f"millrace {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, description=f"{text[0].upper()}{text[1:]}.")
        if name in command_line:  # other commands are not imported: help must be fast
            importlib.import_module(f"{__package__}.{name}").add_arguments(command)
    return parser
