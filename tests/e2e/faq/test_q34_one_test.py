"""Q34: how do I run one unit test? One documented command, which runs that test alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_documented_commands_reach_pytest_as_they_stand() -> None:
    commands = re.findall(
        r'^\$ make test ARGS="([^"]*)"', (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    assert any("::" in arguments for arguments in commands)
    for arguments in commands:
        command = ["make", "-n", "test", f"ARGS={arguments}"]
        shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
        assert re.search(rf"-m pytest .*{re.escape(arguments)}", shown.stdout), shown.stdout
        for word in arguments.split():
            if word.startswith("tests/"):
                path, _, name = word.partition("::")
                assert f"def {name}" in (ROOT / path).read_text()
