"""Records which public names MindSpore has under each of its module paths. MindSpore's own Python runs it:

    GLOG_v=4 .peers/mindspore/bin/python tests/contracts/public_api/record_paths.py
    tests/contracts/public_api/module_paths_2.7.0.json

A module's public names are its ``__all__``, and classes and functions that are defined there; without an ``__all__``
also what that of another module has. ``PRIVATE`` are modules that no script has business with.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import sys
import types
from pathlib import Path

PRIVATE = re.compile(
    r"mindspore\.(dataset|mindrecord|lib|include|rewrite|run_check|graph|safeguard|ops_generate|multiprocessing)\b"
    r"|mindspore\.(parallel\.cluster|experimental\.(llm|map_parameter|es)|common\.dynamic_shape|common\.jit_trace)"
    r"|mindspore\.(ops\.tensor_method|ops\.vm_impl_registry|ops\.op_info_register|profiler\.\w+)"
    r"|mindspore\.ops\.(auto_generate\.(?!gen_ops_prim|gen_ops_def)|composite\.multitype_ops\.|operations\.manually)"
    r"|mindspore\.scipy\.(ops|utils)|mindspore\.numpy\.utils|mindspore\..*_pb2$|mindspore\..*\.__main__"
    r"|mindspore\.(.*\.)?_(?!checkparam$)"
)
# Generated: thousands of names, of which scripts take those that are public elsewhere.
ONLY_PUBLIC = (
    "mindspore.ops.auto_generate",
    "mindspore.mint.distributed.distributed",
    "mindspore.train.serialization",
)


def walk(name: str, found: dict[str, types.ModuleType]) -> None:
    """Every module that can be imported, but the private ones."""
    if PRIVATE.match(name):
        return
    try:
        module = importlib.import_module(name)
    except Exception as error:
        sys.stderr.write(f"left out {name}: {error}\n")
        return
    found[name] = module
    for each in pkgutil.iter_modules(getattr(module, "__path__", ())):
        walk(f"{name}.{each.name}", found)


def main(target: str) -> None:
    found: dict[str, types.ModuleType] = {}
    walk("mindspore", found)
    listed = {
        name: [each for each in module.__all__ if isinstance(each, str) and hasattr(module, each)]
        for name, module in found.items()
        if hasattr(module, "__all__")
    }
    public = {each for names in listed.values() for each in names}
    for name, module in found.items():
        own = not name.startswith(ONLY_PUBLIC)
        without = name not in listed
        listed.setdefault(name, []).extend(
            each
            for each, value in vars(module).items()
            if each[0] != "_"
            and not isinstance(value, types.ModuleType)
            and ((without and each in public) or (own and getattr(value, "__module__", None) == name))
        )
    lines = [f"  {json.dumps(name)}: {json.dumps(sorted(set(listed[name])))}" for name in sorted(listed)]
    Path(target).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(listed)} modules, {sum(map(len, listed.values()))} names\n")


if __name__ == "__main__":
    main(sys.argv[1])
