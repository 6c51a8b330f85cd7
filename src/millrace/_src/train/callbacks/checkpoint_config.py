"""``CheckpointConfig``: interval, retention and contents of checkpoints during training."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.tensor.generator import Generator
from millrace._src.train.checkpoint.checkpoint_path import FORMATS
from millrace._src.train.checkpoint.save import check_options

__all__ = ["CheckpointConfig"]


@public("train", "millrace")
class CheckpointConfig:
    """Interval, retention and contents of the files of :class:`ModelCheckpoint`.

    A file is written every ``save_checkpoint_steps`` steps, or every ``save_checkpoint_seconds``; the newest
    ``keep_checkpoint_max`` are kept, or one per ``keep_checkpoint_per_n_minutes``. ``append_info`` is a list of
    "epoch_num", "step_num" and a dict. ``exception_save`` writes a file when the training fails. A file holds
    everything that a run needs to resume; with ``resumable=False`` it has exactly MindSpore's contents. Every rank of a
    data parallel run has all parameters and saves them, with ``remove_redundancy`` too.

    >>> config = CheckpointConfig(save_checkpoint_steps=100, keep_checkpoint_max=3, append_info=["epoch_num"])
    >>> config.keep_checkpoint_max, config.append_dict
    (3, {'epoch_num': 0})
    """

    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: list[Any] | None = None,
        enc_key: bytes | None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        remove_redundancy: bool = False,
        format: str = "ckpt",
        **kwargs: Any,
    ) -> None:
        steps, seconds = _check_count(save_checkpoint_steps), _check_count(save_checkpoint_seconds)
        most, minutes = _check_count(keep_checkpoint_max), _check_count(keep_checkpoint_per_n_minutes)
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise ArgumentTypeError(
                "For 'CheckpointConfig', the type of 'saved_network' must be None or Cell, "
                f"but got {type(saved_network)}."
            )
        if not (steps or seconds or most or minutes):
            raise ArgumentValueError(
                "For 'CheckpointConfig', the input arguments 'save_checkpoint_steps', 'save_checkpoint_seconds', "
                "'keep_checkpoint_max' and 'keep_checkpoint_per_n_minutes' can't be all None or 0."
            )
        resumable = kwargs.get("resumable", True)
        for value in (exception_save, resumable):
            if not isinstance(value, bool):
                raise ArgumentTypeError(f"The input value must be a bool, but got {type(value).__name__}.")
        if not isinstance(remove_redundancy, bool):
            raise ArgumentValueError(
                f"The parameter 'remove_redundancy' must be isinstance of {bool}, but got {remove_redundancy}."
            )
        if format not in FORMATS:
            raise ArgumentValueError(
                f"For 'CheckpointConfig', the format must be 'safetensors' or 'ckpt', but got {format}."
            )
        if format == "safetensors" and (exception_save or crc_check):
            raise ArgumentValueError(
                "For 'save_checkpoint', when format is 'safetensors', other param must be default. ('exception_save' "
                "and 'crc_check' are for format='ckpt'.)"
            )
        check_options(integrated_save, async_save, enc_key, enc_mode, crc_check, format)
        # steps take precedence over seconds, a number of files over minutes
        self._save_checkpoint_steps, self._save_checkpoint_seconds = steps, None if steps else seconds
        self._keep_checkpoint_max = most if most or minutes else 1
        self._keep_checkpoint_per_n_minutes = None if most else minutes
        self._integrated_save, self._async_save = integrated_save, async_save
        self._saved_network, self._append_dict = saved_network, _check_append_dict(append_info)
        self._enc_key, self._enc_mode, self._crc_check, self._format = enc_key, enc_mode, crc_check, format
        self.exception_save, self.remove_redundancy, self.resumable = (
            exception_save,
            remove_redundancy,
            resumable,
        )
        self.enable_redundance = kwargs.get("enable_redundance", False)
        self._map_param_inc = kwargs.get("incremental", False)

    @property
    def save_checkpoint_steps(self) -> int | None:
        """Steps between two files."""
        return self._save_checkpoint_steps

    @property
    def save_checkpoint_seconds(self) -> int | None:
        """Seconds between two files; None if steps are used."""
        return self._save_checkpoint_seconds

    @property
    def keep_checkpoint_max(self) -> int | None:
        """Number of files to keep."""
        return self._keep_checkpoint_max

    @property
    def keep_checkpoint_per_n_minutes(self) -> int | None:
        """Minutes per kept file; None if a number is used."""
        return self._keep_checkpoint_per_n_minutes

    @property
    def integrated_save(self) -> bool:
        """Whether slices are merged; data parallel networks have none."""
        return self._integrated_save

    @property
    def async_save(self) -> bool | str:
        """Whether files are written asynchronously."""
        return self._async_save

    @property
    def saved_network(self) -> Cell | None:
        """The Cell that is saved instead of the training network."""
        return self._saved_network

    @property
    def enc_key(self) -> bytes | None:
        """The encryption key."""
        return self._enc_key

    @property
    def enc_mode(self) -> str:
        """The encryption mode."""
        return self._enc_mode

    @property
    def crc_check(self) -> bool:
        """Whether files have a checksum."""
        return self._crc_check

    @property
    def format(self) -> str:
        """The format of files."""
        return self._format

    @property
    def append_dict(self) -> dict[str, Any] | None:
        """Additional saved values."""
        return self._append_dict

    @property
    def map_param_inc(self) -> bool:
        """Ignored: there are no map parameters."""
        return bool(self._map_param_inc)

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """Save interval and retention as a dict."""
        names = (
            "save_checkpoint_steps",
            "save_checkpoint_seconds",
            "keep_checkpoint_max",
            "keep_checkpoint_per_n_minutes",
            "saved_network",
        )
        return {name: getattr(self, name) for name in names}


def _check_count(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"The input value must be int, but got '{type(value).__name__}'")
    if value < 0:
        raise ArgumentValueError(
            f"The input value must be int and must >= 0, but got '{value}' with type 'int'."
        )
    return value


def _check_append_dict(info: Any) -> dict[str, Any] | None:
    if info is None or info == []:
        return None
    if not isinstance(info, list):
        raise ArgumentTypeError(
            f"For 'CheckpointConfig', the type of 'append_info' must be list,but got {type(info)}."
        )
    known = ["epoch_num", "step_num"]
    entries: dict[str, Any] = {name: 0 for name in known if name in info}
    dicts = 0
    for element in info:
        if isinstance(element, str):
            if element not in known:
                raise ArgumentValueError(
                    "For 'CheckpointConfig', the value of element in the argument 'append_info' must be in "
                    f"{known}, but got {element}."
                )
            continue
        if not isinstance(element, dict):
            raise ArgumentTypeError(
                "For 'CheckpointConfig', the type of 'append_info' element must be str or dict,"
                f"but got {type(element)}."
            )
        dicts += 1
        if dicts > 1:
            raise ArgumentTypeError(
                f"For 'CheckpointConfig', the element of 'append_info' must has only one dict, but got {dicts}"
            )
        for name, value in element.items():
            if not isinstance(name, str) or not isinstance(value, (int, float, bool, str, Tensor, Generator)):
                raise ArgumentTypeError(
                    "For 'CheckpointConfig', the key type of the dict 'append_info' must be string, the value type "
                    f"must be int or float or bool, but got key type {type(name)}, value type {type(value)}"
                )
            entries[name] = value
    return entries
