"""Who may import whom. The rules are data, at the top; docs/design/architecture.md gives the reasons.

Everything is read with `ast`, nothing is imported, and rooms that do not exist yet cost nothing. Imports
inside functions and under TYPE_CHECKING count for our own rooms (they are coupling too); for libraries
TYPE_CHECKING does not count. The name of one of our modules in a string is an import of it, since that is
what tables of lazy names hold; an import whose name is computed may stand in a few listed places only.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "millrace"
MAX_LINES = 500

# Names with MindSpore's import paths: they re-export, and nothing inside may lean on them.
FACES = (
    "amp", "boost", "dataset", "mindrecord", "common", "communication", "debug", "experimental", "mint", "numpy",
    "scipy", "context", "runtime", "hal", "profiler", "log",
)  # fmt: skip

# Packages that are a room and MindSpore's path at once: their __init__ is a face, which may hand out what stands above.
FACE_OF_ROOM = ("ops", "nn", "parallel", "train")

# Packages that hold rooms and nothing else.
WINGS = ("data",)

# Room -> what it may import besides itself. A dotted entry opens that one module or sub-package only. A module belongs
# to the longest name here that it begins with, so that a part of a room may have rules of its own.
ROOMS = {
    "core": (),
    "data.kernels": ("core",),
    "data.transforms": ("core", "data.kernels"),
    "data.samplers": ("core",),
    "data.formats": ("core",),
    # The plan knows what a transform and a sampler are, not which ones there are.
    "data.plan": ("core", "data.transforms.base", "data.samplers.base"),
    # The engine runs the transforms inside the plan's nodes: it knows what a transform is, and names none.
    # What stands directly in it (lower, driver) puts the parts together; the parts see only those before them.
    "data.engine": ("core", "data.plan", "data.transforms.base"),
    "data.engine.transport": ("core",),
    "data.engine.segment": ("core", "data.plan", "data.transforms.base"),
    "data.engine.executors": ("core", "data.engine.transport", "data.engine.budget", "data.engine.ending"),
    "data.engine.stages": (
        "core",
        "data.plan",
        "data.transforms.base",
        "data.engine.segment",
        "data.engine.executors",
        "data.engine.transport",
        "data.engine.budget",
        "data.engine.concurrency",
        "data.engine.ending",
    ),
    # It steers numbers of stages that no row depends on; a run calls it, and nobody else.
    "data.engine.tuning": (
        "core",
        "data.plan",
        "data.engine.stages",
        "data.engine.executors",
        "data.engine.budget",
    ),
    # What is shown and advised of a run: it reads counters and the plan, knows no engine, and nothing leans on it but
    # the fluent layer, which hands it out.
    "data.monitor": ("core", "data.plan"),
    # The fluent layer builds nodes (so: what the plan may see), starts the engine and shows its runs.
    "data.fluent": (
        "core",
        "data.cache",
        "data.plan",
        "data.engine",
        "data.monitor",
        "data.transforms.base",
        "data.transforms.stored",
        "data.samplers.base",
    ),
    "data.sources": ("core", "data.fluent", "data.formats", "data.samplers", "data.kernels"),
    # Cache server and device sink move chunks between processes, and know no pipeline.
    "data.cache": ("core", "data.engine.transport"),
    "sink": ("core", "tensor", "data.engine.transport"),
    # The training wing. It sees batches through the iterator protocol: never the engine.
    "tensor": ("core",),
    "ops": ("core", "tensor"),
    "grad": ("core", "tensor", "ops"),
    "graph": ("core", "tensor", "ops", "grad"),
    "parallel": ("core", "tensor", "ops"),
    "nn": ("core", "tensor", "ops", "grad", "graph", "parallel"),
    "train": ("core", "tensor", "ops", "grad", "graph", "parallel", "nn", "sink"),
    "serve": ("core", "tensor", "ops", "graph", "nn", "train", "data.transforms"),
}

# These stand above all rooms and may import any of them, the faces included.
TOP = ("", "__main__", "cli", "as_mindspore", *WINGS, *FACES)  # "" is millrace/__init__.py

# Library -> the only places that may import it. "leaf" places must go through millrace.core.optional,
# so that the rest of their room works without the library and the error names the extra to install.
LIBRARIES = {
    "numpy": {"rooms": ("",), "leaf": ()},  # everywhere: it is what a value is
    "torch": {
        "rooms": ("tensor", "ops", "grad", "graph", "parallel", "nn", "train", "sink", "serve"),
        "leaf": ("data.fluent.convert",),
    },
    "torchvision": {"rooms": (), "leaf": ("sink.kernels.jpeg",)},
    "jax": {"rooms": (), "leaf": ("data.fluent.convert", "sink.by_hand")},
    "pynvml": {"rooms": (), "leaf": ("tensor.holders",)},
    "ray": {"rooms": (), "leaf": ("core.ray_cluster", "data.engine.executors.ray", "serve.ray")},
    "pyarrow": {"rooms": (), "leaf": ("data.formats",)},
    "cryptography": {"rooms": (), "leaf": ("core.sealed", "core.encrypted_stream")},
    "cv2": {
        "rooms": ("data.kernels.vision", "data.formats.mindrecord.convert.base", "cli.doctor"),
        "leaf": (),
    },
    "simplejpeg": {"rooms": ("data.kernels.vision", "cli.doctor"), "leaf": ()},
    "zlib_ng": {"rooms": ("data.cache.blocks", "data.kernels.vision.png"), "leaf": ()},
    "PIL": {"rooms": ("data.kernels.vision", "cli"), "leaf": ()},
    "av": {"rooms": (), "leaf": ("data.kernels.vision.video", "data.kernels.vision.video_files")},
    "soundfile": {"rooms": (), "leaf": ("data.formats.wav",)},
    "scipy": {"rooms": (), "leaf": ("data.kernels.audio",)},
    "sentencepiece": {"rooms": (), "leaf": ("data.kernels.text",)},
    "regex": {"rooms": (), "leaf": ("data.kernels.text",)},
    "tokenizers": {"rooms": (), "leaf": ("data.kernels.text",)},
    "fsspec": {"rooms": ("core.remote", "core.object_store"), "leaf": ()},
    "obstore": {"rooms": (), "leaf": ("core.object_store",)},
    "safetensors": {"rooms": (), "leaf": ("train.exporting",)},
    "onnx": {"rooms": (), "leaf": ("train.exporting",)},
    "rich": {"rooms": ("cli", "data.monitor", "data.formats.progress"), "leaf": ()},
    "threadpoolctl": {"rooms": ("data.engine.budget", "cli.doctor"), "leaf": ()},
    "cloudpickle": {"rooms": ("data.engine.executors", "cli.bench"), "leaf": ()},
    "google_crc32c": {"rooms": ("core.framed",), "leaf": ()},
    "msgspec": {"rooms": ("data.formats.json_text", "serve"), "leaf": ()},
    "starlette": {"rooms": (), "leaf": ("serve.http",)},
    "uvicorn": {"rooms": (), "leaf": ("serve.server", "serve.http.connection")},
    "grpc": {"rooms": (), "leaf": ("serve.grpc",)},
    "google": {"rooms": (), "leaf": ("serve.grpc.messages",)},  # protobuf
    "prometheus_client": {"rooms": (), "leaf": ("serve.metrics",)},
    "onnxruntime": {"rooms": (), "leaf": ("serve.runners",)},
    "MNN": {"rooms": (), "leaf": ("serve.mnn",)},
    "ml_dtypes": {"rooms": ("core.dtype",), "leaf": ()},
    "mindspore": {"rooms": (), "leaf": ()},  # the peer: tests and benchmarks meet it, the package never
    "random": {"rooms": ("core.rng",), "leaf": ()},  # one home for random numbers
    "numpy.random": {"rooms": ("core.rng",), "leaf": ()},
}
OPTIONAL = "millrace.core.optional"

# Calls that import the module they are given.
IMPORTERS = ("import_module", "__import__", "find_spec", "Lazy", "resolve_name", "run_module", "run_path")
# Those of Python's own, which may not go by another name, for then nobody would see what they import.
NO_ALIAS = ("import_module", "__import__", "resolve_name", "run_module", "run_path")

# Where an import may have a computed name, and why that opens no door.
COMPUTED = {
    "as_mindspore": "stands in for another package; its table is a list of our names",
    "cli": "one module per sub-command, named as the sub-command",
    "cli.doctor": "tries the libraries that it reports on",
    "core.lazy": "the places come from its callers, which are read here",
    "core.optional": "the names come from its callers, which are read here",
    "data.engine.executors.kit": "a worker imports what its user's process had imported",
    "data.engine.executors.modules": "a worker finds the user's modules as others do, or by their file",
    "data.engine.executors.registry": "one module per executor, named as in core.executors",
    "data.engine.segment.mapping": "a transform names the libraries to import before threads start",
    "data.fluent.dataset": "the writer that `sources` put into the table",
    "data.fluent.pipeline_json": "a saved pipeline names its sources",
    "data.transforms.stored": "a saved transform names its module, one of this package",
    "serve.sources": "a user names the function that makes a net",
    "data.kernels.vision.libraries": "the names come from its callers, which are read here",
}

# Code that is text may import anything. Where it is run, and why that opens no door.
RUN_AS_TEXT = {
    "as_mindspore": "runs the user's own script",
    "cli.bench": "runs the user's own script, and the pipeline that it shows",
    "graph.program": "a recorded step, written by that room out of its own operations",
}

# Loading a pickle runs whatever it says. Only where we wrote the bytes ourselves, a moment ago.
UNPICKLERS = {"pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
UNPICKLE = {"load", "loads", "Unpickler", "open"}
MAY_UNPICKLE = ("data.engine.executors", "data.engine.transport")

# Names of PyTorch that begin with an underscore may be used in one file, which has a fall-back for each.
PRIVATE_TORCH = "tensor.private"
# names of operators as files have them; tensor.private resolves them, and a missing one is refused
OPERATOR_TABLE = "graph.operator_table"
# Private members of tensors, operators and modules of PyTorch: seen wherever they stand.
PRIVATE_MEMBERS = {
    "_version", "_is_view", "_base", "_values", "_nnz", "_coalesced_", "_schema", "_op", "_overloadname", "_opname",
    "_backward_hooks", "_typed_storage", "_cdata", "_execution_engine", "_lazy_init", "_is_in_bad_fork",
    "_should_skip_dynamo",
}  # fmt: skip

# Faces hold re-exports. These few make their names from a table that lives inside.
FACES_WITH_CODE = ("dataset.config",)


def room_of(name: str) -> str:
    """The longest room in the table; else the first word of the name, or the first two in a wing."""
    words = name.split(".")
    for end in range(len(words), 0, -1):
        if (room := ".".join(words[:end])) in ROOMS:
            return room
    return ".".join(words[:2] if words[0] in WINGS else words[:1])


@dataclass
class Module:
    """One source file: `name` is dotted and relative to millrace, "" for the package itself."""

    name: str
    tree: ast.Module
    is_package: bool = False
    lines: int = 0
    generated: bool = False  # a list of names that a script writes
    typing_only: set[int] = field(default_factory=set)  # ids of nodes under `if TYPE_CHECKING:`
    docstrings: set[int] = field(default_factory=set)  # ids of constants that are statements

    def __post_init__(self):
        for node in ast.walk(self.tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                self.typing_only |= {id(inner) for part in node.body for inner in ast.walk(part)}
            elif isinstance(node, ast.Expr):
                self.docstrings.add(id(node.value))

    @property
    def room(self) -> str:
        return room_of(self.name)

    def imports(self) -> Iterator[tuple[ast.AST, str, bool]]:
        """Yield (node, absolute dotted target, through the optional-import helper?)."""
        helpers = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node, alias.name, False
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                for alias in node.names:
                    target = f"{base}.{alias.name}"
                    if target.startswith(OPTIONAL):
                        helpers.add(alias.asname or alias.name)
                    yield node, target, False
        for node in ast.walk(self.tree):
            # import_module("x"), __import__("x"), and the helper's calls, whatever it is named.
            if isinstance(node, ast.Call) and (node.args or node.keywords):
                helped = ast.unparse(node.func).partition(".")[0] in helpers
                if helped or _imports(node):
                    target = _first(node)
                    if isinstance(target, ast.Constant) and isinstance(target.value, str):
                        yield node, target.value, helped
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in self.docstrings
                and re.fullmatch(r"millrace(\.\w+)+", node.value)
            ):
                yield node, node.value, False

    def computed_imports(self) -> Iterator[ast.Call]:
        """Yield imports whose name is not written out."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and _imports(node) and not isinstance(_first(node), ast.Constant):
                yield node

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        here = ["millrace", *filter(None, self.name.split("."))]
        base = here if self.is_package else here[:-1]
        base = base[: len(base) - (node.level - 1)]
        return ".".join([*base, *filter(None, [node.module])])


