"""Load checkpoints: ``load_checkpoint`` and related functions."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, CheckpointError
from millrace._src.core.io.remote import is_remote
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import wrap

from . import ckpt_format as ckpt
from . import safetensors_format as safe
from .checkpoint_path import local_copy, resolve_load_path
from .ckpt_protobuf import CorruptCheckpointError
from .load_parameters import load_values
from .save import check_cipher
from .state_entries import TEXT

__all__ = [
    "ParamDictFuture",
    "check_checkpoint",
    "load_checkpoint",
    "load_checkpoint_async",
    "create_parameter",
    "read_checkpoint",
    "read_verified",
    "checkpoint_load_error",
]

log = get_logger(__name__)

_NO_CHECKSUM = (
    "expected a checksum (crc_check=True), got a file without one: it was saved without crc_check=True, or its end was "
    "cut off. Load it with crc_check=False to read it unchecked"
)
_NO_CHECKSUM_ENCRYPTED = (
    "expected a checksum (crc_check=True), got an encrypted file in MindSpore's format, which never has one. Load it "
    "with crc_check=False, or save it with enc_mode='AES-GCM-STREAM', whose blocks are verified together"
)

Prefix = str | list[str] | tuple[str, ...] | None


@public("train", "millrace")
def load_checkpoint(
    ckpt_file_name: str,
    net: Any = None,
    strict_load: bool = False,
    filter_prefix: Prefix = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Prefix = None,
    choice_func: Callable[[str], Any] | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Any]:
    """Load the values of a checkpoint by name, Parameters and strings, and write them into ``net`` if given.

    All lengths are checked against the file size before memory is allocated. The error of a damaged file names the
    offset of the damage, and the newest intact checkpoint of the folder. With ``crc_check`` a file without a checksum
    is refused too, whereas MindSpore logs a warning and loads it: a file truncated between two values has no checksum
    but is otherwise valid. ``dec_mode`` is the encryption mode of the file (see ``save_checkpoint``).

    >>> from millrace import Parameter, Tensor
    >>> from millrace.train import save_checkpoint
    >>> save_checkpoint([Parameter(Tensor([1.0]), name="a.w"), Parameter(Tensor([2.0]), name="b.w")], "net")
    >>> load_checkpoint("net.ckpt", choice_func=lambda name: name.startswith("a"))
    {'a.w': Parameter (name=a.w, shape=(1,), dtype=Float32, requires_grad=True)}
    """
    keep, drop = _check_prefixes(specify_prefix), _check_prefixes(filter_prefix)
    check_cipher(dec_key, dec_mode, "dec")
    for option, value in (("crc_check", crc_check), ("remove_redundancy", remove_redundancy)):
        if not isinstance(value, bool):
            raise ArgumentValueError(
                f"The parameter '{option}' must be isinstance of {bool}, but got {value}."
            )
    if format == "safetensors" and (dec_key is not None or dec_mode != "AES-GCM"):
        raise ArgumentValueError(
            "For 'load_checkpoint', when format is 'safetensors', the parameters 'dec_key' and 'dec_mode' must be set "
            "to default value: a safetensors file is never encrypted."
        )
    name = resolve_load_path(ckpt_file_name, format)
    by_prefix = keep is not None or drop is not None
    choice = (lambda values: _matches_prefixes(values, keep, drop)) if by_prefix else choice_func
    if format == "safetensors":
        choice = choice_func
    values = read_checkpoint(name, format, choice, dec_key, dec_mode, crc_check)
    if not values:
        raise CheckpointError(
            "The loaded parameter dict is empty after filter or specify, please check whether 'filter_prefix' or "
            f"'specify_prefix' are set correctly. (The file: {name})"
        )
    if net is not None:
        load_values(net, values, strict_load, remove_redundancy, name)
    return values


def read_checkpoint(name: str, *args: Any, **options: Any) -> dict[str, Any]:
    """The values of :func:`read_verified`."""
    return read_verified(name, *args, **options)[0]


def read_verified(
    name: str,
    format: str = "ckpt",
    choice: Callable[[str], Any] | None = None,
    key: bytes | None = None,
    mode: str = "AES-GCM",
    check: bool = False,
    required: bool = True,
) -> tuple[dict[str, Any], bool]:
    """The values of a file, and whether its checksum or the authentication of the whole encrypted file was verified.

    With ``check`` a file without a checksum is refused if it is ``required``. An error names the file, and an intact
    file in the same folder.
    """
    with local_copy(name) as path:
        try:
            if format == "safetensors":
                return _read_safe(path, choice, check, required)
            return _read_ckpt(path, choice, key, mode, check, required)
        except (CheckpointError, CorruptCheckpointError, OSError) as error:
            raise checkpoint_load_error(name, path, format, error) from error


def _read_ckpt(
    path: Path, choice: Callable[[str], Any] | None, key: bytes | None, mode: str, check: bool, required: bool
) -> tuple[dict[str, Any], bool]:
    buffer, verified = ckpt.contents(path, key, mode, check)
    if check and required and not verified:
        raise CheckpointError(_NO_CHECKSUM if key is None else _NO_CHECKSUM_ENCRYPTED)
    return dict(_read_values(buffer, choice)), verified


def _read_values(buffer: Any, choice: Callable[[str], Any] | None) -> Iterator[tuple[str, Any]]:
    for record in ckpt.records(buffer):
        if choice is not None and not choice(record.name):
            continue
        if record.parts:
            yield record.name, [ckpt.to_numpy(buffer, part) for part in record.parts]
        elif record.element_type == TEXT:
            yield record.name, ckpt.text_of(buffer, record)
        else:
            yield record.name, create_parameter(record.name, ckpt.to_torch(buffer, record))


def _read_safe(
    path: Path, choice: Callable[[str], Any] | None, check: bool, required: bool
) -> tuple[dict[str, Any], bool]:
    fits = safe.checksum_fits(path) if check else None
    if check and required and fits is None:
        raise CheckpointError(_NO_CHECKSUM)
    if fits is False:
        raise CheckpointError("the checksum in its header does not fit its tensors")
    tensors, _ = safe.read(path, choice)
    return {name: create_parameter(name, tensor) for name, tensor in tensors.items()}, bool(fits)


def create_parameter(name: str, data: torch.Tensor) -> Parameter:
    """Create a Parameter that owns a tensor."""
    param = Parameter(wrap(torch.empty(0, dtype=data.dtype)), name=name)
    param._torch = data
    return param


def checkpoint_load_error(name: str, path: Path, format: str, error: Exception) -> CheckpointError:
    """Error for a damaged file that names an intact alternative."""
    alternative = None if is_remote(name) else _find_intact_sibling(path, format)
    instead = f" The newest good checkpoint in that folder is {alternative}." if alternative else ""
    if isinstance(error, OSError):
        return CheckpointError(
            f"Failed to read the checkpoint file {name}: {error.strerror or error}.{instead}"
        )
    why = str(error).rstrip(".")
    return CheckpointError(
        f"Failed to read the checkpoint file {name}. "
        + (
            "The file may be corrupted, and the content cannot be parsed: "
            if isinstance(error, CorruptCheckpointError)
            else ""
        )
        + f"{why}.{instead}"
    )


def _find_intact_sibling(path: Path, format: str) -> Path | None:
    """The newest other intact file of the folder. Only a few files are tried, since reading takes time."""
    try:
        siblings = [entry for entry in os.scandir(path.parent) if entry.name.endswith(f".{format}")]
        siblings.sort(key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
    except OSError:
        return None
    for entry in [entry for entry in siblings if entry.name != path.name][:5]:
        if _is_intact(Path(entry.path), format):
            return Path(entry.path)
    return None


def _is_intact(path: Path, format: str) -> bool:
    try:
        if format == "safetensors":
            safe.read(path, lambda name: False)
            return True
        buffer, _ = ckpt.contents(path, None, "AES-GCM", check=True)
        return len(list(ckpt.records(buffer))) > 0
    except (CheckpointError, CorruptCheckpointError, OSError):
        return False


def _check_prefixes(prefix: Any) -> tuple[str, ...] | None:
    if prefix is None:
        return None
    if not isinstance(prefix, (str, list, tuple)):
        raise ArgumentTypeError(
            "For 'load_checkpoint', the type of 'specify_prefix' or 'filter_prefix' must be string, list[string] or "
            f"tuple[string], but got {type(prefix)}."
        )
    prefixes = (prefix,) if isinstance(prefix, str) else tuple(prefix)
    if not prefixes:
        raise ArgumentValueError(
            "For 'load_checkpoint', the argument 'specify_prefix' or 'filter_prefix' can't be empty when "
            "'specify_prefix' or 'filter_prefix' is list or tuple."
        )
    for index, each in enumerate(prefixes):
        if not isinstance(each, str):
            raise ArgumentTypeError(
                "For 'load_checkpoint', when 'specify_prefix' or 'filter_prefix' is list or tuple, the element in it "
                f"must be string, but got {type(each)} at index {index}."
            )
        if not each:
            raise ArgumentValueError(
                "For 'load_checkpoint', the value of 'specify_prefix' or 'filter_prefix' can't include ''."
            )
    return prefixes


def _matches_prefixes(name: str, keep: tuple[str, ...] | None, drop: tuple[str, ...] | None) -> bool:
    return (keep is None or name.startswith(keep)) and not (drop is not None and name.startswith(drop))


class ParamDictFuture:
    """Future of a checkpoint load; created by :func:`load_checkpoint_async`."""

    def __init__(self, executor: ThreadPoolExecutor, param_dict_future: Future[dict[str, Any]]) -> None:
        self.executor, self.param_dict_future = executor, param_dict_future

    def result(self) -> dict[str, Any]:
        """Wait for the result of ``load_checkpoint``; its error is raised here."""
        try:
            return self.param_dict_future.result()
        finally:
            self.executor.shutdown()


@public("train", "millrace")
def load_checkpoint_async(
    ckpt_file_name: str,
    net: Any = None,
    strict_load: bool = False,
    filter_prefix: Prefix = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Prefix = None,
    choice_func: Callable[[str], Any] | None = None,
) -> ParamDictFuture:
    """Load a checkpoint on a thread while the network is built; ``result()`` waits for it.

    >>> from millrace import Parameter, Tensor
    >>> from millrace.train import save_checkpoint
    >>> save_checkpoint([Parameter(Tensor([1.0]), name="w")], "net.ckpt")
    >>> load_checkpoint_async("net.ckpt").result()["w"].asnumpy().tolist()
    [1.0]
    """
    format = "safetensors" if str(ckpt_file_name).endswith(".safetensors") else "ckpt"
    executor = ThreadPoolExecutor(max_workers=1)
    future = executor.submit(
        load_checkpoint,
        ckpt_file_name,
        net,
        strict_load,
        filter_prefix,
        dec_key,
        dec_mode,
        specify_prefix,
        choice_func,
        format=format,
    )
    return ParamDictFuture(executor, future)


@public("train", "millrace")
def check_checkpoint(ckpt_file_name: str) -> bool:
    """Whether a file is an intact ``.ckpt``: every record can be read, and its checksum matches if it has one.

    >>> check_checkpoint("net.txt")
    False
    """
    if not ckpt_file_name.endswith(".ckpt"):
        return False
    with local_copy(ckpt_file_name) as path:
        try:
            buffer, _ = ckpt.contents(path, None, "AES-GCM", check=True)
            for _ in ckpt.records(buffer):
                pass
        except (CheckpointError, CorruptCheckpointError, zlib.error) as error:
            log.warning("%s: %s", ckpt_file_name, error)
            return False
    return True
