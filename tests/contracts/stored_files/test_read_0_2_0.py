"""Every file that version 0.2.0 wrote is read: tests/fixtures/v0_2_0/README.md says what is there."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings, stable_ids
from millrace._src.core.errors import CursorError, PlanError
from millrace._src.data.transforms.serialization import transform_from_json
from millrace.dataset import vision
from millrace.mindrecord import FileReader, set_dec_mode, set_enc_key

from .pickled import OBJECTS
from .pipelines import PIPELINES, SAVED_TRANSFORMS, TUNED_SETTINGS, cached, transformed, tuned
from .write_0_2_0 import FOLDER, plain

CURSORS: dict[str, Any] = json.loads((FOLDER / "cursors.json").read_text())
CURSORS_OF_TRANSFORMS: dict[str, Any] = json.loads((FOLDER / "cursors_of_transforms.json").read_text())
SAVED_PIPELINES: dict[str, Any] = json.loads((FOLDER / "pipelines.json").read_text())
PICKLES: dict[str, str] = json.loads((FOLDER / "pickles.json").read_text())
# pipelines whose source holds values of Python, or a sampler that JSON does not keep
REBUILT = ("images", "manifest", "mnist", "sampler_pk", "tables", "words")
NOT_REBUILT = PIPELINES.keys() - set(REBUILT)


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files: reading may lock, touch or extend them."""
    folder = tmp_path / "stored"
    shutil.copytree(FOLDER, folder)
    monkeypatch.chdir(folder)
    return folder


# positions ----------------------------------------------------------------------------------------------------------


def test_every_pipeline_has_a_position() -> None:
    assert CURSORS.keys() == PIPELINES.keys() == SAVED_PIPELINES.keys()
    assert CURSORS_OF_TRANSFORMS.keys() == json.loads(SAVED_TRANSFORMS.read_text()).keys()
    assert OBJECTS.keys() == PICKLES.keys()


@pytest.mark.parametrize("name", PIPELINES)
def test_an_iterator_resumes_at_a_position(name: str) -> None:
    saved = CURSORS[name]
    assert saved["state"]["version"] == 2
    iterator = PIPELINES[name]().create_dict_iterator(num_epochs=2, output_numpy=True, state=saved["state"])
    batch = json.loads(json.dumps(plain(next(iterator))))
    assert batch.keys() == saved["next"].keys()
    for column, values in saved["next"].items():
        if isinstance(values, dict) and "mean" in values:
            assert batch[column]["shape"] == values["shape"]
            assert batch[column]["mean"] == pytest.approx(values["mean"], rel=1e-4)
        else:
            assert batch[column] == values
    assert iterator.state()["version"] == 3
    iterator.close()


@pytest.mark.parametrize("name", CURSORS_OF_TRANSFORMS)
def test_a_position_in_front_of_each_transform_is_accepted(name: str) -> None:
    data = transformed(name)
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=CURSORS_OF_TRANSFORMS[name])
    state = iterator.state()
    iterator.close()
    assert (
        state["fingerprint"] != CURSORS_OF_TRANSFORMS[name]["fingerprint"]
    )  # ids have taken the place of paths
    again = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
    again.close()


def test_a_position_of_another_pipeline_is_refused_and_its_version_is_named() -> None:
    with pytest.raises(
        CursorError, match=r"Millrace 0\.2\.0.*this one is NumpySlicesDataset -> Batch -> Batch"
    ):
        PIPELINES["arrays"]().batch(2).create_dict_iterator(state=CURSORS["arrays"]["state"])


# JSON -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REBUILT)
def test_a_pipeline_is_built_from_json(name: str) -> None:
    built = ds.deserialize(SAVED_PIPELINES[name])
    assert built is not None
    assert ds.compare(built, PIPELINES[name]())
    assert "millrace._src.data." not in json.dumps(ds.serialize(built))


@pytest.mark.parametrize("name", sorted(NOT_REBUILT))
def test_a_pipeline_over_python_values_is_refused_as_before(name: str) -> None:
    with pytest.raises(PlanError):
        ds.deserialize(SAVED_PIPELINES[name])


# caches, notes --------------------------------------------------------------------------------------------------------


