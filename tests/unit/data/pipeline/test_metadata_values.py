"""What a dataset says of itself, as MindSpore 2.7.0 says it (recorded)."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import millrace.dataset as ds
from millrace.dataset import transforms, vision

METHODS = json.loads(
    (Path(__file__).parents[3] / "contracts" / "public_api" / "dataset_methods_2.7.0.json").read_text()
)
# parameters of our own, all of them keyword-only
OURS = {
    "create_dict_iterator": ["output", "state"],
    "create_tuple_iterator": ["output", "state"],
    "save": ["checksums"],
    # MindSpore takes these by **kwargs
    "batch": [
        *("per_batch_map", "input_columns", "output_columns", "python_multiprocessing", "max_rowsize"),
        *("max_tokens", "length_of", "pad_info"),  # and these are ours
    ],
    "map": ["python_multiprocessing", "cache", "callbacks", "max_rowsize", "offload"],
}


def a(rows: int = 4) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": list(range(rows))}, shuffle=False)


def b(rows: int = 4) -> ds.Dataset:
    return ds.NumpySlicesDataset({"y": list(range(rows))}, shuffle=False)


# name -> dataset, batch size, repeat count
ANSWERS = {
    "zip of batches": (lambda: ds.zip((a().batch(2), b().batch(3))), 3, 1),
    "zip, the first without": (lambda: ds.zip((a(), b().batch(3))), 3, 1),
    "zip, the last without": (lambda: ds.zip((a().batch(2).repeat(3), b())), 1, 1),
    "zip of repeats": (lambda: ds.zip((a().repeat(2), b().repeat(3))), 1, 3),
    "zip, the first endless": (lambda: ds.zip((a().repeat(), b())), 1, 1),
    "concat": (lambda: a().batch(3) + a().batch(2), 2, 1),
    "concat of repeats": (lambda: a().repeat(3) + a().repeat(2), 1, 2),
    "above a zip": (lambda: ds.zip((a().repeat(3), b().batch(2))).batch(5).repeat(2), 5, 2),
    "flat_map": (lambda: a().batch(2).repeat(2).flat_map(lambda x: a(2)), 1, 1),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_batch_size_and_repeat_count_over_several_children(name: str) -> None:
    make, batch, repeat = ANSWERS[name]
    data = make()
    assert (data.get_batch_size(), data.get_repeat_count()) == (batch, repeat)


@pytest.mark.parametrize("name", METHODS)
def test_the_signature_of_every_method_shows_what_mindspores_shows(name: str) -> None:
    theirs = [(parameter, kind) for parameter, kind in METHODS[name]]
    shown = [(p.name, p.kind.name) for p in inspect.signature(getattr(ds.Dataset, name)).parameters.values()]
    own = [(parameter, "KEYWORD_ONLY") for parameter in OURS.get(name, [])]
    assert [one for one in shown if one not in own] == theirs
    assert [one for one in shown if one in own] == own


def test_workers_and_operations_of_a_dataset() -> None:
    double = vision.Rescale(2.0, 0.0)
    mapped = a().map([abs, double], num_parallel_workers=2)
    assert (mapped.num_parallel_workers, a().batch(2).num_parallel_workers) == (2, None)
    assert mapped.operations == [abs, double]
    assert not hasattr(a().batch(2), "operations")


def test_names_that_scripts_look_for() -> None:
    assert {"MnistDataset", "utils", "TFRecordDataset", "vision"} <= set(dir(ds))
    assert transforms.vision is vision
    assert {"LineReader", "imshow_det_bbox"} <= set(dir(ds.utils))
