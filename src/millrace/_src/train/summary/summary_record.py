"""``SummaryRecord``: write named values of a training to TensorBoard files."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.io.framing import write_record
from millrace._src.core.log import warn_once
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type, check_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.framework.summary import on_summary

from . import tensorboard_events as events

__all__ = ["SummaryRecord"]

PLUGINS = (
    "custom_lineage_data", "dataset_graph", "eval_lineage", "graph", "histogram", "image", "landscape", "scalar",
    "tensor", "train_lineage",
)  # fmt: skip


# Counter of files of this process: two records may start in the same second and folder.
_numbers = itertools.count(1)


@public("train", "millrace")
class SummaryRecord:
    """Writes summaries into a folder: ``add_value`` some, then ``record`` the step that they belong to.

    Files are TensorBoard's: ``tensorboard --logdir DIR``. Values of ``ops.ScalarSummary`` and similar
    operations are added to the next ``record``. Use it as a context manager, or call ``close``. A new file is started
    beyond `max_file_size`. `num_process` and `export_options` are accepted and ignored.

    >>> with SummaryRecord("summaries") as record:
    ...     record.add_value("scalar", "loss", Tensor(0.5))
    ...     record.record(step=1)
    True
    """

    def __init__(
        self,
        log_dir: str,
        file_prefix: str = "events",
        file_suffix: str = "_MS",
        num_process: int = 32,
        network: Any = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options: Any = None,
    ) -> None:
        owner = "SummaryRecord"
        for name, value in (("log_dir", log_dir), ("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            check_argument_type(value, name, owner, str)
        if network is not None and not isinstance(network, Cell):
            raise ArgumentTypeError(
                f"For '{owner}', 'network' must be a Cell, but got {type(network).__name__}."
            )
        if max_file_size is not None:
            check_int(max_file_size, "max_file_size", owner, 1)
        self._folder = os.path.realpath(log_dir)
        os.makedirs(self._folder, exist_ok=True)
        self._names = (file_prefix, file_suffix)
        self._limit, self._raises = max_file_size, raise_exception
        self._mode = "train"
        self._values: dict[tuple[str, str], Any] = {}
        self._file: Any = None
        self._network = network
        self._graph_written = False
        self._stop: Callable[[], None] | None = on_summary(self._taken)

    @property
    def log_dir(self) -> str:
        """The folder of the files."""
        return self._folder

    def set_mode(self, mode: str) -> None:
        """Set whether recorded data belong to training ("train") or evaluation ("eval")."""
        if mode not in ("train", "eval"):
            raise ArgumentValueError(
                f"For 'SummaryRecord', 'mode' should be 'train' or 'eval', but got {mode!r}."
            )
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Add a value to the next ``record``: "scalar", "image" (N, C, H, W), "histogram", "tensor", "graph"."""
        if plugin not in PLUGINS:
            raise ArgumentValueError(
                f"No such plugin of {plugin!r}; it should be one of {', '.join(PLUGINS)}."
            )
        check_argument_type(name, "name", "SummaryRecord", str)
        if not name:
            raise ArgumentValueError("For 'SummaryRecord', the 'name' of a value must not be empty.")
        if plugin in ("scalar", "image", "histogram", "tensor"):
            if not isinstance(value, (Tensor, np.ndarray, int, float, np.generic)):
                raise ArgumentTypeError(
                    f"For 'SummaryRecord', the value of a {plugin} must be a Tensor, but got {type(value).__name__}."
                )
            if (
                plugin == "image"
                and np.ndim(value if not isinstance(value, Tensor) else value.asnumpy()) != 4
            ):
                raise ArgumentValueError("For 'SummaryRecord', an image must have the shape (N, C, H, W).")
        self._values[plugin, name] = value

    def _taken(self, summary_type: str, name: str, value: Tensor) -> None:
        """Receive a value of a summary operation; copied, since a captured step reuses the memory."""
        if self._file is not False:
            self._values[summary_type, name] = value.asnumpy().copy()

    def record(
        self, step: int, train_network: Any = None, plugin_filter: Callable[[str], bool] | None = None
    ) -> bool:
        """Write the added values for this step; returns whether all were written."""
        check_argument_type(step, "step", "SummaryRecord", int)
        if self._file is False:
            raise ArgumentValueError("For 'SummaryRecord', it is closed: nothing can be recorded any more.")
        now, values, written = time.time(), [], True
        for (plugin, name), value in self._values.items():
            if plugin_filter is None or plugin_filter(plugin):
                try:
                    values += _encode_summary(plugin, name, value)
                except (ValueError, TypeError) as error:
                    if self._raises:
                        raise
                    written = False
                    warn_once(f"summary-{name}", f"the summary '{name}' was skipped: {error}")
        self._values.clear()
        if values:
            self._write(events.event(now, step, values))
        network = train_network or self._network
        if (
            network is not None
            and not self._graph_written
            and (plugin_filter is None or plugin_filter("graph"))
        ):
            self._write(events.graph_event(now, _list_nodes(network)))
            self._graph_written = True
        return written

    def _write(self, data: bytes) -> None:
        if self._file is not None and self._limit is not None and self._file.tell() + len(data) > self._limit:
            self._file.close()
            self._file = None
        if self._file is None:
            prefix, suffix = self._names
            who = f"{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
            name = f"{prefix}.out.tfevents.{who}{suffix}"
            self._file = open(os.path.join(self._folder, name), "xb")  # noqa: SIM115  # closed by close()
            write_record(self._file, events.version_event(time.time()))
        write_record(self._file, data)

    def flush(self) -> None:
        """Flush written data."""
        if self._file:
            self._file.flush()

    def close(self) -> None:
        """Write remaining data and close the file; a second call has no effect."""
        if self._stop is not None:
            self._stop()
            self._stop = None
        if self._file:
            self._file.close()
        self._file = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *err: object) -> None:
        self.close()


