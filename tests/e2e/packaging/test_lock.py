"""The lock in requirements/ fits pyproject.toml and is complete."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from millrace._src.core.torch_versions import BELOW, OLDEST, status_of

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SETS = {"core": "", "serve": "serve", "dev": "dev", "docs": "docs"}
CUDA = re.compile(r"nvidia-|cuda-|triton$")
LINE = re.compile(
    r"([\w.-]+)==([\w.!]+)(?:; (python_version [^\\]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n"
)


def _load(name):
    spec = importlib.util.spec_from_file_location(f"requirements_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INSTALL = _load("install")


def pins(file: str, python: str = "3.11") -> dict[str, str]:
    """Name -> version of a file of the lock, with the files that it includes."""
    text = (FOLDER / f"{file}.txt").read_text()
    found = {}
    for base in re.findall(r"^-r (\w+)\.txt$", text, re.M):
        found |= pins(base, python)
    for name, version, marker, _ in LINE.findall(text):
        if not marker or f'"{python}"' in marker:
            found[name] = version
    return found


def requirements(extra: str) -> list[Requirement]:
    """The requirements of an extra, with those of the extras that it names."""
    lines = [Requirement(line) for line in PROJECT["dependencies"]]
    for line in PROJECT["optional-dependencies"].get(extra, []):
        requirement = Requirement(line)
        if requirement.name == "millrace":
            lines += [each for inner in requirement.extras for each in requirements(inner)]
        else:
            lines.append(requirement)
    return lines


def applies(requirement: Requirement, python: str, extras: frozenset[str]) -> bool:
    environment = {"python_version": python, "python_full_version": f"{python}.9"}
    marker = requirement.marker
    return marker is None or any(marker.evaluate(environment | {"extra": each}) for each in extras or {""})


def test_every_line_is_a_version_with_hashes_and_no_address() -> None:
    for path in FOLDER.glob("*.txt"):
        text = path.read_text()
        assert "://" not in text
        assert "index" not in text
        rest = re.sub(r"^(#.*|-r \w+\.txt)\n", "", text, flags=re.M)
        if path.stem == "build":  # constraints of a build cannot have hashes
            assert re.fullmatch(r"([\w.-]+==[\w.]+\n)+", rest)
        else:
            assert LINE.sub("", rest) == "", path.name
            assert LINE.search(rest), path.name


@pytest.mark.parametrize("python", INSTALL.PYTHONS)
@pytest.mark.parametrize("file", SETS)
def test_the_lock_satisfies_the_ranges(file: str, python: str) -> None:
    locked = pins(file, python) | pins("torch", python)
    wanted = [each for each in requirements(SETS[file]) if applies(each, python, frozenset())]
    assert len(wanted) > 10
    for requirement in wanted:
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not in {file}.txt; run make lock"
        assert requirement.specifier.contains(version), (
            f"{requirement}, but {version} is locked; run make lock"
        )


@pytest.mark.parametrize("file", ["core", "serve", "dev"])
def test_the_lock_is_complete_and_has_nothing_else(file: str) -> None:
    """Every requirement of a locked package is locked, as far as this environment has the locked release of it."""
    locked = pins(file) | ({} if file == "core" else pins("torch"))
    pending = [(each, frozenset[str]()) for each in requirements(SETS[file])]
    reached: set[str] = set()
    seen = set()
    unknown = False
    while pending:
        requirement, extras = pending.pop()
        name = canonicalize_name(requirement.name)
        if (str(requirement), extras) in seen or not applies(requirement, "3.11", extras):
            continue
        seen.add((str(requirement), extras))
        if CUDA.match(name):
            assert name in pins("cuda")
            continue
        assert name in locked, f"{requirement} is not in {file}.txt; run make lock"
        assert requirement.specifier.contains(locked[name], prereleases=True), (
            str(requirement),
            locked[name],
        )
        reached.add(name)
        try:
            same = importlib.metadata.version(name).partition("+")[0] == locked[name]
        except importlib.metadata.PackageNotFoundError:
            same = False
        if not same:  # an environment of other releases: what the locked one requires is not known here
            unknown = True
            continue
        inner = [Requirement(line) for line in importlib.metadata.requires(name) or []]
        pending += [(each, frozenset({"", *requirement.extras})) for each in inner]
    if not unknown:
        assert reached == set(locked)


def test_the_core_set_is_small() -> None:
    assert {"torch", "ray", "jax", "starlette", "pytest"}.isdisjoint(pins("core"))
    assert len(pins("core")) < 25


def test_cuda_packages_are_locked_for_the_cuda_build_only() -> None:
    assert all(CUDA.match(name) for name in pins("cuda"))
    assert not any(CUDA.match(name) for name in pins("docs"))
    assert "nvidia-cublas" in pins("cuda")
    assert (FOLDER / "torch.txt").read_text().count("--hash") >= len(INSTALL.PYTHONS) + 1  # and the CPU build


def test_the_range_of_pytorch_is_declared_once() -> None:
    (line,) = (each for each in PROJECT["optional-dependencies"]["train"] if each.startswith("torch"))
    assert line == f"torch>={OLDEST},<{BELOW}"
    assert status_of(pins("torch")["torch"]) == "tested"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"python_version_tuple": ("3", "19", "0")}, "not CPython 3.19"),
        ({"python_implementation": "PyPy"}, "not PyPy 3.12"),
        ({"machine": "aarch64"}, "not Linux on aarch64"),
        ({"system": "Darwin"}, "not Darwin on x86_64"),
    ],
)
def test_where_the_lock_does_not_apply(monkeypatch, changes, reason) -> None:
    usual = {
        "python_version_tuple": ("3", "12", "1"), "python_implementation": "CPython", "machine": "x86_64",
        "system": "Linux",
    }  # fmt: skip
    for name, value in (usual | changes).items():
        monkeypatch.setattr(INSTALL.platform, name, lambda value=value: value)
    monkeypatch.delenv("LOCK", raising=False)
    assert INSTALL.no_lock_reason().endswith(reason)
    assert bool(INSTALL.no_lock_reason()) == bool(reason)


@pytest.mark.parametrize(
    ("name", "torch", "files"),
    [
        ("core", [], ["core.txt"]),
        ("serve", ["sympy"], ["serve.txt", "torch.txt"]),
        ("dev", ["nvidia-nccl-cu13==2.29.7"], ["dev.txt", "torch.txt", "cuda.txt"]),
    ],
)
def test_what_is_installed(monkeypatch, name, torch, files) -> None:
    calls = []
    monkeypatch.setattr(
        INSTALL.subprocess, "run", lambda command, **_: calls.append(command[len(INSTALL.PIP) :])
    )
    monkeypatch.setattr(INSTALL.importlib.metadata, "requires", lambda name: torch)
    monkeypatch.setattr(INSTALL, "no_lock_reason", lambda: "")
    assert INSTALL.main([name]) == 0
    locked = ["--no-deps", "--require-hashes", "-r"]
    assert calls == [[*locked, str(FOLDER / file)] for file in files] + [["--no-deps", "-e", "."]]
    calls.clear()
    monkeypatch.setattr(INSTALL, "no_lock_reason", lambda: "LOCK=no")
    assert INSTALL.main([name]) == 0
    assert calls == [["-e", "." if name == "core" else f".[{name}]"]]