def test_a_cache_folder_is_used_and_old_rows_are_not_found() -> None:
    before = {path.name for path in Path("cache").iterdir()}
    batches = [row[0].asnumpy() for row in cached("cache").create_tuple_iterator(num_epochs=1)]
    plain_rows = ds.MnistDataset("data/mnist", shuffle=False).map(vision.Resize((6, 6)), "image").batch(2)
    expected = [row[0].asnumpy() for row in plain_rows.create_tuple_iterator(num_epochs=1)]
    assert all(map(np.array_equal, batches, expected))
    assert len(batches) == len(expected) == 4
    assert {path.name for path in Path("cache").iterdir()} > before


def test_the_numbers_of_autotune_are_taken() -> None:
    settings.update(**TUNED_SETTINGS)
    ds.config.set_enable_autotune(True, "tuned")
    iterator = tuned().create_dict_iterator(num_epochs=1, output_numpy=True)
    next(iterator)
    tuner = iterator._run.tuner
    assert tuner is not None
    assert tuner.record.loaded == "tuned_0.json"
    assert tuner.knobs.segments[0].executor.num_workers == 5
    iterator.close()
    tree = ds.deserialize(json_filepath="tuned_0.json")
    assert tree is not None
    assert tree.get_dataset_size() == 8


def test_the_history_of_a_run_is_read() -> None:
    from millrace._src.observe.live.event_log import EventLogReader

    with EventLogReader("run.history") as tail:
        _, lines = tail.read_new()
    assert [line["is"] for line in lines if "is" in line] == ["pipeline", "point", "verdict", "end", "over"]


# records --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "gcm", "stream"])
def test_a_mindrecord_file_is_read(name: str) -> None:
    modes = {"gcm": "AES-GCM", "stream": "AES-GCM-STREAM"}
    if name in modes:
        set_enc_key("0123456789abcdef")
        set_dec_mode(modes[name])
    try:
        reader = FileReader(f"records/{name}.mindrecord")
        rows = list(reader.get_next())
        reader.close()
    finally:
        set_enc_key(None)
        set_dec_mode("AES-GCM")
    assert [row["id"] for row in rows] == list(range(6))
    assert rows[3]["name"] == "row 3"
    assert bytes(rows[3]["data"]) == b"\3\3\3"
    assert rows[3]["values"].tolist() == [0, 1, 2, 3]


def test_a_tfrecord_file_is_read() -> None:
    data = ds.TFRecordDataset("records/saved.tfrecord", shuffle=False)
    assert [int(row["n"].item()) for row in data.create_dict_iterator(1, output_numpy=True)] == [0, 1, 2, 3]


# pickles --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in OBJECTS if name not in ("Cell", "Parameter", "Tensor")])
def test_a_pickle_is_read(name: str) -> None:
    found, made = pickle.loads(bytes.fromhex(PICKLES[name])), OBJECTS[name]()
    assert type(found) is type(made)
    if name == "Dataset":
        rows = [row[0].asnumpy().tolist() for row in found.create_tuple_iterator(num_epochs=1)]
        assert rows == [[3, 1], [2]]
    elif name == "MnistDataset":
        assert found.get_dataset_size() == 8
    elif name == "error":
        assert str(found) == str(made)
    else:
        assert repr(found) == repr(made) or vars(found).keys() == vars(made).keys()


# transforms -----------------------------------------------------------------------------------------------------------


def test_a_transform_of_another_module_is_refused() -> None:
    saved = json.loads(SAVED_TRANSFORMS.read_text())["Pad"]
    assert type(transform_from_json(saved)) is vision.Pad
    for module in ("millrace._src.data.transforms.text.base", "os", "millrace.dataset.text", "", None):
        with pytest.raises(Exception, match="cannot be rebuilt"):
            transform_from_json({**saved, "python_module": module})


def test_the_frozen_table_names_every_class_that_positions_hold() -> None:
    table = stable_ids.paths_of_0_2_0()
    assert table["vision.Resize"].path == ".".join(
        ("millrace", "data", "transforms", "vision", "crops", "Resize")
    )
    assert len({definition.path for definition in table.values()}) == len(table)