def _to_array(value: Any) -> np.ndarray[Any, Any]:
    array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    return array.astype(np.float32) if array.dtype.kind not in "biuf" else array


def _encode_summary(plugin: str, name: str, value: Any) -> list[bytes]:
    """Encode a value for TensorBoard."""
    if plugin == "scalar":
        array = _to_array(value)
        if array.size != 1:
            raise ArgumentValueError(f"a scalar must be one number, but its shape is {array.shape}")
        return [events.scalar(name, array.item())]
    if plugin == "image":
        array = _to_array(value)
        if array.ndim != 4 or array.shape[1] not in (1, 3):
            raise ArgumentValueError(f"images must be (N, 1 or 3, H, W), but their shape is {array.shape}")
        return [
            events.image(name if not number else f"{name}/{number}", pixels)
            for number, pixels in enumerate(_to_pixels(array))
        ]
    if plugin in ("histogram", "tensor"):
        return [events.histogram(name, _to_array(value))]
    if plugin == "graph":
        return []
    if plugin == "landscape":
        return [events.image(name, value.to_image()), events.text(f"{name}/points", value.text())]
    return [events.text(name, str(value))]


def _to_pixels(images: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Convert images (N, C, H, W) to uint8 (H, W, C); floats are scaled from their minimum to their maximum."""
    if images.dtype != np.uint8:
        low, high = float(images.min()), float(images.max())
        images = ((images - low) * (255 / (high - low or 1.0))).astype(np.uint8)
    return [np.ascontiguousarray(each.transpose(1, 2, 0)) for each in images[:10]]


def _list_nodes(network: Cell) -> list[tuple[str, str, list[str]]]:
    """Nodes of a network graph: cells, nested by name, and their parameters."""
    top = type(network).__name__
    nodes: list[tuple[str, str, list[str]]] = []
    for path, cell in network.cells_and_names():
        name = "/".join([top, *filter(None, path.split("."))])
        inputs = [f"{name}/{each}" for each, param in cell._params.items() if param is not None]
        nodes += [(each, "Parameter", []) for each in inputs]
        if not any(True for _ in cell.cells()):
            nodes.append((f"{name}/{type(cell).__name__}", type(cell).__name__, inputs))
    return nodes
