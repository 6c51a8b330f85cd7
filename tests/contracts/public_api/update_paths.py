"""Write the list of names that MindSpore has under one of its module paths and we do not; ``update_runtime`` calls it.

tests/contracts/public_api/paths_not_yet.json may only shrink, as runtime_not_yet.json does.
"""

from __future__ import annotations

import importlib
import json
import types
from pathlib import Path

from tests.contracts.public_api.shrinking import flat, write

HERE = Path(__file__).parent
PATHS_NOT_YET = HERE / "paths_not_yet.json"


def recorded() -> dict[str, list[str]]:
    return json.loads((HERE / "module_paths_2.7.0.json").read_text())


def missing_paths(known: set[str]) -> dict[str, list[str]]:
    """Path of MindSpore -> public names there that no module of ours behind it has.

    Names that are known to be missing under their first path (runtime_not_yet.json) are missing everywhere: they are
    not said again.
    """
    from millrace._src.compat.as_mindspore.import_hook import NOTHING, exists, lookup_name
    from millrace._src.compat.as_mindspore.module_map import MODULE_MAP

    modules: dict[str, types.ModuleType | None] = {}
    found = {}
    for path, names in recorded().items():
        behind = MODULE_MAP.get(path, ())
        for each in behind:
            if each not in modules:
                modules[each] = importlib.import_module(each) if exists(each) else None
        here = bool(behind) and modules[behind[0]] is not None
        targets = [module for each in behind if here and (module := modules[each]) is not None]
        left = [
            name
            for name in names
            if name not in known
            and lookup_name(targets, name) is NOTHING
            and not (here and f"{path}.{name}" in MODULE_MAP)
        ]
        if left:
            found[path] = left
    return found


def main(known: dict[str, list[str]], grow: bool = False) -> None:
    write(PATHS_NOT_YET, missing_paths(flat(known)), grow)
