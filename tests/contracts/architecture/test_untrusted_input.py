"""Modules that parse files or sockets execute nothing that the input names.

``PARSERS`` lists them. In these, names that are computed may not be looked up (``getattr``), imported or evaluated, and
nothing is unpickled. Each exception has its reason. Every module that opens a file for reading or a socket is listed
here: as a parser, or as trusted with the reason.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "millrace"

# Modules, and packages with all that is in them.
PARSERS = (
    "cli.bench.input_files",
    "cli.convert",
    "cli.doctor.directories",
    "cli.record.contact_sheet",
    "core.config",
    "core.io.framing",
    "core.io.json_input",
    "core.io.object_store",
    "core.io.protobuf",
    "core.io.remote",
    "core.io.encryption",
    "core.io.stored_zip",
    "data.cache",
    "data.engine.cursor",
    "data.engine.autotune.config_file",
    "data.pipeline.serialization",
    "data.pipeline.schema",
    "data.formats",
    "data.kernels.audio",
    "data.kernels.text",
    "data.kernels.vision",
    "observe",
    "data.samplers.serialization",
    "data.sources",
    "data.transforms.json_names",
    "data.transforms.serialization",
    "data.transforms.text.hugging_face",
    "data.transforms.text.jieba",
    "runtime.graph.program_serialization",
    "runtime.distributed.rendezvous_file",
    "serve",
    "train.callbacks.fault_tolerance",
    "train.checkpoint",
    "train.print_file",
    "train.summary",
)

_KERNEL = "files of the operating system, read as numbers"
_WORKERS = "between a process and the workers that it started itself, over pipes and sockets that it created"
# Modules that open a file or a socket and parse nothing that others wrote.
TRUSTED: dict[str, str] = {
    "cli.bench.hardware_baseline": _KERNEL,
    "cli.bench.user_pipeline": "runs the script that the user names on the command line",
    "cli.doctor.cpu": _KERNEL,
    "cli.doctor.finding": _KERNEL,
    "cli.doctor.stale_files": "opens files of the user to test a lock; reads nothing",
    "cli.doctor.resource_limits": _KERNEL,
    "cli.doctor.memory": _KERNEL,
    "cli.doctor.serving": "binds a port to see whether it is free; reads nothing",
    "cli.exit_status": "opens /dev/null",
    "cli.quickstart": "reads images that it wrote itself",
    "cli.quickstart.serving": "reads images that it wrote itself",
    "cli.quickstart.training": "reads a log that it wrote itself",
    "core.machine.cgroup": _KERNEL,
    "core.machine.cores": _KERNEL,
    "core.machine.idle_time": _KERNEL,
    "core.log_settings": "creates its own log file",
    "core.machine.ray_cluster": "connects to see whether a port answers; reads nothing",
    "core.io.temporary_directory": "locks a folder that it created; reads nothing",
    "core.machine.shared_value": _KERNEL,
    "core.modules_0_2_0": "the frozen table beside the module, which is part of the package",
    "core.stable_ids": "the frozen table beside the module, which is part of the package",
    "data.engine.executors.processes.forkserver": _WORKERS,
    "data.engine.executors.processes.launcher": _WORKERS,
    "data.engine.executors.ray.actor": "reads the log of its own process",
    "data.engine.executors.ray.object_store": _WORKERS,
    "data.engine.executors.worker_pool.imported_modules": "reads import lines of the user's own modules",
    "data.engine.executors.processes.worker": _WORKERS,
    "data.engine.segment.cached_read_step": "the cache opens a store: data.cache parses it",
    "data.engine.segment.read_step": "a source opens its files: data.sources parses them",
    "data.engine.stages.stream_source": "a source opens its files: data.sources parses them",
    "core.machine.shared_memory": _WORKERS,
    "data.engine.transport.spill": "reads a temporary file without a name that it wrote itself",
    "runtime.distributed.addresses": "binds a socket and passes it to PyTorch; reads nothing",
    "parallel.process_failure": "reads the log of a process that it started",
    "runtime.distributed.termination": _KERNEL,
    "runtime.tensor.backend.gpu_processes": _KERNEL,
    "train.callbacks.checkpoint_directory": "opens a file to remove it; reads nothing",
    "train.export.archive": "writes an archive",
}

_OWN_NAMES = "names from a table in the same module"
# (module, rule) -> why it is no way from the input to code.
ALLOWED: dict[tuple[str, str], str] = {
    ("cli.convert", "getattr"): "the function that the user names on the command line",
    ("cli.convert", "import"): "the module that the user names on the command line",
    ("core.config", "getattr"): _OWN_NAMES,
    ("data.transforms.text.hugging_face", "getattr"): _OWN_NAMES,
    ("train.summary.loss_plane", "getattr"): _OWN_NAMES,
    ("data.pipeline.serialization", "import"): "the module comes from the table of public sources (PLACES)",
    ("data.kernels.text.hugging_face", "getattr"): _OWN_NAMES,
    (
        "data.kernels.text.unicode_properties",
        "getattr",
    ): "names that the kernels write out: sets of a table of Unicode",
    ("data.kernels.vision.color", "getattr"): _OWN_NAMES,
    ("data.kernels.vision.geometry", "getattr"): _OWN_NAMES,
    ("data.kernels.vision.lazy_imports", "getattr"): "attributes that our own source writes out: cv2.x",
    ("data.kernels.vision.lazy_imports", "import"): "four libraries that the module itself names",
    ("observe.live.recorder", "getattr"): _OWN_NAMES,
    (
        "data.sources.adapters.hugging_face",
        "getattr",
    ): "an object of the user, asked for names written out here",
    ("data.sources.generator", "getattr"): "an object of the user, asked for names written out here",
    ("data.sources.base.table_dataset", "getattr"): "a source passes attributes on; Python code names them",
    ("data.sources.base.python_source", "getattr"): "an object of the user, asked for names written out here",
    ("serve.config", "getattr"): _OWN_NAMES,
    ("serve.protobuf_messages", "getattr"): _OWN_NAMES,
    ("serve.grpc.server", "getattr"): _OWN_NAMES,
    ("serve.protocols.open_inference_grpc", "getattr"): _OWN_NAMES,
    ("serve.ray.config_serialization", "getattr"): _OWN_NAMES,
    (
        "serve.repository",
        "getattr",
    ): "the function that the operator names when the server starts, never a request",
    (
        "serve.repository",
        "import",
    ): "the module that the operator names when the server starts, never a request",
    ("train.checkpoint.torch_weights", "pickle"): "the class of an error, to recognise a refusal of PyTorch",
    (
        "train.checkpoint.torch_weights",
        "torch.load",
    ): "weights_only=True: tensors and plain values, nothing is called",
}

LOOKUPS = ("getattr", "setattr", "delattr", "hasattr")
IMPORTS = ("import_module", "__import__", "find_spec", "resolve_name", "run_module", "run_path")
PICKLES = ("pickle", "cloudpickle", "marshal", "shelve", "dill", "_pickle")


@functools.cache
def modules() -> list[tuple[str, ast.Module]]:
    parsed = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = (
            ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            .removesuffix(".__init__")
            .removeprefix("_src.")
        )
        parsed.append((name, ast.parse(path.read_text(encoding="utf-8"))))
    return parsed


def is_parser(module: str) -> bool:
    return any(module == listed or module.startswith(f"{listed}.") for listed in PARSERS)


def called(node: ast.Call) -> tuple[str, str]:
    """The name that is called, and the name it is looked up on: ("load", "np") for ``np.load(...)``."""
    function = node.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        return function.attr, owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
    return (function.id, "") if isinstance(function, ast.Name) else ("", "")


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((given.value for given in node.keywords if given.arg == name), None)


def violations(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The rules that a module breaks, and the lines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names]
            roots = {(node.module or "") if isinstance(node, ast.ImportFrom) else "", *names}
            if any(root.split(".")[0] in PICKLES for root in roots):
                yield "pickle", node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in (
            "__getattribute__",
            "__globals__",
            "__builtins__",
        ):
            yield "getattr", node.lineno
        elif isinstance(node, ast.Call):
            yield from ((rule, node.lineno) for rule in broken_by(node))


def broken_by(node: ast.Call) -> Iterator[str]:
    name, owner = called(node)
    if name in LOOKUPS and not owner and not isinstance(node.args[1], ast.Constant):
        yield "getattr"
    if name in IMPORTS and not (node.args and isinstance(node.args[0], ast.Constant)):
        yield "import"
    if name in ("eval", "exec") and not owner:
        yield "eval"
    if name in ("attrgetter", "methodcaller"):
        yield "getattr"
    if (name, owner) == ("load", "torch"):
        yield "torch.load"
    pickled = keyword(node, "allow_pickle")
    if (
        name == "load"
        and pickled is not None
        and not (isinstance(pickled, ast.Constant) and pickled.value is False)
    ):
        yield "np.load"
    if owner == "yaml" and name in ("load", "full_load", "unsafe_load"):
        yield "yaml"


READERS = {
    "read_bytes", "read_text", "mmap", "memmap", "fromfile", "ZipFile", "accept", "create_connection",
    "create_server", "open_connection", "start_server", "safe_open", "start_unix_server", "open_unix_connection",
}  # fmt: skip


def opens(tree: ast.Module) -> int | None:
    """The line where a module opens a file for reading or a socket."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name, owner = called(node)
        if name in READERS or (name, owner) in (("connect", "sqlite3"), ("socket", "socket"), ("load", "np")):
            return node.lineno
        if name == "open" and owner not in ("webbrowser", "self"):
            mode = keyword(node, "mode") or next((given for given in node.args[1:2]), None)
            text = mode.value if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else "r"
            if "r" in text or "+" in text:
                return node.lineno
    return None


