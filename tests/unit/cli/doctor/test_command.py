"""millrace doctor as people and scripts call it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from millrace._src.cli.doctor import registry as checks
from millrace._src.cli.doctor.finding import LEVELS, Finding, Machine
from millrace._src.cli.doctor.output import print_findings, summary
from millrace._src.cli.main import main
from tests.unit.cli.terminal import on_terminal

FINDINGS = [
    Finding("problem", "it is broken", "nothing works", "mend it --now [all]", "first"),
    Finding("ok", "fine", check="second"),
    Finding("note", "odd", "could be better", "do this", "third"),
    Finding("warning", "strange", "will hurt", "do that", "a name that is rather long, for one"),
]


def shown(width, terminal):
    console = Console(
        width=width, force_terminal=terminal, highlight=False, soft_wrap=not terminal, color_system=None
    )
    with console.capture() as captured:
        print_findings(console, FINDINGS)
    return captured.get()


def test_plain_lines_with_the_worst_last():
    assert shown(80, False) == (
        "ok       second: fine\n"
        "note     third: odd\n"
        "         could be better\n"
        "         remedy: do this\n"
        "warning  a name that is rather long, for one: strange\n"
        "         will hurt\n"
        "         remedy: do that\n"
        "problem  first: it is broken\n"
        "         nothing works\n"
        "         remedy: mend it --now [all]\n"
        "\n"
        "1 problem, 1 warning, 1 note, 1 ok\n"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_the_terminal(width):
    lines = shown(width, True).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.startswith("✗") and "it is broken" in line for line in lines)
    assert any("→ mend it --now [all]" in line for line in lines)


def test_summary():
    assert summary([Finding("ok", "x")] * 3) == "no problems, 3 ok"
    assert summary([Finding("note", "x")] * 2) == "no problems, 2 notes, 0 ok"


@pytest.fixture
def planted(monkeypatch):
    def plant(level):
        monkeypatch.setattr(checks, "CHECKS", {})
        fake = {"one": lambda machine: [Finding(level, "x", "y", "z")]}
        monkeypatch.setattr(
            "millrace._src.cli.doctor.diagnose", lambda machine: checks.diagnose(machine, fake)
        )

    return plant


@pytest.mark.parametrize(("level", "status"), [("ok", 0), ("note", 0), ("warning", 0), ("problem", 1)])
def test_only_a_problem_is_a_failure(planted, level, status, capsys):
    planted(level)
    assert main(["doctor"]) == status
    assert main(["doctor", "--json"]) == status
    out = capsys.readouterr().out
    found = json.loads(out[out.index("{") :])
    assert found["levels"][level] == 1
    assert found["findings"] == [{"check": "one", "level": level, "found": "x", "means": "y", "remedy": "z"}]


def test_clean_without_leftovers(planted, capsys, tmp_path, monkeypatch):
    planted("ok")
    monkeypatch.chdir(tmp_path)
    real = Machine  # nothing of this machine is cleaned by a test
    monkeypatch.setattr(
        "millrace._src.cli.doctor.Machine",
        lambda folders: real(root=tmp_path, environ={}, temp=tmp_path, folders=folders),
    )
    assert main(["doctor", "--clean", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("nothing to remove\n")


def test_a_folder_must_be_one(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "no/such/folder"])
    assert ended.value.code == 2
    assert "no/such/folder is not a folder" in capsys.readouterr().err


def test_the_whole_command(tmp_path):
    """Nothing faked: every check runs on this machine, and none of them fails."""
    done = subprocess.run(
        [Path(sys.executable).with_name("millrace"), "doctor", "--json"],
        capture_output=True, text=True, timeout=90, cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert list(answer["levels"]) == list(LEVELS)
    assert {finding["check"] for finding in answer["findings"]} >= set(checks.CHECKS) - {"load"}
    assert not [finding for finding in answer["findings"] if "this check failed" in finding["found"]]
    trial = next(finding for finding in answer["findings"] if finding["check"] == "worker processes")
    assert trial["level"] == "ok", trial
    assert list(tmp_path.iterdir()) == []


def test_on_a_terminal(tmp_path):
    status, seen = on_terminal([Path(sys.executable).with_name("millrace"), "doctor"], cwd=tmp_path)
    assert status in (0, 1)
    assert "✓" in seen
    assert "\x1b[32m" in seen
