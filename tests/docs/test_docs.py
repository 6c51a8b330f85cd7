"""Every Python block of README.md and docs/ runs: one page is one script, in a folder of its own.

The script keeps the line numbers of the page, so a traceback points into the page. It runs as a user's
script would: as `__main__`, without a guard, in a fresh process. What is deprecated is an error; other
warnings are for the reader.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\S*)")


def script_of(text: str) -> str:
    """Return the page's Python blocks, on the lines they have in the page."""
    lines, inside, python, indent = [], None, False, 0
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence and inside is None:
            inside, python, indent = fence["ticks"], fence["language"] == "python", len(fence["indent"])
            lines.append("")
        elif fence and fence["ticks"].startswith(inside) and not fence["language"]:
            inside = None
            lines.append("")
        else:
            lines.append(line[indent:] if inside and python else "")
    assert inside is None, "a fenced block is not closed"
    return "\n".join(lines) + "\n"


def test_script_of_keeps_line_numbers_and_drops_other_languages():
    page = "# Title\n```python\na = 1\n```\ntext\n```console\n$ make\n```\n  ```python\n  b = a\n  ```\n"
    assert script_of(page).splitlines() == ["", "", "a = 1", "", "", "", "", "", "", "b = a", ""]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if script_of(p.read_text()).strip()], ids=lambda p: str(p.relative_to(ROOT))
)
def test_page_runs(page, tmp_path):
    script = tmp_path / page.with_suffix(".py").name
    script.write_text(script_of(page.read_text()))
    ran = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", script.name],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 0, (
        f"{page.relative_to(ROOT)} (line numbers are the page's)\n{ran.stdout}\n{ran.stderr}"
    )


def test_links_between_pages_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith(("http:", "https:", "mailto:")) and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken, "\n".join(broken)


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    missing = [
        str(p.relative_to(ROOT / "docs"))
        for p in PAGES[1:]
        if str(p.relative_to(ROOT / "docs")) not in navigation
    ]
    assert not missing
