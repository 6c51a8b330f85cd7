"""Who may import whom. The rules are data, at the top; docs/design/architecture.md gives the reasons.

Everything is read with `ast`, nothing is imported. A module of `millrace._src` goes by its name below `_src`, a public
module by its full name. Imports inside functions and under TYPE_CHECKING count for our own packages (they are
coupling too); for libraries
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

SRC = Path(__file__).parents[3] / "src" / "millrace"
MAX_LINES = 500

# Records that the parts of the engine pass to each other.
ENGINE_RECORDS = ("data.engine.batch_info", "data.engine.failed_rows")

# Package of millrace._src -> what it may import besides itself. A dotted entry opens that one module or sub-package.
# A module belongs to the longest name here that it begins with, so that a part of a package may have rules of its own.
PACKAGES = {
    "core": (),
    "data.kernels": ("core",),
    "data.transforms": ("core", "data.kernels"),
    "data.samplers": ("core",),
    "data.formats": ("core",),
    # The plan knows what a transform and a sampler are, not which ones there are.
    "data.plan": ("core", "data.transforms.base", "data.samplers.base"),
    # The engine runs the transforms inside the plan's nodes: it knows what a transform is, and names none.
    # What stands directly in it (lowering, pipeline_run) puts the parts together; the parts see only those before them.
    "data.engine": ("core", "data.plan", "data.transforms.base"),
    "data.engine.transport": ("core",),
    "data.engine.segment": ("core", "data.plan", "data.transforms.base", *ENGINE_RECORDS),
    "data.engine.executors": (
        "core",
        "data.engine.transport",
        "data.engine.thread_limits",
        "data.engine.shutdown",
        *ENGINE_RECORDS,
    ),
    "data.engine.stages": (
        "core",
        "data.plan",
        "data.transforms.base",
        "data.engine.segment",
        "data.engine.executors",
        "data.engine.transport",
        "data.engine.thread_limits",
        "data.engine.adaptive_concurrency",
        "data.engine.shutdown",
        *ENGINE_RECORDS,
    ),
    # It tunes numbers of stages that no row depends on; only a run calls it.
    "data.engine.autotune": (
        "core",
        "data.plan",
        "data.engine.stages",
        "data.engine.executors",
        "data.engine.thread_limits",
    ),
    # The pipeline builds nodes (so: what the plan may see), starts the engine and shows its runs.
    "data.pipeline": (
        "core",
        "data.cache",
        "data.plan",
        "data.engine",
        "observe",
        "data.transforms.base",
        "data.transforms.serialization",
        "data.samplers.base",
    ),
    "data.sources": ("core", "data.pipeline", "data.formats", "data.samplers", "data.kernels"),
    # The cache server moves chunks between processes and knows no pipeline.
    "data.cache": ("core", "data.engine.transport"),
    # Reports read counters and the plan; they know no engine and no training loop.
    "observe": ("core", "data.plan"),
    # The runtime sees batches through the iterator protocol, never the engine.
    "runtime.distributed.parallel_context": ("core",),
    "runtime.tensor": ("core", "runtime.distributed.parallel_context"),
    "runtime.distributed.group_registry": ("core",),
    "runtime.ops": (
        "core",
        "runtime.tensor",
        "runtime.distributed.parallel_context",
        "runtime.distributed.group_registry",
    ),
    # Collectives compute with the operations; operations find process groups in the registry alone.
    "runtime.distributed": ("core", "runtime.tensor", "runtime.ops"),
    "runtime.autograd": ("core", "runtime.tensor", "runtime.ops"),
    "runtime.graph": ("core", "runtime.tensor", "runtime.ops", "runtime.autograd"),
    "runtime.nn": (
        "core",
        "runtime.tensor",
        "runtime.distributed",
        "runtime.ops",
        "runtime.autograd",
        "runtime.graph",
    ),
    "runtime.optim": (
        "core",
        "runtime.tensor",
        "runtime.distributed",
        "runtime.ops",
        "runtime.autograd",
        "runtime.nn",
    ),
    "runtime.distributions": ("core", "runtime.tensor", "runtime.ops", "runtime.nn"),
    "transfer": ("core", "runtime.tensor", "observe"),
    "train": (
        "core",
        "runtime.tensor",
        "runtime.distributed",
        "runtime.ops",
        "runtime.autograd",
        "runtime.graph",
        "runtime.nn",
        "runtime.optim",
        "transfer",
        "observe",
    ),
    # setup at `import millrace`: hooks that load PyTorch when it is first needed
    "startup": ("core", "runtime.ops", "transfer"),
    "parallel": ("core", "runtime.tensor", "runtime.distributed", "runtime.ops", "train"),
    "serve": (
        "core",
        "runtime.tensor",
        "runtime.ops",
        "runtime.graph",
        "runtime.nn",
        "train",
        "data.transforms",
    ),
}

# These stand above all packages and may import any of them, the public modules included. Nothing imports them.
TOP = ("cli", "compat")

# Public modules (everything outside _src) re-export. These few make their names from a table that lives inside.
PUBLIC_WITH_CODE = ("millrace", "millrace.dataset.config")

# Library -> the only places that may import it. "leaf" places must go through millrace._src.core.optional,
# so that the rest of their package works without the library and the error names the extra to install.
LIBRARIES = {
    "numpy": {"packages": ("",), "leaf": ()},  # everywhere: it is what a value is
    "torch": {
        "packages": ("runtime", "parallel", "train", "transfer", "serve", "compat.boost"),
        "leaf": ("data.pipeline.output_conversion",),
    },
    "torchvision": {"packages": (), "leaf": ("transfer.kernels.nvjpeg",)},
    "jax": {"packages": (), "leaf": ("data.pipeline.output_conversion", "transfer.device_queue")},
    "pynvml": {"packages": (), "leaf": ("runtime.tensor.backend.gpu_processes",)},
    "ray": {"packages": (), "leaf": ("core.machine.ray_cluster", "data.engine.executors.ray", "serve.ray")},
    "pyarrow": {"packages": (), "leaf": ("data.formats",)},
    "cryptography": {"packages": (), "leaf": ("core.io.encryption", "core.io.encrypted_stream")},
    "cv2": {
        "packages": ("data.kernels.vision", "data.formats.mindrecord.convert.base", "cli.doctor"),
        "leaf": (),
    },
    "simplejpeg": {"packages": ("data.kernels.vision", "cli.doctor"), "leaf": ()},
    "zlib_ng": {"packages": ("data.cache.row_group", "data.kernels.vision.png_region"), "leaf": ()},
    "PIL": {"packages": ("data.kernels.vision", "cli"), "leaf": ()},
    "av": {"packages": (), "leaf": ("data.kernels.vision.video_decode", "data.kernels.vision.video_io")},
    "soundfile": {"packages": (), "leaf": ("data.formats.audio_files",)},
    "scipy": {"packages": (), "leaf": ("data.kernels.audio",)},
    "sentencepiece": {"packages": (), "leaf": ("data.kernels.text",)},
    "regex": {"packages": (), "leaf": ("data.kernels.text",)},
    "tokenizers": {"packages": (), "leaf": ("data.kernels.text",)},
    "fsspec": {"packages": ("core.io.remote", "core.io.object_store"), "leaf": ()},
    "obstore": {"packages": (), "leaf": ("core.io.object_store",)},
    "safetensors": {"packages": (), "leaf": ("train.export.archive",)},
    "onnx": {"packages": (), "leaf": ("train.export.archive",)},
    "rich": {"packages": ("cli", "observe", "core.progress_bar", "core.meter"), "leaf": ()},
    "threadpoolctl": {"packages": ("data.engine.thread_limits", "cli.doctor"), "leaf": ()},
    "cloudpickle": {"packages": ("data.engine.executors", "cli.bench"), "leaf": ()},
    "google_crc32c": {"packages": ("core.io.framing",), "leaf": ()},
    "msgspec": {"packages": ("data.formats.json_decoder", "serve"), "leaf": ()},
    "starlette": {"packages": (), "leaf": ("serve.http", "serve.protocols.open_inference_http")},
    "uvicorn": {"packages": (), "leaf": ("serve.server", "serve.http.connection_limits")},
    "grpc": {"packages": (), "leaf": ("serve.grpc",)},
    "google": {"packages": (), "leaf": ("serve.protobuf_messages",)},  # protobuf
    "prometheus_client": {"packages": (), "leaf": ("serve.metrics",)},
    "onnxruntime": {"packages": (), "leaf": ("serve.runners.runner",)},
    "MNN": {"packages": (), "leaf": ("serve.runners.mnn",)},
    "ml_dtypes": {"packages": ("core.values.dtype",), "leaf": ()},
    "mindspore": {"packages": (), "leaf": ()},  # the peer: tests and benchmarks meet it, the package never
    "random": {"packages": ("core.random.rng",), "leaf": ()},  # one home for random numbers
    "numpy.random": {"packages": ("core.random.rng",), "leaf": ()},
}
OPTIONAL = "millrace._src.core.optional"

# Calls that import the module they are given.
IMPORTERS = ("import_module", "__import__", "find_spec", "Lazy", "resolve_name", "run_module", "run_path")
# Those of Python's own, which may not go by another name, for then nobody would see what they import.
NO_ALIAS = ("import_module", "__import__", "resolve_name", "run_module", "run_path")

# Where an import may have a computed name, and why that opens no door.
COMPUTED = {
    "compat.as_mindspore": "stands in for another package; its table is a list of our names",
    "cli": "one module per sub-command, named as the sub-command",
    "cli.doctor": "tries the libraries that it reports on",
    "core.lazy": "the names come from the generated public modules, which are read here",
    "core.public": "the public module of a declaration",
    "core.modules_0_2_0": "the names come from the frozen table beside it",
    "core.optional": "the names come from its callers, which are read here",
    "data.engine.executors.worker_pool.worker_setup": "a worker imports what its user's process had imported",
    "data.engine.executors.worker_pool.module_state": "a worker finds the user's modules",
    "data.engine.executors.registry": "one module per executor, named as in core.executors",
    "data.engine.segment.map_step": "a transform names the libraries to import before threads start",
    "data.pipeline.dataset": "the writer that `sources` put into the table",
    "data.pipeline.serialization": "a saved pipeline names its sources",
    "data.transforms.serialization": "a saved transform names its module, one of this package",
    "serve.repository": "a user names the function that makes a net",
    "data.kernels.vision.lazy_imports": "the names come from its callers, which are read here",
}

# Code that is text may import anything. Where it is run, and why that opens no door.
RUN_AS_TEXT = {
    "compat.as_mindspore": "runs the user's own script",
    "cli.bench": "runs the user's own script, and the pipeline that it shows",
    "runtime.graph.program": "a recorded step, written by that package out of its own operations",
}

# Loading a pickle runs whatever it says. Only where we wrote the bytes ourselves, a moment ago.
UNPICKLERS = {"pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
UNPICKLE = {"load", "loads", "Unpickler", "open"}
MAY_UNPICKLE = ("data.engine.executors", "data.engine.transport")

# Names of PyTorch that begin with an underscore may be used in one file, which has a fall-back for each.
PRIVATE_TORCH = "runtime.tensor.backend.torch_private"
# names of operators as files have them; tensor.private resolves them, and a missing one is refused
OPERATOR_TABLE = "runtime.graph.operator_table"
# Private members of tensors, operators and modules of PyTorch: seen wherever they stand.
PRIVATE_MEMBERS = {
    "_version", "_is_view", "_base", "_values", "_nnz", "_coalesced_", "_schema", "_op", "_overloadname", "_opname",
    "_backward_hooks", "_typed_storage", "_cdata", "_execution_engine", "_lazy_init", "_is_in_bad_fork",
    "_should_skip_dynamo",
}  # fmt: skip


def package_of(name: str) -> str:
    """The longest package in the table that holds the module; else the first word of its name."""
    words = name.split(".")
    for end in range(len(words), 0, -1):
        if (package := ".".join(words[:end])) in PACKAGES:
            return package
    return words[0]


def inner_name(target: str) -> str:
    """The name below `millrace._src`; public modules keep their full name."""
    return (
        target.removeprefix("millrace._src").removeprefix(".")
        if is_under(target, ("millrace._src",))
        else target
    )


@dataclass
class Module:
    """One source file: `name` is dotted; below `millrace._src` it is relative to that, "" for `_src` itself."""

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
    def package(self) -> str:
        return package_of(self.name)

    @property
    def is_public(self) -> bool:
        return is_under(self.name, ("millrace",))

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
        root = [] if self.is_public else ["millrace", "_src"]
        here = [*root, *filter(None, self.name.split("."))]
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
    """Whether a dotted name, as `inner_name` gives it, begins with one of our packages."""
    return package_of(name) in PACKAGES or name.partition(".")[0] in TOP


# The one import upwards: autograd alone starts Graph mode, whose package is above it.
LOADED_AT_FIRST_STEP = {"runtime.tensor.backend.execution_mode": "runtime.graph.replay"}


def own_packages(module: Module) -> Iterator[str]:
    """Yield imports of our own packages that the table does not allow."""
    if module.is_public or module.package in TOP or not module.name:
        return
    for node, target, _ in module.imports():
        if not is_under(target, ("millrace",)):
            continue
        inner = inner_name(target)
        if isinstance(node, ast.Constant) and not is_module(inner):
            continue  # a dotted word that names nothing here, as a logger's
        if LOADED_AT_FIRST_STEP.get(module.name) == inner:
            continue
        if module.package not in PACKAGES:
            yield f"{module.name}:{node.lineno}: package '{module.package}' is not in the table PACKAGES"
        elif not is_under(inner, (module.package, *PACKAGES[module.package])):
            yield f"{module.name}:{node.lineno}: '{module.package}' may not import {target}"


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
                if is_under(module.name, places["packages"]) or (
                    helped and is_under(module.name, places["leaf"])
                ):
                    continue
                through = f"; go through {OPTIONAL}" if is_under(module.name, places["leaf"]) else ""
                yield f"{module.name}:{node.lineno}: may not import {library}{through}"


def random_state(module: Module) -> Iterator[str]:
    """Yield uses of `np.random` by attribute."""
    places = LIBRARIES["numpy.random"]
    if is_under(module.name, (*places["packages"], *places["leaf"])):
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
            yield f"{module.name}:{node.lineno}: uses numpy.random; random numbers come from core/random/rng.py"


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


def public_modules(module: Module) -> Iterator[str]:
    """Yield classes and functions that are written in a public module instead of re-exported."""
    if not module.is_public or module.name in PUBLIC_WITH_CODE or module.name.endswith(".__main__"):
        return
    for node in module.tree.body:
        is_code = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_code and node.name not in ("__getattr__", "__dir__"):
            yield f"{module.name}:{node.lineno}: a public module re-exports; '{node.name}' belongs in _src"


def length(module: Module) -> Iterator[str]:
    if module.lines > MAX_LINES and not module.generated:
        yield f"{module.name}: {module.lines} lines, over {MAX_LINES}; is it one idea?"


RULES = (
    own_packages,
    computed,
    hidden,
    libraries,
    random_state,
    pickles,
    private_torch,
    public_modules,
    length,
)


def modules() -> Iterator[Module]:
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if is_package else parts)
        generated = "# Generated by `make names`" in text
        yield Module(inner_name(name), ast.parse(text, str(path)), is_package, text.count("\n"), generated)


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


def test_no_import_cycle_between_packages():
    """The table itself must be a layering: no package may reach itself through others."""
    reach = {name: {package_of(entry) for entry in allowed} for name, allowed in PACKAGES.items()}
    for _ in PACKAGES:
        reach = {name: seen.union(*(reach[other] for other in seen)) for name, seen in reach.items()}
    assert [name for name, seen in reach.items() if name in seen] == []


# Each rule must bite: (module, source, a word of the complaint, or None where the source is fine).
SAMPLES = [
    ("core.args", "from millrace._src.data.plan import node", "may not import millrace._src.data.plan"),
    ("core.args", "from ..data.plan import node", "may not import millrace._src.data.plan"),
    (
        "core.args",
        "def f():\n    import millrace._src.data.engine.pipeline_run",
        "may not import millrace._src.data.engine",
    ),
    (
        "core.args",
        "import importlib\nimportlib.import_module('millrace._src.data.pipeline')",
        "may not import millrace._src.data.pipeline",
    ),
    ("core.args", "from .errors import ArgumentError", None),
    ("core.args", "from millrace._src.core.errors import ArgumentError", None),
    (
        "core.args",
        "PLACES = {'x': 'millrace._src.data.pipeline.dataset'}",
        "may not import millrace._src.data.pipeline",
    ),
    ("core.args", "'''millrace._src.data.pipeline'''", None),
    ("core.log", "import logging\nlogging.getLogger('millrace.script')", None),
    ("core.args", "import importlib\nimportlib.import_module(name)", "computed name"),
    ("core.args", "__import__(f'millrace.{package}')", "computed name"),
    ("core.lazy", "import importlib\nimportlib.import_module(name)", None),
    ("core.args", "import pkgutil\npkgutil.resolve_name(f'{name}:f')", "computed name"),
    ("core.args", "from importlib import import_module as load\nload('cv2')", "under another name"),
    ("core.args", "import importlib\nload = importlib.import_module\nload('cv2')", "under another name"),
    ("core.args", "found = list(map(__import__, names))", "under another name"),
    ("core.args", "exec('import cv2')", "runs code that is text"),
    ("core.args", "model.eval()", None),
    (
        "data.engine.transport.chunk_codec",
        "from millrace._src.data.engine.segment import runner",
        "may not import",
    ),
    ("data.engine.segment.runner", "from millrace._src.data.engine.executors import base", "may not import"),
    (
        "data.engine.executors.base",
        "from millrace._src.data.engine.stages.base import Stage",
        "may not import",
    ),
    (
        "data.engine.stages.base",
        "from millrace._src.data.engine import pipeline_run",
        "may not import",
    ),
    ("data.engine.lowering", "from millrace._src.data.engine.stages.base import Stage", None),
    ("data.engine.pipeline_run", "import cv2", "may not import cv2"),
    ("data.kernels.vision.jpeg_region", "cv2 = Lazy('cv2')", None),
    ("data.sources.base.table_dataset", "from PIL import Image", "may not import PIL"),
    ("data.pipeline.dataset", "import rich", "may not import rich"),
    ("data.sources.base.indexed_files", "import fsspec", "may not import fsspec"),
    ("data.formats.audio_files", "import soundfile", "go through millrace._src.core.optional"),
    ("data.formats.audio_files", "import sounddevice", "not in the table LIBRARIES"),
    ("data.plan.nodes.order_ops", "from millrace._src.data.transforms.base import Transform", None),
    (
        "data.plan.nodes.order_ops",
        "from millrace._src.data.transforms.generic import OneHot",
        "may not import",
    ),
    (
        "data.plan.nodes.order_ops",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from millrace._src.data.engine import pipeline_run",
        "may not",
    ),
    ("data.plan.passes.fuse_transforms", "from ..node import Node", None),
    ("data.engine.pipeline_run", "from millrace._src.data.samplers import base", "may not import"),
    ("transfer.ring_buffer", "from millrace._src.core.machine import shared_memory", None),
    (
        "transfer.ring_buffer",
        "from millrace._src.data.engine import pipeline_run",
        "may not import",
    ),
    ("train.model", "import millrace._src.data.engine", "may not import"),
    ("data.pipeline.dataset", "import millrace.dataset as ds", "may not import millrace.dataset"),
    (
        "observe.diagnosis",
        "from millrace._src.data.engine import pipeline_run",
        "may not import millrace._src.data.engine",
    ),
    (
        "data.engine.pipeline_run",
        "from millrace._src.observe import diagnosis",
        "may not import millrace._src.observe",
    ),
    ("data.pipeline.dataset", "import millrace", "may not import millrace"),
    ("data.pipeline.dataset", "from millrace import __version__", "may not import millrace.__version__"),
    ("shed.tools", "from millrace._src.core import args", "not in the table"),
    ("cli.quickstart", "import millrace.dataset as ds", None),
    ("compat.as_mindspore", "from millrace import dataset; from millrace._src import core", None),
    ("runtime.nn.cell", "import torch.nn.functional as F", None),
    ("data.engine.pipeline_run", "import torch", "may not import torch"),
    ("data.pipeline.output_conversion", "import torch", "go through millrace._src.core.optional"),
    (
        "data.pipeline.output_conversion",
        "from millrace._src.core.optional import require\ntorch = require('torch')",
        None,
    ),
    (
        "data.pipeline.output_conversion",
        "from millrace._src.core import optional\ntorch = optional.require('torch')",
        None,
    ),
    (
        "data.pipeline.dataset",
        "from millrace._src.core.optional import require\ntorch = require('torch')",
        "may not import torch",
    ),
    ("data.pipeline.dataset", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", None),
    (
        "data.engine.executors.ray",
        "from millrace._src.core.optional import require\nray = require('ray', extra='ray')",
        None,
    ),
    ("data.engine.executors.threads", "import ray", "may not import ray"),
    ("data.engine.pipeline_run", "import mindspore.dataset", "may not import mindspore"),
    ("data.samplers.random", "import random", "may not import random"),
    ("data.samplers.random", "from numpy import random", "may not import numpy.random"),
    ("data.samplers.random", "from numpy.random import default_rng", "may not import numpy.random"),
    ("data.samplers.random", "import numpy as np\nnp.random.seed(1)", "uses numpy.random"),
    ("data.samplers.chain", "from millrace._src.data.samplers import random", None),
    ("core.random.rng", "import random\nimport numpy as np\nnp.random.default_rng(1)", None),
    ("data.formats.cifar_pickle", "import pickle\npickle.load(open('x', 'rb'))", "may load a pickle"),
    ("data.formats.cifar_pickle", "import pickle as p\np.loads(b'')", "may load a pickle"),
    ("data.formats.cifar_pickle", "from cloudpickle import loads", "may load a pickle"),
    ("data.formats.cifar_pickle", "import numpy as np\nnp.load('x', allow_pickle=True)", "allow_pickle"),
    ("data.formats.cifar_pickle", "import pickle\npickle.dumps(1)", None),
    ("data.engine.executors.processes", "import cloudpickle\ncloudpickle.loads(b'')", None),
    ("runtime.nn.cell", "import torch\ntorch._C._nn.gelu", "private name of PyTorch: torch._C._nn"),
    (
        "runtime.nn.cell",
        "import torch as t\nt._foreach_add([], 1)",
        "private name of PyTorch: t._foreach_add",
    ),
    ("runtime.nn.cell", "import torch.nn.functional as F\nF._pad", "private name of PyTorch"),
    ("runtime.nn.cell", "from torch.utils._pytree import tree_map", "private name of PyTorch"),
    ("runtime.nn.cell", "from torch import _VF", "private name of PyTorch: torch._VF"),
    ("runtime.nn.cell", "import torch\ngetattr(torch.cuda, '_lazy_init')()", "private name of PyTorch"),
    ("runtime.nn.cell", "import torch\ndef f(x): return x.data._version", "private name of PyTorch"),
    ("runtime.graph.passes", "NAMES = {'aten::_unsafe_view'}", "private name of PyTorch: aten._unsafe_view"),
    ("runtime.tensor.backend.torch_private", "import torch\ntorch._C._nn.gelu", None),
    (
        "runtime.nn.cell",
        "import torch\ntorch.__version__\nNAMES = {'aten::add_'}\nself._base",
        "private name",
    ),
    ("runtime.nn.cell", "import torch\ntorch.__version__\nNAMES = {'aten::add_'}\nx._torch", None),
    ("millrace.dataset", "def helper():\n    pass", "re-exports"),
    (
        "millrace.dataset",
        "from millrace._src.data.pipeline.dataset import Dataset\n__all__ = ['Dataset']",
        None,
    ),
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
