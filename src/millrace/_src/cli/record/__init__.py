"""``millrace record``: inspect, verify, repair and create MindRecord files."""

from __future__ import annotations

import argparse
import base64
import glob
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.cli.parser import fail, path_nearby
from millrace._src.cli.table import print_table
from millrace._src.cli.terminal_output import say, say_json
from millrace._src.core.errors import MillraceError
from millrace._src.core.io.terminal_escape import escape_controls
from millrace._src.core.progress_bar import progress
from millrace._src.data.formats.mindrecord import MindRecordReader, set_enc_key, set_enc_mode
from millrace._src.data.formats.mindrecord.encryption import AES, STREAM
from millrace._src.data.formats.mindrecord.file_names import FileExists
from millrace._src.observe.views.formatting import format_count

__all__ = ["add_arguments", "run"]

_SOURCE_FORMATS = ("folder", "mnist", "cifar10", "cifar100", "imagenet", "csv", "tfrecord", "mindrecord")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one sub-command for each action."""
    parser.epilog = (
        "examples:\n"
        "  millrace record inspect train.mindrecord0 --sheet train.png\n"
        "  millrace record verify train.mindrecord0\n"
        "  millrace record repair broken.mindrecord saved.mindrecord\n"
        "  millrace record checksum train.mindrecord0\n"
        "  millrace record convert folder photos/ photos.mindrecord --shards 4\n"
        "\nOne file stands for the set that it belongs to; several files stand for\n"
        "themselves. Addresses such as s3://bucket/x.mindrecord work where fsspec\n"
        "supports them.\n"
        "\nexit status: 0 the set is intact, or all rows were saved; 1 the set is\n"
        "damaged, or rows were lost; 2 failure."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, text: str, files: bool = True) -> argparse.ArgumentParser:
        subparser = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if files:
            subparser.add_argument(
                "files", nargs="+", metavar="FILE", help="a file of the set, or several files"
            )
        subparser.add_argument("--json", action="store_true", help="print JSON")
        subparser.add_argument("--key", help="key of encrypted files (default: MILLRACE_RECORD_KEY)")
        subparser.add_argument(
            "--mode", default=AES, choices=(AES, STREAM), help="encryption mode (default: AES-GCM)"
        )
        return subparser

    inspect = action("inspect", "show schema, rows, shards, sizes and a few rows")
    inspect.add_argument("--rows", type=int, default=3, metavar="N", help="rows to show (default: 3)")
    inspect.add_argument("--sheet", metavar="PNG", help="write the first images as a contact sheet")
    inspect.add_argument(
        "--images", type=int, default=24, metavar="N", help="images on the sheet (default: 24)"
    )
    inspect.add_argument("--column", help="the image column (default: detected)")
    head = action("head", "print the first rows")
    head.add_argument("-n", "--rows", type=int, default=10, metavar="N", help="number of rows (default: 10)")
    check = action("verify", "read every page, decode every row, and report damage")
    check.epilog = "exit status: 0 intact, 1 damaged (or an index or checksum does not match), 2 failure"
    reindex = action("reindex", "rebuild the indexes (.db) that do not match their data files")
    reindex.add_argument("--force", action="store_true", help="rebuild all indexes")
    action("checksum", "write checksum files (.crc) for an intact set, for verify and repair")
    repair = action("repair", "save the intact rows of a damaged set to a new set", files=False)
    repair.epilog = (
        "Rows that cannot be verified are lost. Checksums (.crc) verify the most rows, the index\n"
        "(.db) fewer, the lengths in the file the fewest.\n"
        "exit status: 0 all rows were saved, 1 some rows were lost, 2 nothing was written"
    )
    repair.add_argument("files", nargs="+", metavar="FILE", help="a file of the set, or several files")
    repair.add_argument("target", metavar="TARGET", help="the name of the new set")
    repair.add_argument("--overwrite", action="store_true", help="replace TARGET if it exists")
    make = action("convert", "create MindRecord files from other formats", files=False)
    make.add_argument("kind", choices=_SOURCE_FORMATS, help="format of the source")
    make.add_argument("source", help="a folder or file")
    make.add_argument("target", metavar="TARGET", help="the name of the new set")
    make.add_argument(
        "--shards", type=int, default=1, metavar="N", help="number of files to write (default: 1)"
    )
    make.add_argument("--map-file", help="imagenet: the file with one line 'folder label' per class")
    make.add_argument("--columns", nargs="+", metavar="NAME", help="csv: the columns to convert")
    make.add_argument(
        "--features",
        help='tfrecord: shapes and types as JSON, \'{"label": [[], "int64"]}\' (default: from the first record)',
    )
    make.add_argument(
        "--bytes-fields", nargs="+", metavar="NAME", help="tfrecord: text features that are bytes"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run one action. Exit status: 0 success, 1 damage, 2 failure."""
    key = arguments.key or os.environ.get("MILLRACE_RECORD_KEY")
    try:
        set_enc_key(key)
        set_enc_mode(arguments.mode)
        for name in getattr(arguments, "files", None) or [arguments.source]:
            if "://" not in name and not os.path.exists(name) and not glob.glob(name):
                return _print_failure(arguments, f"{name} is missing{path_nearby(name)}")
        return _ACTIONS[arguments.action](arguments)
    except FileExists as error:
        ways = "remove it, or add --overwrite" if "overwrite" in arguments else "remove it first"
        return _print_failure(arguments, f"{error.context['file']} exists: {ways}")
    except MillraceError as error:
        return _print_failure(arguments, str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        return _print_failure(arguments, f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    finally:
        if key is not None:
            set_enc_key(None)
        set_enc_mode()


def _print_failure(arguments: argparse.Namespace, text: str) -> int:
    if arguments.json:
        say_json({"ok": False, "error": text})
    else:
        fail(f"record {arguments.action}", text)
    return 2


def _file_arguments(arguments: argparse.Namespace) -> Any:
    return arguments.files[0] if len(arguments.files) == 1 else arguments.files


def _print_result(arguments: argparse.Namespace, fields: dict[str, Any], lines: list[str]) -> None:
    if arguments.json:
        say_json(fields)
    else:
        say("\n".join(map(escape_controls, lines)))


# --- inspection ---------------------------------------------------------------------------------------------


def _inspect(arguments: argparse.Namespace) -> int:
    with MindRecordReader(_file_arguments(arguments), check_index=False) as reader:
        description = _describe(reader)
        rows = list(reader.rows(0, min(len(reader), max(0, arguments.rows))))
        if arguments.sheet:
            from .contact_sheet import write_sheet

            description["sheet"] = write_sheet(reader, arguments.sheet, arguments.images, arguments.column)
    if arguments.json:
        say_json(description | {"first_rows": [_row_json(row) for row in rows]})
        return 0
    shards = description["shards"]
    say(
        f"{format_count(description['rows'], 'row')} in {format_count(len(shards), 'file')}, "
        f"version {description['version']}",
        end="",
    )
    say(
        f", {_format_size(description['bytes'])} of rows, {_format_size(description['row_bytes'])} each"
        if description["rows"]
        else ""
    )
    if description["desc"]:
        say(f"description: {escape_controls(str(description['desc']))}")
    say()
    index = set(description["index_fields"])
    print_table(
        ["field", "type", "shape", "index"],
        [
            [n, e["type"], str(e.get("shape", "")), "yes" if n in index else ""]
            for n, e in description["schema"].items()
        ],
    )
    columns = ["shard", "file", "rows", "pages", "on disk", "index"]
    shown = [
        [str(n), s["file"], f"{s['rows']:,}", str(s["pages"]), _format_size(s["disk_bytes"]), s["index"]]
        for n, s in enumerate(shards)
    ]
    print_table(columns, shown)
    if rows:
        print_table(list(rows[0]), [[_shorten_value(value) for value in row.values()] for row in rows])
    if arguments.sheet:
        say(
            f"{description['sheet']['images']} images of column '{description['sheet']['column']}': {arguments.sheet}"
        )
    return 0


def _describe(reader: MindRecordReader) -> dict[str, Any]:
    shards = []
    for shard in reader.shards:
        status = os.stat(str(shard.path)) if shard.is_local else None
        problem = shard.index_problem(reader.cipher) if shard.is_local else None
        shards.append(
            {
                "file": str(shard.path),
                "rows": shard.rows,
                "pages": len(shard.header.pages),
                "file_bytes": shard.size,
                "disk_bytes": status.st_blocks * 512 if status is not None else shard.size,
                "encrypted": shard.encrypted,
                "index": "not checked" if not shard.is_local else problem or "ok",
            }
        )
    header = reader.shards[0].header
    return {
        "rows": len(reader),
        "version": reader.version,
        "desc": header.schema.desc,
        "schema": {field.name: field.as_json() for field in reader.schema.fields},
        "index_fields": reader.index_fields,
        "header_size": header.header_size,
        "page_size": header.page_size,
        "bytes": reader.total_bytes,
        "row_bytes": reader.row_bytes,
        "shards": shards,
    }


def _head(arguments: argparse.Namespace) -> int:
    with MindRecordReader(_file_arguments(arguments), check_index=False) as reader:
        rows = list(reader.rows(0, min(len(reader), max(0, arguments.rows))))
    if arguments.json:
        for row in rows:
            say_json(_row_json(row))
    elif rows:
        print_table(list(rows[0]), [[_shorten_value(value) for value in row.values()] for row in rows])
    return 0


def _row_json(row: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return {"bytes": len(value), "base64": base64.b64encode(value[:64]).decode()}
        if isinstance(value, np.ndarray):
            return {
                "dtype": str(value.dtype),
                "shape": list(value.shape),
                "data": value.ravel()[:64].tolist(),
            }
        return value.item() if isinstance(value, np.generic) else value

    return {name: plain(value) for name, value in row.items()}


def _shorten_value(value: Any, most: int = 40) -> str:
    if isinstance(value, bytes):
        from millrace._src.data.kernels.vision.decode import image_format, image_size

        image_type = image_format(value)
        size = image_size(memoryview(value)) if image_type else None
        image_text = f", {image_type} {size[1]}x{size[0]}" if size else ""
        return f"{_format_size(len(value))}{image_text}" + (
            "" if image_type or len(value) > 12 else f": {value.hex(' ')}".rstrip(": ")
        )
    if isinstance(value, np.ndarray):
        inside = np.array2string(value.ravel()[:4], separator=", ")[1:-1]
        return f"{value.dtype}{list(value.shape)} {inside}{' ...' if value.size > 4 else ''}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def _format_size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"


# --- verification and repair ---------------------------------------------------------------------------------


def _verify(arguments: argparse.Namespace) -> int:
    from millrace._src.data.formats.mindrecord.recovery.verify import verify

    with progress("verifying") as count:
        verification = verify(_file_arguments(arguments), count)
    problems = [*verification.problems, *verification.index_problems]
    report = {
        "ok": verification.ok,
        "files": verification.files,
        "rows": verification.rows,
        "rows_lost": verification.rows_lost,
        "total_known": verification.total_known,
        "checksums": verification.checksums,
        "problems": [vars(problem) for problem in verification.problems],
        "index_problems": [vars(problem) for problem in verification.index_problems],
    }
    lines = [str(problem) for problem in problems]
    if verification.ok:
        sure = " by their checksums" if verification.checksums == len(verification.files) else ""
        lines.append(
            f"ok: {format_count(verification.rows, 'row')} in {format_count(len(verification.files), 'file')}{sure}"
        )
    elif not verification.problems:
        ways = {"checksum" if p.file.endswith(".crc") else "reindex" for p in verification.index_problems}
        commands = " and ".join(f"`millrace record {way}`" for way in sorted(ways, reverse=True))
        what = {"reindex": "the index", "checksum": "the checksums"}
        named = " and ".join(what[way] for way in sorted(ways, reverse=True))
        lines.append(f"the data is intact ({verification.rows:,} rows); {commands} fixes {named}")
    else:
        lost = f"{verification.rows_lost:,} of {verification.rows:,} rows"
        if not verification.total_known:
            lost = f"at least {format_count(verification.rows_lost, 'row')}, the total is unknown"
        lines.append(f"damaged: {lost}; `millrace record repair` saves the rest")
    _print_result(arguments, report, lines)
    return 0 if verification.ok else 1


def _reindex(arguments: argparse.Namespace) -> int:
    from millrace._src.data.formats.mindrecord.recovery.verify import reindex

    done = reindex(_file_arguments(arguments), arguments.force)
    _print_result(
        arguments,
        {"ok": True, "rebuilt": done},
        [f"rebuilt {name}" for name in done] or ["every index matches its file"],
    )
    return 0


def _repair(arguments: argparse.Namespace) -> int:
    from millrace._src.data.formats.mindrecord.recovery.repair import repair

    with progress("saving") as count:
        done = repair(_file_arguments(arguments), arguments.target, arguments.overwrite, count)
    whole = not done.lost and done.total_known
    report = {
        "ok": whole,
        "files": done.files,
        "saved": done.saved,
        "lost": done.lost,
        "total_known": done.total_known,
    }
    lines = [str(problem) for problem in done.problems]
    lost = f"lost {'' if done.total_known else 'at least '}{done.lost:,}"
    lines.append(f"saved {done.saved:,} rows in {', '.join(done.files)}; {lost}")
    _print_result(arguments, report | {"problems": [vars(problem) for problem in done.problems]}, lines)
    return 0 if whole else 1


def _checksum(arguments: argparse.Namespace) -> int:
    from millrace._src.data.formats.mindrecord.recovery.verify import add_checksums

    done = add_checksums(_file_arguments(arguments))
    _print_result(arguments, {"ok": True, "written": done}, [f"wrote {name}" for name in done])
    return 0


# --- conversion ---------------------------------------------------------------------------------------------


def _convert(arguments: argparse.Namespace) -> int:
    from .convert import convert

    files = convert(arguments)
    rows = []
    for file in files:
        with MindRecordReader(file) as reader:
            rows.append(len(reader))
    report = {"ok": True, "sets": [{"file": file, "rows": count} for file, count in zip(files, rows)]}
    _print_result(
        arguments, report, [f"{file}: {format_count(count, 'row')}" for file, count in zip(files, rows)]
    )
    return 0


_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "checksum": _checksum,
    "convert": _convert,
    "head": _head,
    "inspect": _inspect,
    "reindex": _reindex,
    "repair": _repair,
    "verify": _verify,
}
