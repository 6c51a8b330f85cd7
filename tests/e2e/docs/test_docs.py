"""Every Python block of README.md and docs/ runs: one page is one script, in a folder of its own.

The script keeps the line numbers of the page, so a traceback points into the page. It runs as a user's
script would: as `__main__`, without a guard, in a fresh process. What is deprecated is an error; other
warnings are for the reader.

Blocks of other libraries (`py`, with the library as the title) run too where that can be: MindSpore's on
Millrace, through millrace.as_mindspore; PyTorch's where it is importable. The others must at least compile.
"""

import os
import re
import subprocess
import sys

import pytest

from tests.e2e.docs.pages import PAGES, ROOT, name_of, script_of, titles_of

WITH_CODE = [page for page in PAGES if script_of(page.read_text()).strip()]
WITH_PEERS = [page for page in PAGES if titles_of(page.read_text(), "py")]


def peers(title):
    return [page for page in WITH_PEERS if title in titles_of(page.read_text(), "py")]


def run(page, script, folder, *options):
    file = folder / f"page_{page.stem}.py"  # never the name of a module
    file.write_text(script)
    ran = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", *options, file.name],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    said = f"{name_of(page)} (line numbers are the page's)\n{ran.stdout}\n{ran.stderr}"
    assert ran.returncode == 0, said


def test_script_of_keeps_line_numbers_and_drops_other_languages():
    page = "# Title\n```python\na = 1\n```\ntext\n```console\n$ make\n```\n  ```python\n  b = a\n  ```\n"
    assert script_of(page).splitlines() == ["", "", "a = 1", "", "", "", "", "", "", "b = a", ""]


def test_script_of_tells_libraries_apart_by_title():
    page = '```py title="A"\na\n```\n```py title="B"\nb\n```\n```python title="Millrace"\nc\n```\n'
    assert script_of(page, "py", "B").split() == ["b"]
    assert script_of(page).split() == ["c"]
    assert titles_of(page, "py") == {"A", "B"}


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_page_runs(page, tmp_path):
    run(page, script_of(page.read_text()), tmp_path)


@pytest.mark.parametrize("page", peers("MindSpore"), ids=name_of)
def test_mindspore_code_of_a_page_runs_on_millrace(page, tmp_path):
    run(page, script_of(page.read_text(), "py", "MindSpore"), tmp_path, "-m", "millrace.as_mindspore")


@pytest.mark.torch
@pytest.mark.parametrize("page", peers("PyTorch"), ids=name_of)
def test_pytorch_code_of_a_page_runs(page, tmp_path):
    pytest.importorskip("torch")
    run(page, script_of(page.read_text(), "py", "PyTorch"), tmp_path)


@pytest.mark.parametrize("page", WITH_PEERS, ids=name_of)
def test_code_of_other_libraries_says_whose_it_is_and_compiles(page):
    text = page.read_text()
    assert "" not in titles_of(text, "py"), "a `py` block needs a title: the library it belongs to"
    compile(script_of(text, "py"), name_of(page), "exec")


def test_links_between_pages_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith(("http:", "https:", "mailto:")) and not (page.parent / target).exists():
                broken.append(f"{name_of(page)}: {target}")
    assert not broken, "\n".join(broken)


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    docs = [str(page.relative_to(ROOT / "docs")) for page in PAGES if ROOT / "docs" in page.parents]
    assert [page for page in docs if page not in navigation] == []


def test_every_how_to_is_in_its_index():
    folder = ROOT / "docs/how-to"
    listed = (folder / "index.md").read_text()
    assert [page.name for page in sorted(folder.glob("*.md")) if f"({page.name})" not in listed] == [
        "index.md"
    ]


def test_every_page_of_the_tutorial_is_in_its_index_in_order():
    listed = re.findall(
        r"^\d+\. \[.*?\]\((\S+)\)", (ROOT / "docs/tutorial/index.md").read_text(), re.MULTILINE
    )
    navigation = re.findall(r"tutorial/(\S+\.md)", (ROOT / "mkdocs.yml").read_text())
    assert navigation == ["index.md", *listed]
    assert {page.name for page in (ROOT / "docs/tutorial").glob("*.md")} == set(navigation)


def test_the_site_asks_for_no_web_fonts():
    """docs/hooks.py looks for other hosts in what was built; the fonts are switched off by this line alone."""
    assert re.search(r"^  font: false\b", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)


def test_search_works_from_the_file_system():
    """The plugin makes the index a script; what a browser lacks for it there comes from this repository."""
    config = (ROOT / "mkdocs.yml").read_text()
    assert re.search(r"^  - offline\b", config, re.MULTILINE)
    [ours] = re.findall(r"^  polyfills: \[(\S*iframe-worker\S*)\]", config, re.MULTILINE)
    assert (ROOT / "docs" / ours).is_file()


SOURCE = ROOT / "src/millrace/_src"


def packages():
    """Packages of _src by path; of `data` and `runtime` those in them."""
    patterns = ("*/__init__.py", "data/*/__init__.py", "runtime/*/__init__.py")
    found = {str(path.parent.relative_to(SOURCE)) for pattern in patterns for path in SOURCE.glob(pattern)}
    return found - {"data", "runtime"}


def test_architecture_lists_every_package():
    table = (
        (ROOT / "docs/design/architecture.md").read_text().partition("## Packages")[2].partition("\n## ")[0]
    )
    first_cells = {line.split("|")[1].strip(" `") for line in table.splitlines() if line.startswith("| `")}
    assert sorted(packages() - first_cells) == []


def test_map_lists_every_package():
    listed = set(re.findall(r"^\| `([\w/]+)/` \|", (SOURCE / "README.md").read_text(), re.MULTILINE))
    assert sorted(packages() - listed) == []


def test_map_names_files_that_exist():
    table = (SOURCE / "README.md").read_text().partition("## I want to change X")[2]
    missing = []
    for line in table.splitlines():
        if not line.startswith("| ") or line.startswith("| X "):
            continue
        folders = [SOURCE]
        for path in re.findall(r"`([\w/]+(?:/|\.py))`", line.split("|")[2]):
            # a short name is in the folder of a path before it
            place = next((folder / path for folder in folders if (folder / path).exists()), None)
            if place is None:
                missing.append(path)
            else:
                folders.append(place if place.is_dir() else place.parent)
    assert missing == []


def test_every_design_note_is_listed():
    listed = (ROOT / "docs/design/index.md").read_text()
    notes = [path.name for path in (ROOT / "docs/design").glob("[0-9]*.md")]
    assert notes
    assert [name for name in notes if name not in listed] == []