def _imports(call: ast.Call) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] in IMPORTERS


def _first(call: ast.Call) -> ast.expr | None:
    return call.args[0] if call.args else call.keywords[0].value if call.keywords else None


def is_under(name: str, places: tuple[str, ...]) -> bool:
    return any(not place or name == place or name.startswith(place + ".") for place in places)


def is_module(name: str) -> bool:
    """Whether the first part of a dotted name is one of our rooms or faces."""
    return room_of(name) in ROOMS or name.partition(".")[0] in TOP


def own_rooms(module: Module) -> Iterator[str]:
    """Yield imports of our own rooms that the table does not allow."""
    if module.room in TOP or (module.name in FACE_OF_ROOM and module.is_package):
        return
    for node, target, _ in module.imports():
        if not is_under(target, ("millrace",)):
            continue
        inner = target.removeprefix("millrace").removeprefix(".")
        if isinstance(node, ast.Constant) and not is_module(inner):
            continue  # a dotted word that names nothing here, as a logger's
        if module.room not in ROOMS:
            yield f"{module.name}:{node.lineno}: room '{module.room}' is not in the table ROOMS"
        elif not is_under(inner, (module.room, *ROOMS[module.room])):
            yield f"{module.name}:{node.lineno}: '{module.room}' may not import {target}"


