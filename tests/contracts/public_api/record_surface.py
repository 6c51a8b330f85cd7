"""Record the public surface: every public name and MindSpore import path, with parameters and a hash of the docstring.

    python -m tests.contracts.public_api.record_surface

``tests/contracts/public_api/test_recorded_surface.py`` compares with
tests/contracts/public_api/surface.json.gz. Where a definition stands is no part of
it: dotted paths of Millrace's own modules in defaults and docstrings count by their last name.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
import types
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FILE = HERE / "surface.json.gz"

# public modules, and packages whose modules are all public
ALONE = (
    "millrace", "millrace.amp", "millrace.boost", "millrace.communication", "millrace.context", "millrace.hal",
    "millrace.log", "millrace.nn", "millrace.ops", "millrace.parallel", "millrace.profiler", "millrace.runtime",
    "millrace.serve", "millrace.train",
)  # fmt: skip
WHOLE = (
    "millrace.common", "millrace.dataset", "millrace.experimental", "millrace.mindrecord", "millrace.mint",
    "millrace.numpy", "millrace.scipy",
)  # fmt: skip

_MODULE = re.compile(r"\bmillrace(?:\.\w+)*\.(?=\w)")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_COLLECTED = re.compile(r"^(\d+) tests? collected", re.MULTILINE)


def plain(text: str) -> str:
    return _ADDRESS.sub("", _MODULE.sub("", text))


def signature(thing: Any) -> str:
    """Names, kinds and defaults of the parameters; annotations name internal types and are left out."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown = []
    for parameter in parameters:
        default = parameter.default
        text = "" if default is parameter.empty else f"={_default(default)}"
        shown.append(f"{parameter.kind.value}{parameter.name}{text}")
    return plain(", ".join(shown))


def _default(value: Any) -> str:
    return value.__name__ if inspect.isroutine(value) or isinstance(value, type) else repr(value)


def doc(thing: Any) -> str:
    text = getattr(thing, "__doc__", None)
    return hashlib.sha256(plain(text).encode()).hexdigest()[:8] if isinstance(text, str) else ""


def kind(thing: Any) -> str:
    if isinstance(thing, type):
        return "class"
    return "function" if callable(thing) else "module" if isinstance(thing, types.ModuleType) else "value"


class Recorder:
    """Describes each object once; names refer to descriptions by their number."""

    def __init__(self) -> None:
        self.descriptions: dict[str, int] = {}
        self.known: dict[int, tuple[Any, int]] = {}

    def describe(self, thing: Any, inside: bool = False) -> int:
        if inside:
            return self._describe(thing, True)
        if id(thing) not in self.known:
            self.known[id(thing)] = (
                thing,
                self._describe(thing, False),
            )  # kept, so that its id stays its own
        return self.known[id(thing)][1]

    def _describe(self, thing: Any, inside: bool) -> int:
        made: list[Any] = [kind(thing)]
        if made[0] in ("class", "function"):
            made += [signature(thing), doc(thing)]
        elif isinstance(thing, property):
            made += ["property", doc(thing)]
        if made[0] == "class" and not inside and thing.__module__.startswith("millrace"):
            made.append(self.members(thing))
        return self.descriptions.setdefault(json.dumps(made), len(self.descriptions))

    def members(self, cls: type) -> dict[str, int]:
        """Public attributes of a class that Millrace's classes in its order of resolution define."""
        found: dict[str, Any] = {}
        for part in reversed(cls.__mro__):
            if part.__module__.startswith("millrace"):
                found |= {name: value for name, value in vars(part).items() if name[0] != "_"}
        return {name: self.describe(_unwrapped(value), True) for name, value in sorted(found.items())}

    def module(self, module: types.ModuleType, names: list[str]) -> dict[str, int]:
        found = {}
        for name in names:
            try:
                value = getattr(module, name)
            except (AttributeError, ImportError):
                continue
            found[name] = self.describe(value)
        return found


def _unwrapped(value: Any) -> Any:
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def public_modules() -> list[str]:
    found = list(ALONE)
    for name in WHOLE:
        found.append(name)
        package = importlib.import_module(name)
        walked = (info.name for info in pkgutil.walk_packages(package.__path__, f"{name}."))
        found += [each for each in walked if "._" not in each]
    return sorted(found)


def names_of(module: types.ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    return sorted(listed if listed is not None else (name for name in dir(module) if name[0] != "_"))


def record() -> dict[str, Any]:
    """Everything that can be looked at in this process; it loads the stand-in for MindSpore."""
    import millrace._src.compat.as_mindspore.module_map as table
    import millrace.as_mindspore
    from tests.contracts.public_api.update_paths import recorded

    millrace.as_mindspore.install()
    recorder = Recorder()
    ours = {name: importlib.import_module(name) for name in public_modules()}
    made = {name: recorder.module(module, names_of(module)) for name, module in ours.items()}
    theirs = {}
    listed = recorded()
    for path in sorted(path for path, behind in table.MODULE_MAP.items() if behind):
        try:
            module = importlib.import_module(path)
        except ImportError:
            continue
        # the names that MindSpore has there; a stand-in offers more than those
        names = listed.get(path) or [name for name in dir(module) if name[0] != "_"]
        theirs[path] = recorder.module(module, sorted(names))
    return {
        "millrace": made,
        "mindspore": theirs,
        "descriptions": [json.loads(text) for text in recorder.descriptions],
    }


def scripts() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {**project["scripts"], **project.get("gui-scripts", {})}


def runnable() -> list[str]:
    """Public modules that ``python -m`` runs: packages with a ``__main__``."""
    found = (ROOT / "src").rglob("__main__.py")
    return sorted(".".join(path.relative_to(ROOT / "src").parts[:-1]) for path in found)


def shipped() -> list[str]:
    """Files of the wheel that are no Python modules, by name: it holds what lies in src/millrace."""
    files = (path for path in (ROOT / "src" / "millrace").rglob("*") if path.is_file())
    return sorted(path.name for path in files if path.suffix not in (".py", ".pyi", ".pyc"))


def sdist() -> list[str]:
    """What the source archive takes, as the project file lists it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return sorted(project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])


def doctests() -> int:
    """Docstrings with examples that pytest collects."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "src/millrace",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    match = _COLLECTED.search(done.stdout)
    assert match is not None, done.stdout[-2000:] + done.stderr[-2000:]
    return int(match[1])


def load() -> dict[str, Any]:
    return json.loads(gzip.decompress(FILE.read_bytes()))


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["--names"]:
        sys.stdout.write(json.dumps(record()))
        return
    made = record() | {
        "scripts": scripts(),
        "runnable": runnable(),
        "shipped": shipped(),
        "sdist": sdist(),
        "doctests": doctests(),
    }
    FILE.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), 9, mtime=0))
    sys.stdout.write(
        f"{FILE.name}: {sum(map(len, made['millrace'].values()))} names, {made['doctests']} doctests\n"
    )


if __name__ == "__main__":
    main()
