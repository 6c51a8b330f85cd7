"""docs/reference/cli.md says what the parsers say."""

from millrace._src.cli.main import COMMANDS
from tests.e2e.docs.cli.update_reference import PAGE, page


def test_the_reference_is_in_step():
    assert PAGE.read_text() == page(), "run: python -m tests.e2e.docs.cli.update_reference"


def test_every_command_is_in_it():
    text = PAGE.read_text()
    for name in COMMANDS:
        assert f"## millrace {name}\n" in text
