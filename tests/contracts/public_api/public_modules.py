"""The public modules: what each documents itself as, and which of its submodules it lists."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MODULES", "PublicModule"]


@dataclass(frozen=True)
class PublicModule:
    """A public module. Every other submodule is an attribute, too, but in no ``__all__``."""

    doc: str
    submodules: tuple[str, ...] = ()
    # names of modules that lie elsewhere, in no ``__all__``: MindSpore has them there
    aliases: tuple[tuple[str, str], ...] = ()
    # a module that is imported first
    startup: str = ""


# Path below ``millrace`` -> module. Modules that hold code (``as_mindspore``, ``__main__``) are not generated.
MODULES = {
    "millrace": PublicModule(
        "Millrace: data loading, training and serving with MindSpore's programming interface.\n\n"
        "``import millrace.dataset as ds`` loads data, ``from millrace import nn, ops, train`` trains networks.",
        ("amp", "boost", "communication", "context", "hal", "log", "mint", "nn", "ops", "parallel", "profiler",
         "runtime", "serve", "train"),
        startup="millrace._src.startup",
    ),
    "amp": PublicModule("Mixed precision: ``from millrace import amp``."),
    "boost": PublicModule("Techniques that reduce the work of training: ``from millrace import boost``."),
    "common": PublicModule("Types that data loading and training share.", ("dtype",)),
    "common.dtype": PublicModule("Data types: ``import millrace.common.dtype as mstype``."),
    "common.initializer": PublicModule(
        "Initializers: ``from millrace.common.initializer import initializer, Normal``."
    ),
    "common.parameter": PublicModule("Parameters of networks."),
    "common.tensor": PublicModule("The tensor class."),
    "communication": PublicModule(
        "Process groups: ``from millrace.communication import init, get_rank, get_group_size``.",
        ("comm_func", "management"),
    ),
    "communication.comm_func": PublicModule(
        "Collective functions that return their result: ``comm_func.all_reduce(x)``."
    ),
    "communication.management": PublicModule("Process groups, under the import path of older scripts."),
    "context": PublicModule(
        "Settings of the whole process: ``from millrace import context; context.set_context(mode=context.GRAPH_MODE)``."
    ),
    "dataset": PublicModule(
        "The data pipeline: ``import millrace.dataset as ds``.",
        ("audio", "config", "debug", "text", "transforms", "vision"),
    ),
    "dataset.audio": PublicModule("Audio transforms.", ("transforms", "utils")),
    "dataset.audio.transforms": PublicModule("Audio transforms, under MindSpore's import path."),
    "dataset.audio.utils": PublicModule("Enumerations and filter banks of audio transforms."),
    "dataset.config": PublicModule("Process-wide settings of data pipelines, one pair of functions each."),
    "dataset.debug": PublicModule("Hooks for ``config.set_debug_mode``."),
    "dataset.text": PublicModule("Text transforms, vocabularies and word vectors.", ("transforms", "utils")),
    "dataset.text.transforms": PublicModule("Text transforms, under MindSpore's import path."),
    "dataset.text.utils": PublicModule("Vocabularies, word vectors and enumerations of text transforms."),
    "dataset.transforms": PublicModule(
        "Transforms for data of any type.", aliases=(("vision", "millrace.dataset.vision"),)
    ),
    "dataset.transforms.c_transforms": PublicModule("Array transforms, under MindSpore's older import path."),
    "dataset.transforms.py_transforms": PublicModule("Python transforms, under MindSpore's older import path."),
    "dataset.utils": PublicModule("Helpers: line readers and bounding boxes."),
    "dataset.vision": PublicModule("Image transforms."),
    "dataset.vision.c_transforms": PublicModule(
        "Array image transforms, under MindSpore's older import path and with its older arguments."
    ),
    "dataset.vision.py_transforms": PublicModule(
        "Pillow image transforms, under MindSpore's older import path and with its older arguments."
    ),
    "dataset.vision.utils": PublicModule("Enumerations and file functions of image transforms."),
    "errors": PublicModule("Exceptions that Millrace raises: ``from millrace.errors import DataError``."),
    "experimental": PublicModule("Experimental interfaces of MindSpore.", ("optim",)),
    "experimental.optim": PublicModule("Optimizers with PyTorch's arguments and parameter groups.", ("lr_scheduler",)),
    "experimental.optim.lr_scheduler": PublicModule("Learning rate schedulers of optimizers with parameter groups."),
    "hal": PublicModule(
        "Devices, their memory and streams, under MindSpore's older import path; the newer one is ``millrace.runtime``."
    ),
    "log": PublicModule("Logging: ``mindspore.log``'s functions, log levels at run time and JSON lines."),
    "mindrecord": PublicModule("MindRecord files: ``from millrace.mindrecord import FileWriter``."),
    "mindrecord.common": PublicModule(
        "Exceptions of MindRecord files: ``millrace.mindrecord.common.exceptions``.", ("exceptions",)
    ),
    "mindrecord.common.exceptions": PublicModule("Exceptions of MindRecord files."),
    "mint": PublicModule(
        "Operations with PyTorch's names and arguments: ``from millrace import mint``.",
        ("distributed", "linalg", "nn", "optim", "special"),
    ),
    "mint.distributed": PublicModule(
        "Collective functions with PyTorch's names: ``from millrace.mint import distributed``."
    ),
    "mint.linalg": PublicModule("Linear algebra with PyTorch's names and arguments."),
    "mint.nn": PublicModule("Layers with PyTorch's names and arguments.", ("functional",)),
    "mint.nn.functional": PublicModule("Functions of neural networks with PyTorch's names and arguments."),
    "mint.optim": PublicModule("Optimizers with PyTorch's arguments and formulas."),
    "mint.special": PublicModule("Special functions with PyTorch's names and arguments."),
    "nn": PublicModule("Layers, losses, optimizers and learning rates: ``from millrace import nn``.", ("probability",)),
    "nn.probability": PublicModule(
        "Distributions and bijectors: ``from millrace.nn.probability import distribution, bijector``.",
        ("bijector", "distribution"),
    ),
    "nn.probability.bijector": PublicModule("Bijectors: invertible transforms of random variables."),
    "nn.probability.distribution": PublicModule("Distributions: densities, moments, divergences and samples."),
    "numpy": PublicModule("Operations with NumPy's names and arguments: ``import millrace.numpy as mnp``."),
    "ops": PublicModule("Operations, as functions and as classes: ``from millrace import ops``."),
    "parallel": PublicModule(
        "Distributed training: sharded tables, sharded optimizers, strategies and their checkpoints."
    ),
    "profiler": PublicModule("The profiler: ``from millrace import profiler``."),
    "runtime": PublicModule(
        'Memory, streams and threads of the current device: ``millrace.runtime.set_memory(max_size="8GB")``.'
    ),
    "scipy": PublicModule("Functions with SciPy's names and arguments.", ("linalg", "optimize")),
    "scipy.linalg": PublicModule("Linear algebra with SciPy's names and arguments."),
    "scipy.optimize": PublicModule("Minimization with SciPy's names and arguments."),
    "serve": PublicModule(
        "Model serving over HTTP and gRPC: ``millrace serve``, and the same from Python.\n\n"
        "``Servable`` declares a model with its transforms, ``Config`` a server; ``start`` runs one in a thread,\n"
        "``start_on_ray`` replicas on Ray Serve, ``make_app`` returns the ASGI application, ``Client`` sends requests."
    ),
    "train": PublicModule(
        "Training: ``Model``, callbacks, metrics, mixed precision, checkpoints, summaries and export."
    ),
    "transfer": PublicModule(
        "Host-to-device transfer of batches for custom loops: ``from millrace.transfer import device_iterator``."
    ),
}  # fmt: skip