def computed(module: Module) -> Iterator[str]:
    """Yield imports with a computed name outside the listed places."""
    for node in module.computed_imports():
        if not is_under(module.name, tuple(COMPUTED)):
            yield f"{module.name}:{node.lineno}: imports a computed name: {ast.unparse(node)}"


def hidden(module: Module) -> Iterator[str]:
    """Yield what could import something that the other rules do not see."""
    called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            named = [alias.name for alias in node.names if alias.asname and alias.name in NO_ALIAS]
        elif isinstance(node, ast.Attribute | ast.Name) and id(node) not in called:
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            named = [name] if name in NO_ALIAS and not is_under(module.name, tuple(COMPUTED)) else []
        else:
            named = []
        for name in named:
            yield f"{module.name}:{node.lineno}: {name} under another name hides what is imported"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("exec", "eval")
            and not is_under(module.name, tuple(RUN_AS_TEXT))
        ):
            yield f"{module.name}:{node.lineno}: runs code that is text: {ast.unparse(node)}"


def libraries(module: Module) -> Iterator[str]:
    """Yield imports of libraries from places that may not have them, and of libraries that are in no table."""
    for node, target, helped in module.imports():
        if id(node) in module.typing_only:
            continue
        top = target.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("millrace", "__main__", *LIBRARIES):
            yield f"{module.name}:{node.lineno}: library {top} is not in the table LIBRARIES"
        for library, places in LIBRARIES.items():
            if is_under(target, (library,)):
                if is_under(module.name, places["rooms"]) or (
                    helped and is_under(module.name, places["leaf"])
                ):
                    continue
                through = f"; go through {OPTIONAL}" if is_under(module.name, places["leaf"]) else ""
                yield f"{module.name}:{node.lineno}: may not import {library}{through}"


