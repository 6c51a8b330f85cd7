"""``SummaryCollector``: a callback that writes common training data to TensorBoard files."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type, check_bool, check_int
from millrace._src.train.callbacks.callback import Callback, RunContext
from millrace._src.train.callbacks.monitored_value import loss_of

from .loss_landscape import LandscapeCheckpoints, check_settings
from .summary_record import SummaryRecord

__all__ = ["SummaryCollector"]

# Collectable data and their defaults.
CHOICES: dict[str, Any] = {
    "collect_metric": True,
    "collect_graph": True,
    "collect_train_lineage": True,
    "collect_eval_lineage": True,
    "collect_input_data": True,
    "collect_dataset_graph": True,
    "histogram_regular": "conv|dense|weight",
    "collect_landscape": None,
}
# Number of parameters with histograms by default.
MOST_HISTOGRAMS = 5


@public("train", "millrace")
class SummaryCollector(Callback):
    """Records loss, learning rate, input images, weight histograms, the network graph and metrics.

    Data is recorded every `collect_freq` steps (images and histograms every `collect_tensor_freq`, or ten times as
    rarely). `collect_specified_data` selects data: "collect_metric", "collect_graph", "collect_input_data",
    "collect_train_lineage" and "collect_eval_lineage" are True or False, "histogram_regular" a regular expression of
    parameter names; with ``keep_default_action=False`` only that is recorded. "collect_landscape" saves weights for
    :class:`SummaryLandscape`: a dict of "intervals" ([[1, 2, 3]]), "unit" ("step" or "epoch") and its other settings.
    `custom_lineage_data` is a dict of custom values. Open the files with ``tensorboard --logdir DIR``. The loss is read
    only in recorded steps.

    >>> SummaryCollector("summaries", collect_freq=100).collect_freq
    100
    """

    def __init__(
        self,
        summary_dir: str,
        collect_freq: int = 10,
        num_process: int = 32,
        collect_specified_data: dict[str, Any] | None = None,
        keep_default_action: bool = True,
        custom_lineage_data: dict[str, Any] | None = None,
        collect_tensor_freq: int | None = None,
        max_file_size: int | None = None,
        export_options: dict[str, Any] | None = None,
    ) -> None:
        owner = "SummaryCollector"
        self.summary_dir = check_argument_type(summary_dir, "summary_dir", owner, str)
        self.collect_freq = check_int(collect_freq, "collect_freq", owner, 1)
        check_bool(keep_default_action, "keep_default_action", owner)
        rare = collect_freq * 10 if collect_tensor_freq is None else collect_tensor_freq
        self.collect_tensor_freq = check_int(rare, "collect_tensor_freq", owner, 1)
        if max_file_size is not None:
            check_int(max_file_size, "max_file_size", owner, 1)
        self._limit = max_file_size
        self._wanted = _resolve_options(collect_specified_data, keep_default_action)
        for name, value in (
            ("custom_lineage_data", custom_lineage_data),
            ("export_options", export_options),
        ):
            if value is not None and not isinstance(value, dict):
                raise ArgumentTypeError(
                    f"For '{owner}', '{name}' must be a dict, but got {type(value).__name__}."
                )
        self._custom_lineage_data = custom_lineage_data
        self._record: SummaryRecord | None = None
        landscape = self._wanted["collect_landscape"]
        self._keeper = None if not landscape else LandscapeCheckpoints(summary_dir, landscape)

    def __enter__(self) -> Self:
        self._record = SummaryRecord(self.summary_dir, max_file_size=self._limit)
        return self

    def __exit__(self, *err: object) -> None:
        if self._record is not None:
            self._record.close()
            self._record = None

    def begin(self, run_context: RunContext) -> None:
        """Record what is known before the first step."""
        params, record = run_context.original_args(), self._record
        if record is None or params.mode != "train":
            return
        if self._custom_lineage_data:
            record.add_value("custom_lineage_data", "custom", dict(self._custom_lineage_data))
        if self._wanted["collect_train_lineage"]:
            facts = {
                "epochs": params.epoch_num,
                "batches": params.batch_num,
                "network": type(params.network).__name__,
                "optimizer": type(params.optimizer).__name__,
                "loss": type(params.loss_fn).__name__,
            }
            record.add_value("train_lineage", "training", facts)
        network = params.network if self._wanted["collect_graph"] else None
        record.record(0, network)

    def step_end(self, run_context: RunContext) -> None:
        """Record the data of this step if it is due."""
        params, record = run_context.original_args(), self._record
        if record is None or params.mode != "train":
            return
        if self._keeper is not None:
            self._keeper.keep(params, "step")
        step = params.cur_step_num
        usual = step == 1 or step % self.collect_freq == 0
        rare = step == 1 or step % self.collect_tensor_freq == 0
        if usual and self._wanted["collect_metric"]:
            record.add_value("scalar", "loss", float(np.mean(loss_of(params.net_outputs))))
            rate = getattr(params.optimizer, "learning_rate", None)
            if isinstance(rate, Tensor) and not rate.ndim:
                record.add_value("scalar", "learning_rate", rate)
        if rare:
            self._rare(params, record)
        if usual or rare:
            record.record(step)

    def _rare(self, params: Any, record: SummaryRecord) -> None:
        element = params.train_dataset_element
        first = element[0] if isinstance(element, (tuple, list)) and element else None
        if (
            self._wanted["collect_input_data"]
            and isinstance(first, Tensor)
            and first.ndim == 4
            and first.shape[1] in (1, 3)
        ):
            record.add_value("image", "input_data", first[:1])
        pattern = self._wanted["histogram_regular"]
        if pattern:
            named = [each for each in params.network.trainable_params() if re.search(pattern, each.name)]
            collect_all = self._wanted["histogram_given"]
            for each in named if collect_all else named[:MOST_HISTOGRAMS]:
                record.add_value("histogram", f"{each.name}/auto", each)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Record the metrics."""
        params, record = run_context.original_args(), self._record
        if record is None or not self._wanted["collect_eval_lineage"]:
            return
        record.set_mode("eval")
        for name, value in (params.get("metrics") or {}).items():
            if isinstance(value, (int, float)):
                record.add_value("scalar", f"eval/{name}", value)
        record.record(params.get("cur_epoch_num", 0))
        record.set_mode("train")

    def epoch_end(self, run_context: RunContext) -> None:
        """Flush the recorded data."""
        params = run_context.original_args()
        if self._keeper is not None and params.mode == "train":
            self._keeper.keep(params, "epoch")
        if self._record is not None:
            self._record.flush()

    def end(self, run_context: RunContext) -> None:
        """Flush the recorded data."""
        params = run_context.original_args()
        if self._keeper is not None and params.mode == "train":
            self._keeper.finish(params)
        if self._record is not None:
            self._record.flush()


def _resolve_options(specified: dict[str, Any] | None, defaults: bool) -> dict[str, Any]:
    if specified is not None and not isinstance(specified, dict):
        raise ArgumentTypeError(
            f"For 'SummaryCollector', 'collect_specified_data' must be a dict, but got {type(specified).__name__}."
        )
    for name, value in (specified or {}).items():
        if name not in CHOICES:
            raise ArgumentValueError(
                f"For 'SummaryCollector', the keys of 'collect_specified_data' must be among {', '.join(CHOICES)}, but "
                f"got {name!r}."
            )
        if name == "histogram_regular" and not (value is None or isinstance(value, str)):
            raise ArgumentTypeError(
                f"For 'SummaryCollector', '{name}' must be a str or None, but got {value!r}."
            )
        if name == "collect_landscape" and value is not None:
            check_settings(value, "SummaryCollector")
    start = CHOICES if defaults else dict.fromkeys(CHOICES)
    return {**start, **(specified or {}), "histogram_given": "histogram_regular" in (specified or {})}
