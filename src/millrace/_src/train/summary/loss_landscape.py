"""``SummaryLandscape``: loss landscape around the path of a training, as an image and as numbers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.nn.network_wrappers import WithLossCell
from millrace._src.runtime.ops.random.uniform_normal import standard_normal
from millrace._src.train.checkpoint.load import load_checkpoint
from millrace._src.train.checkpoint.save import save_checkpoint

from .loss_plane import Array, Landscape, coordinates, filter_normalize, principal_directions
from .summary_record import SummaryRecord

__all__ = ["LandscapeCheckpoints", "SummaryLandscape", "check_settings"]

log = get_logger(__name__)

FOLDER, FACTS = "ckpt_dir", "train_metadata.json"
DEFAULTS: dict[str, Any] = {
    "landscape_size": 40,
    "unit": "step",
    "num_samples": 2048,
    "create_landscape": {"train": True, "result": True},
    "intervals": None,
}
MARGIN = 0.2  # margin of the image around the path, relative to its length


def check_settings(settings: Any, owner: str) -> dict[str, Any]:
    """Check the settings of a landscape; missing settings are omitted."""
    if not isinstance(settings, dict):
        raise ArgumentTypeError(
            f"For '{owner}', 'collect_landscape' must be a dict or None, but got {type(settings).__name__}."
        )
    unknown = set(settings) - set(DEFAULTS)
    if unknown:
        raise ArgumentValueError(
            f'For "{owner}", the keys {unknown} of `collect_landscape` are unsupported, expect the follow keys: '
            f"{list(DEFAULTS)}"
        )
    size = check_argument_type(settings.get("landscape_size", 40), "landscape_size", owner, int)
    if not 3 <= size <= 256:
        raise ArgumentValueError(
            f'For "{owner}", "landscape_size" should be between 3 and 256, but got the: {size}'
        )
    if settings.get("unit", "step") not in ("step", "epoch"):
        raise ArgumentValueError(
            f'For "{owner}", unit should be step or epoch, but got the: {settings["unit"]}.'
        )
    if check_argument_type(settings.get("num_samples", 1), "num_samples", owner, int) < 1:
        raise ArgumentValueError(f'For "{owner}", "num_samples" must be at least 1.')
    for name, value in check_argument_type(
        settings.get("create_landscape", {}), "create_landscape", owner, dict
    ).items():
        if name not in ("train", "result"):
            raise ArgumentValueError(
                f'For "{owner}", the key of "create_landscape" should be in ["train", "result"], but got the: {name}.'
            )
        check_argument_type(value, name, owner, bool)
    for interval in check_argument_type(settings.get("intervals", []), "intervals", owner, list):
        check_argument_type(interval, "each interval in intervals", owner, list)
        if len(interval) < 3:
            raise ArgumentValueError(
                f'For "{owner}", the length of each list in "intervals" should not be less than three, but got the: '
                f"{interval}."
            )
        for number in interval:
            check_argument_type(number, "each value in intervals", owner, int)
    return dict(settings)


class LandscapeCheckpoints:
    """Saves the weights of a training at the steps or epochs of a landscape, for ``SummaryCollector``."""

    def __init__(self, summary_dir: str, settings: dict[str, Any]) -> None:
        self._settings = {**DEFAULTS, **settings}
        if not self._settings["intervals"]:
            raise ArgumentValueError(
                "For 'SummaryCollector', 'collect_landscape' must name the steps or epochs to keep: "
                "{'intervals': [[1, 2, 3]]}."
            )
        self._folder = os.path.join(os.path.realpath(summary_dir), FOLDER)
        self._wanted = {number for interval in self._settings["intervals"] for number in interval}
        self._files: dict[str, str] = {}

    def keep(self, params: Any, unit: str) -> None:
        """Save the weights at the configured steps or epochs."""
        number = params.cur_step_num if unit == "step" else params.cur_epoch_num
        if unit != self._settings["unit"] or number not in self._wanted:
            return
        os.makedirs(self._folder, exist_ok=True)
        file = os.path.join(self._folder, f"{type(params.network).__name__}_{number}_{unit}.ckpt")
        save_checkpoint(params.network, file)
        self._files[str(number)] = file

    def finish(self, params: Any) -> None:
        """Write the index of the saved weights."""
        facts = {
            "epoch_group": {str(n): each for n, each in enumerate(self._settings["intervals"])},
            "model_params_file_map": self._files,
            "step_per_epoch": params.batch_num,
            **{name: self._settings[name] for name in DEFAULTS if name != "intervals"},
        }
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, FACTS)
        with open(path + ".part", "w") as file:
            json.dump(facts, file)
        os.replace(path + ".part", path)


@public("train", "millrace")
class SummaryLandscape:
    """Computes the loss landscape around the path of a training from weights saved by ``SummaryCollector``.

    Train with ``SummaryCollector(DIR, collect_specified_data={"collect_landscape": {"intervals": [[1, 2, 3, 4]]}})``,
    then call :meth:`gen_landscapes_with_multi_process`. It writes files for TensorBoard instead of MindInsight:
    an image and the numbers of each landscape.

    >>> landscape = SummaryLandscape("summaries")
    >>> landscape.clean_ckpt()
    """

    def __init__(self, summary_dir: str) -> None:
        self._summary_dir = os.path.realpath(
            check_argument_type(summary_dir, "summary_dir", "SummaryLandscape", str)
        )
        self._folder = os.path.join(self._summary_dir, FOLDER)

    def clean_ckpt(self) -> None:
        """Remove the saved weights."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def gen_landscapes_with_multi_process(
        self,
        callback_fn: Callable[[], tuple[Any, Any, Any, Any]],
        collect_landscape: dict[str, Any] | None = None,
        device_ids: list[int] | None = None,
        output: str | None = None,
    ) -> None:
        """Compute the landscapes, and write them to a summary (`output`, by default the folder of the weights).

        `callback_fn` returns a Model with a loss, its network, a dataset and metrics. `collect_landscape` overrides the
        collector's settings: "landscape_size" (points per side), "num_samples" (rows per loss), "create_landscape",
        {"train": around the path of each interval in its two principal directions; "result": around its end in two
        random directions}, "intervals". Losses are computed in evaluation mode, and the network's weights are restored.
        `device_ids` are checked; one process computes on the device of the context.
        """
        owner = "SummaryLandscape"
        for number in check_argument_type(device_ids or [], "device_ids", owner, list):
            if check_argument_type(number, "device_ids", owner, int) not in range(8):
                raise ArgumentValueError(
                    f'For "{owner}.gen_landscapes_with_multi_process", the parameter "device_ids" should be between 0 '
                    f"and 7, but got {number}."
                )
        facts = self._facts({} if collect_landscape is None else check_settings(collect_landscape, owner))
        losses = _Losses(callback_fn(), facts["num_samples"])
        where = self._summary_dir if output is None else os.path.realpath(output)
        with SummaryRecord(where) as record, losses:
            for numbers, landscape in self._landscapes(facts, losses):
                record.add_value("landscape", f"landscape_{numbers}", landscape)
                record.record(0)
                record.flush()

    def _facts(self, settings: dict[str, Any]) -> dict[str, Any]:
        path = os.path.join(self._folder, FACTS)
        if not os.path.exists(path):
            raise FileNotFoundError(
                f'For "SummaryLandscape", {FACTS} file does not exist under the path {self._folder}, please use '
                "summary_collector to collect information to create the json file"
            )
        with open(path) as file:
            facts: dict[str, Any] = json.load(file)
        facts |= {
            name: value for name, value in settings.items() if name not in ("intervals", "create_landscape")
        }
        facts["create_landscape"] |= settings.get("create_landscape", {})
        facts["intervals"] = settings.get("intervals") or list(facts["epoch_group"].values())
        for number in {number for interval in facts["intervals"] for number in interval}:
            if str(number) not in facts["model_params_file_map"]:
                raise ArgumentValueError(
                    f'For "SummaryLandscape", the "model_params_file_map" in {FACTS} does not exist {number}th '
                    f"checkpoint in intervals; there are {', '.join(facts['model_params_file_map']) or 'none'}."
                )
        return facts

    def _landscapes(self, facts: dict[str, Any], losses: _Losses) -> Iterator[tuple[list[int], Landscape]]:
        size, files = facts["landscape_size"], facts["model_params_file_map"]
        about = {name: facts[name] for name in ("unit", "step_per_epoch", "num_samples")}
        if facts["create_landscape"]["train"]:
            for interval in facts["intervals"]:
                points = np.stack([losses.load(files[str(number)]) for number in interval])
                v, w = (filter_normalize(each, losses.weights) for each in principal_directions(points))
                path = coordinates(points, v, w)
                metadata = {**about, "intervals": interval, "decomposition": "PCA"}
                yield [interval[0], interval[-1]], losses.over(points[-1], v, w, size, path, metadata)
        if facts["create_landscape"]["result"]:
            last = facts["intervals"][-1][-1]
            end = losses.load(files[str(last)])
            directions = (standard_normal((end.size,)).asnumpy().astype(np.float64) for _ in range(2))
            v, w = (filter_normalize(each, losses.weights) for each in directions)
            metadata = {**about, "intervals": [last], "decomposition": "Random"}
            yield [last], losses.over(end, v, w, size, np.zeros((0, 2)), metadata)