def random_state(module: Module) -> Iterator[str]:
    """Yield uses of `np.random` by attribute."""
    places = LIBRARIES["numpy.random"]
    if is_under(module.name, (*places["rooms"], *places["leaf"])):
        return
    numpy = {
        alias.asname or alias.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy"
    }
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "random"
            and isinstance(node.value, ast.Name)
            and node.value.id in numpy
            and id(node) not in module.typing_only
        ):
            yield f"{module.name}:{node.lineno}: uses numpy.random; random numbers come from core/rng.py"


def pickles(module: Module) -> Iterator[str]:
    """Yield calls that load a pickle, by any of their names."""
    if is_under(module.name, MAY_UNPICKLE):
        return
    where = f"only {' and '.join(MAY_UNPICKLE)} may load a pickle"
    aliases = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            aliases |= {a.asname or a.name: a.name for a in node.names if a.name in UNPICKLERS}
        elif isinstance(node, ast.ImportFrom) and node.module in UNPICKLERS:
            for alias in node.names:
                if alias.name in UNPICKLE:
                    yield f"{module.name}:{node.lineno}: imports {node.module}.{alias.name}; {where}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in aliases and node.attr in UNPICKLE:
                yield f"{module.name}:{node.lineno}: uses {aliases[node.value.id]}.{node.attr}; {where}"
        elif (
            isinstance(node, ast.keyword)
            and node.arg == "allow_pickle"
            and ast.unparse(node.value) != "False"
        ):
            yield f"{module.name}:{node.value.lineno}: allow_pickle; {where}"


