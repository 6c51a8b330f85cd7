"""Writes the public faces of the table: ``python -m tests.contracts.public_api.make_faces``.

A face is a file of re-exports: readable, searchable, checked by mypy, quick to import. A test says when one is stale.
``--check`` writes nothing and says which are; ``--who NAME ...`` says where MindSpore has a name and where we do.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import sys
from pathlib import Path

import millrace

ROOT = Path(millrace.__file__).parent

# Face -> its file, what it says of itself, names that come from elsewhere (module -> names), and those that are loaded
# when they are first asked for, since they stand above this room.
FILES: dict[str, tuple[str, str]] = {
    "ops": ("ops/__init__.py", "Operations, as functions and as classes: ``from millrace import ops``."),
    "mint": (
        "mint/__init__.py",
        "Operations with PyTorch's names and arguments: ``from millrace import mint``.",
    ),
    "mint.nn.functional": (
        "mint/nn/functional.py",
        "Functions of neural networks with PyTorch's names and arguments.",
    ),
    "mint.special": ("mint/special/__init__.py", "Special functions with PyTorch's names and arguments."),
    "mint.linalg": ("mint/linalg/__init__.py", "Linear algebra with PyTorch's names and arguments."),
    "numpy": (
        "numpy/__init__.py",
        "Operations with NumPy's names and arguments: ``import millrace.numpy as mnp``.",
    ),
    "scipy.linalg": ("scipy/linalg.py", "Linear algebra with SciPy's names and arguments."),
    "scipy.optimize": (
        "scipy/optimize/__init__.py",
        "Where functions are least, with SciPy's names and arguments.",
    ),
    "mint.optim": ("mint/optim/__init__.py", "Optimizers with PyTorch's arguments and formulas."),
    "experimental.optim": (
        "experimental/optim/__init__.py",
        "Optimizers with PyTorch's arguments: groups of parameters are dicts.",
    ),
    "experimental.optim.lr_scheduler": (
        "experimental/optim/lr_scheduler.py",
        "Schedulers of the learning rates of an optimizer's groups.",
    ),
}
# Public modules that are made from the ``__all__`` of all files in a folder.
FOLDERS = {
    "mint.nn": "_src/runtime/nn/mint",
    "experimental.optim.lr_scheduler": "_src/runtime/optim/lr_scheduler",
}
# Public modules whose definitions lie beside others of the same name.
LISTED: dict[str, dict[str, tuple[str, str]]] = {
    "mint.optim": {
        "Adam": ("millrace._src.runtime.optim.optimizers", "MintAdam"),
        "AdamW": ("millrace._src.runtime.optim.optimizers", "MintAdamW"),
        "SGD": ("millrace._src.runtime.optim.sgd", "MintSGD"),
    },
    "experimental.optim": {
        "ASGD": ("millrace._src.runtime.optim.asgd", "ExperimentalASGD"),
        "Adadelta": ("millrace._src.runtime.optim.adadelta", "ExperimentalAdadelta"),
        "Adagrad": ("millrace._src.runtime.optim.adagrad", "ExperimentalAdagrad"),
        "Adam": ("millrace._src.runtime.optim.optim_adam", "ExperimentalAdam"),
        "AdamW": ("millrace._src.runtime.optim.optim_adam", "ExperimentalAdamW"),
        "Adamax": ("millrace._src.runtime.optim.adamax", "Adamax"),
        "NAdam": ("millrace._src.runtime.optim.nadam", "NAdam"),
        "Optimizer": ("millrace._src.runtime.optim.param_group_optimizer", "ParamGroupOptimizer"),
        "RAdam": ("millrace._src.runtime.optim.radam", "RAdam"),
        "RMSprop": ("millrace._src.runtime.optim.rmsprop", "RMSprop"),
        "Rprop": ("millrace._src.runtime.optim.rprop", "ExperimentalRprop"),
        "SGD": ("millrace._src.runtime.optim.sgd", "ExperimentalSGD"),
    },
}
# Layers of `mint.nn` that MindSpore has in `nn` under these names.
EXT_LAYERS = (
    "AvgPool1dExt",
    "AvgPool2dExt",
    "AvgPool3dExt",
    "DropoutExt",
    "EmbeddingExt",
    "L1LossExt",
    "LayerNormExt",
    "LogSoftmaxExt",
    "MaxPool2dExt",
    "PReLUExt",
)
# Files whose definitions are `millrace.nn`'s, where MindSpore has the name there.
LAYERS = (
    "_src/runtime/nn/**/*.py",
    "_src/runtime/optim/**/*.py",
    "_src/runtime/distributions/**/*.py",
    "_src/compat/unsupported_optimizers.py",
)
METHOD_TABLE = "_src/runtime/ops/declare/tensor_method_table.py"
PARENTS = {
    "mint/nn/__init__.py": "Neural networks with PyTorch's names and arguments.",
    "scipy/__init__.py": "Functions with SciPy's names and arguments.",
    "experimental/__init__.py": "What MindSpore calls experimental.",
}
# Sub-packages that a face hands out as attributes.
CHILDREN = {
    "mint": ("distributed", "linalg", "nn", "optim", "special"),
    "mint.nn": ("functional",),
    "experimental": ("optim",),
    "experimental.optim": ("lr_scheduler",),
    "scipy": ("linalg", "optimize"),
}
METRICS = (
    "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta",
    "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "OcclusionSensitivity", "Perplexity",
    "Precision", "ROC", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy", "auc", "get_metric_fn", "get_metrics", "names", "rearrange_inputs",
)  # fmt: skip
LAZY: dict[str, dict[str, str]] = {
    "ops": {
        "GradOperation": "millrace._src.runtime.autograd.grad_operation",
        "derivative": "millrace._src.runtime.autograd.jvp_vjp",
        "get_grad": "millrace._src.runtime.autograd.jvp_vjp",
        "grad": "millrace._src.runtime.autograd.grad",
        "jacfwd": "millrace._src.runtime.autograd.jacobian",
        "jacrev": "millrace._src.runtime.autograd.jacobian",
        "jet": "millrace._src.runtime.autograd.jvp_vjp",
        "jvp": "millrace._src.runtime.autograd.jvp_vjp",
        "linearize": "millrace._src.runtime.autograd.jvp_vjp",
        "value_and_grad": "millrace._src.runtime.autograd.grad",
        "vjp": "millrace._src.runtime.autograd.jvp_vjp",
        "vmap": "millrace._src.runtime.autograd.vmap",
    },
    "scipy.optimize": {
        "line_search": "millrace._src.runtime.optim.line_search",
        "minimize": "millrace._src.runtime.optim.minimize",
    },
    "nn": {
        **dict.fromkeys(METRICS, "millrace._src.train.metrics.registry"),
        "probability": "millrace.nn.probability",
    },
}
NOTE = (
    "# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: "
    "change that, not this file."
)


def faces() -> dict[str, dict[str, tuple[str, str]]]:
    """Face -> public name -> (module, attribute), of all families."""
    for path in (
        *sorted((ROOT / "_src/runtime/ops").rglob("*.py")),
        ROOT / "_src/compat/op_register_info.py",
        ROOT / "_src/compat/npu_float_status.py",
        ROOT / "_src/compat/unsupported_primitives.py",
    ):
        # the table of methods is one of the files to write and may name what is no longer there
        if path.stem not in ("__init__", "tensor_methods", "tensor_method_table"):
            importlib.import_module(".".join(("millrace", *path.relative_to(ROOT).with_suffix("").parts)))
    return importlib.import_module("millrace._src.runtime.ops.declare.registry").PUBLIC_NAMES


def texts() -> dict[Path, str]:
    """Every generated file and what it should say."""
    known = {**faces(), **LISTED, **{face: layers(folder) for face, folder in FOLDERS.items()}}
    made = {ROOT / name: _face(face, doc, known) for face, (name, doc) in FILES.items() if face in known}
    for name, doc in PARENTS.items():
        if any(path.is_relative_to((ROOT / name).parent) for path in made):
            made[ROOT / name] = _face(name.removesuffix("/__init__.py").replace("/", "."), doc, known)
    made[ROOT / METHOD_TABLE] = _methods(known)
    doc = "Cells: nets and the layers that they are made of: ``from millrace import nn``."
    made[ROOT / "nn/__init__.py"] = _face("nn", doc, {"nn": layers()})
    return made


def layers(folder: str = "nn") -> dict[str, tuple[str, str]]:
    """The names that the files of a folder list in their ``__all__``; for nn those that MindSpore has there."""
    listed = json.loads((Path(__file__).parent / "runtime_names_2.7.0.json").read_text())["nn"]
    elsewhere = {place for names in LISTED.values() for place in names.values()}
    found = {}
    patterns = LAYERS if folder == "nn" else (f"{folder}/**/*.py",)
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        from_mint = folder == "nn" and any(path.is_relative_to(ROOT / other) for other in FOLDERS.values())
        module = ".".join(("millrace", *path.relative_to(ROOT).with_suffix("").parts))
        if path.name == "__init__.py":
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found |= {
                    name: (module, name)
                    for name in ast.literal_eval(node.value)
                    if (
                        name in listed
                        and (module, name) not in elsewhere
                        and (not from_mint or name in (*EXT_LAYERS, "Linear"))
                        if folder == "nn"
                        else name not in EXT_LAYERS
                    )
                }
    return found


def _by_module(names: dict[str, tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for name, (module, attribute) in sorted(names.items()):
        found.setdefault(module, []).append((attribute, name))
    return dict(sorted(found.items()))


def _imports(names: dict[str, tuple[str, str]]) -> list[str]:
    lines = []
    for module, pairs in _by_module(names).items():
        written = [
            a if a == n else f"{a} as {n}" for a, n in sorted(pairs, key=lambda pair: (pair[0], pair[1]))
        ]
        lines.append(f"from {module} import (\n" + "".join(f"    {each},\n" for each in written) + ")")
    return lines


def _face(face: str, doc: str, known: dict[str, dict[str, tuple[str, str]]]) -> str:
    names = dict(known.get(face, {}))
    lazy, children = LAZY.get(face, {}), CHILDREN.get(face, ())
    lines = [f'"""{doc}"""', "", NOTE, "", "from __future__ import annotations", ""]
    if lazy:
        lines += ["from millrace._src.core.lazy import lazy"]
    lines += _imports(names)
    if children:
        lines += ["", f"from . import {', '.join(children)}"]
    listed = sorted({*names, *lazy, *children})
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in listed), "]"]
    if lazy:
        lines += ["", "# These stand above this room.", "__getattr__ = lazy(", "    __name__,", "    {"]
        lines += [f'        "{name}": "{place}",' for name, place in sorted(lazy.items())]
        lines += ["    },", ")"]
    return "\n".join(lines) + "\n"


def _methods(known: dict[str, dict[str, tuple[str, str]]]) -> str:
    names = dict(known.get("Tensor", {}))
    # under the function's own module, since many are called as Python's own
    modules = sorted({module for module, _ in names.values()})
    short = {module: module.rpartition(".")[2] for module in modules}
    assert len(set(short.values())) == len(modules), "two modules of operations with methods have one name"
    lines = [
        '"""The methods that operations give to Tensor."""',
        "",
        NOTE,
        "",
        "from __future__ import annotations",
        "",
    ]
    lines += ["from collections.abc import Callable", "from typing import Any", ""]
    for package in sorted({module.rpartition(".")[0] for module in modules}):
        inside = [short[module] for module in modules if module.rpartition(".")[0] == package]
        lines += [f"from {package} import (", *(f"    {each}," for each in inside), ")"]
    lines += ["", '__all__ = ["METHODS"]', "", "METHODS: dict[str, Callable[..., Any]] = {"]
    lines += [f'    "{name}": {short[module]}.{a},' for name, (module, a) in sorted(names.items())]
    return "\n".join([*lines, "}"]) + "\n"


def _who(names: list[str]) -> None:
    """Where MindSpore has each name, with its arguments, and how many files of the model zoo use it."""
    listed = json.loads((Path(__file__).parent / "runtime_names_2.7.0.json").read_text())
    known = faces()
    for name in names:
        sys.stdout.write(f"{name}\n")
        for face, theirs in listed.items():
            where = "Tensor" if face == "class Tensor" else face
            if name in theirs and not where.startswith("class "):
                entry = theirs[name]
                args = entry.get("args") if isinstance(entry, dict) else entry
                files = entry["files"] if isinstance(entry, dict) else "?"
                here = "here" if name in known.get(where, {}) else "missing"
                sys.stdout.write(f"  {where:20} {here:8} {files!s:>4} files  ({args})\n")


def main(arguments: list[str]) -> int:
    """Write the faces, or say which are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--who", nargs="*", default=[])
    options = parser.parse_args(arguments)
    stale = [path for path, text in texts().items() if not path.exists() or path.read_text() != text]
    if options.who:
        _who(options.who)
        return 0
    for path in stale:
        sys.stdout.write(f"{'stale' if options.check else 'wrote'} {path.relative_to(ROOT)}\n")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts()[path])
    return int(options.check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
