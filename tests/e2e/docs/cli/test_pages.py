"""The console blocks of the pages about the command: each runs, and prints what the page says.

Numbers count as equal, white space does not count, and a line of three dots stands for any lines.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PAGES = ("doctor.md", "benchmark-your-data.md", "share-a-cache.md")


def blocks(text):
    """(command, lines that it prints) of every console block."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def alike(line):
    """A line without what depends on the machine, and on how much of it others use."""
    return " ".join(
        re.sub(r"\d[\d,.]*", "#", line)
        .replace("kB", "MB")
        .replace("GB", "MB")
        .replace("cores", "core")
        .replace("# ms", "# s")
        .replace(", # complete epochs", "")  # a busy machine may have time for only one
        .split()
    )


def missing(wanted, printed):
    """The first wanted line that is not among the printed ones, in order; None when all are."""
    printed = iter([alike(line) for line in printed])
    for line in wanted:
        if line.strip() not in ("...", "") and alike(line) not in printed:
            return line
    return None


def test_the_comparison_bites():
    printed = ["rate 1,234 MB/s", "", "done"]
    assert missing(["1,280 images in 1.0 s, 20 complete epochs"], ["64 images in 1.3 s"]) is None
    assert missing(["rate 9 GB/s", "...", "done"], printed) is None
    assert missing(["done", "rate 9 GB/s"], printed) == "rate 9 GB/s"
    assert missing(["speed 9 GB/s"], printed) == "speed 9 GB/s"


@pytest.mark.parametrize("name", PAGES)
def test_console_blocks(name, tmp_path, home):
    found = blocks((ROOT / "docs" / "how-to" / name).read_text())
    assert len(found) >= 3
    for command, wanted in found:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path, capture_output=True, text=True, timeout=90,
            env=home.env | {"TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        )  # fmt: skip
        # a machine with a problem is no fault of the page
        assert done.returncode in ((0, 1) if "doctor" in command else (0,)), f"{command}\n{done.stderr}"
        line = missing(wanted, done.stdout.splitlines())
        assert line is None, f"{command} did not print: {line}\n{done.stdout}"
