"""Millrace: a training-data engine and training runtime with MindSpore's programming interface.

``import millrace.dataset as ds`` is where data begin, ``from millrace import nn, ops`` is where nets do.
"""

from __future__ import annotations

from millrace.core.dtype import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from millrace.core.lazy import lazy as _lazy
from millrace.core.log import configure as _configure_log
from millrace.core.seeds import get_seed, set_seed
from millrace.core.sinks import when_asked as _when_asked
from millrace.core.tensor import Tensor
from millrace.core.tensor import when_needed as _when_needed
from millrace.core.waiting import wait_briefly as _wait_briefly
from millrace.train import _LAZY as _OF_TRAIN

__version__ = "0.1.0"

__all__ = [
    "Tensor",
    "__version__",
    "bfloat16",
    "bool_",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "get_seed",
    "int8",
    "int16",
    "int32",
    "int64",
    "set_seed",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

from_numpy = Tensor.from_numpy

# Module -> the names that come from it. What needs the training wing is loaded when it is asked for: a script of the
# data wing never waits for PyTorch.
_PLACES = {
    "millrace.tensor.context": (
        "COMPATIBLE",
        "GRAPH_MODE",
        "LAX",
        "PYNATIVE_MODE",
        "STRICT",
        "get_context",
        "set_context",
        "set_deterministic",
        "set_device",
        "set_recursion_limit",
    ),
    "millrace.tensor.parallel_context": (
        "ParallelMode",
        "get_auto_parallel_context",
        "get_offload_context",
        "get_ps_context",
        "reset_auto_parallel_context",
        "reset_ps_context",
        "set_auto_parallel_context",
        "set_offload_context",
        "set_ps_context",
    ),
    "millrace.runtime": (
        "Event",
        "Stream",
        "StreamCtx",
        "communication_stream",
        "current_stream",
        "default_stream",
        "dispatch_threads_num",
        "empty_cache",
        "launch_blocking",
        "max_memory_allocated",
        "max_memory_reserved",
        "memory_allocated",
        "memory_replay",
        "memory_reserved",
        "memory_stats",
        "memory_summary",
        "reset_max_memory_allocated",
        "reset_max_memory_reserved",
        "reset_peak_memory_stats",
        "runtime",
        "set_cpu_affinity",
        "set_cur_stream",
        "set_kernel_launch_capture",
        "set_kernel_launch_group",
        "set_memory",
        "synchronize",
    ),
    "millrace.hal": ("hal",),
    "millrace.tensor.hardware": ("get_current_device",),
    "millrace.tensor.check": ("is_tensor", "run_check"),
    "millrace.tensor.generator": (
        "Generator",
        "default_generator",
        "get_rng_state",
        "initial_seed",
        "manual_seed",
        "seed",
        "set_rng_state",
    ),
    "millrace.tensor.parameter": ("Parameter", "ParameterTuple"),
    "millrace.tensor.type_classes": ("Int", "QuantDtype", "TensorType"),
    "millrace.tensor.unknown": ("Symbol",),
    "millrace.ops.sparse_tensors": ("COOTensor", "CSRTensor", "RowTensor", "SparseTensor"),
    "millrace.log": ("get_level", "get_log_config", "log"),
    "millrace.common.dtype": (
        "Type",
        "byte",
        "cdouble",
        "cfloat",
        "complex128",
        "complex64",
        "double",
        "dtype_to_nptype",
        "dtype_to_pytype",
        "float8_e4m3fn",
        "float8_e5m2",
        "float_",
        "get_py_obj_dtype",
        "half",
        "hifloat8",
        "int_",
        "intc",
        "intp",
        "list_",
        "long",
        "number",
        "pytype_to_dtype",
        "qint4x2",
        "short",
        "single",
        "tensor_type",
        "tuple_",
        "type_none",
        "ubyte",
        "uint",
        "uintc",
        "uintp",
        "ushort",
    ),
    "millrace.communication": ("communication",),
    "millrace.amp": ("amp",),
    "millrace.context": ("context",),
    "millrace.grad": ("grad",),
    "millrace.grad.again": ("recompute",),
    "millrace.grad.functions": ("value_and_grad",),
    "millrace.grad.jacobian": ("jacfwd", "jacrev"),
    "millrace.grad.mapping": ("vmap",),
    "millrace.grad.products": ("get_grad", "jvp", "vjp"),
    "millrace.graph.dynamic": ("enable_dynamic", "ms_memory_recycle"),
    "millrace.graph.report": ("graph_report",),
    "millrace.graph.jit": (
        "JitConfig",
        "jit",
        "jit_class",
        "lazy_inline",
        "ms_function",
        "mutable",
        "no_inline",
    ),
    "millrace.mint": ("mint",),
    "millrace.nn": ("nn",),
    "millrace.nn.dumping": ("set_dump",),
    "millrace.ops": ("ops",),
    "millrace.profiler": ("profiler",),
    "millrace.train.profiling.profile": ("Profiler",),
    "millrace.parallel": ("parallel",),
    "millrace.serve": ("serve",),
    "millrace.parallel.parameters": ("merge_sliced_parameter", "parameter_broadcast"),
    "millrace.parallel.strategies": (
        "Layout",
        "build_searched_strategy",
        "get_algo_parameters",
        "load_distributed_checkpoint",
        "load_segmented_checkpoints",
        "merge_pipeline_strategys",
        "rank_list_for_transform",
        "reset_algo_parameters",
        "restore_group_info_list",
        "set_algo_parameters",
        "shard",
        "sync_pipeline_shared_parameters",
        "transform_checkpoint_by_rank",
        "transform_checkpoints",
        "unified_safetensors",
    ),
    "millrace.tensor": ("tensor",),
    "millrace.boost": ("boost",),
    "millrace.train": ("train",),
}
# MindSpore has every name of its `train` here too
_LAZY = {**_OF_TRAIN, **{name: place for place, names in _PLACES.items() for name in names}}
__all__ += list(_LAZY)
# MindSpore has these here too, and means nobody to lean on them.
_HIDDEN = {
    "_Function": "millrace.grad.own",
    "_NullType": "millrace.tensor.type_classes",
    "_no_grad": "millrace.grad.own",
    "_null": "millrace.tensor.type_classes",
}

__getattr__ = _lazy(__name__, {**_LAZY, **_HIDDEN})

_configure_log()
_wait_briefly()


def _load_training_wing() -> None:
    """Give Tensor what only PyTorch can compute."""
    try:
        from millrace.ops.attach import attach
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from millrace.core.optional import missing

        raise missing(error, "train", "computing with tensors") from error
    attach()


_when_needed(_load_training_wing)


def _load_sink() -> object:
    """What takes batches to a device."""
    try:
        import millrace.sink as sink
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from millrace.core.optional import missing

        raise missing(error, "train", "taking batches to a device") from error
    return sink


_when_asked(_load_sink)
