"""Write docs/reference/cli.md from the parsers: python -m tests.e2e.docs.cli.update_reference

The text is made from the parsers' own tables and not from their help, whose layout differs between Pythons.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from millrace._src.cli.main import COMMANDS, parser_of

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "cli.md"

HEAD = """\
# The `millrace` command

`millrace` is one command with sub-commands; `python -m millrace` is the same. This page is generated from the
argument parsers by `python -m tests.e2e.docs.cli.update_reference`; a test compares it with them.

Exit status: 0 for success, 1 for a problem that the command found (a damaged file, a problem of the machine), 2 for
invalid arguments or a failed command, 130 for an interrupt.
"""


def sections(parser: argparse.ArgumentParser, level: int) -> list[str]:
    """One command, and its actions below it."""
    lines = [f"{'#' * level} {parser.prog}", "", parser.description or "", ""]
    rows = [row(action) for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if any(rows):
        lines += ["| argument | meaning |", "|---|---|", *filter(None, rows), ""]
    if parser.epilog:
        lines += ["```text", *parser.epilog.strip().splitlines(), "```", ""]
    for action in below:
        for made in action.choices.values():
            lines += sections(made, level + 1)
    return lines


def row(action: argparse.Action) -> str:
    """One line of the table; none for the choice of a sub-command."""
    if isinstance(action, argparse._SubParsersAction):
        return ""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    names = [name if action.nargs == 0 else f"{name} {value}" for name in action.option_strings]
    shown = ", ".join(names) or f"{value}{'...' if action.nargs in ('*', '+') else ''}"
    return f"| `{escaped(shown)}` | {escaped(action.help or '')} |"


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    lines = [*HEAD.splitlines(), ""]
    for name in COMMANDS:
        lines += sections(parser_of(name), 2)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
