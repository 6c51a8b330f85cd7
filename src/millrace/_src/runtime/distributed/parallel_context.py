"""Settings of parallel training, offloading and parameter servers.

Settings are validated and stored. A setting without effect on this hardware logs a message once.
"""

from __future__ import annotations

from typing import Any, ClassVar

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public

__all__ = [
    "ParallelMode",
    "get_auto_parallel_context",
    "get_offload_context",
    "get_ps_context",
    "set_world",
    "clear_world",
    "reduces_gradients",
    "reset_auto_parallel_context",
    "reset_ps_context",
    "set_auto_parallel_context",
    "set_offload_context",
    "set_ps_context",
]

logger = get_logger(__name__)


@public("millrace", "context")
class ParallelMode:
    """Modes of parallel training.

    >>> ParallelMode.DATA_PARALLEL in ParallelMode.MODE_LIST
    True
    """

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST: ClassVar[list[str]] = [
        STAND_ALONE,
        DATA_PARALLEL,
        HYBRID_PARALLEL,
        SEMI_AUTO_PARALLEL,
        AUTO_PARALLEL,
    ]


_SEARCH = ("recursive_programming", "dynamic_programming", "sharding_propagation")
_AUTO = {"mode": "auto", "config": None}
_FUSION = {"openstate": True, "allreduce": _AUTO, "allgather": _AUTO, "reducescatter": _AUTO}

# Setting -> default value.
_PARALLEL: dict[str, Any] = {
    "device_num": 1,
    "global_rank": 0,
    "gradients_mean": False,
    "gradient_fp32_sync": True,
    "parallel_mode": "stand_alone",
    "search_mode": "recursive_programming",
    "auto_parallel_search_mode": "recursive_programming",
    "parameter_broadcast": False,
    "strategy_ckpt_load_file": "",
    "strategy_ckpt_save_file": "",
    "strategy_ckpt_config": {},
    "full_batch": False,
    "full_batch_is_set": False,
    "dataset_strategy": "data_parallel",
    "enable_parallel_optimizer": False,
    "parallel_optimizer_config": {},
    "force_fp32_communication": False,
    "enable_alltoall": False,
    "all_reduce_fusion_config": [],
    "pipeline_stages": 1,
    "pipeline_result_broadcast": False,
    "pipeline_interleave": False,
    "pipeline_scheduler": "1f1b",
    "pipeline_config": {},
    "auto_pipeline": False,
    "comm_fusion": _FUSION,
    "optimizer_weight_shard_size": -1,
    "optimizer_weight_shard_aggregated_save": False,
    "loss_repeated_mean": True,
    "grad_accumulation_step": 1,
    "sharding_propagation": False,
    "group_ckpt_save_file": "",
    "auto_parallel_new_interface": False,
}
# Settings that data-parallel training reads; the others belong to parallel modes that are not implemented.
_EFFECTIVE_SETTINGS = {
    "device_num",
    "enable_parallel_optimizer",
    "global_rank",
    "gradients_mean",
    "parallel_mode",
    "parameter_broadcast",
}

_PS: dict[str, Any] = {
    "enable_ps": False,
    "enable_ssl": False,
    "config_file_path": "",
    "server_num": 0,
    "worker_num": 0,
    "scheduler_host": "",
    "scheduler_port": 0,
    "ms_role": "MS_WORKER",
    "rank_id": 0,
    "server_rank": 0,
    "client_password": "",
    "server_password": "",
}
_PS_SECRET = ("client_password", "server_password")

_OFFLOAD: dict[str, Any] = {
    "offload_param": "",
    "offload_path": "./offload/",
    "offload_cpu_size": 0,
    "offload_disk_size": 0,
    "enable_aio": True,
    "aio_block_size": 1048576,
    "aio_queue_depth": 1024,
    "enable_pinned_mem": True,
    "auto_offload": False,
    "host_mem_block_size": 1073741824,
    "cpu_ratio": 1.0,
    "hbm_ratio": 1.0,
}

