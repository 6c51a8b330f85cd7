"""Callbacks that save checkpoints: ``ModelCheckpoint`` periodically, ``BestCheckpoint`` the best epoch."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any, Literal

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.io import encrypted_stream
from millrace._src.core.io.remote import is_remote
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.train.checkpoint.load import load_checkpoint
from millrace._src.train.checkpoint.load_parameters import check_single_process, load_param_into_net
from millrace._src.train.checkpoint.run_folder import check_folder_is_free
from millrace._src.train.checkpoint.save import save_checkpoint, wait_for_checkpoints
from millrace._src.train.checkpoint.training_state import position_entries

from .callback import Callback, RunContext
from .checkpoint_config import CheckpointConfig
from .checkpoint_directory import BREAKPOINT, CheckpointDirectory, ensure_directory, free_prefix

__all__ = ["BestCheckpoint", "ModelCheckpoint"]

log = get_logger(__name__)


@public("train", "millrace")
class ModelCheckpoint(Callback):
    """Writes checkpoints during training: ``<prefix>-<epoch>_<step>.ckpt``, both counted from 1.

    A file holds the training network with its optimizer and, unless ``CheckpointConfig(resumable=False)``, everything
    that ``Model.train(..., resume=...)`` needs to resume. If files of an earlier run have the prefix, a number is
    appended, unless that run is resumed. An old file is removed after the new one is complete. `prefix` and
    `directory` may be functions of the callback parameters. MindSpore's ``-graph.meta`` is not written: it is for
    MindSpore's tools.

    >>> import numpy as np
    >>> import millrace.dataset as ds
    >>> from millrace import nn, train
    >>> data = ds.NumpySlicesDataset(
    ...     {"x": np.ones((6, 1), np.float32), "y": np.ones((6, 1), np.float32)}
    ... ).batch(2)
    >>> net = nn.Dense(1, 1)
    >>> model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    >>> config = train.CheckpointConfig(save_checkpoint_steps=3)
    >>> model.train(2, data, callbacks=train.ModelCheckpoint("run", "files", config))
    >>> sorted(os.listdir("files"))
    ['run-1_3.ckpt', 'run-2_3.ckpt']
    """

    def __init__(
        self,
        prefix: str | Callable[[Any], str] = "CKP",
        directory: str | Callable[[Any], str] | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        if not callable(prefix):
            _check_prefix(prefix, "is invalid, it must be callable or")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise ArgumentTypeError(
                "For 'ModelCheckpoint', the type of argument 'config' should be 'CheckpointConfig', "
                f"but got {type(config)}."
            )
        self._prefix_option, self._directory_option = prefix, directory
        self._directory = (
            "" if callable(directory) else ensure_directory(os.getcwd() if directory is None else directory)
        )
        self._config = config or CheckpointConfig()
        self._checkpoints = CheckpointDirectory(self._config.format)
        self._prefix: str | None = None
        self._last_time = time.time()
        self._last_triggered_step = 0
        self._latest_ckpt_file_name = ""
        self._params: Any = None
        if isinstance(prefix, str) and not callable(directory):
            self._prefix = free_prefix(self._directory, prefix)

    @property
    def is_async(self) -> bool:
        """Whether saving is asynchronous; the training then guards tensor writes during the copy."""
        return bool(self._config.async_save)

    @property
    def resume_key(self) -> bytes | None:
        """The key for ``Model.train(..., resume=...)``; None if files are not encrypted."""
        config = self._config
        if config.enc_key is None or not config.resumable or config.saved_network is not None:
            return None
        if config.enc_mode != encrypted_stream.MODE:
            raise ArgumentValueError(
                f"Model.train: expected enc_mode={encrypted_stream.MODE!r} in CheckpointConfig to resume, got "
                f"{config.enc_mode!r}, which does not show that a file is whole. Set "
                f"enc_mode={encrypted_stream.MODE!r}, or omit resume"
            )
        return config.enc_key

    @property
    def latest_ckpt_file_name(self) -> str:
        """Name of the last written file."""
        return self._latest_ckpt_file_name

    def on_train_begin(self, run_context: RunContext) -> None:
        """Use the file names of the resumed run; refuse a folder that another training has locked."""
        params = self._params = run_context.original_args()
        if self._directory:
            check_folder_is_free(self._directory)
        self._last_time = time.time()
        self._last_triggered_step = params.get("cur_step_num", 0)
        resumed, prefix = params.get("resumed_from"), self._prefix_option
        if resumed and isinstance(prefix, str) and self._directory:
            where, _, name = resumed.rpartition("/")
            if where == self._directory and name.startswith(f"{prefix}-"):
                self._prefix = prefix

    def step_end(self, run_context: RunContext) -> None:
        """Save if it is due."""
        params = self._params = run_context.original_args()
        if self._is_due(params):
            self._save(params)

    def end(self, run_context: RunContext) -> None:
        """Save the last step, and wait until all files are on disk."""
        params = run_context.original_args()
        if params.get("mode", "train") == "train" and params.cur_step_num != self._last_triggered_step:
            self._save(params)
        wait_for_checkpoints()
        self._remove_old()

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Nothing is saved while evaluating."""

    def on_eval_end(self, run_context: RunContext) -> None:
        """Nothing is saved while evaluating."""

    def __exit__(self, *err: object) -> None:
        params, self._params = self._params, None
        if err[1] is None or not self._config.exception_save or params is None:
            return
        file = f"{self._where(params, failed=True)}{BREAKPOINT}"
        try:
            self._write(params, file, {})
            wait_for_checkpoints()
        except Exception as error:  # the error that ended the training is raised
            log.error("the training failed, and so did saving %s: %s", file, error)

    def _is_due(self, params: Any) -> bool:
        config = self._config
        if params.cur_step_num == self._last_triggered_step:
            return False
        if config.save_checkpoint_steps:
            return bool(params.cur_step_num >= self._last_triggered_step + config.save_checkpoint_steps)
        if config.save_checkpoint_seconds and time.time() - self._last_time > config.save_checkpoint_seconds:
            self._last_time = time.time()
            return True
        return False

    def _where(self, params: Any, failed: bool = False) -> str:
        """File name without extension."""
        prefix, directory = self._prefix_option, self._directory_option
        if callable(directory):
            self._directory = ensure_directory(directory(params))
        if callable(prefix):
            self._prefix = prefix(params)
            _check_prefix(self._prefix, "is callable, it must return a")
        elif self._prefix is None:
            self._prefix = prefix
        name = self._prefix
        if not callable(prefix) or failed:
            name = (
                free_prefix(self._directory, prefix, failed=True)
                if failed and isinstance(prefix, str)
                else name
            )
            step = (params.cur_step_num - 1) % params.batch_num + 1
            name = f"{name}-{params.cur_epoch_num}_{step}"
        return (
            f"{self._directory}/{name}" if is_remote(self._directory) else os.path.join(self._directory, name)
        )

    def _save(self, params: Any) -> None:
        if self._config.remove_redundancy:
            check_single_process("saving")
        wait_for_checkpoints()  # include files that are still being written
        self._remove_old()
        self._last_triggered_step = params.cur_step_num
        file = f"{self._where(params)}.{self._config.format}"
        self._write(params, file, self._resumable(params))
        self._latest_ckpt_file_name = file
        self._checkpoints.add(file)
        if not self._config.async_save:
            self._remove_old()

    def _resumable(self, params: Any) -> dict[str, Any]:
        training = params.get("training")
        if not self._config.resumable or training is None or self._config.saved_network is not None:
            return {}
        return position_entries(training.position(), params.get("run_identity"))

    def _write(self, params: Any, file: str, extra_entries: dict[str, Any]) -> None:
        config = self._config
        info = dict(config.append_dict or {})
        now = {"epoch_num": params.cur_epoch_num, "step_num": params.cur_step_num}
        info |= {
            name: value for name, value in now.items() if name in info or (extra_entries and name not in info)
        }
        save_checkpoint(
            config.saved_network or params.train_network,
            file,
            config.integrated_save,
            config.async_save,
            {**info, **{name: value for name, value in extra_entries.items() if name not in now}},
            config.enc_key,
            config.enc_mode,
            crc_check=config.crc_check or (bool(extra_entries) and config.enc_key is None),
            format=config.format,
        )

    def _remove_old(self) -> None:
        """Remove old files after pending saves are on disk."""
        config = self._config
        if callable(self._prefix_option) or not self._latest_ckpt_file_name or self._prefix is None:
            return
        if config.keep_checkpoint_max:
            self._checkpoints.keep_newest(self._directory, self._prefix, config.keep_checkpoint_max)
        elif config.keep_checkpoint_per_n_minutes:
            self._checkpoints.keep_one_for(
                self._directory, self._prefix, config.keep_checkpoint_per_n_minutes
            )


