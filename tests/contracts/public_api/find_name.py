"""Where MindSpore has a name: ``python -m tests.contracts.public_api.find_name softshrink``.

Prints each public module of MindSpore that has it, its arguments, how many files of the model zoo use it, and whether
Millrace has it there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .declarations import METHODS
from .make_public import by_module

LISTED = Path(__file__).parent / "runtime_names_2.7.0.json"


def main(names: list[str]) -> None:
    """Print one block of lines per name."""
    listed = json.loads(LISTED.read_text())
    known = by_module()
    for name in names:
        sys.stdout.write(f"{name}\n")
        for module, theirs in listed.items():
            path = METHODS if module == "class Tensor" else module
            if name in theirs and not path.startswith("class "):
                entry = theirs[name]
                arguments = entry.get("args") if isinstance(entry, dict) else entry
                files = entry["files"] if isinstance(entry, dict) else "?"
                state = "present" if name in known.get(path, {}) else "missing"
                sys.stdout.write(f"  {path:20} {state:8} {files!s:>4} files  ({arguments})\n")


if __name__ == "__main__":
    main(sys.argv[1:])
