"""Training with several processes: communication, launch, reducers, sharded tables; and MindSpore's ``parallel``."""

from __future__ import annotations

from millrace._src.core.lazy import lazy

_PLACES = {
    "millrace._src.runtime.nn.sharded_embedding": ("ShardedEmbedding",),
    "millrace._src.parallel.elastic_batches": ("GlobalBatches", "data_shard"),
    "millrace._src.runtime.distributed.sharded_optimizer": ("gather_states", "load_states"),
    "millrace._src.runtime.distributed.parameter_sync": (
        "broadcast_parameters",
        "merge_sliced_parameter",
        "parameter_broadcast",
    ),
    "millrace._src.parallel.strategies": (
        "Layout",
        "build_searched_strategy",
        "convert_checkpoint_by_rank",
        "convert_checkpoints",
        "get_algo_parameters",
        "load_distributed_checkpoint",
        "load_segmented_checkpoints",
        "merge_pipeline_strategys",
        "rank_list_for_convert",
        "rank_list_for_transform",
        "reset_algo_parameters",
        "restore_group_info_list",
        "set_algo_parameters",
        "set_op_strategy_config",
        "shard",
        "sync_pipeline_shared_parameters",
        "transform_checkpoint_by_rank",
        "transform_checkpoints",
        "unified_safetensors",
    ),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = list(_LAZY)

# loaded when they are first asked for: who only wants the launcher does not wait for the rest
__getattr__ = lazy(__name__, _LAZY)