class _Losses:
    """Computes the loss of a network for many weights; as a context manager it restores the weights."""

    def __init__(self, parts: Any, rows: int) -> None:
        if not isinstance(parts, tuple) or len(parts) != 4:
            raise ArgumentTypeError(
                "For 'SummaryLandscape', 'callback_fn' must return a Model, its network, a dataset and metrics, but "
                f"returned {parts!r}."
            )
        model, self._net, dataset, _ = parts
        loss_fn = model._loss_fn
        self._cell = (self._net if loss_fn is None else WithLossCell(self._net, loss_fn)).set_train(False)
        self._batches = list(_take_batches(dataset, rows))
        named = [each for each in self._net.get_parameters() if "weight" in each.name or "bias" in each.name]
        # parameters that MindSpore varies; without such names all trainable ones
        self._moved = [each for each in named if each.requires_grad] or self._net.trainable_params()
        self.weights: list[Array] = []

    def __enter__(self) -> None:
        self._before = [(each, each.copy()) for each in self._net.get_parameters()]

    def __exit__(self, *err: object) -> None:
        for parameter, value in self._before:
            parameter.set_data(value)

    def load(self, file: str) -> Array:
        """Load a file into the network; returns its weights as a vector."""
        load_checkpoint(file, self._net)
        self.weights = [each.asnumpy().astype(np.float64).copy() for each in self._moved]
        return np.concatenate([each.ravel() for each in self.weights])

    def at(self, vector: Array) -> float:
        """Mean loss with these weights."""
        at = 0
        for parameter in self._moved:
            part = vector[at : at + parameter.size].reshape(parameter.shape)
            parameter.set_data(Tensor(part.astype(np.float32)))
            at += parameter.size
        return float(np.mean([np.mean(self._cell(*batch).asnumpy()) for batch in self._batches]))

    def over(
        self, centre: Array, v: Array, w: Array, size: int, path: Array, about: dict[str, Any]
    ) -> Landscape:
        """Losses over a plane on a grid around the path."""
        x, y = (_grid_axis(path[:, side], size) for side in range(2))
        log.info("a landscape of %d x %d losses, %s", size, size, about)
        z = np.array([[self.at(centre + a * v + b * w) for a in x] for b in y])
        passed = [(a, b, self.at(centre + a * v + b * w)) for a, b in path]
        end = (0.0, 0.0, self.at(centre))
        return Landscape(x, y, z, np.array(passed).reshape(-1, 3), end, about)


def _grid_axis(values: Array, size: int) -> Array:
    if not len(values) or values.min() == values.max():
        return np.linspace(-1.0, 1.0, size)
    margin = MARGIN * (values.max() - values.min())
    return np.linspace(values.min() - margin, values.max() + margin, size)


def _take_batches(dataset: Any, rows: int) -> Iterator[Any]:
    """Batches up to this number of rows, kept in memory."""
    create_iterator = getattr(dataset, "create_tuple_iterator", None)
    for batch in dataset if create_iterator is None else create_iterator(num_epochs=1, do_copy=True):
        yield batch
        rows -= len(batch[0])
        if rows <= 0:
            return
