"""The page of MindSpore's questions has all of them, each with a page and a test that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import install

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "questions.md"
NUMBERS = [f"Q{number:02}" for number in range(1, 53)]
# Questions whose behaviour is not whole yet; the list only shrinks.
IN_WORK: set[str] = set()


def rows() -> dict[str, list[str]]:
    cells = [
        re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGE.read_text().splitlines() if line.startswith("| Q")
    ]
    found = {
        row[0].strip(): [cell.strip() for cell in row[1:]]
        for row in cells
        if re.fullmatch(r" Q\d\d ", row[0])
    }
    assert len(found) == sum(bool(re.fullmatch(r" Q\d\d ", row[0])) for row in cells), (
        "a question stands twice"
    )
    return found


def test_every_question_is_there_once() -> None:
    assert list(rows()) == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
def test_a_question_has_an_answer_a_page_and_a_test(number: str) -> None:
    question, answer, page, tests = rows()[number]
    assert question
    assert answer.endswith((".", "`"))
    links = re.findall(r"\]\(([^)#]+)", page)
    assert links
    for link in links:
        # the changelog and CONTRIBUTING stand beside docs/ and are copied into the site
        assert (PAGE.parent / link).exists() or (ROOT / Path(link).name).exists(), link
    names = re.findall(r"`([^`]+)`", tests)
    assert bool(names) != (number in IN_WORK)
    for name in names:
        file, _, function = name.partition("::")
        path = ROOT / (file if "/" in file else f"tests/e2e/faq/{file}")
        assert path.exists(), name
        assert f"def {function}(" in path.read_text() if function else "def test_" in path.read_text(), name
        own = re.search(r"test_q(\d\d)_", file)
        assert own is None or own[1] == number[1:], f"{name} stands in the row of {number}"


def test_every_test_of_a_question_is_named() -> None:
    """Where a file is named after a question, its row names the file."""
    named = " ".join(row[-1] for row in rows().values())
    for path in sorted((ROOT / "tests" / "e2e" / "faq").glob("test_q[0-9][0-9]_*.py")):
        assert f"`{path.name}`" in named, (
            f"{path.name} is not on {PAGE.name}: add it to the row of its question"
        )


def test_the_page_of_installations_has_what_was_measured() -> None:
    """If this fails, run ``python benchmarks/install.py --page``."""
    results = json.loads((ROOT / "benchmarks" / "install.json").read_text())
    page = install.PAGE.read_text()
    assert install.fill(page, results) == page
    named = {name for name in install.extras() if name != "core"}
    assert all(f"`{name}`" in page for name in named), "an extra is not on the page"
