"""Which Millrace modules stand behind each of MindSpore's, as data.

The first module on a line must exist for the name to exist; the names of the others are found too. A line for a
module that is still to come costs nothing: the name appears with the module.
"""

from __future__ import annotations

__all__ = ["TABLE", "VERSION"]

# What scripts compare is the part before the plus.
VERSION = "2.7.0+millrace"

_DATASETS = ("millrace.dataset", "millrace.data.fluent.dataset", "millrace.data.fluent.source")
_SAMPLERS = ("millrace.data.samplers",)

TABLE: dict[str, tuple[str, ...]] = {
    "mindspore": ("millrace", "millrace.common.dtype", "millrace.mindrecord", "millrace.as_mindspore.top"),
    "mindspore.common": ("millrace.common", "millrace.common.dtype", "millrace.as_mindspore.top"),
    "mindspore.common.dtype": ("millrace.common.dtype",),
    "mindspore.common.tensor": ("millrace.common.tensor",),
    "mindspore.common.seed": ("millrace.as_mindspore.top",),
    "mindspore.common.initializer": ("millrace.common.initializer",),
    "mindspore.common.parameter": ("millrace.common.parameter",),
    "mindspore.common.api": ("millrace", "millrace.as_mindspore.top"),
    "mindspore.context": ("millrace.context",),
    "mindspore.runtime": ("millrace.runtime",),
    **{f"mindspore.runtime.{part}": ("millrace.runtime",) for part in ("event", "memory", "stream")},
    "mindspore.hal": ("millrace.hal",),
    **{f"mindspore.hal.{part}": ("millrace.hal",) for part in ("device", "event", "memory", "stream")},
    "mindspore.common.generator": ("millrace.tensor.generator",),
    # training; a face asks the same modules under each of the paths that scripts know
    "mindspore.nn": ("millrace.nn",),
    "mindspore.nn.cell": ("millrace.nn",),
    **{
        f"mindspore.nn.layer{part}": ("millrace.nn",)
        for part in (
            "",
            ".activation",
            ".basic",
            ".channel_shuffle",
            ".combined",
            ".container",
            ".conv",
            ".dense",
            ".embedding",
            ".image",
            ".math",
            ".normalization",
            ".padding",
            ".pooling",
            ".rnn_cells",
            ".rnns",
            ".timedistributed",
            ".transformer",
        )
    },
    **{f"mindspore.nn.{part}": ("millrace.nn",) for part in ("grad", "loss", "optim", "wrap")},
    "mindspore.ops": ("millrace.ops",),
    **{
        f"mindspore.ops.{part}": ("millrace.ops",)
        for part in (
            "auto_generate",
            "composite",
            "function",
            "functional",
            "operations",
            "primitive",
            "operations.array_ops",
            "operations.comm_ops",
            "operations.image_ops",
            "operations.math_ops",
            "operations.nn_ops",
            "operations.other_ops",
            "operations.random_ops",
            "operations.sparse_ops",
            "function.array_func",
            "function.math_func",
            "function.nn_func",
            "function.random_func",
            "function.clip_func",
            "function.grad",
        )
    },
    "mindspore.mint": ("millrace.mint",),
    "mindspore.mint.nn": ("millrace.mint.nn",),
    "mindspore.mint.nn.functional": ("millrace.mint.nn.functional",),
    "mindspore.mint.special": ("millrace.mint.special",),
    "mindspore.mint.linalg": ("millrace.mint.linalg",),
    "mindspore.mint.distributed": ("millrace.mint.distributed",),
    "mindspore.communication": ("millrace.communication",),
    "mindspore.communication.comm_func": ("millrace.communication.comm_func",),
    "mindspore.communication.management": ("millrace.communication.management",),
    "mindspore.communication._comm_helper": ("millrace.communication",),
    "mindspore.parallel": ("millrace.parallel",),
    "mindspore.parallel._utils": ("millrace.parallel.settings",),
    "mindspore.numpy": ("millrace.numpy",),
    "mindspore.scipy": ("millrace.scipy",),
    "mindspore.scipy.linalg": ("millrace.scipy.linalg",),
    "mindspore.log": ("millrace.as_mindspore.log",),
    "mindspore.version": ("millrace.as_mindspore.version",),
    # records
    "mindspore.mindrecord": ("millrace.mindrecord",),
    "mindspore.mindrecord.common": ("millrace.mindrecord.common",),
    "mindspore.mindrecord.common.exceptions": ("millrace.mindrecord.common.exceptions",),
    "mindspore.mindrecord.filereader": ("millrace.mindrecord",),
    "mindspore.mindrecord.filewriter": ("millrace.mindrecord",),
    "mindspore.mindrecord.mindpage": ("millrace.mindrecord",),
    # data
    "mindspore.dataset": ("millrace.dataset",),
    "mindspore.dataset.callback": ("millrace.data.fluent.callbacks",),
    "mindspore.dataset.callback.ds_callback": ("millrace.data.fluent.callbacks",),
    "mindspore.dataset.config": ("millrace.dataset.config",),
    "mindspore.dataset.core": ("millrace.dataset",),
    "mindspore.dataset.core.config": ("millrace.dataset.config",),
    "mindspore.dataset.debug": ("millrace.dataset.debug",),
    "mindspore.dataset.debug.debug_hook": ("millrace.dataset.debug",),
    "mindspore.dataset.engine": (
        *_DATASETS,
        *_SAMPLERS,
        "millrace.data.fluent.iterators",
        "millrace.as_mindspore.kinds",
    ),
    "mindspore.dataset.engine.cache_client": ("millrace.cache",),
    "mindspore.dataset.engine.datasets": (*_DATASETS, "millrace.as_mindspore.kinds"),
    "mindspore.dataset.engine.datasets_audio": _DATASETS,
    "mindspore.dataset.engine.datasets_standard_format": _DATASETS,
    "mindspore.dataset.engine.datasets_text": _DATASETS,
    "mindspore.dataset.engine.datasets_user_defined": _DATASETS,
    "mindspore.dataset.engine.datasets_vision": _DATASETS,
    "mindspore.dataset.engine.iterators": ("millrace.data.fluent.iterators",),
    "mindspore.dataset.engine.samplers": _SAMPLERS,
    "mindspore.dataset.engine.serializer_deserializer": ("millrace.data.fluent.pipeline_json",),
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
    # MindSpore's own pages write these two; they are dataset.vision.
    "mindspore.vision": ("millrace.dataset.vision",),
    "mindspore.vision.c_transforms": ("millrace.dataset.vision.c_transforms",),
    "mindspore.vision.py_transforms": ("millrace.dataset.vision.py_transforms",),
}
