"""Lock and identity of a checkpoint folder: one training at a time, files of one run only.

A training that resumes from a folder (``Model.train(..., resume=folder)``) locks it until it ends: a record lock of the
kernel on ``.millrace-run.json``, one byte for each rank, which is released when its process ends, and
which forked workers do not inherit. The file holds the identity of the run: a random id, and what distinguishes it from
other trainings (seed, network, optimizer, loss). The same identity is written into every checkpoint of the run. Another
training that finds the folder locked, or claimed by a run with other traits, or a checkpoint of another id in it, is
refused. An object store has no locks: there only the identities in the files are compared.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

from millrace._src.core.errors import CheckpointError
from millrace._src.core.io.remote import is_remote
from millrace._src.core.log import get_logger
from millrace._src.core.random import seeds
from millrace._src.runtime.distributed import process_groups as communication
from millrace._src.runtime.distributed.cluster_environment import detect_environment
from millrace._src.runtime.nn.cell import Cell

from .checkpoint_path import FORMATS

__all__ = ["ENDINGS", "FILE", "ForeignRun", "Run", "check_folder_is_free", "describe", "open_run"]

log = get_logger(__name__)

ENDINGS = tuple(f".{format}" for format in FORMATS)
FILE = ".millrace-run.json"
_MUTEX = 1 << 30  # the byte that is locked while the identity is read and written
_LARGEST = 1 << 16
_PATIENCE = 2.0  # seconds: a killed process may take a moment to end
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)

# Folders locked by this process. A record lock belongs to a process, which does not see its own lock; and it is lost
# when any descriptor of the file is closed, so nothing else may open the file.
_held: dict[str, int] = {}
_guard = threading.Lock()


class ForeignRun(CheckpointError):
    """A checkpoint, or a folder, belongs to another training."""


@dataclasses.dataclass
class Run:
    """Identity of a training. ``claimed``: it was started with a folder to resume from."""

    id: str
    traits: dict[str, Any]
    claimed: bool = False
    # whether the folder already had this id, so that files with other ids are foreign
    known: bool = False
    fd: int | None = None

    def confirm(self) -> None:
        """Write the id into the folder, once the checkpoint to resume from is chosen."""
        if self.fd is not None:
            with _mutex(self.fd):
                _write(self.fd, self, confirmed=True)

    def as_json(self) -> dict[str, Any]:
        """The identity as written into checkpoints."""
        return {"id": self.id, "traits": self.traits, "claimed": self.claimed}

    def accept(self, saved: dict[str, Any] | None, file: str, explicit: bool = False) -> None:
        """Adopt the id of the checkpoint to resume from; refuse a checkpoint of another run.

        Files of release 0.2 and of ``save_training`` have no identity and are accepted, as is a file that the user
        named (``explicit``).
        """
        if not saved or not isinstance(saved.get("id"), str):
            return
        traits = saved.get("traits")
        traits = traits if isinstance(traits, dict) else {}
        foreign = self.known and saved["id"] != self.id
        foreign |= bool(saved.get("claimed")) and bool(_find_differences(traits, self.traits))
        if foreign and not explicit:
            raise ForeignRun(
                f"Model.train: expected a checkpoint of {_format_run(self.id, self.traits)}, got {file} of "
                f"{_format_run(saved['id'], traits)}. Give each training a separate folder, or name the file to resume "
                f"from: resume={file!r}"
            )
        self.id = saved["id"]


def describe(network: Cell, optimizer: Any, loss: Any) -> dict[str, Any]:
    """Traits that distinguish trainings: readable in errors, and equal after a restart."""
    shapes = [
        f"{type(network).__name__}/{param.name}/{param.shape}/{param.dtype}"
        for _, param in network.parameters_and_names()
    ]
    digest = hashlib.sha256("\n".join(shapes).encode()).hexdigest()[:8]
    traits: dict[str, Any] = {
        "network": f"{type(network).__name__} with {len(shapes)} parameters [{digest}]",
        "optimizer": _describe_optimizer(optimizer),
        "loss": type(loss).__name__,
    }
    if _rank_and_size()[1] == 1:  # the ranks of a run may have different seeds
        traits["seed"] = seeds.get_seed()
    return traits


_optimizers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def _describe_optimizer(optimizer: Any) -> str:
    """Class and initial learning rates of an optimizer, cached, since a training changes them."""
    if optimizer is None:
        return "none"
    if optimizer not in _optimizers:
        text = type(optimizer).__name__
        for param in optimizer.get_parameters() if isinstance(optimizer, Cell) else ():
            if param.name.startswith(("learning_rate", "momentum")) and param.size <= 1 << 20:
                array = param.asnumpy()
                value = array.item() if array.size == 1 else hashlib.sha256(array.tobytes()).hexdigest()[:8]
                text += (
                    f", {param.name} {value:.6g}" if isinstance(value, float) else f", {param.name} {value}"
                )
        _optimizers[optimizer] = text
    return _optimizers[optimizer]


def _find_differences(saved: dict[str, Any], mine: dict[str, Any]) -> list[str]:
    return [name for name in saved.keys() & mine.keys() if saved[name] != mine[name]]


def _format_run(id: str, traits: dict[str, Any]) -> str:
    return f"run {id} with {_format_traits(traits)}"


def _format_traits(traits: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(traits.items())) or "unknown traits"


# --- the lock -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_run(location: Any, traits: dict[str, Any]) -> Iterator[Run]:
    """Open the run of a training that resumes from ``location``. A local folder is locked until the block ends."""
    run = Run(
        secrets.token_hex(8), traits, claimed=isinstance(location, str) and not location.endswith(ENDINGS)
    )
    if not isinstance(location, str) or is_remote(location) or not os.path.isdir(location):
        yield run
        return
    folder = os.path.realpath(location)
    run.claimed = True
    fd = _open_lock_file(folder)
    if fd is None:
        yield run
        return
    try:
        _lock(fd, folder)
        _claim_run_id(fd, folder, run)
        yield run
    finally:
        with _guard:
            _held.pop(folder, None)
            os.close(fd)


def check_folder_is_free(folder: str) -> None:
    """Refuse a folder that a training of another process has locked."""
    if is_remote(folder) or not os.path.isfile(os.path.join(folder, FILE)):
        return
    folder = os.path.realpath(folder)
    with _guard:
        if _held.get(folder) == os.getpid():
            return
    try:
        fd = _open_lock_file(folder)
    except ForeignRun:
        return  # another thread of this process has locked it
    if fd is None:
        return
    try:
        _lock(fd, folder)
    finally:
        with _guard:
            _held.pop(folder, None)
            os.close(fd)


def _open_lock_file(folder: str) -> int | None:
    """Open the lock file of a folder, registered for this process; None if it is not writable."""
    with _guard:
        if _held.get(folder) == os.getpid():
            raise ForeignRun(_in_use(folder, "another training of this process"))
        try:
            fd = os.open(
                os.path.join(folder, FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as error:
            log.info("%s cannot be locked, and is used without a lock: %s", folder, error)
            return None
        _held[folder] = os.getpid()
        return fd


def _lock(fd: int, folder: str) -> None:
    rank = max(0, _rank_and_size()[0])
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, rank)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                log.warning("the file system of %s has no locks: do not start two trainings in it", folder)
                return
            if time.monotonic() < end:
                time.sleep(0.05)
                continue
            about = _read(fd)
            traits = about.get("traits")
            owner = _format_run(str(about.get("id")), traits if isinstance(traits, dict) else {})
            where = f"process {about.get('pid')} on {about.get('host')}"
            raise ForeignRun(_in_use(folder, f"{where}: {owner}")) from None
        return


def _in_use(folder: str, owner: str) -> str:
    return (
        f"Model.train: expected a folder that no other training uses, got {folder}, locked by {owner}. Give each "
        "training a separate folder, or wait until the other one has ended."
    )


def _claim_run_id(fd: int, folder: str, run: Run) -> None:
    """Read the identity of the folder, or write a new one; all ranks of a run get the same.

    Traits are only compared if the identity was confirmed (a checkpoint was chosen) and the folder has checkpoints.
    """
    with _mutex(fd):
        about = _read(fd)
        if isinstance(about.get("id"), str):
            confirmed, saved = about.get("confirmed") is True, about.get("traits")
            files = [name for name in os.listdir(folder) if name.endswith(ENDINGS)]
            if confirmed and isinstance(saved, dict) and _find_differences(saved, run.traits):
                if files:
                    raise ForeignRun(
                        f"Model.train: expected a folder of a run with {_format_traits(run.traits)}, got {folder} of "
                        f"{_format_run(about['id'], saved)}. Give each training a separate folder, or name the file to "
                        f"resume from: resume={os.path.join(folder, max(files))!r}"
                    )
            else:
                run.id, run.known = about["id"], confirmed
        run.fd = fd
        _write(fd, run, confirmed=run.known)


@contextlib.contextmanager
def _mutex(fd: int) -> Iterator[None]:
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, _MUTEX)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.lockf(fd, fcntl.LOCK_UN, 1, _MUTEX)


def _read(fd: int) -> dict[str, Any]:
    try:
        about = json.loads(os.pread(fd, _LARGEST, 0))
    except (OSError, ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def _write(fd: int, run: Run, confirmed: bool) -> None:
    about = {"id": run.id, "traits": run.traits, "confirmed": confirmed}
    data = json.dumps({**about, "pid": os.getpid(), "host": socket.gethostname()}).encode()
    os.ftruncate(fd, 0)
    os.pwrite(fd, data, 0)
    os.fsync(fd)


def _rank_and_size() -> tuple[int, int]:
    if communication.GlobalComm.INITED:
        return communication.get_rank(), communication.get_group_size()
    environment = detect_environment()
    return environment.rank, environment.size
