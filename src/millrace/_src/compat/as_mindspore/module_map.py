"""Map from MindSpore's modules to Millrace's.

A MindSpore module exists if the first module of its line exists; names of the other modules are found too. A line for a
future module has no effect until that module exists.
"""

from __future__ import annotations

from .module_paths import PATHS

__all__ = ["MODULE_MAP", "VERSION", "UNSUPPORTED_REASONS"]

# Scripts compare the part before the plus.
VERSION = "2.7.0+millrace"

_DATASETS = (
    "millrace.dataset",
    "millrace._src.data.pipeline.dataset",
    "millrace._src.data.pipeline.source_dataset",
)
_SAMPLERS = ("millrace._src.data.samplers",)

# Names that MindSpore's modules only import, and that scripts use from there.
_RUNTIME_MODULES = (
    "millrace.ops",
    "millrace",
    "millrace.common.initializer",
    "millrace.common.dtype",
    "millrace.context",
    "millrace._src.compat.private_names",
)

# Package of MindSpore -> modules of Millrace. The package itself has the first module only; paths below have all of
# them, since a name has many paths in MindSpore and scripts use any of them.
PACKAGE_MAP: dict[str, tuple[str, ...]] = {
    "mindspore.amp": ("millrace.amp",),
    "mindspore.boost": ("millrace.boost", "millrace.nn", *_RUNTIME_MODULES),
    "mindspore.common": ("millrace.common", "millrace", "millrace.nn", *_RUNTIME_MODULES),
    "mindspore.communication": ("millrace.communication", *_RUNTIME_MODULES),
    "mindspore.communication.comm_func": ("millrace.communication.comm_func",),
    "mindspore.device_context": ("millrace.device_context",),
    "mindspore.device_manager": ("millrace",),
    "mindspore.experimental": ("millrace.experimental",),
    "mindspore.experimental.optim": ("millrace.experimental.optim", *_RUNTIME_MODULES),
    "mindspore.experimental.optim.lr_scheduler": ("millrace.experimental.optim.lr_scheduler",),
    "mindspore.hal": ("millrace.hal",),
    "mindspore.mint": ("millrace.mint",),
    "mindspore.mint.distributed": ("millrace.mint.distributed",),
    "mindspore.mint.linalg": ("millrace.mint.linalg",),
    "mindspore.mint.nn": ("millrace.mint.nn", "millrace.nn", *_RUNTIME_MODULES),
    "mindspore.mint.nn.functional": ("millrace.mint.nn.functional",),
    "mindspore.mint.optim": ("millrace.mint.optim", "millrace.experimental.optim", *_RUNTIME_MODULES),
    "mindspore.mint.special": ("millrace.mint.special",),
    "mindspore.nn": ("millrace.nn", *_RUNTIME_MODULES, "millrace.train"),
    "mindspore.nn.probability": ("millrace.nn.probability",),
    **{
        f"mindspore.nn.probability.{part}": (
            f"millrace.nn.probability.{part}",
            "millrace.nn",
            *_RUNTIME_MODULES,
        )
        for part in ("bijector", "bnn_layers", "distribution")
    },
    "mindspore.numpy": ("millrace.numpy", "millrace.nn", *_RUNTIME_MODULES),
    "mindspore.numpy.fft": ("millrace.numpy.fft",),
    "mindspore.ops": ("millrace.ops", *_RUNTIME_MODULES),
    "mindspore.ops.auto_generate": ("millrace.ops", "millrace.mint", *_RUNTIME_MODULES),
    "mindspore.parallel": ("millrace.parallel", "millrace.nn", *_RUNTIME_MODULES, "millrace.train"),
    "mindspore.profiler": ("millrace.profiler", *_RUNTIME_MODULES),
    "mindspore.runtime": ("millrace.runtime",),
    "mindspore.scipy": ("millrace.scipy",),
    **{
        f"mindspore.scipy.{part}": (f"millrace.scipy.{part}", *_RUNTIME_MODULES)
        for part in ("fft", "linalg", "optimize")
    },
    "mindspore.train": ("millrace.train", "millrace.nn", *_RUNTIME_MODULES),
    "mindspore.utils": ("millrace.utils", *_RUNTIME_MODULES),
}


def modules_for(path: str) -> tuple[str, ...]:
    """Modules of Millrace for a path of MindSpore's training API, by its longest package."""
    package = path
    while package not in PACKAGE_MAP:
        package = package.rpartition(".")[0]
        if not package:
            return ()
    return PACKAGE_MAP[package][:1] if package == path else PACKAGE_MAP[package]


