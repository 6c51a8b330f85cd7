"""Optional libraries: import them, or raise an error with the command that installs them."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

from .errors import MissingExtra

__all__ = ["install_command", "missing_extra_error", "require"]


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module, or raise an error with the command that installs the extra.

    >>> require("json", extra="none", purpose="nothing").__name__
    'json'
    >>> require("no_such_module", extra="crypto", purpose="reading encrypted files")
    Traceback (most recent call last):
    ...
    millrace.errors.MissingExtra: reading encrypted files needs 'no_such_module', which is not installed: \
pip install 'cryptography>=42'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        text = f"{purpose} needs '{module}', which is not installed: {install_command(extra, module)}"
        raise MissingExtra(text) from error


def missing_extra_error(error: ImportError, extra: str, purpose: str) -> MissingExtra:
    """The error for a library that an import did not find.

    >>> print(missing_extra_error(ModuleNotFoundError("", name="torch"), "none", "computing"))
    computing needs 'torch', which is not installed: pip install 'torch'
    """
    name = error.name or ""
    return MissingExtra(f"{purpose} needs '{name}', which is not installed: {install_command(extra, name)}")


def install_command(extra: str, otherwise: str) -> str:
    """The command that installs the packages of an extra; it lists them, since Millrace is on no package index.

    >>> install_command("s3", otherwise="obstore")
    "pip install 'obstore>=0.8'"
    """
    import importlib.metadata  # slow to load, and wanted only where something is missing

    try:
        listed = importlib.metadata.requires("millrace") or []
    except importlib.metadata.PackageNotFoundError:  # run from its source, not installed
        listed = []
    marked = [re.fullmatch(r"(.+?)\s*;.*\bextra == ['\"](.+?)['\"].*", line) for line in listed]
    packages: list[str] = []
    wanted = [extra]
    for extra_name in wanted:  # an extra may include another
        for match in marked:
            if match is None or match[2] != extra_name:
                continue
            inner = re.fullmatch(r"millrace\[(.+)\]", match[1])
            if inner is None:
                packages.append(match[1])
            else:
                wanted += [name for name in inner[1].split(",") if name not in wanted]
    return "pip install " + " ".join(f"'{package}'" for package in packages or [otherwise])
