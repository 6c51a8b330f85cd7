"""Write the list of MindSpore's training names that are still missing: `python -m
tests.contracts.public_api.update_runtime`.

tests/contracts/public_api/runtime_not_yet.json and paths_not_yet.json may only shrink: a name that is gone
stops this script.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.contracts.public_api import update_paths
from tests.contracts.public_api.shrinking import write

HERE = Path(__file__).parent
NOT_YET = HERE / "runtime_not_yet.json"
CLASSES = {
    "class Tensor": "millrace.Tensor",
    "class Parameter": "millrace.Parameter",
    "class ParameterTuple": "millrace.ParameterTuple",
    "class nn.Cell": "millrace.nn.Cell",
    "class train.Model": "millrace.train.Model",
    "class train.Callback": "millrace.train.Callback",
    "class train.RunContext": "millrace.train.RunContext",
}


def listed() -> dict[str, dict[str, Any]]:
    return json.loads((HERE / "runtime_names_2.7.0.json").read_text())


def missing() -> dict[str, list[str]]:
    """What MindSpore has and we do not: module -> names, the most used first."""
    import millrace._src.core.values.tensor

    millrace._src.core.values.tensor.load_runtime()
    found = {}
    for module, names in listed().items():
        path = CLASSES.get(module, "millrace" if module == "mindspore" else f"millrace.{module}")
        ours = find(path)
        left = [name for name in names if ours is None or not hasattr(ours, name)]
        if left:
            found[module] = left
    return found


def find(path: str) -> Any:
    """A module or class of ours, or None where it is still to come."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("millrace"):
            raise
    module, _, name = path.rpartition(".")
    if not module:
        return None
    return getattr(find(module), name, None)


def strike_reasons(now: dict[str, list[str]]) -> None:
    """A name that has come needs no reason why it is left out."""
    path = HERE / "left_out.json"
    still = {f"{module}.{name}" for module, names in now.items() for name in names}
    kept = {name: why for name, why in json.loads(path.read_text()).items() if name in still}
    path.write_text(json.dumps(kept, indent=2) + "\n")


def main() -> None:
    grow = "--allow-growth" in sys.argv
    now = missing()
    write(NOT_YET, now, grow)
    strike_reasons(now)
    update_paths.main(now, grow)


if __name__ == "__main__":
    main()