MODULE_MAP: dict[str, tuple[str, ...]] = {
    **{path: modules_for(path) for path in (*PACKAGE_MAP, *PATHS)},
    "mindspore": (
        "millrace",
        "millrace.common.dtype",
        "millrace.mindrecord",
        "millrace._src.compat.top_level_names",
    ),
    "mindspore._checkparam": ("millrace._src.compat.check_param",),
    "mindspore.common": (
        "millrace.common",
        "millrace.common.dtype",
        "millrace._src.compat.top_level_names",
        "millrace",
    ),
    "mindspore.common.dtype": ("millrace.common.dtype",),
    **{
        f"mindspore.common.{part}": (f"millrace.common.{part}", *PACKAGE_MAP["mindspore.common"])
        for part in ("initializer", "parameter", "tensor")
    },
    "mindspore.common.generator": ("millrace._src.runtime.tensor.generator", "millrace"),
    "mindspore.common.seed": ("millrace._src.compat.top_level_names", "millrace"),
    "mindspore.communication._comm_helper": ("millrace.communication",),
    "mindspore.context": ("millrace.context",),
    "mindspore.log": ("millrace._src.compat.log",),
    # a whole namespace in MindSpore, too
    **{
        f"mindspore.ops.{part}": PACKAGE_MAP["mindspore.ops"]
        for part in ("functional", "operations", "composite")
    },
    "mindspore.ops.P": ("millrace.ops",),
    "mindspore.ops.functional.P": ("millrace.ops",),
    "mindspore.parallel._utils": ("millrace._src.compat.parallel_utils", *_RUNTIME_MODULES),
    "mindspore.nn.learning_rate_schedule": (
        "millrace.nn",
        "millrace._src.runtime.optim.learning_rate_schedule",
    ),
    "mindspore.version": ("millrace._src.compat.version",),
    # records
    "mindspore.mindrecord": ("millrace.mindrecord",),
    "mindspore.mindrecord.common": ("millrace.mindrecord.common",),
    "mindspore.mindrecord.common.exceptions": ("millrace.mindrecord.common.exceptions",),
    "mindspore.mindrecord.filereader": ("millrace.mindrecord",),
    "mindspore.mindrecord.filewriter": ("millrace.mindrecord",),
    "mindspore.mindrecord.mindpage": ("millrace.mindrecord",),
    # data
    "mindspore.dataset": ("millrace.dataset",),
    "mindspore.dataset.callback": ("millrace._src.data.pipeline.callbacks",),
    "mindspore.dataset.callback.ds_callback": ("millrace._src.data.pipeline.callbacks",),
    "mindspore.dataset.config": ("millrace.dataset.config",),
    "mindspore.dataset.core": ("millrace.dataset",),
    "mindspore.dataset.core.config": ("millrace.dataset.config",),
    "mindspore.dataset.debug": ("millrace.dataset.debug",),
    "mindspore.dataset.debug.debug_hook": ("millrace.dataset.debug",),
    "mindspore.dataset.engine": (
        *_DATASETS,
        *_SAMPLERS,
        "millrace._src.data.pipeline.iterators",
        "millrace._src.compat.dataset_classes",
    ),
    "mindspore.dataset.engine.cache_client": ("millrace.cache",),
    "mindspore.dataset.engine.datasets": (*_DATASETS, "millrace._src.compat.dataset_classes"),
    "mindspore.dataset.engine.datasets_audio": _DATASETS,
    "mindspore.dataset.engine.datasets_standard_format": _DATASETS,
    "mindspore.dataset.engine.datasets_text": _DATASETS,
    "mindspore.dataset.engine.datasets_user_defined": _DATASETS,
    "mindspore.dataset.engine.datasets_vision": _DATASETS,
    "mindspore.dataset.engine.iterators": ("millrace._src.data.pipeline.iterators",),
    "mindspore.dataset.engine.samplers": _SAMPLERS,
    "mindspore.dataset.engine.serializer_deserializer": ("millrace._src.data.pipeline.serialization",),
    "mindspore.dataset.samplers": _SAMPLERS,
    "mindspore.dataset.utils": ("millrace.dataset.utils",),
    # transforms
    "mindspore.dataset.transforms": ("millrace.dataset.transforms",),
    "mindspore.dataset.transforms.c_transforms": ("millrace.dataset.transforms.c_transforms",),
    "mindspore.dataset.transforms.py_transforms": ("millrace.dataset.transforms.py_transforms",),
    "mindspore.dataset.transforms.transforms": ("millrace.dataset.transforms",),
    "mindspore.dataset.vision": ("millrace.dataset.vision",),
    "mindspore.dataset.vision.c_transforms": ("millrace.dataset.vision.c_transforms",),
    "mindspore.dataset.vision.py_transforms": ("millrace.dataset.vision.py_transforms",),
    "mindspore.dataset.vision.transforms": ("millrace.dataset.vision",),
    "mindspore.dataset.vision.utils": ("millrace.dataset.vision",),
    "mindspore.dataset.text": ("millrace.dataset.text",),
    "mindspore.dataset.text.transforms": ("millrace.dataset.text",),
    "mindspore.dataset.text.utils": ("millrace.dataset.text",),
    "mindspore.dataset.audio": ("millrace.dataset.audio",),
    "mindspore.dataset.audio.transforms": ("millrace.dataset.audio",),
    "mindspore.dataset.audio.utils": ("millrace.dataset.audio",),
    # MindSpore's documentation uses these two for dataset.vision.
    "mindspore.vision": ("millrace.dataset.vision",),
    "mindspore.vision.c_transforms": ("millrace.dataset.vision.c_transforms",),
    "mindspore.vision.py_transforms": ("millrace.dataset.vision.py_transforms",),
}

# Reasons for missing modules and names other than "not yet".
UNSUPPORTED_REASONS = {
    "mindspore.rewrite": "it edits the source code of networks for MindSpore's compiler; a Cell is plain Python, so "
    "change the Cell's attributes or subclass it",
    "mindspore.dataset.engine.offload": "a pass decides which transforms run on the device: map(offload=True)",
    "mindspore._c_expression": "it is MindSpore's compiled library",
}
UNSUPPORTED_REASONS |= {
    f"mindspore.{name}": UNSUPPORTED_REASONS["mindspore.rewrite"]
    for name in ("SymbolTree", "Node", "NodeType", "ScopedValue")
}
