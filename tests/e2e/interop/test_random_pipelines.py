"""The comparison of random pipelines itself: what it draws, what it calls a difference, how it makes cases small."""

import json
import sys

import pytest

from tests.e2e.interop.pipelines import files
from tests.e2e.interop.pipelines.child import Child
from tests.e2e.interop.pipelines.compare import difference, known
from tests.e2e.interop.pipelines.ops import draw_case
from tests.e2e.interop.pipelines.shrink import shrink
from tests.e2e.interop.pipelines.tree import Call, Case

STAYING = 19  # differences in known.json; this number only goes down


def outcome(*values, ended=None, **asked):
    rows = [[0, {"dict": [["a", {"nd": "<i8", "shape": [], "values": value}]]}] for value in values]
    return {"rows": rows, "asked": asked, "ended": ended}


def error(*classes):
    return {"error": list(classes), "message": "no"}


def test_a_number_always_names_the_same_pipeline():
    texts = [draw_case(seed).text() for seed in range(200)]
    assert texts == [draw_case(seed).text() for seed in range(200)]
    assert len(set(texts)) > 180


def test_the_text_of_a_pipeline_is_python():
    for seed in range(200):
        compile(draw_case(seed).text(), f"pipeline {seed}", "exec")


def test_all_steps_and_sources_are_drawn():
    texts = " ".join(draw_case(seed).text() for seed in range(600))
    sources = ("Generator", "NumpySlices", "Mind", "TFRecord", "CSV", "TextFile", "ImageFolder")
    steps = (
        "map batch padded_batch bucket_batch_by_length repeat skip take shuffle concat rename project filter"
    )
    assert all(f"ds.{name}Dataset(" in texts for name in sources)
    assert all(f".{name}(" in texts for name in [*steps.split(), "flat_map", "split"])
    assert all(f"{name}(" in texts for name in ("ds.zip", "sampled", "Stream", "Indexed"))


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        (outcome(1, 2), outcome(1, 2), None),
        (outcome(1, 2), outcome(2, 1), "values"),
        (outcome(1), outcome(1, 2), "rows"),
        (outcome(1), outcome(True), "values"),
        (outcome(1), outcome(1, ended=error("RuntimeError")), "end"),
        (outcome(ended=error("DataError", "RuntimeError")), outcome(ended=error("RuntimeError")), None),
        (outcome(ended=error("TypeError")), outcome(ended=error("RuntimeError")), "class"),
        (outcome(1, num_classes=None), outcome(1, num_classes=2), "num_classes"),
        ({"hangs": True}, outcome(1), "end"),
        (outcome(1), {"crashes": -11}, None),
    ],
)
def test_what_is_a_difference(ours, theirs, kind):
    found = difference(ours, theirs, ordered=True)
    assert kind == (None if found is None else found.partition(":")[0])


def test_after_a_shuffle_the_order_does_not_matter():
    assert difference(outcome(1, 2), outcome(2, 1), ordered=False) is None
    assert difference(outcome(1, 2), outcome(1, 1), ordered=False)


def test_a_case_is_made_small():
    source = Call("source", ("table({}, 8)",), {"shuffle": "False", "num_samples": "3"})
    data = Call("skip", ("1",), {}, (Call("batch", ("4",), {"drop_remainder": "True"}, (source,)),))
    case = Case(Call("ds.zip", (), {}, (data, source, source)), epochs=2, asked=("num_classes",))
    small, what = shrink(case, "rows: 1", lambda c: "rows: 1" if ".batch(" in c.data.text() else None)
    assert what == "rows: 1"
    assert small.text() == (
        "data = (source(table({}, 1), shuffle=False)\n    .batch(1))\n"
        "iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)\nlist(iterator)"
    )


def test_known_differences_have_reasons_and_become_fewer():
    entries = known()
    assert len(entries) <= STAYING
    assert all(entry.reason.endswith(".") and len(entry.reason) > 30 for entry in entries)


def test_a_child_outlives_a_crash_and_a_hang(tmp_path):
    child = Child(sys.executable, "millrace", tmp_path, seconds=5)
    job = {"epochs": 1, "tuples": False, "asked": []}
    try:
        assert child.run(job | {"code": "__import__('os')._exit(3)"}) == {"crashes": 3}
        child.seconds = 0.5
        assert child.run(job | {"code": "__import__('threading').Event().wait()"}) == {"hangs": True}
        child.seconds = 60
        got = child.run(job | {"code": "ds.NumpySlicesDataset([7], shuffle=False)"})
        assert json.dumps(got["rows"]).count("7") == 1
    finally:
        child.close()


def test_our_side_survives_what_is_drawn(tmp_path):
    """Every pipeline ends: with rows, or with an error that is no slip of ours."""
    files.write(tmp_path)
    child = Child(sys.executable, "millrace", tmp_path, seconds=60)
    slips = ("KeyError", "IndexError", "AssertionError", "UnboundLocalError")
    try:
        for seed in range(60):
            case = draw_case(seed)
            got = child.run(case.job())
            assert "rows" in got, case.text()
            assert got["ended"] is None or got["ended"]["error"][0] not in slips, (got["ended"], case.text())
    finally:
        child.close()
