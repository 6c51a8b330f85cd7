"""What autotune found is written down and taken up again, for the same pipeline and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace.dataset import transforms


@pytest.fixture(autouse=True)
def one_worker() -> None:
    settings.update(num_parallel_workers=1, prefetch_size=1, executor="threads", autotune_interval=10**6)


def pipeline(rows: int = 32) -> ds.Dataset:
    data = ds.RandomDataset(total_rows=rows, schema=_schema(), num_parallel_workers=1)
    return data.map(transforms.TypeCast(np.float32), ["x"], num_parallel_workers=1).batch(4)


def _schema() -> Any:
    made = ds.Schema()
    made.add_column("x", "int32", [2])
    return made


def run(data: ds.Dataset, **values: int) -> Any:
    """A run to its end, as if these numbers had been found; its tuner."""
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    tuner = iterator._run.tuner
    assert tuner is not None
    for i, _ in enumerate(iterator):
        if i == 1 and values:
            tuner._search = tuner._start_search(100.0)
            wanted = {name.replace("_", "/").removeprefix("n"): value for name, value in values.items()}
            tuner._search.values = tuner._search._kept = {**tuner.knobs.values, **wanted}
            tuner.knobs.apply(tuner._search.values)
    return tuner


def written(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(path.read_text())
    return made


def test_the_next_run_begins_with_the_numbers(tmp_path: Path, no_leaks: None) -> None:
    ds.config.set_enable_autotune(True, str(tmp_path / "tuned"))
    run(pipeline(), n0_workers=5, n0_ahead=9)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tuned_0.json"]
    tuner = run(pipeline())
    assert tuner.record.loaded == str(tmp_path / "tuned_0.json")
    stage = tuner.knobs.segments[0]
    assert (stage.executor.num_workers, stage.max_in_flight) == (5, 9)
    assert "began with the numbers of" in tuner_text(tuner)
    # chunks go on being sized by the engine: nobody decided about them
    assert "0/chunk" not in tuner.knobs._loaded


def tuner_text(tuner: Any) -> str:
    from millrace._src.observe.views.autotune import tuning_lines

    return "\n".join(tuning_lines(tuner.record))


def test_the_file_has_mindspores_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK_ID", "3")
    ds.config.set_enable_autotune(True, str(tmp_path / "tuned"))
    run(pipeline(), n0_workers=5, n0_ahead=9)
    made = written(tmp_path / "tuned_3.json")
    assert set(made) == {"remark", "summary", "tree", "millrace"}
    assert made["summary"][-1].split("(num")[1] == "_parallel_workers: 5, prefetch_size: 9)"
    assert made["tree"]["op_type"] == "Batch"
    assert made["tree"]["num_parallel_workers"] == 5
    assert "workers 1 -> 5" in made["remark"]


def test_the_file_is_a_pipeline(tmp_path: Path) -> None:
    ds.config.set_enable_autotune(True, str(tmp_path / "tuned"))
    run(pipeline(), n0_workers=5)
    for made in (
        ds.deserialize(json_filepath=str(tmp_path / "tuned_0.json")),
        ds.deserialize(written(tmp_path / "tuned_0.json")),
    ):
        assert made is not None
        assert made.get_dataset_size() == 8
        assert made.to_json()["num_parallel_workers"] == 5


def test_two_pipelines_share_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ds.config.set_enable_autotune(True, str(tmp_path / "tuned"))
    run(pipeline(32), n0_workers=5)
    assert caplog.messages == []
    assert run(pipeline(64), n0_workers=3).record.loaded == ""
    (said,) = caplog.messages
    assert "tuned_0.json holds values for another pipeline (" in said
    assert "they are not used" in said
    assert run(pipeline(32)).knobs.values["0/workers"] == 5
    assert run(pipeline(64)).knobs.values["0/workers"] == 3


@pytest.mark.parametrize(
    "text",
    [
        "not JSON",
        "[]",
        '{"millrace": 3}',
        '{"millrace": {"version": 1, "plans": {"a": {"numbers": 3}}}}',
        "[" * 9999,
    ],
)
def test_a_file_of_another_kind_is_written_anew(text: str, tmp_path: Path) -> None:
    (tmp_path / "tuned_0.json").write_text(text)
    ds.config.set_enable_autotune(True, str(tmp_path / "tuned"))
    assert run(pipeline(), n0_workers=2).record.loaded == ""
    assert run(pipeline()).knobs.values["0/workers"] == 2


def test_numbers_outside_their_limits_are_cut(tmp_path: Path) -> None:
    ds.config.set_enable_autotune(True, str(tmp_path / "tuned"))
    run(pipeline(), n0_workers=2, n0_ahead=4)
    path = tmp_path / "tuned_0.json"
    made = written(path)
    (entry,) = made["millrace"]["plans"].values()
    for number in entry["numbers"]:
        number["value"] = 10**9 if number["knob"].endswith("workers") else -5
    path.write_text(json.dumps(made))
    values = run(pipeline()).knobs.values
    assert 1 < values["0/workers"] <= 64
    assert values["0/ahead"] == 1


def test_a_place_that_is_gone_loses_the_file_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    ds.config.set_enable_autotune(True, str(folder / "tuned"))
    folder.rmdir()
    assert run(pipeline(), n0_workers=2).record.saved == ""
    assert "the tuned values could not be written" in caplog.text
