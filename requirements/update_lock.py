"""Write the lock: exact versions and hashes of all that `make quickstart`, `make test` and `make docs` install.

    make newest && make lock            # the newest releases, once they have passed the tests
    make lock LOCK_FROM=.venv           # the versions of another environment

The versions are those of the environment that runs this. What it lacks (the documentation's packages, what a CUDA build
of PyTorch requires, what another Python needs) is the newest release that the requirements allow. Index pages of the
packages give the hashes. Nothing about the index is written.
"""

from __future__ import annotations

import functools
import html
import importlib.metadata
import io
import os
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections import deque
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

from install import MACHINE, PYTHONS, SYSTEM
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

HERE = Path(__file__).resolve().parent
SETTINGS = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]["name"]
# File -> the extra that it installs; each file includes the one before it.
SETS = {"core": "", "serve": "serve", "dev": "dev", "docs": "docs"}
# The release of PyTorch that the lock installs, and the hash of its CPU build for Python 3.11, which is on no common
# index. pip prefers that build ("+cpu") where its settings let it find one.
TORCH = "2.13.0"
TORCH_CPU = "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
# What only a CUDA build of PyTorch requires.
CUDA = re.compile(r"nvidia-|cuda-|triton$")
PLATFORMS = [f"manylinux_2_{minor}_{MACHINE}" for minor in range(34, 4, -1)]
PLATFORMS += [f"{old}_{MACHINE}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
HEADER = "# Written by `make lock`; do not edit.\n"

Pins = dict[str, str]  # name -> version
Row = tuple[str, str, str]  # name, version, marker


class File(NamedTuple):
    """One file of a package on the index."""

    version: Version
    address: str
    digest: str
    tags: frozenset[Tag] | None  # None of a source
    python: str


def main() -> int:
    placed: dict[str, dict[str, Pins]] = {file: {} for file in (*SETS, "torch", "cuda")}
    for python in PYTHONS:
        chosen: Pins = {"torch": TORCH}
        known: set[str] = set()
        for file, extra in SETS.items():
            walk(_project_requirements(extra), python, chosen, with_cuda=False)
            new = set(chosen) - known - {"torch"}
            placed[file][python] = {name: chosen[name] for name in new}
            known |= new
        walk([f"torch=={TORCH}"], python, chosen, with_cuda=True)
        placed["torch"][python] = {"torch": TORCH}
        placed["cuda"][python] = {name: chosen[name] for name in set(chosen) - known - {"torch"}}
    previous = ""
    for file, pins in placed.items():
        _write(file, rows_of(pins), previous if file in SETS else "")
        previous = file
    build: Pins = {}
    walk(SETTINGS["build-system"]["requires"], PYTHONS[0], build, with_cuda=False)
    lines = "".join(f"{name}=={version}\n" for name, version in sorted(build.items()))
    (HERE / "build.txt").write_text(f"{HEADER}# Constraints for building the project itself.\n{lines}")
    total = len({name for pins in placed.values() for each in pins.values() for name in each})
    sys.stdout.write(f"{total} packages locked for Python {', '.join(PYTHONS)}\n")
    return 0


# --- versions ---------------------------------------------------------------------------------------------


def _project_requirements(extra: str) -> list[str]:
    project = SETTINGS["project"]
    requirements = list(project["dependencies"])
    pending = [extra] if extra else []
    while pending:
        for line in project["optional-dependencies"][pending.pop()]:
            if line.startswith(f"{PROJECT}["):
                pending += sorted(Requirement(line).extras)
            else:
                requirements.append(line)
    return requirements


def walk(lines: Iterable[str], python: str, chosen: Pins, with_cuda: bool) -> None:
    """Add to `chosen` what requirements lead to on a Python.

    Direct requirements choose first, and a version, once chosen, stays. One that a later requirement excludes is an
    error: constrain it in pyproject.toml.
    """
    pending = deque((line, frozenset({""})) for line in lines)
    seen = set(pending)
    while pending:
        line, extras = pending.popleft()
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        if not applies(requirement, python, extras) or (CUDA.match(name) and not with_cuda):
            continue
        if name not in chosen:
            chosen[name] = _version_of(name, requirement.specifier, python)
        if not requirement.specifier.contains(chosen[name], prereleases=True):
            raise SystemExit(f"update_lock: expected {requirement}, got {name} {chosen[name]}.")
        for inner in _requirements_of(name, chosen[name], python):
            item = (inner, frozenset({"", *requirement.extras}))
            if item not in seen:
                seen.add(item)
                pending.append(item)


def applies(requirement: Requirement, python: str, extras: Iterable[str]) -> bool:
    """Whether the marker of a requirement holds on a Python."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "platform_system": SYSTEM,
        "platform_machine": MACHINE,
        "sys_platform": SYSTEM.lower(),
        "os_name": "posix",
    }
    marker = requirement.marker
    return marker is None or any(marker.evaluate(environment | {"extra": extra}) for extra in extras)


def _version_of(name: str, specifier: SpecifierSet, python: str) -> str:
    try:
        installed = importlib.metadata.version(name).partition("+")[0]
        if specifier.contains(installed, prereleases=True):
            return installed
    except importlib.metadata.PackageNotFoundError:
        pass
    releases = {file.version for file in _files(name) if _fits(file, python)}
    versions = {version for version in releases if version in specifier and not version.is_prerelease}
    if not versions:
        raise SystemExit(
            f"update_lock: expected a release of {name}{specifier} for Python {python}, got none."
        )
    return str(max(versions))


@functools.cache
def _requirements_of(name: str, version: str, python: str) -> tuple[str, ...]:
    """The requirements that a release declares; PyTorch's are those of the index, whichever build is installed."""
    try:
        if name != "torch" and importlib.metadata.version(name) == version:
            return tuple(importlib.metadata.requires(name) or ())
    except importlib.metadata.PackageNotFoundError:
        pass
    release = Version(version)
    wheel = next((file for file in _files(name) if file.version == release and _fits(file, python)), None)
    if wheel is None:
        raise SystemExit(f"update_lock: expected a wheel of {name} {version} for Python {python}, got none.")
    return tuple(Parser().parsestr(_metadata(wheel.address)).get_all("Requires-Dist") or ())


def _metadata(wheel: str) -> str:
    """The metadata of a wheel: from the file next to it, or from inside where the index has no such file."""
    try:
        return _read(f"{wheel}.metadata").decode()
    except urllib.error.HTTPError:
        archive = zipfile.ZipFile(io.BytesIO(_read(wheel)))
        inside = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(inside).decode()


# --- the package index ------------------------------------------------------------------------------------


@functools.cache
def _index() -> str:
    """The address of the package index that pip uses."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if not configured:
        from pip._internal.models.index import PyPI  # the default has no other name

        configured = PyPI.simple_url
    return os.environ.get("PIP_INDEX_URL", configured).rstrip("/") + "/"


def _read(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"Accept": "text/html, */*;q=0.1"})
    with urllib.request.urlopen(request, timeout=120) as response:
        data: bytes = response.read()
    return data


@functools.cache
def _files(name: str) -> tuple[File, ...]:
    """The files of a package, without those of withdrawn releases."""
    page = urllib.parse.urljoin(_index(), f"{name}/")
    files = []
    for attributes in re.findall(r"<a\s([^>]+)>", _read(page).decode()):
        if "data-yanked" in attributes:
            continue
        link, python = (
            html.unescape(match[1]) if (match := re.search(rf'{key}="([^"]*)"', attributes)) else ""
            for key in ("href", "data-requires-python")
        )
        address, _, digest = urllib.parse.urljoin(page, link).partition("#sha256=")
        base = urllib.parse.unquote(address.rpartition("/")[2])
        try:
            if base.endswith(".whl"):
                _, version, _, tags = parse_wheel_filename(base)
                files.append(File(version, address, digest, tags, python))
            elif base.endswith(".tar.gz"):
                version = Version(base.removesuffix(".tar.gz").rpartition("-")[2])
                files.append(File(version, address, digest, None, python))
        except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
            continue  # names of the time before the standard
    return tuple(files)


@functools.cache
def _tags(python: str) -> frozenset[Tag]:
    number = tuple(int(part) for part in python.split("."))
    fitting = [*cpython_tags(number, platforms=PLATFORMS)]
    fitting += compatible_tags(number, f"cp{number[0]}{number[1]}", PLATFORMS)
    return frozenset(fitting)


def _fits(file: File, python: str) -> bool:
    tags = file.tags is not None and bool(file.tags & _tags(python))
    return tags and (not file.python or SpecifierSet(file.python).contains(f"{python}.9"))


def _hashes(name: str, version: str, pythons: Iterable[str]) -> set[str]:
    """The hashes of the wheels that these Pythons may take; of the source where one of them has no wheel."""
    release = Version(version)
    files = [file for file in _files(name) if file.version == release]
    digests = set()
    for python in pythons:
        wheels = {file.digest for file in files if _fits(file, python)}
        digests |= wheels or {file.digest for file in files if file.tags is None}
    if not digests or "" in digests:
        raise SystemExit(f"update_lock: expected hashes of {name} {version} on its index page, got none.")
    return digests


# --- files ------------------------------------------------------------------------------------------------


def rows_of(pins: dict[str, Pins]) -> list[Row]:
    """Lines of a file; a package that not every Python has in the same version gets a marker."""
    rows = []
    for name in sorted({name for each in pins.values() for name in each}):
        by_version: dict[str, list[str]] = {}
        for python, each in pins.items():
            if name in each:
                by_version.setdefault(each[name], []).append(python)
        for version, pythons in by_version.items():
            marker = " or ".join(f'python_version == "{python}"' for python in pythons)
            rows.append((name, version, "" if len(pythons) == len(pins) else marker))
    return rows


def _write(file: str, rows: list[Row], base: str) -> None:
    lines = [HEADER, f"-r {base}.txt\n" if base else ""]
    for name, version, marker in rows:
        digests = _hashes(name, version, re.findall(r'"([\d.]+)"', marker) or PYTHONS)
        if name == "torch":
            digests |= {TORCH_CPU}
        lines.append(f"{name}=={version}" + (f"; {marker}" if marker else ""))
        lines += [f" \\\n    --hash=sha256:{digest}" for digest in sorted(digests)]
        lines.append("\n")
    (HERE / f"{file}.txt").write_text("".join(lines))


if __name__ == "__main__":
    raise SystemExit(main())
