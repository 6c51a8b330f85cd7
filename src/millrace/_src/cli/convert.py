"""``millrace convert``: convert PyTorch weights to a checkpoint and back, with a table of the parameter names."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from typing import Any

from millrace._src.core.errors import ArgumentValueError, MillraceError

from .parser import fail, no_such_path
from .table import print_table
from .terminal_output import say, say_json

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for source, target and name mapping."""
    parser.epilog = (
        "examples:\n"
        "  millrace convert resnet.pth resnet.ckpt\n"
        "  millrace convert bert.safetensors b.ckpt --rule '^bert\\.=' --map names.json\n"
        "  millrace convert vgg.pth vgg.ckpt --net models:vgg16 --order\n"
        "  millrace convert net.ckpt net.safetensors --to torch\n"
        "\nNames are mapped by rule (gamma, beta, moving_mean, embedding_table ...).\nWith "
        "--net the parameter names of the network decide, and shapes are checked.\n"
        "\nexit status: 0 all parameters were mapped, 1 some were not, 2 failure."
    )
    parser.add_argument("source", metavar="SOURCE", help=".pth, .pt, .safetensors or .ckpt")
    parser.add_argument("target", metavar="TARGET", help=".ckpt or .safetensors")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="OLD=NEW|FILE",
        help="an old and a new name, or a JSON file of such pairs",
    )
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="PATTERN=TEXT",
        help="a regular expression and its replacement",
    )
    parser.add_argument("--net", metavar="MODULE:NAME", help="the network, or a function that creates it")
    parser.add_argument("--order", action="store_true", help="match layers by their order; requires --net")
    parser.add_argument(
        "--to",
        choices=("millrace", "torch"),
        default="millrace",
        help="naming convention to write (default: millrace)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Convert. Exit status: 0 all parameters were mapped."""
    from millrace._src.train.checkpoint.weight_conversion import convert_checkpoint

    if "://" not in arguments.source and not os.path.exists(arguments.source):
        return fail("convert", no_such_path(arguments.source))
    try:
        done = convert_checkpoint(
            arguments.source,
            arguments.target,
            net=_load_network(arguments.net),
            name_map=_parse_names(arguments.map),
            rules=dict(_parse_pair(rule, "--rule") for rule in arguments.rule),
            by="order" if arguments.order else "name",
            to=arguments.to,
        )
    except (MillraceError, OSError) as error:
        return fail("convert", str(error))
    # batch counters and optimizer states are skipped on purpose
    meant = ("counts batches", "belongs to")
    lost = [move.source for move in done.moves if not move.target and not move.why.startswith(meant)]
    if arguments.json:
        moves = [{**move._asdict(), "shape": list(move.shape)} for move in done.moves]
        say_json({"ok": not (lost or done.missing), "moves": moves, "missing": done.missing})
    else:
        print_table(("from", "shape", "to", "how"), done.rows())
        moved = sum(1 for move in done.moves if move.target)
        say(
            f"{moved} written to {arguments.target}, {len(lost)} unmatched, {len(done.missing)} of the network missing"
        )
    return 1 if lost or done.missing else 0


def _parse_pair(text: str, option: str) -> tuple[str, str]:
    old, equals, new = text.rpartition("=")
    if not equals:
        raise ArgumentValueError(f"{option} {text!r} is not OLD=NEW")
    return old, new


def _parse_names(values: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for text in values:
        if os.path.isfile(text):
            try:
                with open(text) as file:
                    mapping: Any = json.load(file)
            except ValueError as error:
                raise ArgumentValueError(f"--map {text}: invalid JSON: {error}") from None
            if not isinstance(mapping, dict) or not all(isinstance(value, str) for value in mapping.values()):
                raise ArgumentValueError(f"--map {text}: expected a JSON object from old to new names")
            names |= mapping
        else:
            old, new = _parse_pair(text, "--map")
            names[old] = new
    return names


def _load_network(reference: str | None) -> Any:
    if reference is None:
        return None
    from millrace._src.runtime.nn.cell import Cell

    module, colon, name = reference.partition(":")
    if not colon:
        raise ArgumentValueError(f"--net {reference!r} is not MODULE:NAME")
    sys.path.insert(0, os.getcwd())
    try:
        network = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ArgumentValueError(f"--net {reference}: {error}") from None
    return network if isinstance(network, Cell) else network()
