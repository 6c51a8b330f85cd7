"""Millrace: a training-data engine and training runtime with MindSpore's programming interface.

``import millrace.dataset as ds`` is where data begin, ``from millrace import nn, ops`` is where nets do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# loaded in each process: a pickled error refers to its class by this module, and cloudpickle sends a copy of a class
# whose module is not loaded
import millrace.errors as _errors  # noqa: F401
from millrace._src.core.device_queues import register_device_layer as _when_asked
from millrace._src.core.lazy import lazy as _lazy
from millrace._src.core.log import configure as _configure_log
from millrace._src.core.machine.openmp import limit_openmp_spin as _wait_briefly
from millrace._src.core.modules_0_2_0 import install as _find_modules_of_0_2_0
from millrace._src.core.random.seeds import get_seed, set_seed
from millrace._src.core.values.dtype import (
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
from millrace._src.core.values.tensor import Tensor
from millrace._src.core.values.tensor import register_runtime as _when_needed
from millrace.train import _LAZY as _OF_TRAIN

# isort: off
# fmt: off
if TYPE_CHECKING:  # for type checkers, written by tests/contracts/public_api/typed_block.py
    from millrace._src.compat.dump import set_dump as set_dump
    from millrace._src.parallel.strategies import (
        Layout as Layout, build_searched_strategy as build_searched_strategy,
        get_algo_parameters as get_algo_parameters,
        load_distributed_checkpoint as load_distributed_checkpoint,
        load_segmented_checkpoints as load_segmented_checkpoints,
        merge_pipeline_strategys as merge_pipeline_strategys,
        rank_list_for_transform as rank_list_for_transform,
        reset_algo_parameters as reset_algo_parameters,
        restore_group_info_list as restore_group_info_list,
        set_algo_parameters as set_algo_parameters, shard as shard,
        sync_pipeline_shared_parameters as sync_pipeline_shared_parameters,
        transform_checkpoint_by_rank as transform_checkpoint_by_rank,
        transform_checkpoints as transform_checkpoints, unified_safetensors as unified_safetensors,
    )
    from millrace._src.runtime.autograd.grad import value_and_grad as value_and_grad
    from millrace._src.runtime.autograd.jacobian import jacfwd as jacfwd, jacrev as jacrev
    from millrace._src.runtime.autograd.jvp_vjp import get_grad as get_grad, jvp as jvp, vjp as vjp
    from millrace._src.runtime.distributed.parallel_context import (
        ParallelMode as ParallelMode, get_auto_parallel_context as get_auto_parallel_context,
        get_offload_context as get_offload_context, get_ps_context as get_ps_context,
        reset_auto_parallel_context as reset_auto_parallel_context,
        reset_ps_context as reset_ps_context,
        set_auto_parallel_context as set_auto_parallel_context,
        set_offload_context as set_offload_context, set_ps_context as set_ps_context,
    )
    from millrace._src.runtime.distributed.parameter_sync import (
        merge_sliced_parameter as merge_sliced_parameter,
        parameter_broadcast as parameter_broadcast,
    )
    from millrace._src.runtime.graph.dynamic_shape import (
        enable_dynamic as enable_dynamic, ms_memory_recycle as ms_memory_recycle,
    )
    from millrace._src.runtime.graph.jit import (
        JitConfig as JitConfig, jit_class as jit_class, lazy_inline as lazy_inline,
        ms_function as ms_function, mutable as mutable, no_inline as no_inline,
    )
    from millrace._src.runtime.ops.sparse.sparse_tensor import (
        COOTensor as COOTensor, CSRTensor as CSRTensor, RowTensor as RowTensor,
        SparseTensor as SparseTensor,
    )
    from millrace._src.runtime.tensor.backend.context import (
        COMPATIBLE as COMPATIBLE, GRAPH_MODE as GRAPH_MODE, LAX as LAX,
        PYNATIVE_MODE as PYNATIVE_MODE, STRICT as STRICT, get_context as get_context,
        set_context as set_context, set_deterministic as set_deterministic,
        set_device as set_device, set_recursion_limit as set_recursion_limit,
    )
    from millrace._src.runtime.tensor.backend.device_properties import (
        get_current_device as get_current_device,
    )
    from millrace._src.runtime.tensor.creation import tensor as tensor
    from millrace._src.runtime.tensor.dtype_classes import (
        Int as Int, QuantDtype as QuantDtype, TensorType as TensorType,
    )
    from millrace._src.runtime.tensor.generator import (
        Generator as Generator, default_generator as default_generator,
        get_rng_state as get_rng_state, initial_seed as initial_seed, manual_seed as manual_seed,
        seed as seed, set_rng_state as set_rng_state,
    )
    from millrace._src.runtime.tensor.parameter import (
        Parameter as Parameter, ParameterTuple as ParameterTuple,
    )
    from millrace._src.runtime.tensor.properties import is_tensor as is_tensor
    from millrace._src.runtime.tensor.symbolic_shape import Symbol as Symbol
    from millrace._src.train.profiling.profiler import Profiler as Profiler
    from millrace.common.dtype import (
        Type as Type, byte as byte, cdouble as cdouble, cfloat as cfloat, complex128 as complex128,
        complex64 as complex64, double as double, dtype_to_nptype as dtype_to_nptype,
        dtype_to_pytype as dtype_to_pytype, float8_e4m3fn as float8_e4m3fn,
        float8_e5m2 as float8_e5m2, float_ as float_, get_py_obj_dtype as get_py_obj_dtype,
        half as half, hifloat8 as hifloat8, int_ as int_, intc as intc, intp as intp,
        list_ as list_, long as long, number as number, pytype_to_dtype as pytype_to_dtype,
        qint4x2 as qint4x2, short as short, single as single, tensor_type as tensor_type,
        tuple_ as tuple_, type_none as type_none, ubyte as ubyte, uint as uint, uintc as uintc,
        uintp as uintp, ushort as ushort,
    )
    from millrace.log import get_level as get_level, get_log_config as get_log_config
    from millrace.runtime import (
        Event as Event, Stream as Stream, StreamCtx as StreamCtx,
        communication_stream as communication_stream, current_stream as current_stream,
        default_stream as default_stream, dispatch_threads_num as dispatch_threads_num,
        empty_cache as empty_cache, launch_blocking as launch_blocking,
        max_memory_allocated as max_memory_allocated, max_memory_reserved as max_memory_reserved,
        memory_allocated as memory_allocated, memory_replay as memory_replay,
        memory_reserved as memory_reserved, memory_stats as memory_stats,
        memory_summary as memory_summary, reset_max_memory_allocated as reset_max_memory_allocated,
        reset_max_memory_reserved as reset_max_memory_reserved,
        reset_peak_memory_stats as reset_peak_memory_stats, set_cpu_affinity as set_cpu_affinity,
        set_cur_stream as set_cur_stream, set_kernel_launch_capture as set_kernel_launch_capture,
        set_kernel_launch_group as set_kernel_launch_group, set_memory as set_memory,
        synchronize as synchronize,
    )
    from millrace.train import *  # noqa: F403
# fmt: on
# isort: on

__version__ = "0.3.0.dev0"

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
    "millrace._src.runtime.tensor.backend.context": (
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
    "millrace._src.runtime.distributed.parallel_context": (
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
    "millrace._src.runtime.tensor.backend.device_properties": ("get_current_device",),
    "millrace._src.runtime.tensor.properties": ("is_tensor",),
    "millrace._src.runtime.tensor.run_check": ("run_check",),
    "millrace._src.runtime.tensor.generator": (
        "Generator",
        "default_generator",
        "get_rng_state",
        "initial_seed",
        "manual_seed",
        "seed",
        "set_rng_state",
    ),
    "millrace._src.runtime.tensor.parameter": ("Parameter", "ParameterTuple"),
    "millrace._src.runtime.tensor.dtype_classes": ("Int", "QuantDtype", "TensorType"),
    "millrace._src.runtime.tensor.symbolic_shape": ("Symbol",),
    "millrace._src.runtime.ops.sparse.sparse_tensor": ("COOTensor", "CSRTensor", "RowTensor", "SparseTensor"),
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
    "millrace._src.runtime.autograd.recompute": ("recompute",),
    "millrace._src.runtime.autograd.grad": ("grad", "value_and_grad"),
    "millrace._src.runtime.autograd.jacobian": ("jacfwd", "jacrev"),
    "millrace._src.runtime.autograd.vmap": ("vmap",),
    "millrace._src.runtime.autograd.jvp_vjp": ("get_grad", "jvp", "vjp"),
    "millrace._src.runtime.graph.dynamic_shape": ("enable_dynamic", "ms_memory_recycle"),
    "millrace._src.runtime.graph.graph_report": ("graph_report",),
    "millrace._src.runtime.graph.jit": (
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
    "millrace._src.compat.dump": ("set_dump",),
    "millrace.ops": ("ops",),
    "millrace.profiler": ("profiler",),
    "millrace._src.train.profiling.profiler": ("Profiler",),
    "millrace.parallel": ("parallel",),
    "millrace.serve": ("serve",),
    "millrace._src.runtime.distributed.parameter_sync": ("merge_sliced_parameter", "parameter_broadcast"),
    "millrace._src.parallel.strategies": (
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
    "millrace._src.runtime.tensor.creation": ("tensor",),
    "millrace.boost": ("boost",),
    "millrace.train": ("train",),
}
# MindSpore has every name of its `train` here too
_LAZY = {**_OF_TRAIN, **{name: place for place, names in _PLACES.items() for name in names}}
__all__ += list(_LAZY)
# MindSpore has these here too, and means nobody to lean on them.
_HIDDEN = {
    "_Function": "millrace._src.runtime.autograd.custom_function",
    "_NullType": "millrace._src.runtime.tensor.dtype_classes",
    "_no_grad": "millrace._src.runtime.autograd.custom_function",
    "_null": "millrace._src.runtime.tensor.dtype_classes",
}

__getattr__ = _lazy(__name__, {**_LAZY, **_HIDDEN})

_configure_log()
_wait_briefly()
_find_modules_of_0_2_0()


def _load_runtime() -> None:
    """Give Tensor what only PyTorch can compute."""
    try:
        from millrace._src.runtime.ops.declare.tensor_methods import bind_op_methods as attach
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from millrace._src.core.optional import missing_extra_error as missing

        raise missing(error, "train", "computing with tensors") from error
    attach()


_when_needed(_load_runtime)


def _load_device_layer() -> object:
    """What takes batches to a device."""
    try:
        import millrace._src.transfer as sink
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from millrace._src.core.optional import missing_extra_error as missing

        raise missing(error, "train", "taking batches to a device") from error
    return sink


_when_asked(_load_device_layer)
