"""The blocks of code in a page, as scripts that keep the page's line numbers."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\S*)(?: +title=\"(?P<title>[^\"]*)\")?")


def script_of(text: str, language: str = "python", title: str | None = None) -> str:
    """Return the blocks of one language (and one title) on the lines they have in the page; the rest is empty.

    A ``python`` block is Millrace's and runs. A ``py`` block is another library's; its title says whose.
    """
    lines, inside, wanted, indent = [], None, False, 0
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence and inside is None:
            inside, indent = fence["ticks"], len(fence["indent"])
            wanted = fence["language"] == language and (title is None or fence["title"] == title)
            lines.append("")
        elif fence and fence["ticks"].startswith(inside) and not fence["language"]:
            inside = None
            lines.append("")
        else:
            lines.append(line[indent:] if inside and wanted else "")
    assert inside is None, "a fenced block is not closed"
    return "\n".join(lines) + "\n"


def titles_of(text: str, language: str) -> set[str]:
    """Return the titles of the blocks of one language."""
    found = (FENCE.match(line) for line in text.splitlines())
    return {fence["title"] or "" for fence in found if fence and fence["language"] == language}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))
