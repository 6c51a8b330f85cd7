"""Training: ``Model``, callbacks, metrics, mixed precision, checkpoints, summaries and export.

Every name is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.core.lazy import lazy as _lazy

# isort: off
# fmt: off
if TYPE_CHECKING:  # the same tables as type checkers read them; tests/names/typed_block.py writes them
    from millrace.parallel.parameters import merge_sliced_parameter as merge_sliced_parameter
    from millrace.parallel.strategies import (
        build_searched_strategy as build_searched_strategy,
        load_distributed_checkpoint as load_distributed_checkpoint,
        restore_group_info_list as restore_group_info_list,
    )
    from millrace.train.callbacks.base import Callback as Callback, RunContext as RunContext
    from millrace.train.callbacks.checkpoint_config import CheckpointConfig as CheckpointConfig
    from millrace.train.callbacks.checkpointing import (
        BestCheckpoint as BestCheckpoint, ModelCheckpoint as ModelCheckpoint,
    )
    from millrace.train.callbacks.flops import (
        FlopsUtilizationCollector as FlopsUtilizationCollector,
    )
    from millrace.train.callbacks.leaving import (
        BackupAndRestore as BackupAndRestore, OnRequestExit as OnRequestExit,
    )
    from millrace.train.callbacks.monitors import (
        LossMonitor as LossMonitor, TimeMonitor as TimeMonitor,
    )
    from millrace.train.callbacks.refused import TrainFaultTolerance as TrainFaultTolerance
    from millrace.train.callbacks.simple import (
        History as History, LambdaCallback as LambdaCallback,
        LearningRateScheduler as LearningRateScheduler,
    )
    from millrace.train.callbacks.watching import (
        EarlyStopping as EarlyStopping, ReduceLROnPlateau as ReduceLROnPlateau,
    )
    from millrace.train.checkpoint.contents import contents_of as contents_of
    from millrace.train.checkpoint.convert import (
        convert_checkpoint as convert_checkpoint, load_torch as load_torch,
    )
    from millrace.train.checkpoint.fitting import load_param_into_net as load_param_into_net
    from millrace.train.checkpoint.loading import (
        check_checkpoint as check_checkpoint, load_checkpoint as load_checkpoint,
        load_checkpoint_async as load_checkpoint_async,
    )
    from millrace.train.checkpoint.ranks import (
        get_ckpt_path_with_strategy as get_ckpt_path_with_strategy,
    )
    from millrace.train.checkpoint.resume import (
        TrainingState as TrainingState, load_training as load_training,
        save_training as save_training,
    )
    from millrace.train.checkpoint.saving import (
        async_ckpt_thread_status as async_ckpt_thread_status, save_checkpoint as save_checkpoint,
        wait_for_checkpoints as wait_for_checkpoints,
    )
    from millrace.train.checkpoint.switching import (
        ckpt_to_safetensors as ckpt_to_safetensors, safetensors_to_ckpt as safetensors_to_ckpt,
    )
    from millrace.train.dataset_helper import (
        DatasetHelper as DatasetHelper,
        connect_network_with_dataset as connect_network_with_dataset, data_sink as data_sink,
    )
    from millrace.train.exporting import export as export, load as load
    from millrace.train.metrics import (
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
    from millrace.train.mixed_precision.managers import (
        DynamicLossScaleManager as DynamicLossScaleManager,
        FixedLossScaleManager as FixedLossScaleManager, LossScaleManager as LossScaleManager,
    )
    from millrace.train.mixed_precision.networks import build_train_network as build_train_network
    from millrace.train.model import Model as Model
    from millrace.train.printed import parse_print as parse_print
    from millrace.train.second_order import (
        ConvertModelUtils as ConvertModelUtils, ConvertNetUtils as ConvertNetUtils,
    )
    from millrace.train.summary.collector import SummaryCollector as SummaryCollector
    from millrace.train.summary.landscape import SummaryLandscape as SummaryLandscape
    from millrace.train.summary.record import SummaryRecord as SummaryRecord
# fmt: on
# isort: on

# Module -> the names that come from it; `millrace` and the other faces hand these out too.
_PLACES = {
    "millrace.parallel.parameters": ("merge_sliced_parameter",),
    "millrace.parallel.strategies": (
        "build_searched_strategy",
        "load_distributed_checkpoint",
        "restore_group_info_list",
    ),
    "millrace.train.callbacks.base": ("Callback", "RunContext"),
    "millrace.train.callbacks.flops": ("FlopsUtilizationCollector",),
    "millrace.train.callbacks.monitors": ("LossMonitor", "TimeMonitor"),
    "millrace.train.callbacks.refused": ("TrainFaultTolerance",),
    "millrace.train.callbacks.simple": ("History", "LambdaCallback", "LearningRateScheduler"),
    "millrace.train.callbacks.watching": ("EarlyStopping", "ReduceLROnPlateau"),
    "millrace.train.callbacks.checkpoint_config": ("CheckpointConfig",),
    "millrace.train.callbacks.checkpointing": ("BestCheckpoint", "ModelCheckpoint"),
    "millrace.train.callbacks.leaving": ("BackupAndRestore", "OnRequestExit"),
    "millrace.train.checkpoint.contents": ("contents_of",),
    "millrace.train.checkpoint.convert": ("convert_checkpoint", "load_torch"),
    "millrace.train.checkpoint.fitting": ("load_param_into_net",),
    "millrace.train.checkpoint.loading": ("check_checkpoint", "load_checkpoint", "load_checkpoint_async"),
    "millrace.train.checkpoint.ranks": ("get_ckpt_path_with_strategy",),
    "millrace.train.checkpoint.resume": ("TrainingState", "load_training", "save_training"),
    "millrace.train.checkpoint.saving": (
        "async_ckpt_thread_status",
        "save_checkpoint",
        "wait_for_checkpoints",
    ),
    "millrace.train.checkpoint.switching": ("ckpt_to_safetensors", "safetensors_to_ckpt"),
    "millrace.train.metrics": (
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
    "millrace.train.dataset_helper": ("DatasetHelper", "connect_network_with_dataset", "data_sink"),
    "millrace.train.exporting": ("export", "load"),
    "millrace.train.printed": ("parse_print",),
    "millrace.train.mixed_precision.managers": (
        "DynamicLossScaleManager",
        "FixedLossScaleManager",
        "LossScaleManager",
    ),
    "millrace.train.mixed_precision.networks": ("build_train_network",),
    "millrace.train.model": ("Model",),
    "millrace.train.second_order": ("ConvertModelUtils", "ConvertNetUtils"),
    "millrace.train.summary.collector": ("SummaryCollector",),
    "millrace.train.summary.landscape": ("SummaryLandscape",),
    "millrace.train.summary.record": ("SummaryRecord",),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = list(_LAZY)

__getattr__ = _lazy(__name__, _LAZY)


def __dir__() -> list[str]:
    return sorted(__all__)
