"""``millrace doctor``: check this machine for problems that affect pipelines, training and serving."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from millrace import __version__
from millrace._src.cli.terminal_output import console as new_console
from millrace._src.cli.terminal_output import say_json

from .finding import LEVELS, Finding, Machine, size
from .output import print_findings
from .registry import diagnose
from .stale_files import find, remove

__all__ = ["add_arguments", "run"]

EPILOG = """\
Each finding is ok, a note, a warning or a problem. Notes, warnings and
problems explain their effect and the fix. The exit status is 1 if there is a
problem, otherwise 0. Nothing is changed without --clean.

examples:
  millrace doctor                   run all checks
  millrace doctor --json            print JSON for a script or a bug report
  millrace doctor --clean data/     remove files of killed runs, also in data/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = EPILOG
    parser.add_argument(
        "folders", nargs="*", type=_parse_folder, metavar="FOLDER",
        help="additional folders to search for partial record files",
    )  # fmt: skip
    parser.add_argument("--clean", action="store_true", help="remove files of this user's dead processes")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _parse_folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def _to_json(finding: Finding) -> dict[str, str]:
    """A finding with the keys of the JSON output, which scripts read."""
    return {
        "level": finding.level,
        "found": finding.summary,
        "means": finding.impact,
        "remedy": finding.remedy,
        "check": finding.check,
    }


def run(arguments: argparse.Namespace) -> int:
    """Run every check. Exit status: 0 no problems, 1 problems."""
    machine = Machine(folders=tuple(dict.fromkeys([Path(), *arguments.folders])))
    removed = [one for one in find(machine) if remove(one, machine)] if arguments.clean else []
    console = new_console(highlight=False, soft_wrap=not sys.stdout.isatty())
    if console.is_terminal and not arguments.json:
        with console.status("checking ...", spinner="line"):
            findings = list(diagnose(machine))
    else:
        findings = list(diagnose(machine))
    if arguments.json:
        counts = Counter(finding.level for finding in findings)
        report = {
            "millrace": __version__,
            "levels": {level: counts[level] for level in LEVELS},
            "findings": [_to_json(finding) for finding in findings],
            "removed": [str(one.path) for one in removed],
        }
        say_json(report, indent=2)
    else:
        for one in removed:
            console.print(f"removed {one.path}, {size(one.bytes)}", markup=False)
        if arguments.clean and not removed:
            console.print("nothing to remove")
        if arguments.clean:
            console.print()
        print_findings(console, findings)
    return 1 if any(finding.level == "problem" for finding in findings) else 0
