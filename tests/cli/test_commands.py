"""The ``millrace`` command as people call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import millrace
from millrace.cli import COMMANDS, main

MILLRACE = [str(Path(sys.executable).with_name("millrace"))]


def run(*arguments, **options):
    return subprocess.run([*MILLRACE, *arguments], capture_output=True, text=True, timeout=90, **options)


def test_help_is_short_and_aligned(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 25
    assert max(map(len, lines)) <= 100
    starts = {
        line.index(text) for line in lines for name, text in COMMANDS.items() if line.startswith(f"  {name} ")
    }
    assert len(starts) == 1
    assert "examples:" in lines


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: millrace {name}" in capsys.readouterr().out


def test_without_command_shows_help(capsys):
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().out


def test_unknown_command():
    done = run("quikstart")
    assert done.returncode == 2
    assert "invalid choice: 'quikstart' (choose from" in done.stderr


def test_version(capsys):
    assert main(["version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["millrace", millrace.__version__]
    assert {line.split()[0] for line in lines} >= {"python", "system", "cores", "numpy"}


def test_help_imports_no_heavy_library():
    code = "import sys; from millrace.cli import _parser; _parser(['-h']).format_help(); print('cv2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr
