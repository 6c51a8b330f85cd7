"""Callbacks for interrupted runs: ``OnRequestExit`` and ``BackupAndRestore``."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, CheckpointError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.runtime.tensor.backend.context import get_context
from millrace._src.train.checkpoint.load import load_checkpoint
from millrace._src.train.checkpoint.save import save_checkpoint
from millrace._src.train.checkpoint.training_state import position_entries

from .callback import Callback, RunContext
from .checkpoint_directory import ensure_directory

__all__ = ["BackupAndRestore", "OnRequestExit"]

log = get_logger(__name__)


def _save_with_state(params: Any, file: str) -> None:
    """Save the training network with the state to resume from."""
    training = params.get("training")
    extra_values: dict[str, Any] = {"epoch_num": params.cur_epoch_num, "step_num": params.cur_step_num}
    if training is not None:
        extra_values = {**position_entries(training.position(), params.get("run_identity")), **extra_values}
    save_checkpoint(params.train_network, file, append_dict=extra_values, crc_check=True)


def _load_verified(file: str, network: Any) -> None:
    """Load a file of this module; files without a checksum may be truncated and are refused."""
    try:
        load_checkpoint(file, net=network, crc_check=True)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} Remove the file to begin anew. Files of release 0.2 have no checksum; if you know that this one "
            f"is whole, add it: save_checkpoint(load_checkpoint({file!r}), {file!r}, crc_check=True)."
        ) from error


@public("train", "millrace")
class OnRequestExit(Callback):
    """Saves and stops a run after the current step when a signal or a file requests it.

    The file is ``{"GracefulExit": 1}`` in JSON at `config_file`. It saves
    ``directory/rank_<device>/<file_name>_train.ckpt``, from which ``Model.train(..., resume=...)`` resumes; the next
    run with the same names also starts with its parameters. `save_mindir` also exports the network. Unlike in
    MindSpore, where the run continues unless MS_ENABLE_GRACEFUL_EXIT=1 is set, the run always stops.

    >>> OnRequestExit(file_name="net", directory="exits", save_mindir=False).exit
    False
    """

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = True,
        file_name: str = "Net",
        directory: str = "./",
        config_file: str | None = None,
        sig: int = signal.SIGTERM,
    ) -> None:
        for name, value, expected_type in (
            ("save_ckpt", save_ckpt, bool),
            ("save_mindir", save_mindir, bool),
            ("sig", sig, int),
        ):
            if not isinstance(value, expected_type):
                raise ArgumentValueError(
                    f"The parameter '{name}' must be isinstance of {expected_type}, but got {value}."
                )
        if sig == signal.SIGKILL:
            raise ArgumentValueError("Not support send exit request by signal SIGKILL.")
        self.save_ckpt, self.save_mindir, self.sig = save_ckpt, save_mindir, sig
        self.remote_config_file = config_file
        self.exit = False
        self._before: Any = None
        if save_ckpt or save_mindir:
            where = ensure_directory(
                os.path.join(directory or os.getcwd(), f"rank_{get_context('device_id')}")
            )
            self.train_name, self.eval_name = (
                os.path.join(where, f"{file_name}_{what}") for what in ("train", "eval")
            )

    def on_train_begin(self, run_context: RunContext) -> None:
        """Install the signal handler, and load the parameters of the last exit."""
        self._listen()
        params = run_context.original_args()
        if self.save_ckpt and not params.get("resumed_from") and os.path.isfile(f"{self.train_name}.ckpt"):
            _load_verified(f"{self.train_name}.ckpt", params.train_network)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Install the signal handler, and evaluate the parameters of the last exit."""
        self._listen()
        for name in (self.eval_name, self.train_name) if self.save_ckpt else ():
            if os.path.isfile(f"{name}.ckpt"):
                _load_verified(f"{name}.ckpt", run_context.original_args().eval_network)
                return

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Stop if an exit was requested."""
        self._look(run_context)

    on_train_epoch_end = on_train_step_end
    on_eval_step_end = on_train_step_end

    def on_train_end(self, run_context: RunContext) -> None:
        """Save if an exit was requested."""
        params = run_context.original_args()
        self._save_and_stop(params, self.train_name if self.save_ckpt or self.save_mindir else "", "train")

    def on_eval_end(self, run_context: RunContext) -> None:
        """Save if an exit of the evaluation was requested."""
        params = run_context.original_args()
        self._save_and_stop(params, self.eval_name if self.save_ckpt or self.save_mindir else "", "eval")

    def __exit__(self, *err: object) -> None:
        if self._before is not None:
            signal.signal(self.sig, self._before)
            self._before = None

    def _listen(self) -> None:
        current_handler = signal.signal(self.sig, self._handle_signal)
        if self._before is None and current_handler != self._handle_signal:
            self._before = signal.SIG_DFL if current_handler is None else current_handler

    def _handle_signal(self, signum: int, frame: Any) -> None:
        self.exit = True

    def _look(self, run_context: RunContext) -> None:
        if self.exit or self._exit_requested_by_file():
            self.exit = True
            run_context.request_stop()

    def _exit_requested_by_file(self) -> bool:
        if self.remote_config_file is None or not os.path.exists(self.remote_config_file):
            return False
        try:
            with open(self.remote_config_file) as file:
                return json.load(file).get("GracefulExit") == 1
        except (OSError, ValueError, AttributeError) as error:
            log.warning("%s cannot be read and is ignored: %s", self.remote_config_file, error)
            return False

    def _save_and_stop(self, params: Any, name: str, what: str) -> None:
        if not self.exit:
            return
        network = params.train_network if what == "train" else params.eval_network
        if self.save_ckpt:
            if what == "train":
                _save_with_state(params, name)
            else:
                save_checkpoint(network, name, crc_check=True)
        if self.save_mindir:
            from millrace._src.train.export.archive import export  # the archive module imports this package

            inputs = params.train_dataset_element if what == "train" else params.eval_dataset_element
            export(network, *inputs, file_name=name, file_format="MINDIR")


@public("train", "millrace")
class BackupAndRestore(Callback):
    """Keeps a backup of the training network in `backup_dir`, and loads it when the run is started again.

    It is written after every epoch (`save_freq` "epoch") or every `save_freq` epochs, and removed after a successful
    training unless `delete_checkpoint` is False.

    >>> BackupAndRestore("backups", save_freq=2).save_freq
    2
    """

    def __init__(self, backup_dir: str, save_freq: Any = "epoch", delete_checkpoint: bool = True) -> None:
        self.backup_file = os.path.join(ensure_directory(backup_dir), "backup.ckpt")
        if save_freq != "epoch" and (not isinstance(save_freq, int) or isinstance(save_freq, bool)):
            raise ArgumentTypeError(f"The input value must be int, but got '{type(save_freq).__name__}'")
        if save_freq != "epoch" and save_freq < 1:
            raise ArgumentValueError(
                f"The input value must be int and must > 0, but got '{save_freq}' with type 'int'."
            )
        if not isinstance(delete_checkpoint, bool):
            raise ArgumentTypeError(
                f"The input value must be a bool, but got {type(delete_checkpoint).__name__}."
            )
        self.save_freq = 1 if save_freq == "epoch" else save_freq
        self.delete_checkpoint = delete_checkpoint

    def on_train_begin(self, run_context: RunContext) -> None:
        """Load the backup, if there is one."""
        params = run_context.original_args()
        if os.path.exists(self.backup_file) and not params.get("resumed_from"):
            _load_verified(self.backup_file, params.train_network)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Write the backup if it is due."""
        params = run_context.original_args()
        if params.cur_epoch_num % self.save_freq == 0:
            _save_with_state(params, self.backup_file)

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove the backup."""
        if self.delete_checkpoint and os.path.exists(self.backup_file):
            os.remove(self.backup_file)
