"""MindSpore's names of operator-level parallelism. Millrace does not shard operators, so most of them raise an error
with an alternative; settings of the strategy search are checked and stored."""

from __future__ import annotations

from typing import Any, NoReturn

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public

__all__ = [
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
]

_DEFAULTS: dict[str, Any] = {
    "fully_use_devices": False,
    "elementwise_op_strategy_follow": False,
    "enable_algo_approxi": False,
    "algo_approxi_epsilon": 0.1,
    "tensor_slice_align_enable": False,
    "tensor_slice_align_size": 16,
}
_settings = dict(_DEFAULTS)


@public("parallel", "millrace")
def set_algo_parameters(**kwargs: Any) -> None:
    """Set options of the strategy search. They are checked and stored; no search takes place.

    >>> set_algo_parameters(fully_use_devices=True)
    >>> get_algo_parameters("fully_use_devices")
    True
    >>> reset_algo_parameters()
    """
    for name, value in kwargs.items():
        if name not in _DEFAULTS:
            raise ArgumentValueError(f"Set context keyword {name} is not recognized!")
        expected_type = type(_DEFAULTS[name])
        if type(value) is not expected_type:
            raise ArgumentTypeError(f"The parameter '{name}' must be {expected_type}, but got {type(value)}")
        if name == "tensor_slice_align_size" and not 1 <= value <= 1024:
            raise ArgumentValueError(f"Align_size must be in [1, 1024], but got {value}")
    _settings.update(kwargs)


@public("parallel", "millrace")
def get_algo_parameters(attr_key: str) -> Any:
    """Get an option of :func:`set_algo_parameters`."""
    if attr_key not in _DEFAULTS:
        raise ArgumentValueError(f"Get context keyword {attr_key} is not recognized!")
    return _settings[attr_key]


@public("parallel", "millrace")
def reset_algo_parameters() -> None:
    """Reset all options of :func:`set_algo_parameters`."""
    _settings.update(_DEFAULTS)


def _refuse(name: str, why: str) -> NoReturn:
    raise OperationError(f"'{name}' {why}")


_CUT = (
    "shards operations over devices by a strategy, which Millrace does not support. Train with "
    "ParallelMode.DATA_PARALLEL; for tables larger than one device use millrace.parallel.ShardedEmbedding."
)
_FILES = (
    "converts checkpoints between strategies. Here every rank's checkpoint has the whole network, and "
    "loads on any number of ranks with load_checkpoint."
)
_STAGES = (
    "splits networks into pipeline stages, which Millrace does not support: every rank has the whole network."
)


@public("parallel", "millrace")
def shard(fn: Any, in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None) -> Any:
    """Not supported: operations are not sharded over devices."""
    _refuse("shard", _CUT)


@public("parallel", "millrace")
class Layout:
    """Not supported: operations are not sharded over devices."""

    def __init__(self, device_matrix: Any, alias_name: Any, rank_list: Any = None) -> None:
        _refuse("Layout", _CUT)


@public("parallel")
def set_op_strategy_config(mode: str = "SAVE", path: str = "") -> None:
    """Not supported: there are no strategies."""
    _refuse("set_op_strategy_config", _CUT)


@public("train", "parallel", "millrace")
def build_searched_strategy(strategy_filename: str) -> Any:
    """Not supported: there are no strategies."""
    _refuse("build_searched_strategy", _CUT)


@public("parallel", "millrace")
def sync_pipeline_shared_parameters(net: Any) -> None:
    """Not supported: networks are not split into stages."""
    _refuse("sync_pipeline_shared_parameters", _STAGES)


@public("parallel", "millrace")
def merge_pipeline_strategys(src_strategy_dirs: str, dst_strategy_file: str) -> None:
    """Not supported: networks are not split into stages."""
    _refuse("merge_pipeline_strategys", _STAGES)


