"""``millrace version``: show versions for a bug report."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform

from millrace import __version__
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.torch_versions import range_text, status_of

from .terminal_output import say

__all__ = ["add_arguments", "run"]

LIBRARIES = ("numpy", "opencv-python-headless", "simplejpeg", "Pillow", "cloudpickle")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""
    parser.epilog = "example:\n  millrace version    for a bug report; millrace doctor shows more"


def _torch_release() -> str:
    """The version of PyTorch, and whether training and serving were tested with it."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return f"not installed (tested: {range_text()})"
    status = status_of(version)
    relation = "in" if status == "tested" else f"{status} than"
    return f"{version} ({relation} the tested range {range_text()})"


def run(arguments: argparse.Namespace) -> int:
    """Print one line per component."""
    lines = {"millrace": __version__, "python": platform.python_version(), "system": platform.platform()}
    lines["cores"] = str(available_cores())
    for name in LIBRARIES:
        try:
            lines[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            lines[name] = "not installed"
    lines["torch"] = _torch_release()
    width = max(map(len, lines))
    for name, value in lines.items():
        say(f"{name:<{width}}  {value}")
    return 0
