"""Training: ``Model``, callbacks, metrics, mixed precision, checkpoints, summaries and export.

Every name is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace._src.core.lazy import lazy as _lazy

# isort: off
# fmt: off
if TYPE_CHECKING:  # for type checkers, written by tests/contracts/public_api/typed_block.py
    from millrace._src.parallel.strategies import (
        build_searched_strategy as build_searched_strategy,
        load_distributed_checkpoint as load_distributed_checkpoint,
        restore_group_info_list as restore_group_info_list,
    )
    from millrace._src.runtime.distributed.parameter_sync import (
        merge_sliced_parameter as merge_sliced_parameter,
    )
    from millrace._src.train.callbacks.callback import (
        Callback as Callback, RunContext as RunContext,
    )
    from millrace._src.train.callbacks.checkpoint_config import CheckpointConfig as CheckpointConfig
    from millrace._src.train.callbacks.early_stopping import (
        EarlyStopping as EarlyStopping, ReduceLROnPlateau as ReduceLROnPlateau,
    )
    from millrace._src.train.callbacks.fault_tolerance import (
        BackupAndRestore as BackupAndRestore, OnRequestExit as OnRequestExit,
    )
    from millrace._src.train.callbacks.flops_utilization import (
        FlopsUtilizationCollector as FlopsUtilizationCollector,
    )
    from millrace._src.train.callbacks.learning_rate import (
        History as History, LambdaCallback as LambdaCallback,
        LearningRateScheduler as LearningRateScheduler,
    )
    from millrace._src.train.callbacks.model_checkpoint import (
        BestCheckpoint as BestCheckpoint, ModelCheckpoint as ModelCheckpoint,
    )
    from millrace._src.train.callbacks.monitors import (
        LossMonitor as LossMonitor, TimeMonitor as TimeMonitor,
    )
    from millrace._src.train.callbacks.refused import TrainFaultTolerance as TrainFaultTolerance
    from millrace._src.train.checkpoint.format_conversion import (
        ckpt_to_safetensors as ckpt_to_safetensors, safetensors_to_ckpt as safetensors_to_ckpt,
    )
    from millrace._src.train.checkpoint.inspection import contents_of as contents_of
    from millrace._src.train.checkpoint.load import (
        check_checkpoint as check_checkpoint, load_checkpoint as load_checkpoint,
        load_checkpoint_async as load_checkpoint_async,
    )
    from millrace._src.train.checkpoint.load_parameters import (
        load_param_into_net as load_param_into_net,
    )
    from millrace._src.train.checkpoint.replica_checkpoint import (
        get_ckpt_path_with_strategy as get_ckpt_path_with_strategy,
    )
    from millrace._src.train.checkpoint.save import (
        async_ckpt_thread_status as async_ckpt_thread_status, save_checkpoint as save_checkpoint,
        wait_for_checkpoints as wait_for_checkpoints,
    )
    from millrace._src.train.checkpoint.training_state import (
        TrainingState as TrainingState, load_training as load_training,
        save_training as save_training,
    )
    from millrace._src.train.checkpoint.weight_conversion import (
        convert_checkpoint as convert_checkpoint, load_torch as load_torch,
    )
    from millrace._src.train.dataset_helper import (
        DatasetHelper as DatasetHelper,
        connect_network_with_dataset as connect_network_with_dataset, data_sink as data_sink,
    )
    from millrace._src.train.export.archive import export as export, load as load
    from millrace._src.train.metrics.registry import (
        Accuracy as Accuracy, BleuScore as BleuScore, ConfusionMatrix as ConfusionMatrix,
        ConfusionMatrixMetric as ConfusionMatrixMetric, CosineSimilarity as CosineSimilarity,
        Dice as Dice, F1 as F1, Fbeta as Fbeta, HausdorffDistance as HausdorffDistance,
        Loss as Loss, MAE as MAE, MSE as MSE, MeanSurfaceDistance as MeanSurfaceDistance,
        Metric as Metric, OcclusionSensitivity as OcclusionSensitivity, Perplexity as Perplexity,
        Precision as Precision, ROC as ROC, Recall as Recall,
        RootMeanSquareDistance as RootMeanSquareDistance,
        Top1CategoricalAccuracy as Top1CategoricalAccuracy,
        Top5CategoricalAccuracy as Top5CategoricalAccuracy,
        TopKCategoricalAccuracy as TopKCategoricalAccuracy, auc as auc,
        get_metric_fn as get_metric_fn, names as names, rearrange_inputs as rearrange_inputs,
    )
    from millrace._src.train.mixed_precision.loss_scale_manager import (
        DynamicLossScaleManager as DynamicLossScaleManager,
        FixedLossScaleManager as FixedLossScaleManager, LossScaleManager as LossScaleManager,
    )
    from millrace._src.train.mixed_precision.train_network import (
        build_train_network as build_train_network,
    )
    from millrace._src.train.model import Model as Model
    from millrace._src.train.print_file import parse_print as parse_print
    from millrace._src.train.summary.loss_landscape import SummaryLandscape as SummaryLandscape
    from millrace._src.train.summary.summary_collector import SummaryCollector as SummaryCollector
    from millrace._src.train.summary.summary_record import SummaryRecord as SummaryRecord
    from millrace._src.train.thor_conversion import (
        ConvertModelUtils as ConvertModelUtils, ConvertNetUtils as ConvertNetUtils,
    )
# fmt: on
# isort: on

# Module -> the names that come from it; `millrace` and the other faces hand these out too.
_PLACES = {
    "millrace._src.runtime.distributed.parameter_sync": ("merge_sliced_parameter",),
    "millrace._src.parallel.strategies": (
        "build_searched_strategy",
        "load_distributed_checkpoint",
        "restore_group_info_list",
    ),
    "millrace._src.train.callbacks.callback": ("Callback", "RunContext"),
    "millrace._src.train.callbacks.flops_utilization": ("FlopsUtilizationCollector",),
    "millrace._src.train.callbacks.monitors": ("LossMonitor", "TimeMonitor"),
    "millrace._src.train.callbacks.refused": ("TrainFaultTolerance",),
    "millrace._src.train.callbacks.learning_rate": ("History", "LambdaCallback", "LearningRateScheduler"),
    "millrace._src.train.callbacks.early_stopping": ("EarlyStopping", "ReduceLROnPlateau"),
    "millrace._src.train.callbacks.checkpoint_config": ("CheckpointConfig",),
    "millrace._src.train.callbacks.model_checkpoint": ("BestCheckpoint", "ModelCheckpoint"),
    "millrace._src.train.callbacks.fault_tolerance": ("BackupAndRestore", "OnRequestExit"),
    "millrace._src.train.checkpoint.inspection": ("contents_of",),
    "millrace._src.train.checkpoint.weight_conversion": ("convert_checkpoint", "load_torch"),
    "millrace._src.train.checkpoint.load_parameters": ("load_param_into_net",),
    "millrace._src.train.checkpoint.load": ("check_checkpoint", "load_checkpoint", "load_checkpoint_async"),
    "millrace._src.train.checkpoint.replica_checkpoint": ("get_ckpt_path_with_strategy",),
    "millrace._src.train.checkpoint.training_state": ("TrainingState", "load_training", "save_training"),
    "millrace._src.train.checkpoint.save": (
        "async_ckpt_thread_status",
        "save_checkpoint",
        "wait_for_checkpoints",
    ),
    "millrace._src.train.checkpoint.format_conversion": ("ckpt_to_safetensors", "safetensors_to_ckpt"),
    "millrace._src.train.metrics.registry": (
        "Accuracy",
        "BleuScore",
        "ConfusionMatrix",
        "ConfusionMatrixMetric",
        "CosineSimilarity",
        "Dice",
        "F1",
        "Fbeta",
        "HausdorffDistance",
        "Loss",
        "MAE",
        "MSE",
        "MeanSurfaceDistance",
        "Metric",
        "OcclusionSensitivity",
        "Perplexity",
        "Precision",
        "ROC",
        "Recall",
        "RootMeanSquareDistance",
        "Top1CategoricalAccuracy",
        "Top5CategoricalAccuracy",
        "TopKCategoricalAccuracy",
        "auc",
        "get_metric_fn",
        "names",
        "rearrange_inputs",
    ),
    "millrace._src.train.dataset_helper": ("DatasetHelper", "connect_network_with_dataset", "data_sink"),
    "millrace._src.train.export.archive": ("export", "load"),
    "millrace._src.train.print_file": ("parse_print",),
    "millrace._src.train.mixed_precision.loss_scale_manager": (
        "DynamicLossScaleManager",
        "FixedLossScaleManager",
        "LossScaleManager",
    ),
    "millrace._src.train.mixed_precision.train_network": ("build_train_network",),
    "millrace._src.train.model": ("Model",),
    "millrace._src.train.thor_conversion": ("ConvertModelUtils", "ConvertNetUtils"),
    "millrace._src.train.summary.summary_collector": ("SummaryCollector",),
    "millrace._src.train.summary.loss_landscape": ("SummaryLandscape",),
    "millrace._src.train.summary.summary_record": ("SummaryRecord",),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = list(_LAZY)

__getattr__ = _lazy(__name__, _LAZY)


def __dir__() -> list[str]:
    return sorted(__all__)