def test_parsers_execute_nothing_that_the_input_names() -> None:
    broken = [
        f"{name}:{line} {rule}"
        for name, tree in modules()
        if is_parser(name)
        for rule, line in violations(tree)
        if (name, rule) not in ALLOWED
    ]
    assert broken == []


def test_every_module_that_opens_a_file_or_a_socket_is_listed() -> None:
    found = [
        f"{name}:{line}"
        for name, tree in modules()
        if not is_parser(name) and name not in TRUSTED and (line := opens(tree)) is not None
    ]
    assert found == []


def test_every_exception_is_needed() -> None:
    trees = dict(modules())
    for name, rule in ALLOWED:
        assert is_parser(name)
        assert rule in {one for one, _ in violations(trees[name])}, (name, rule)
    assert [name for name in TRUSTED if is_parser(name) or opens(trees[name]) is None] == []
    assert [
        listed for listed in PARSERS if not any(n == listed or n.startswith(f"{listed}.") for n in trees)
    ] == []


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("getattr(torch.ops.aten, name)", "getattr"),
        ("setattr(made, name, 1)", "getattr"),
        ("f.__getattribute__('__globals__')", "getattr"),
        ("operator.attrgetter(name)", "getattr"),
        ("importlib.import_module(name)", "import"),
        ("__import__(name)", "import"),
        ("import pickle", "pickle"),
        ("from cloudpickle import loads", "pickle"),
        ("import marshal as m", "pickle"),
        ("eval(text)", "eval"),
        ("exec(text)", "eval"),
        ("torch.load(file)", "torch.load"),
        ("np.load(file, allow_pickle=True)", "np.load"),
        ("np.load(file, allow_pickle=flag)", "np.load"),
        ("yaml.load(file)", "yaml"),
    ],
)
def test_the_rules_find_what_they_name(code: str, rule: str) -> None:
    assert [one for one, _ in violations(ast.parse(code))] == [rule]


@pytest.mark.parametrize(
    "code", ["getattr(x, 'y', None)", "np.load(file, allow_pickle=False)", "import_module('cv2')"]
)
def test_the_rules_leave_the_rest_alone(code: str) -> None:
    assert list(violations(ast.parse(code))) == []
