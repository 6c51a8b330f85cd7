"""The pages of the benchmarks, made from planted results; and that those of the repository are made from its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks import (
    details_page,
    gpu_page,
    readme_page,
    report,
    results_page,
    run,
    scaling_page,
    summary,
    svg,
    workloads,
)
from benchmarks.bars import Others
from benchmarks.workloads import Metric


def _results(ours, theirs, name="arrays"):
    metric = workloads.load(name).METRICS[0]

    def rounds(values):
        return [{metric.key: v} if isinstance(v, float) else {"error": v} for v in values]

    peers = {"millrace": {"default": rounds(ours)}, "mindspore": {v: rounds(r) for v, r in theirs.items()}}
    entry = {"when": "2000-01-01T00:00+00:00", "commit": "abc", "rounds": len(ours), "peers": peers}
    machine = {"cpu": "c", "cores": 2, "memory_gib": 1, "system": "s", "load_before": 0.0, "commit": "abc"}
    return {"command": "x", "machine": machine, "versions": {}, "left_out": {}, "workloads": {name: entry}}


def test_ratios_are_taken_round_by_round_against_the_best_variant():
    results = _results([100.0, 300.0, 90.0], {"slow": [1.0, 1.0, 1.0], "fast": [4.0, 10.0, 3.0]})
    module, entry = workloads.load("arrays"), results["workloads"]["arrays"]
    (made,) = summary.comparisons(module, entry)
    assert made.theirs == "fast"
    assert (made.ratio.median, made.ratio.low, made.ratio.high) == (30.0, 25.0, 30.0)
    assert made.word == "ahead"
    (verdict,) = summary.verdicts(module, entry)
    assert verdict.met is True


def _page(results, **others):
    return results_page.page(results, Others(**others))


def test_the_page_says_where_millrace_is_not_first():
    behind = _page(_results([2.0, 2.0], {"default": [4.0, 4.0]}))
    assert "- Arrays in memory: behind MindSpore (default) 0.50x. Why: " in behind
    assert "| **0.50x** | **1 missed** |" in behind
    assert "| Data | Arrays in memory: at least 20 times MindSpore | 0.50 times | **missed** |" in behind
    level = _page(_results([3.0, 5.0], {"default": [4.0, 4.0]}))
    assert "- Arrays in memory: level with MindSpore (default) 1.00x (0.75 .. 1.25)." in level
    ahead = _page(_results([100.0], {"default": [4.0]}))
    assert "Nowhere, in the number that each table compares first." in ahead
    assert "1 bars: 1 met." not in ahead  # two of the machine with many cores were not measured
    assert "3 bars: 1 met, 2 not measured." in ahead


def test_what_should_be_small_is_compared_in_times_as_long():
    results = _results([1.0], {}, "first_batch")
    peers = results["workloads"]["first_batch"]["peers"]
    peers["millrace"], peers["torch"] = (
        {"arrays": [{"first_batch_s": 3.0}]},
        {"arrays": [{"first_batch_s": 2.0}]},
    )
    assert "at most 1.2 times as long as PyTorch | 1.50 times as long | **missed** |" in _page(results)


def test_a_note_on_where_numbers_come_from_is_on_every_page_until_they_are_measured_again():
    results = _results([2.0], {"default": [1.0]})
    results["workloads"]["arrays"]["note"] = "Read from a log."
    assert "- **Not a whole run**: Arrays in memory: Read from a log." in _page(results)
    assert "commit abc, 1 round. Read from a log." in details_page.page(results, Others())
    assert "Read from a log." in " ".join(readme_page.speeds(results, Others()))
    again = run.merged(results, _results([2.0], {"default": [1.0]}))
    assert "Read from a log." not in _page(again)


def test_one_round_that_is_a_little_better_is_level():
    (made,) = summary.comparisons(
        workloads.load("arrays"), _results([102.0], {"default": [100.0]})["workloads"]["arrays"]
    )
    assert made.word == "level"


def test_a_round_that_failed_is_shown_and_not_counted():
    page = details_page.page(_results([10.0, 10.0], {"default": [2.0, "it broke"]}), Others())
    assert "failed in 1 of 2 rounds: `it broke`" in page
    assert "| **5.00x** |" in page


def test_a_question_that_millrace_fails_is_still_in_the_table():
    lines = results_page.glance(_results(["it broke"], {"default": [2.0]}))
    assert "| Arrays in memory | failed |  | 1 not measured |" in lines


def test_variants_of_other_names_are_compared_where_a_workload_says_so():
    results = _results([2.0], {}, "train_model")
    peers = results["workloads"]["train_model"]["peers"]
    peers["millrace"] = {"Graph": [{"rows_per_s": 8.0}], "PyNative": [{"rows_per_s": 6.0}]}
    peers["mindspore"] = {"Graph": [{"rows_per_s": 4.0}], "PyNative": [{"rows_per_s": 1.0}]}
    peers["keras"] = {"Model.fit": [{"rows_per_s": 16.0}]}
    glance = "\n".join(results_page.glance(results))
    assert "| | Millrace | to MindSpore | to Keras | bars |" in glance.replace("|  |", "| |")
    assert "Graph | 8 rows/s | 2.00x | **0.50x** (Model.fit) |" in glance
    assert "PyNative | 6 rows/s | 6.00x | **0.38x** (Model.fit) |" in glance


# --- serving --------------------------------------------------------------------------------------------------


def _served(rate, late):
    curve = {"1": [10.0, 1.0, 2.0, 3.0], "16": [rate, 5.0, late, 3.0]}
    return [{"requests_per_s": rate, "p50_ms": 5.0, "p99_ms": late, "cpu_ms": 3.0, "at_once": curve}]


def test_a_server_is_compared_at_the_same_p99():
    results = _results([1.0], {}, "serving_resnet18")
    entry = results["workloads"]["serving_resnet18"]
    entry["peers"] = {
        "millrace": {"JSON": _served(400.0, 30.0), "bytes": _served(400.0, 50.0)},
        "fastapi": {"JSON": _served(100.0, 40.0), "bytes": _served(200.0, 40.0)},
    }
    json_, bytes_ = summary.comparisons(workloads.load("serving_resnet18"), entry)
    assert json_.ratio.median == 4.0
    # with 16 at once Millrace's p99 is beyond the other's: only what it does with one at once counts
    assert bytes_.ratio.median == 0.05
    page = _page(results)
    assert "| Millrace, JSON | 10 (1.0 / 2.0; 3.0) | 400 (5.0 / 30.0; 3.0) |" in page
    assert "| FastAPI + onnxruntime, bytes | 10 (1.0 / 2.0; 3.0) | 200 (5.0 / 40.0; 3.0) |" in page
    assert (
        "A served ResNet-18 (bytes): at least 1.5 times FastAPI + onnxruntime, at its p99 | 0.05 times"
        in page
    )


# --- one GPU ----------------------------------------------------------------------------------------------------


def test_the_section_on_a_gpu_has_its_date_and_its_bars():
    steps = {
        "torch": {"steps_per_s": 100.0, "peak_mib": 100},
        "Graph": {"steps_per_s": 450.0, "peak_mib": 104},
    }
    found = {
        "gpu_steps": {
            "by": "b",
            "made": "2001-02-03",
            "on": "a card",
            "results": {"lenet": steps, "resnet50": steps},
        },
        "gpu_feed": {
            "by": "f",
            "made": "2001-02-04",
            "on": "a card",
            "torch": "9",
            "files": [10, 2000],
            "results": {"millrace-16": {"images_per_s": 4000.0, "of_resident_percent": 99.0}},
        },
    }
    page = _page(_results([2.0], {"default": [1.0]}), gpu=found)
    assert "**2001-02-03**" in page
    assert "| Millrace, 16 workers, nothing set | 4,000 | 99.0 % |" in page
    assert "| LeNet-5, batch 32 | 100 |  |  | 450 | 4.50x |" in page
    assert "LeNet-5, batch 32: Graph at least 5 times plain PyTorch | 4.50 times | **missed** |" in page
    met = {text: met for text, _, met in gpu_page.verdicts(found)}
    assert [text for text, met in met.items() if met is None] == [
        f"{gpu_page.NETS[net]}: Graph at least 5 times plain PyTorch" for net in ("mlp", "resnet18-8")
    ]
    assert sum(met is True for met in met.values()) == 3


# --- parts, order and keeping ---------------------------------------------------------------------------------------


def test_a_part_stands_for_its_workloads_and_headlines_come_first():
    assert workloads.asked(["serving"]) == list(workloads.PARTS["serving"].names)
    assert workloads.asked(["cache", "arrays"]) == ["arrays", "cache_jpeg", "cache_small"]
    everything = workloads.asked()
    assert sorted(everything) == sorted(workloads.NAMES)
    assert tuple(everything[: len(workloads.HEADLINES)]) == workloads.HEADLINES


def test_every_workload_belongs_to_one_part():
    files = {path.stem for path in Path(workloads.__file__).parent.glob("*.py")} - {"__init__"}
    assert sorted(workloads.NAMES) == sorted(files)


def test_what_was_not_measured_again_stays():
    before = _results([1.0], {"default": [1.0]}) | {
        "versions": {"torch": {"torch": "1"}},
        "left_out": {"dali": "no"},
    }
    now = _results([2.0], {"default": [1.0]}, "csv") | {"versions": {"dali": {"d": "2"}}, "command": "part"}
    found = run.merged(before, now)
    assert found["workloads"].keys() == {"arrays", "csv"}
    assert found["command"] == "x"
    assert found["versions"].keys() == {"torch", "dali"}
    assert found["left_out"] == {}
    assert run.merged(before, _results([2.0], {"default": [1.0]}) | {"command": "new"})["command"] == "new"


def _measured(monkeypatch, tmp_path, *words):
    """A run of two workloads, each of whose measurements takes no time; every look at the clock takes 50 seconds."""
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr(run.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(run, "measure", lambda *words: {"rows_per_s": 1.0, "versions": {"numpy": "0"}})
    here = {"cpu": "c", "cores": 2, "commit": "abc", "load_before": 0.0}
    entries = {name: run._entry(name, {"millrace": "python"}, here) for name in ("arrays", "csv")}
    results = _results([1.0], {}) | {"versions": {}, "workloads": entries}
    kept = run.Kept(tmp_path, here)
    run._rounds(run._arguments([*words]), {"millrace": "python"}, results, kept, Console(quiet=True))
    return results, json.loads((tmp_path / report.FILE).read_text())


def test_a_run_that_is_out_of_time_keeps_what_is_whole(monkeypatch, tmp_path):
    results, kept = _measured(monkeypatch, tmp_path, "--minutes", "2")
    assert [entry["rounds"] for entry in results["workloads"].values()] == [1, 0]
    assert kept["workloads"].keys() == {"arrays"}
    assert kept["workloads"]["arrays"]["seconds"] == 50
    assert kept["versions"] == {"millrace": {"numpy": "0"}}


def test_rounds_are_counted_and_kept(monkeypatch, tmp_path):
    _, kept = _measured(monkeypatch, tmp_path, "--repeat", "2")
    assert [entry["rounds"] for entry in kept["workloads"].values()] == [2, 2]
    assert len(kept["workloads"]["csv"]["peers"]["millrace"]["typed"]) == 2


def test_results_of_two_machines_are_not_mixed(monkeypatch, tmp_path):
    _measured(monkeypatch, tmp_path)
    with pytest.raises(SystemExit, match=r"another machine \(c, 2 cores\).*--out"):
        run.Kept(tmp_path, {"cpu": "d", "cores": 2})


def test_results_are_kept_a_round_to_a_line():
    results = _results([1 / 3, 2.0], {"default": [1.0]})
    text = report.as_json(results)
    assert '"default": [\n' in text
    assert '{ "rows_per_s": 0.33333 }' in text
    assert json.loads(text)["workloads"]["arrays"]["rounds"] == 2
    assert report.as_json(json.loads(text)) == text


# --- the pages of the repository ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept():
    """The results that the pages are made of."""
    return json.loads((report.HERE / report.FILE).read_text()), report.others(report.HERE)


def test_the_readme_has_the_numbers_of_the_results(kept):
    """If this fails, run ``python benchmarks/report.py``."""
    readme = report.README.read_text()
    assert readme_page.fill(readme, *kept) == readme
    inside = readme.partition(readme_page.BEGIN)[2].partition(readme_page.END)[0]
    assert all(row.label in inside for row in readme_page.ROWS if row.workload in kept[0]["workloads"])


def test_the_pages_are_those_of_the_results(kept):
    """If this fails, run ``python benchmarks/report.py``."""
    assert (report.HERE / "RESULTS.md").read_text() == results_page.page(*kept)
    assert (report.HERE / "DETAILS.md").read_text() == details_page.page(*kept)


def test_links_from_the_page_lead_to_headings(kept):
    details = (report.HERE / "DETAILS.md").read_text()
    headings = {results_page.anchor(line[3:]) for line in details.splitlines() if line.startswith("## ")}
    links = re.findall(r"DETAILS\.md#([\w-]+)", (report.HERE / "RESULTS.md").read_text())
    assert set(links) <= headings
    for plot in re.findall(r"\]\((plots/[^)]+)\)", details):
        ElementTree.parse(report.HERE / plot)


def test_the_readme_has_ratios_of_planted_results():
    results = _results([10.0], {"default": [4.0]}) | {"versions": {"mindspore": {"mindspore": "2.7.0"}}}
    lines = readme_page.speeds(results, Others())
    assert (
        "|  | Millrace | to MindSpore 2.7.0 | to PyTorch | to tf.data | to Grain | to DALI (CPU) |" in lines
    )
    assert "| Arrays in memory, shuffled, batch 64 | 10 rows/s | 2.50x |  |  |  |  |" in lines
    assert lines[0].startswith("On **2 cores of an c** (1 January 2000)")
    behind = readme_page.speeds(_results([1.0], {"default": [4.0]}), Others())
    assert "**0.25x**" in "\n".join(behind)
    assert behind[-1] == "Behind: Arrays in memory (MindSpore 0.25x)."


# --- single pieces ---------------------------------------------------------------------------------------------------


def test_a_failed_round_does_not_shift_the_rounds_after_it():
    results = _results([10.0, 20.0, 30.0], {"default": ["it broke", 4.0, 6.0]})
    (made,) = summary.comparisons(workloads.load("arrays"), results["workloads"]["arrays"])
    assert (made.ratio.low, made.ratio.high) == (5.0, 5.0)


def test_a_note_is_filled_between_its_marks_and_again():
    note = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    results = _results([10.0], {"default": [2.0]})
    once = report.fill_note(note, results)
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert "\nold\n" not in once
    assert "| 5.00x |" in once
    assert report.fill_note(once, results) == once
    with pytest.raises(SystemExit, match="no place for results"):
        report.fill_note("no marks", results)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1343794.7, "1,340,000"),
        (213.4, "213"),
        (99.96, "100"),
        (3.14159, "3.14"),
        (0.00066, "0.00066"),
        (0, "0"),
    ],
)
def test_numbers_as_text(value, text):
    assert summary.number(value, Metric("k", "n")) == text


def test_a_plot_is_well_formed_and_stable():
    rows = [
        svg.BarRow("a < b & c", "millrace", 2.0, 1.0, 3.0, "2"),
        svg.BarRow("minus", "torch", -1.0, -2.0, 0.5, "-1"),
    ]
    drawn = svg.bars('it\'s "quoted"', rows, "note")
    assert drawn == svg.bars('it\'s "quoted"', rows, "note")
    root = ElementTree.fromstring(drawn)
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "a < b & c" in texts


def test_a_variant_far_behind_in_the_first_round_is_not_repeated():
    results = _results([100.0], {"slow": [1.0], "near": [7.0], "best": [10.0], "broken": ["it broke"]})
    module, entry = workloads.load("arrays"), results["workloads"]["arrays"]
    tired = {v: run.hopeless(module, entry, "mindspore", v) for v in entry["peers"]["mindspore"]}
    assert tired == {"slow": True, "near": False, "best": False, "broken": True}
    assert not run.hopeless(module, entry, "millrace", "default")


def test_the_best_variant_is_one_that_was_measured_to_the_end():
    entry = _results([100.0, 100.0], {"once": [9.0], "twice": [8.0, 8.0]})["workloads"]["arrays"]
    assert summary.best_variant(entry, "mindspore", workloads.load("arrays").METRICS[0]) == "twice"


def test_the_page_says_why_only_where_a_peer_is_ahead():
    results = _results([2.0, 2.0], {"default": [1.0, 1.0]}, "jpeg_train")
    entry = results["workloads"]["jpeg_train"]["peers"]
    entry["dali"] = {"2 threads": [{"rows_per_s": 4.0}, {"rows_per_s": 4.0}]}
    page = _page(results)
    assert f"Why: {workloads.load('jpeg_train').WHY['dali']}" in page
    assert "ahead of all others | 0.50 times DALI (CPU), the nearest of 2 | **missed** |" in page
    assert "at least 1.6 times MindSpore | 2.00 times | met |" in details_page.page(results, Others())
    entry["dali"]["2 threads"] = [{"rows_per_s": 1.0}, {"rows_per_s": 1.0}]
    assert workloads.load("jpeg_train").WHY["dali"] not in _page(results)
    assert "ahead of all others | 2.00 times MindSpore, the nearest of 2 | met |" in details_page.page(
        results, Others()
    )


def _scaled(**rates):
    table = {
        workers.removeprefix("w"): {"rows_per_s": rate, "low": rate, "high": rate, "cpu_s_per_1k": 1.0}
        for workers, rate in rates.items()
    }
    return {
        "command": "c",
        "when": "2000-01-01T00:00+00:00",
        "machine": {"cpu": "x", "cores": 16, "system": "s"},
        "commit": "abc",
        "versions": {},
        "files": 1,
        "rounds": 1,
        "names": {"millrace": "Millrace"},
        "pipelines": {"train": {"millrace": table}, "eval": {}},
    }


def test_the_section_on_scaling_gives_parts_of_linear():
    scaled = _scaled(w1=100.0, w16=1440.0)
    train, evaluation = scaling_page.verdicts(scaled)
    assert train[1:] == ("90 % of linear", True)
    assert evaluation[1:] == ("not measured", None)
    assert scaling_page.verdicts(_scaled(w1=100.0, w16=800.0))[0][2] is False
    assert "1,440 (90 %)" in "\n".join(scaling_page.section(scaled))
    (drawn,) = scaling_page.plots(scaled).values()
    ElementTree.fromstring(drawn)
    results, others = _results([2.0], {"default": [1.0]}), Others(scaled)
    assert "## Past one core count" in details_page.page(results, others)
    assert "On 16 cores (2000-01-01): JPEG train 1,440 rows/s, 90 % of 16 times one worker." in _page(
        results, scaled=scaled
    )
