"""Lists of what is missing, module -> names, in files that may only shrink."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def flat(listed: dict[str, list[str]]) -> set[str]:
    """All names, whatever module they are of."""
    return {name for names in listed.values() for name in names}


def write(path: Path, now: dict[str, list[str]], grow: bool = False) -> None:
    """Write a list, unless it has a name that the file did not have."""
    if path.exists() and not grow:
        before = json.loads(path.read_text())
        lost = [
            f"{module}.{name}"
            for module, names in now.items()
            for name in names
            if name not in before.get(module, ())
        ]
        if lost:
            sys.exit(f"{path.name} may only shrink, and these are gone:\n  " + "\n  ".join(lost))
    lines = [f"  {json.dumps(module)}: {json.dumps(names)}" for module, names in now.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{path.name}: {sum(map(len, now.values()))} names are missing\n")


def compare(path: Path, now: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Names that are missing and not in the file, and names in the file that are not missing."""
    before = json.loads(path.read_text())
    flat = {f"{module}.{name}" for module, names in now.items() for name in names}
    known = {f"{module}.{name}" for module, names in before.items() for name in names}
    return sorted(flat - known), sorted(known - flat)
