"""Writes src/millrace/_src/runtime/graph/operator_table.py: the operators that the exporter emits, with their schemas.

``python -m tests.unit.runtime.graph.record_operators`` after a change of an operation, a layer or PyTorch's
version; read the difference before you commit it: each new line is an operator that a file from anywhere may call.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import torch

import millrace
from millrace._src.runtime.graph.allowed_operators import denial_reason
from millrace._src.runtime.graph.operator_table import TABLE, TABLE_VERSION
from millrace._src.runtime.tensor.backend.torch_private import operator_overload, schema_text
from tests.unit.runtime.graph.emitted_programs import emitted_names, layers, samples, zoo

PATH = Path(millrace.__file__).parent / "_src" / "runtime" / "graph" / "operator_table.py"
HEAD = '''"""The operators that a stored program may call, with their schemas. Generated: never edit it.

``python -m tests.unit.runtime.graph.record_operators`` writes it from what the exporter emits for the zoo, the
layers and the operations, without what ``operators.DENIED`` names.
"""
# fmt: off
# ruff: noqa: E501

from __future__ import annotations

__all__ = ["TABLE", "TABLE_VERSION"]

'''


def collect() -> dict[str, str]:
    """Name -> schema, of every operator that is emitted and not denied; files may hold those of earlier tables."""
    names: set[str] = set(TABLE)
    for emitter in itertools.chain(zoo(), layers(), samples()):
        names |= emitted_names(emitter) or set()
    table = {}
    for name in sorted(names):
        func = operator_overload(name) if name.startswith("aten::") else None
        if func is not None and denial_reason(name) is None and returns_tensors(schema_text(func)):
            table[name] = schema_text(func).removeprefix(name)
    return table


def quoted(text: str) -> str:
    return json.dumps(text) if '"' not in text else repr(text)


def returns_tensors(schema: str) -> bool:
    returned = schema.rpartition(" -> ")[2]
    return returned == "()" or "Tensor" in returned


def main() -> None:
    torch.set_num_threads(1)
    table = collect()
    version = TABLE_VERSION + (table != TABLE and bool(TABLE))
    lines = [
        HEAD,
        f"TABLE_VERSION = {version}  # counts changes of the table\n\n",
        "TABLE: dict[str, str] = {\n",
    ]
    lines += [f'    "{name}": {quoted(schema)},\n' for name, schema in table.items()]
    PATH.write_text("".join([*lines, "}\n"]))
    print(f"{len(table)} operators, version {version}")


if __name__ == "__main__":
    main()