_parallel, _ps, _offload = dict(_PARALLEL), dict(_PS), dict(_OFFLOAD)
_warned_settings: set[str] = set()
# rank and number of processes, from `init` to `release`
_world: list[tuple[int, int]] = []


def set_world(rank: int, size: int) -> None:
    """Store rank and size after `init`. They are the defaults of `global_rank` and `device_num`."""
    _world[:] = [(rank, size)]


def clear_world() -> None:
    """Remove rank and size on `release`."""
    _world.clear()


def reduces_gradients() -> bool:
    """Whether gradients are reduced over the processes."""
    return _parallel["parallel_mode"] in (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL)


@public("millrace", "context")
def set_auto_parallel_context(**kwargs: Any) -> None:
    """Set the parallel mode and its options.

    ``stand_alone`` and ``data_parallel`` are supported. ``hybrid_parallel`` is the same, except that
    parameters with `layerwise_parallel` are not reduced. The modes that shard operations over devices raise
    an error. Data-parallel training reads `gradients_mean`, `parameter_broadcast`,
    `enable_parallel_optimizer`, `device_num` and `global_rank`; the other settings are stored.

    >>> set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)
    >>> get_auto_parallel_context("parallel_mode")
    'data_parallel'
    >>> reset_auto_parallel_context()
    """
    for name, value in kwargs.items():
        if name not in _PARALLEL:
            raise ArgumentValueError(f"Set context keyword {name} is not recognized!")
        _check(name, value)
    for name, value in kwargs.items():
        _parallel[name] = value
        if name in ("search_mode", "auto_parallel_search_mode"):
            _parallel["search_mode"] = _parallel["auto_parallel_search_mode"] = value
        if name == "full_batch":
            _parallel["full_batch_is_set"] = True
        if name not in _EFFECTIVE_SETTINGS and value != _PARALLEL[name]:
            _warn_no_effect("set_auto_parallel_context", name)


def _check(name: str, value: Any) -> None:
    default = _PARALLEL[name]
    if isinstance(default, bool) and not isinstance(value, bool):
        raise ArgumentTypeError(f"The parameter '{name}' must be <class 'bool'>, but got {type(value)}")
    whole = isinstance(default, int) and not isinstance(default, bool)
    if whole and (not isinstance(value, int) or isinstance(value, bool)):
        raise ArgumentTypeError(f"The parameter '{name}' must be <class 'int'>, but got {type(value)}")
    if name == "parallel_mode" and value not in ParallelMode.MODE_LIST:
        raise ArgumentValueError(
            "The context configuration parameter 'parallel_mode' only support 'stand_alone', 'data_parallel', "
            f"'hybrid_parallel', 'semi_auto_parallel' and 'auto_parallel', but got the value : {value}."
        )
    if name == "parallel_mode" and value in (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL):
        raise OperationError(
            f"parallel_mode='{value}' shards every operation over the devices by a strategy, which needs a compiler "
            "that sees the whole graph; Millrace has none. Use ParallelMode.DATA_PARALLEL, with "
            "enable_parallel_optimizer=True where the optimizer's state is large, and "
            "millrace.parallel.ShardedEmbedding where a table is."
        )
    if name in ("search_mode", "auto_parallel_search_mode") and value not in _SEARCH:
        raise ArgumentValueError(
            "The context configuration parameter 'auto_parallel_search_mode' only support 'recursive_programming', "
            f"'dynamic_programming' and 'sharding_propagation', but got the value: {value}."
        )
    if name in ("device_num", "pipeline_stages", "grad_accumulation_step") and value < 1:
        raise ArgumentValueError(
            f"The context configuration parameter '{name}' must be a positive integer, but got the value of "
            f"{name} : {value}."
        )
    if name == "global_rank" and not 0 <= value <= 4095:
        raise ArgumentValueError(
            "The context configuration parameter 'global_rank' must be in [0, 4095], but got the value of "
            f"global_rank : {value}."
        )