def private_torch(module: Module) -> Iterator[str]:
    """Yield private names of PyTorch outside the file that has a fall-back for each."""
    if module.name in (PRIVATE_TORCH, OPERATOR_TABLE):
        return
    nodes = list(ast.walk(module.tree))
    aliases = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            aliases |= {a.asname or "torch" for a in node.names if is_under(a.name, ("torch",))}
        elif isinstance(node, ast.ImportFrom) and is_under(node.module or "", ("torch",)) and not node.level:
            aliases |= {a.asname or a.name for a in node.names}
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) in module.docstrings:
            continue
        for name in _torch_names(node, aliases):
            if any(re.match(r"_[a-zA-Z]", part) for part in name.split(".")):
                yield f"{module.name}:{node.lineno}: private name of PyTorch: {name}; it belongs in {PRIVATE_TORCH}"


def _torch_names(node: ast.AST, aliases: set[str]) -> Iterator[str]:
    """Yield what a node names of PyTorch: an import, an attribute, a name for getattr, an operator in a string."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and re.fullmatch(r"(aten::|torch\.)[\w.]+", node.value):
            yield node.value.replace("::", ".")
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if is_under(alias.name, ("torch",)))
    elif isinstance(node, ast.ImportFrom):
        if is_under(node.module or "", ("torch",)) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and aliases:
        if _root(node) in aliases:
            yield ast.unparse(node)
        elif node.attr in PRIVATE_MEMBERS:
            yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("attr"):
        yield from (f"torch.{name}" for name in _names_given(node) if _root(node.args[0]) in aliases)


def _names_given(call: ast.Call) -> list[object]:
    return [argument.value for argument in call.args[1:2] if isinstance(argument, ast.Constant)]


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def faces(module: Module) -> Iterator[str]:
    """Yield classes and functions that are written in a face instead of re-exported."""
    if module.room not in FACES or module.name in FACES_WITH_CODE:
        return
    for node in module.tree.body:
        is_code = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_code and node.name not in ("__getattr__", "__dir__"):
            yield f"{module.name}:{node.lineno}: a public face re-exports; '{node.name}' belongs inside"


def length(module: Module) -> Iterator[str]:
    if module.lines > MAX_LINES and not module.generated:
        yield f"{module.name}: {module.lines} lines, over {MAX_LINES}; is it one idea?"


RULES = (own_rooms, computed, hidden, libraries, random_state, pickles, private_torch, faces, length)


def modules() -> Iterator[Module]:
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if is_package else parts)
        generated = "# Written by `python -m tests.names.make_faces`" in text
        yield Module(name, ast.parse(text, str(path)), is_package, text.count("\n"), generated)


@pytest.fixture(scope="module")
def complaints() -> dict[str, list[str]]:
    """What each rule says: every file is read once for all of them."""
    found: dict[str, list[str]] = {rule.__name__: [] for rule in RULES}
    for module in modules():
        for rule in RULES:
            found[rule.__name__] += rule(module)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule, complaints):
    assert not complaints[rule.__name__], "\n" + "\n".join(complaints[rule.__name__])


def test_no_import_cycle_between_rooms():
    """The table itself must be a layering: no room may reach itself through others."""
    reach = {room: {room_of(entry) for entry in allowed} for room, allowed in ROOMS.items()}
    for _ in ROOMS:
        reach = {room: seen.union(*(reach[other] for other in seen)) for room, seen in reach.items()}
    assert [room for room, seen in reach.items() if room in seen] == []


# Each rule must bite: (module, source, a word of the complaint, or None where the source is fine).
SAMPLES = [
    ("core.args", "from millrace.data.plan import node", "may not import millrace.data.plan"),
    ("core.args", "from ..data.plan import node", "may not import millrace.data.plan"),
    ("core.args", "def f():\n    import millrace.data.engine.driver", "may not import millrace.data.engine"),
    (
        "core.args",
        "import importlib\nimportlib.import_module('millrace.data.fluent')",
        "may not import millrace.data.fluent",
    ),
    ("core.args", "from .errors import ArgumentError", None),
    ("core.args", "from millrace.core.errors import ArgumentError", None),
    ("core.args", "PLACES = {'x': 'millrace.data.fluent.dataset'}", "may not import millrace.data.fluent"),
    ("core.args", "'''millrace.data.fluent'''", None),
    ("core.log", "import logging\nlogging.getLogger('millrace.script')", None),
    ("core.args", "import importlib\nimportlib.import_module(name)", "computed name"),
    ("core.args", "__import__(f'millrace.{room}')", "computed name"),
    ("core.lazy", "import importlib\nimportlib.import_module(name)", None),
    ("core.args", "import pkgutil\npkgutil.resolve_name(f'{name}:f')", "computed name"),
    ("core.args", "from importlib import import_module as load\nload('cv2')", "under another name"),
    ("core.args", "import importlib\nload = importlib.import_module\nload('cv2')", "under another name"),
    ("core.args", "found = list(map(__import__, names))", "under another name"),
    ("core.args", "exec('import cv2')", "runs code that is text"),
    ("core.args", "model.eval()", None),
    ("data.engine.transport.pack", "from millrace.data.engine.segment import runner", "may not import"),
    ("data.engine.segment.runner", "from millrace.data.engine.executors import base", "may not import"),
    ("data.engine.executors.base", "from millrace.data.engine.stages.base import Stage", "may not import"),
    ("data.engine.stages.base", "from millrace.data.engine import driver", "may not import"),
    ("data.engine.lower", "from millrace.data.engine.stages.base import Stage", None),
    ("data.engine.driver", "import cv2", "may not import cv2"),
    ("data.kernels.vision.jpeg", "cv2 = Lazy('cv2')", None),
    ("data.sources.images", "from PIL import Image", "may not import PIL"),
    ("data.fluent.dataset", "import rich", "may not import rich"),
    ("data.sources.files", "import fsspec", "may not import fsspec"),
    ("data.formats.wav", "import soundfile", "go through millrace.core.optional"),
    ("data.formats.wav", "import sounddevice", "not in the table LIBRARIES"),
    ("data.plan.ops", "from millrace.data.transforms.base import Transform", None),
    ("data.plan.ops", "from millrace.data.transforms.generic import OneHot", "may not import"),
    (
        "data.plan.ops",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from millrace.data.engine import driver",
        "may not",
    ),
    ("data.plan.passes.fuse", "from ..node import Node", None),
    ("data.engine.driver", "from millrace.data.samplers import base", "may not import"),
    ("sink.ring", "from millrace.data.engine.transport import shm", None),
    ("sink.ring", "from millrace.data.engine import driver", "may not import"),
    ("train.model", "import millrace.data.engine", "may not import"),
    ("data.fluent.dataset", "import millrace.dataset as ds", "may not import millrace.dataset"),
    (
        "data.monitor.verdict",
        "from millrace.data.engine import driver",
        "may not import millrace.data.engine",
    ),
    (
        "data.engine.driver",
        "from millrace.data.monitor import verdict",
        "may not import millrace.data.monitor",
    ),
    ("data.fluent.dataset", "import millrace", "may not import millrace"),
    ("data.fluent.dataset", "from millrace import __version__", "may not import millrace.__version__"),
    ("shed.tools", "from millrace.core import args", "not in the table"),
    ("cli.quickstart", "import millrace.dataset as ds", None),
    ("as_mindspore", "from millrace import dataset, core", None),
    ("nn.cell", "import torch.nn.functional as F", None),
    ("data.engine.driver", "import torch", "may not import torch"),
    ("data.fluent.convert", "import torch", "go through millrace.core.optional"),
    ("data.fluent.convert", "from millrace.core.optional import require\ntorch = require('torch')", None),
    ("data.fluent.convert", "from millrace.core import optional\ntorch = optional.require('torch')", None),
    (
        "data.fluent.dataset",
        "from millrace.core.optional import require\ntorch = require('torch')",
        "may not import torch",
    ),
    ("data.fluent.dataset", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", None),
    (
        "data.engine.executors.ray",
        "from millrace.core.optional import require\nray = require('ray', extra='ray')",
        None,
    ),
    ("data.engine.executors.threads", "import ray", "may not import ray"),
    ("data.engine.driver", "import mindspore.dataset", "may not import mindspore"),
    ("data.samplers.random", "import random", "may not import random"),
    ("data.samplers.random", "from numpy import random", "may not import numpy.random"),
    ("data.samplers.random", "from numpy.random import default_rng", "may not import numpy.random"),
    ("data.samplers.random", "import numpy as np\nnp.random.seed(1)", "uses numpy.random"),
    ("data.samplers.chain", "from millrace.data.samplers import random", None),
    ("core.rng", "import random\nimport numpy as np\nnp.random.default_rng(1)", None),
    ("data.formats.cifar", "import pickle\npickle.load(open('x', 'rb'))", "may load a pickle"),
    ("data.formats.cifar", "import pickle as p\np.loads(b'')", "may load a pickle"),
    ("data.formats.cifar", "from cloudpickle import loads", "may load a pickle"),
    ("data.formats.cifar", "import numpy as np\nnp.load('x', allow_pickle=True)", "allow_pickle"),
    ("data.formats.cifar", "import pickle\npickle.dumps(1)", None),
    ("data.engine.executors.processes", "import cloudpickle\ncloudpickle.loads(b'')", None),
    ("nn.cell", "import torch\ntorch._C._nn.gelu", "private name of PyTorch: torch._C._nn"),
    ("nn.cell", "import torch as t\nt._foreach_add([], 1)", "private name of PyTorch: t._foreach_add"),
    ("nn.cell", "import torch.nn.functional as F\nF._pad", "private name of PyTorch"),
    ("nn.cell", "from torch.utils._pytree import tree_map", "private name of PyTorch"),
    ("nn.cell", "from torch import _VF", "private name of PyTorch: torch._VF"),
    ("nn.cell", "import torch\ngetattr(torch.cuda, '_lazy_init')()", "private name of PyTorch"),
    ("nn.cell", "import torch\ndef f(x): return x.data._version", "private name of PyTorch"),
    ("graph.passes", "NAMES = {'aten::_unsafe_view'}", "private name of PyTorch: aten._unsafe_view"),
    ("tensor.private", "import torch\ntorch._C._nn.gelu", None),
    ("nn.cell", "import torch\ntorch.__version__\nNAMES = {'aten::add_'}\nself._base", "private name"),
    ("nn.cell", "import torch\ntorch.__version__\nNAMES = {'aten::add_'}\nx._torch", None),
    ("dataset", "def helper():\n    pass", "re-exports"),
    ("dataset", "from millrace.data.fluent.dataset import Dataset\n__all__ = ['Dataset']", None),
    ("core.args", "x = 1\n" * (MAX_LINES + 1), "lines"),
]


@pytest.mark.parametrize(("name", "source", "complaint"), SAMPLES)
def test_rules_bite(name, source, complaint):
    module = Module(name, ast.parse(source), lines=source.count("\n"))
    found = [line for rule in RULES for line in rule(module)]
    if complaint is None:
        assert found == []
    else:
        assert any(complaint in line for line in found), found
