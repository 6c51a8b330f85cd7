"""``millrace inspect``: show the contents of a checkpoint without loading it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from millrace._src.core.errors import MillraceError
from millrace._src.core.io.terminal_escape import escape_controls

from .parser import count, fail, no_such_path
from .table import print_table
from .terminal_output import say, say_json

if TYPE_CHECKING:
    from millrace._src.train.checkpoint.inspection import CheckpointItem, Contents

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for files and for the level of detail."""
    parser.epilog = (
        "examples:\n"
        "  millrace inspect net.ckpt            parameters by layer, with their sizes\n"
        "  millrace inspect net.ckpt --all      every entry by name\n"
        "  millrace inspect net.pth --json      for machines\n"
        "\nReads .ckpt, .safetensors, .pth and .pt. Optimizer states are not counted as\n"
        "parameters; statistics are moving means and variances.\n"
        "For record files use: millrace record inspect.\n"
        "\nexit status: 0 all files are intact, 1 a file is damaged, 2 failure."
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a checkpoint, or an address such as s3://..."
    )
    parser.add_argument(
        "--depth", type=count, default=2, metavar="N", help="name components that form a layer (default: 2)"
    )
    parser.add_argument("--all", action="store_true", help="show every entry, optimizer states included")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--key", help="key of an encrypted file (default: MILLRACE_CHECKPOINT_KEY)")
    parser.add_argument(
        "--mode",
        default="AES-GCM",
        help="encryption mode, as in save_checkpoint(enc_mode=...) (default: AES-GCM)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Show each file. Exit status: 0 if all are intact."""
    from millrace._src.core.errors import CheckpointError
    from millrace._src.train.checkpoint.inspection import contents_of

    key = arguments.key or os.environ.get("MILLRACE_CHECKPOINT_KEY")
    worst, reports = 0, []
    for file in arguments.files:
        if "://" not in file and not os.path.exists(file):
            return fail("inspect", no_such_path(file))
        try:
            contents = contents_of(file, key.encode() if key else None, arguments.mode)
        except CheckpointError as error:
            worst = 1
            reports.append({"file": file, "ok": False, "error": str(error)})
            if not arguments.json:
                say(f"millrace inspect: {error}", file=sys.stderr)
            continue
        except (MillraceError, OSError) as error:
            return fail("inspect", str(error))
        reports.append(_to_json(contents, arguments))
        if not arguments.json:
            _print_contents(contents, arguments)
    if arguments.json:
        say_json(reports if len(reports) > 1 else reports[0])
    return worst


def _group_by_layer(items: list[CheckpointItem], depth: int) -> dict[str, list[CheckpointItem]]:
    layers: dict[str, list[CheckpointItem]] = {}
    for item in items:
        path = item.name.split(".")[:-1][:depth]
        layers.setdefault(".".join(path) or item.name, []).append(item)
    return layers


def _to_json(contents: Contents, arguments: argparse.Namespace) -> dict[str, Any]:
    parts = ("parameter", "statistic", "optimizer", "extra")
    shown = contents.items if arguments.all else contents.of("parameter")
    return {
        "file": contents.file,
        "ok": True,
        "format": contents.format,
        "bytes": contents.size,
        "parameters": contents.numbers(),
        "counts": {
            part: {
                "entries": len(contents.of(part)),
                "numbers": contents.numbers(part),
                "bytes": sum(item.nbytes for item in contents.of(part)),
            }
            for part in parts
        },
        "layers": {
            layer: sum(item.numbers for item in items)
            for layer, items in _group_by_layer(contents.of("parameter"), arguments.depth).items()
        },
        "entries": [{**item._asdict(), "shape": list(item.shape)} for item in shown],
    }


def _print_contents(contents: Contents, arguments: argparse.Namespace) -> None:
    from millrace._src.train.checkpoint.atomic_file import format_bytes

    say(f"{contents.file}: {contents.format}, {format_bytes(contents.size)}")
    if arguments.all:
        every = [
            (
                i.name,
                i.part,
                i.element_type,
                "x".join(map(str, i.shape)) or "one number",
                format_bytes(i.nbytes),
            )
            for i in contents.items
        ]
        print_table(("name", "part", "type", "shape", "size"), every)
    else:
        layers = _group_by_layer(
            [item for item in contents.items if item.part in ("parameter", "statistic")], arguments.depth
        )
        rows = [
            (
                layer,
                f"{sum(item.numbers for item in items if item.part == 'parameter'):,}",
                ", ".join(sorted({item.element_type for item in items})),
                format_bytes(sum(item.nbytes for item in items)),
            )
            for layer, items in layers.items()
        ]
        print_table(("layer", "parameters", "type", "size"), rows)
    total = contents.numbers()
    say(f"{total:,} parameters in {len(contents.of('parameter'))} tensors, without the optimizer")
    for part, what in (
        ("statistic", "statistics of normalization layers"),
        ("optimizer", "optimizer states"),
    ):
        items = contents.of(part)
        if items:
            size = format_bytes(sum(item.nbytes for item in items))
            say(f"{contents.numbers(part):,} numbers in {len(items)} entries are {what}, {size}")
    extra = contents.of("extra")
    if extra:
        say(f"also: {', '.join(escape_controls(item.name) for item in extra)}")
