"""Install the project and one of its sets of packages into the environment that runs this.

    python requirements/install.py core|serve|dev|docs

Versions and hashes come from the lock next to this file. Without a lock for this Python and machine, or with LOCK=no
in the environment, pip takes the newest releases that pyproject.toml allows.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

# What the lock was resolved for.
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEM, MACHINE = "Linux", "x86_64"

HERE = Path(__file__).resolve().parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "install"]


def main(arguments: list[str]) -> int:
    sets = {"core": ".", "serve": ".[serve]", "dev": ".[dev]", "docs": ".[dev,docs]"}
    if len(arguments) != 1 or arguments[0] not in sets:
        sys.stderr.write(f"install.py: expected one of {', '.join(sets)}, got {arguments}.\n")
        return 2
    (name,) = arguments
    reason = no_lock_reason()
    try:
        if reason:
            sys.stdout.write(f"{reason}: installing the newest releases that pyproject.toml allows ...\n")
            sys.stdout.flush()
            _pip("-e", sets[name])
        else:
            _install_locked(name)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def no_lock_reason() -> str:
    """Why the lock does not apply here; "" where it does."""
    python = ".".join(platform.python_version_tuple()[:2])
    if os.environ.get("LOCK") == "no":
        return "LOCK=no"
    if platform.python_implementation() != "CPython" or python not in PYTHONS:
        return f"the lock covers Python {', '.join(PYTHONS)}, not {platform.python_implementation()} {python}"
    if (platform.system(), platform.machine()) != (SYSTEM, MACHINE):
        return f"the lock covers {SYSTEM} on {MACHINE}, not {platform.system()} on {platform.machine()}"
    return ""


def _install_locked(name: str) -> None:
    _locked(f"{name}.txt")
    if name != "core":
        _locked("torch.txt")
        if needs_cuda(importlib.metadata.requires("torch") or []):
            _locked("cuda.txt")
    build = str(HERE / "build.txt")
    # Older releases of pip read the first, newer ones the second for the tools that build the project.
    _pip("--no-deps", "-e", ".", environ={"PIP_CONSTRAINT": build, "PIP_BUILD_CONSTRAINT": build})


def needs_cuda(requirements: list[str]) -> bool:
    """Whether PyTorch is a CUDA build: the CPU build requires no package of CUDA.

    >>> (
    ...     needs_cuda(["sympy>=1.13.3"]),
    ...     needs_cuda(["sympy", "nvidia-cudnn-cu13==9.20.0.48; platform_system == 'Linux'"]),
    ... )
    (False, True)
    """
    return any(line.startswith("nvidia-") for line in requirements)


def _locked(file: str) -> None:
    _pip("--no-deps", "--require-hashes", "-r", str(HERE / file))


def _pip(*arguments: str, environ: dict[str, str] | None = None) -> None:
    subprocess.run([*PIP, *arguments], check=True, cwd=HERE.parent, env=os.environ | (environ or {}))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
