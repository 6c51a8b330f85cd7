"""Training: ``Model``, callbacks, metrics, mixed precision, checkpoints, summaries and export.

Every name is loaded when it is first asked for.
"""

from __future__ import annotations

from millrace.core.lazy import lazy as _lazy

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