@public("train", "parallel", "millrace")
def restore_group_info_list(group_info_file_name: str) -> Any:
    """Not supported: checkpoints are not sharded."""
    _refuse("restore_group_info_list", _FILES)


@public("parallel", "millrace")
def rank_list_for_transform(
    rank_id: int, src_strategy_file: str | None = None, dst_strategy_file: str | None = None
) -> Any:
    """Not supported: checkpoints are not sharded."""
    _refuse("rank_list_for_transform", _FILES)


@public("parallel")
def rank_list_for_convert(
    rank_id: int, src_strategy_file: str | None = None, dst_strategy_file: str | None = None
) -> Any:
    """Not supported: checkpoints are not sharded."""
    _refuse("rank_list_for_convert", _FILES)


@public("parallel", "millrace")
def transform_checkpoint_by_rank(
    rank_id: int,
    checkpoint_files_map: Any,
    save_checkpoint_file_name: str,
    src_strategy_file: str | None = None,
    dst_strategy_file: str | None = None,
) -> None:
    """Not supported: checkpoints are not sharded."""
    _refuse("transform_checkpoint_by_rank", _FILES)


@public("parallel")
def convert_checkpoint_by_rank(
    rank_id: int,
    checkpoint_files_map: Any,
    save_checkpoint_file_name: str,
    src_strategy_file: str | None = None,
    dst_strategy_file: str | None = None,
) -> None:
    """Not supported: checkpoints are not sharded."""
    _refuse("convert_checkpoint_by_rank", _FILES)


@public("parallel", "millrace")
def transform_checkpoints(
    src_checkpoints_dir: str,
    dst_checkpoints_dir: str,
    ckpt_prefix: str,
    src_strategy_file: str | None = None,
    dst_strategy_file: str | None = None,
    process_num: int = 1,
    output_format: str = "ckpt",
) -> None:
    """Not supported: checkpoints are not sharded."""
    _refuse("transform_checkpoints", _FILES)


@public("parallel")
def convert_checkpoints(
    src_checkpoints_dir: str,
    dst_checkpoints_dir: str,
    ckpt_prefix: str,
    src_strategy_file: str | None = None,
    dst_strategy_file: str | None = None,
    process_num: int = 1,
    output_format: str = "ckpt",
) -> None:
    """Not supported: checkpoints are not sharded."""
    _refuse("convert_checkpoints", _FILES)


@public("parallel", "millrace")
def load_segmented_checkpoints(
    ckpt_file_dir: str,
    net: Any = None,
    strict_load: bool = False,
    filter_prefix: Any = None,
    dec_key: Any = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Any = None,
    choice_func: Any = None,
) -> Any:
    """Not supported: checkpoints are not sharded."""
    _refuse("load_segmented_checkpoints", _FILES)


@public("train", "parallel", "millrace")
def load_distributed_checkpoint(
    network: Any,
    checkpoint_filenames: Any = None,
    predict_strategy: Any = None,
    train_strategy_filename: Any = None,
    strict_load: bool = False,
    dec_key: Any = None,
    dec_mode: str = "AES-GCM",
    format: str = "ckpt",
    unified_safetensors_dir: Any = None,
    dst_safetensors_dir: Any = None,
    rank_id: Any = None,
    output_format: str = "safetensors",
    name_map: Any = None,
    max_process_num: int = 64,
    return_param_dict: bool = False,
) -> Any:
    """Not supported: checkpoints are not sharded."""
    _refuse("load_distributed_checkpoint", _FILES)


@public("parallel", "millrace")
def unified_safetensors(
    src_dir: str,
    src_strategy_file: str,
    dst_dir: str,
    merge_with_redundancy: bool = True,
    file_suffix: Any = None,
    max_process_num: int = 64,
    choice_func: Any = None,
    split_dst_file: Any = (),
) -> None:
    """Not supported: checkpoints are not sharded."""
    _refuse("unified_safetensors", _FILES)
