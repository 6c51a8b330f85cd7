"""Where each peer's interpreter is: Millrace runs in this one, the others each in an environment of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["NAMES", "find"]

# In the order of the tables; the name on the left is the package as well.
NAMES = {"millrace": "Millrace", "mindspore": "MindSpore", "torch": "PyTorch"}


def find(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Interpreters that have their peer installed, and for the others the reason why they are left out.

    ``folder``/<peer>/bin/python, or what the environment variable BENCH_PYTHON_<PEER> says.
    """
    found, left_out = {"millrace": sys.executable}, {}
    for peer in NAMES:
        if peer == "millrace":
            continue
        # not resolved: a link is what tells an interpreter to which environment it belongs
        python = os.environ.get(f"BENCH_PYTHON_{peer.upper()}") or str(
            folder.absolute() / peer / "bin" / "python"
        )
        if not os.access(python, os.X_OK):
            left_out[peer] = "its environment was not made (see `make bench`)"
            continue
        program = f"import importlib.metadata as m; m.version({peer!r})"
        probe = subprocess.run([python, "-c", program], capture_output=True, check=False, timeout=60)
        if probe.returncode:
            left_out[peer] = "its environment has no such package: the installation failed"
        else:
            found[peer] = python
    return found, left_out