@public("millrace", "context")
def get_auto_parallel_context(attr_key: str) -> Any:
    """Get a setting of :func:`set_auto_parallel_context`.

    >>> get_auto_parallel_context("device_num")
    1
    """
    if attr_key not in _PARALLEL:
        raise ArgumentValueError(f"Get context keyword {attr_key} is not recognized!")
    if _world and attr_key in ("global_rank", "device_num") and _parallel[attr_key] == _PARALLEL[attr_key]:
        return _world[0][attr_key == "device_num"]
    return _parallel[attr_key]


@public("millrace", "context")
def reset_auto_parallel_context() -> None:
    """Reset all settings of :func:`set_auto_parallel_context`.

    >>> reset_auto_parallel_context()
    """
    _parallel.clear()
    _parallel.update(_PARALLEL)


@public("millrace", "context")
def set_ps_context(**kwargs: Any) -> None:
    """Set the options of parameter-server training. Call it before `communication.init`, which assigns the
    roles.

    No process is a server here. For tables that are larger than one device use
    `millrace.parallel.ShardedEmbedding`.

    >>> set_ps_context(enable_ps=False)
    """
    if kwargs.get("enable_ps") and _world:
        raise OperationError(
            "set_ps_context(enable_ps=True) must be called before init(), which assigns the roles of server and "
            "worker. Move it above communication.init(), or call "
            "communication.release() first."
        )
    for name in kwargs:
        if name not in _PS:
            raise ArgumentValueError(f"Set PS context keyword {name} is not recognized!")
        if name in ("enable_ps", "enable_ssl") and not isinstance(kwargs[name], bool):
            raise ArgumentTypeError(
                f"The parameter '{name}' must be <class 'bool'>, but got {type(kwargs[name])}"
            )
    _ps.update(kwargs)
    if kwargs.get("enable_ps"):
        _warn_no_effect("set_ps_context", "enable_ps")


@public("millrace", "context")
def get_ps_context(attr_key: str) -> Any:
    """Get a setting of :func:`set_ps_context`.

    >>> get_ps_context("enable_ps")
    False
    """
    if attr_key not in _PS or attr_key in _PS_SECRET:
        raise ArgumentValueError(f"Get PS context keyword {attr_key} is not recognized!")
    return _ps[attr_key]


@public("millrace", "context")
def reset_ps_context() -> None:
    """Reset all settings of :func:`set_ps_context`.

    >>> reset_ps_context()
    """
    _ps.update(_PS)


@public("millrace", "context")
def set_offload_context(offload_config: dict[str, Any]) -> None:
    """Set where parameters are offloaded to. The setting is stored and has no effect.

    >>> set_offload_context({"offload_param": "cpu"})
    >>> get_offload_context()["offload_param"]
    'cpu'
    """
    if not isinstance(offload_config, dict):
        raise ArgumentTypeError(
            f"The parameter 'offload_config' must be <class 'dict'>, but got {type(offload_config)}"
        )
    unknown = [name for name in offload_config if name not in _OFFLOAD]
    if unknown:
        raise ArgumentValueError(
            f"For 'set_offload_context', {unknown[0]!r} is not recognized; the settings are {list(_OFFLOAD)}"
        )
    _offload.update(offload_config)
    _warn_no_effect("set_offload_context", "offload_config")


@public("millrace", "context")
def get_offload_context() -> dict[str, Any]:
    """Get the settings of :func:`set_offload_context`.

    >>> get_offload_context()["cpu_ratio"]
    1.0
    """
    return dict(_offload)


def _warn_no_effect(call: str, name: str) -> None:
    if name not in _warned_settings:
        _warned_settings.add(name)
        logger.info("%s(%s=...) is stored and has no effect here", call, name)