def _check_prefix(prefix: Any, which: str) -> None:
    if not isinstance(prefix, str) or "/" in prefix:
        raise ArgumentValueError(
            f"For 'ModelCheckpoint', the argument 'prefix' for checkpoint file name {which} string that does not "
            f"contain '/', but got {prefix}."
        )


@public("train", "millrace")
class BestCheckpoint(Callback):
    """Saves the parameters of the best epoch to one file, and restores them at the end with ``restore=True``.

    `monitor` is "loss" (the mean over an epoch), or a result of the evaluation that ``Model.fit`` makes: "eval_loss",
    or the name of a metric. `mode` is "min" or "max"; "auto" uses "max" for everything but losses and
    errors. The file holds the network; ``optimizer=True`` adds the optimizer state.

    >>> import numpy as np
    >>> import millrace.dataset as ds
    >>> from millrace import nn, train
    >>> data = ds.NumpySlicesDataset(
    ...     {"x": np.ones((6, 1), np.float32), "y": np.ones((6, 1), np.float32)}
    ... ).batch(2)
    >>> net = nn.Dense(1, 1)
    >>> best = BestCheckpoint("best.ckpt")
    >>> train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(3, data, callbacks=best)
    >>> best.epoch, list(load_checkpoint("best.ckpt"))
    (3, ['weight', 'bias', 'best_epoch', 'best_value'])
    """

    state_attributes = ("value", "epoch", "_sum", "_count")

    def __init__(
        self,
        ckpt_file_name: str = "best.ckpt",
        monitor: str = "loss",
        mode: Literal["auto", "min", "max"] = "auto",
        restore: bool = False,
        optimizer: bool = False,
    ) -> None:
        if mode not in ("auto", "min", "max"):
            raise ArgumentValueError(
                f"For 'BestCheckpoint', 'mode' must be 'auto', 'min' or 'max', but got {mode!r}."
            )
        self.ckpt_file_name, self.monitor, self.restore = ckpt_file_name, monitor, restore
        smaller = any(
            term in monitor.lower() for term in ("loss", "error", "mse", "mae", "perplexity", "distance")
        )
        self._smaller = mode == "min" or (mode == "auto" and smaller)
        self._optimizer = optimizer
        # best value so far and its epoch, counted from 1
        self.value: float | None = None
        self.epoch = 0
        self._sum: Any = None
        self._count = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin anew."""
        self.value, self.epoch = None, 0

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Reset the mean of the loss."""
        self._sum, self._count = None, 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Accumulate the loss on its device; it is read once, after the epoch."""
        if self.monitor != "loss":
            return
        outputs = run_context.original_args().net_outputs
        loss = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
        if isinstance(loss, Tensor):
            loss = loss.mean() if loss.ndim else loss
            self._sum = loss.copy() if self._sum is None else self._sum + loss
            self._count += 1

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Save if this is the best epoch."""
        params = run_context.original_args()
        value = self._now(params)
        if value is None or math.isnan(value):
            return
        if self.value is not None and (value >= self.value if self._smaller else value <= self.value):
            return
        self.value, self.epoch = value, params.cur_epoch_num
        cell = params.train_network if self._optimizer else params.network
        extra_entries = {"best_epoch": self.epoch, "best_value": Tensor(value)}
        save_checkpoint(cell, self.ckpt_file_name, append_dict=extra_entries)

    def _now(self, params: Any) -> float | None:
        if self.monitor == "loss":
            return None if self._sum is None else float(self._sum) / self._count
        results = params.get("eval_results") or params.get("metrics") or {}
        if self.monitor not in results:
            if results:
                raise ArgumentValueError(
                    f"For 'BestCheckpoint', there is no result {self.monitor!r}; there are {sorted(results)}."
                )
            return None  # no evaluation after this epoch
        return float(results[self.monitor])

    def on_train_end(self, run_context: RunContext) -> None:
        """Restore the best parameters if requested."""
        if self.restore and self.value is not None:
            format = "safetensors" if self.ckpt_file_name.endswith(".safetensors") else "ckpt"
            load_param_into_net(
                run_context.original_args().network, load_checkpoint(self.ckpt_file_name, format=format)
            )
