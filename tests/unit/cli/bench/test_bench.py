"""millrace bench: every kind of data, bad files, pipeline files, and what it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import millrace.dataset as ds
from millrace._src.cli.bench import hardware_baseline as machine
from millrace._src.cli.main import main
from millrace._src.data.formats.tfrecord.example import encode_example
from millrace._src.data.formats.tfrecord.record_file import write_record
from millrace.mindrecord import FileWriter
from tests.unit.cli.terminal import on_terminal


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The machine's own rates take seconds, and have a test of their own."""
    monkeypatch.setattr(machine, "copy_rate", lambda: {"one": 2e9, "all": 3e9})
    monkeypatch.setattr(machine, "decode_rates", lambda images: {"one": 10.0, "all": 20.0, "cores": 2.0})


@pytest.fixture
def bench(capsys):
    def run(*words, status=0):
        assert main(["bench", *map(str, words), "--seconds", "0.05", "--json"]) == status
        said = capsys.readouterr()
        return json.loads(said.out) if status == 0 else said.err

    return run


def test_nested_images(bench, images, no_leaks):
    answer = bench(images)
    assert answer["what"] == "12 images in 8 folders"
    assert (answer["kind"], answer["unit"]) == ("images", "images")
    assert answer["speed"]["rate"] > 0
    assert answer["speed"]["first_batch"] > 0
    assert answer["speed"]["peak_bytes"] > 0
    assert answer["bad"] == {}
    assert sum(share for _, share in answer["shares"]) == pytest.approx(1)
    assert any("Decode" in name for name, _ in answer["shares"])
    assert answer["machine"]["read"]["warm"] > 0
    assert answer["machine"]["decode"]["all"] == 20
    assert answer["bytes_per_row"] == pytest.approx(sum(p.stat().st_size for p in images.rglob("*.jpg")) / 12)
    assert answer["advice"]
    assert answer["verdict"]["rate"] > 0


def test_class_folders_need_no_table(bench, images):
    code = bench(images / "some")["code"]
    assert "class_indexing" not in code
    names = {"ds": ds, "vision": ds.vision}
    exec(code, names)  # what is shown can be copied
    assert names["data"].get_dataset_size() == 1


def test_flat_images_and_single_files(bench, images):
    folder = max((images / "some").iterdir(), key=lambda path: len(list(path.iterdir())))
    assert bench(folder)["what"].endswith("images in 1 folder")
    file = next(folder.iterdir())
    assert bench(file)["what"] == "1 image in 1 folder"


def test_images_without_decoding(bench, images):
    answer = bench(images, "--no-decode", "--batch", 4)
    assert "Decode" not in answer["code"]
    assert "decode" not in answer["machine"]
    assert answer["speed"]["rows"] >= 4  # one batch, however little time the machine has for it


def test_bad_files_are_named_and_left_out(bench, images, tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    for number, path in enumerate(sorted(images.rglob("*.jpg"))[:4]):
        (folder / f"{number}.jpg").write_bytes(path.read_bytes())
    (folder / "cut.jpg").write_bytes(b"\xff\xd8\xff and no more")
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "gone.jpg").symlink_to(tmp_path / "nowhere")
    answer = bench(folder)
    assert {os.path.basename(name) for name in answer["bad"]} == {"cut.jpg", "empty.jpg", "gone.jpg"}
    assert answer["bad_rows"] >= 3


def test_nothing_but_bad_files(bench, tmp_path):
    (tmp_path / "x.jpg").write_bytes(b"\xff\xd8\xff")
    error = bench(tmp_path, status=1)
    assert "nothing could be loaded" in error
    assert "x.jpg" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("decode", [True, False])
def test_mindrecord(bench, jpegs, tmp_path, decode):
    writer = FileWriter(str(tmp_path / "x.mindrecord"), shard_num=2)
    writer.add_schema({"image": {"type": "bytes"}, "label": {"type": "int32"}})
    writer.write_raw_data([{"image": data, "label": 1} for data in jpegs])
    writer.commit()
    answer = bench(tmp_path, "--decode" if decode else "--no-decode")
    assert answer["what"] == "12 rows in 2 MindRecord files"
    assert ("Decode" in answer["code"]) is decode


def records(path, jpegs):
    with open(path, "wb") as file:
        for data in jpegs:
            write_record(file, encode_example({"image": data, "label": 1}))


def test_tfrecord_and_one_bad_file_of_several(bench, jpegs, tmp_path):
    records(tmp_path / "a.tfrecord", jpegs)
    records(tmp_path / "b.tfrecord", jpegs)
    (tmp_path / "c.tfrecord").write_bytes(b"no record at all")
    answer = bench(*sorted(tmp_path.iterdir()))
    assert answer["what"] == "24 rows in 2 TFRecord files"
    assert [os.path.basename(name) for name in answer["bad"]] == ["c.tfrecord"]
    error = bench(tmp_path / "c.tfrecord", status=2)
    assert "c.tfrecord" in error
    assert error.count("\n") == 1


def test_csv_and_text(bench, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + "1,x\n" * 50)
    (tmp_path / "y.txt").write_text("a line\n" * 40)
    answer = bench(tmp_path / "x.csv", "--batch", 8)
    assert answer["what"] == "50 rows in 1 CSV file"
    assert "batch(8)" in answer["code"]
    assert bench(tmp_path / "y.txt")["what"] == "40 rows in 1 text file"


def test_rows_of_different_lengths_are_padded(bench, tmp_path):
    with open(tmp_path / "x.tfrecord", "wb") as file:
        for number in range(9):
            write_record(file, encode_example({"tokens": list(range(number + 1))}))
    answer = bench(tmp_path / "x.tfrecord")
    assert "padded_batch" in answer["code"]
    assert answer["bad"] == {}


def test_workers(bench, tmp_path):
    (tmp_path / "p.py").write_text(
        "import millrace.dataset as ds\n"
        "def dataset():\n"
        "    assert ds.config.get_num_parallel_workers() == 3\n"
        "    return ds.RandomDataset(total_rows=9).batch(3)\n"
    )
    bench(tmp_path / "p.py", "--workers", 3)
    assert ds.config.get_num_parallel_workers() != 3


# --- pipeline files ---------------------------------------------------------------------------------------

SCRIPT = """
from __future__ import annotations
import dataclasses
import millrace.dataset as ds
from beside import START

@dataclasses.dataclass
class Add:
    number: int
    def __call__(self, x):
        return x + self.number

def dataset():
    data = ds.GeneratorDataset(list(range(START, START + 40)), "x", shuffle=False)
    return data.map(Add(2), input_columns="x", python_multiprocessing=True).batch(10)

if __name__ == "__main__":
    raise SystemExit("the file is a module here, not a script")
"""


def test_a_python_file_with_its_own_classes_modules_and_processes(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside.py").write_text("START = 5\n")
    (tmp_path / "own.py").write_text(SCRIPT)
    answer = bench(tmp_path / "own.py")
    assert answer["what"] == f"the pipeline of {tmp_path / 'own.py'}"
    assert answer["code"] == ""
    assert answer["speed"]["rows"] > 0
    assert answer["bad"] == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\ny = 1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
        ("x = (\n", "SyntaxError"),
        ("raise SystemExit(3)\n", "line 1: SystemExit: 3"),
        (
            "import millrace.dataset as ds\ntrain = ds.RandomDataset(total_rows=5)\n",
            "rename 'train' to 'pipeline'",
        ),
        ("def dataset():\n    return 3\n", "dataset() returned int, not a Dataset"),
        ("import millrace.dataset as dataset\n", "defines no pipeline"),
    ],
)
def test_python_files_that_are_no_pipeline(bench, tmp_path, text, said):
    (tmp_path / "p.py").write_text(text)
    error = bench(tmp_path / "p.py", status=2)
    assert said in error
    assert error.startswith("millrace bench: ")
    assert error.count("\n") == 1


def test_a_function_that_always_fails(bench, tmp_path):
    (tmp_path / "p.py").write_text(
        "import millrace.dataset as ds\npipeline = ds.RandomDataset(total_rows=5).map(lambda x: x / None)\n"
    )
    error = bench(tmp_path / "p.py", status=1)
    assert "nothing could be loaded" in error
    assert "TypeError" in error


def test_json_of_serialize(bench, tmp_path):
    ds.serialize(ds.RandomDataset(total_rows=6).batch(2), str(tmp_path / "p.json"))
    assert bench(tmp_path / "p.json")["speed"]["rows"] >= 2
    (tmp_path / "q.json").write_text('{"op_type": "Batch", "children": [{"op_type": "RandomDataset"}]}')
    assert "q.json" in bench(tmp_path / "q.json", status=2)


# --- what it says -----------------------------------------------------------------------------------------


def test_for_people(images, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    page = tmp_path / "report.html"
    assert main(["bench", str(images), "--seconds", "0.05", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    for title in (
        "What is loaded",
        "Throughput",
        "Where the time goes",
        "Baseline of this machine",
        "Advice",
    ):
        assert f"\n{title}\n" in out
    assert "\x1b" not in out
    assert "JPEG decode, 1 core" in out
    assert f"The stage report: {page}" in out
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")


def test_progress_on_a_terminal(images):
    status, seen = on_terminal(
        [Path(sys.executable).with_name("millrace"), "bench", images, "--seconds", "0.3"]
    )
    assert status == 0
    for text in ("looking for files", "loading", "rows/s", "━", "█", "Advice"):
        assert text in seen


def test_help_warns_that_a_file_is_executed(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    assert "the file is executed" in capsys.readouterr().out


def test_errors_are_one_line(bench, tmp_path):
    assert "does not exist" in bench(tmp_path / "nothing", status=2)
    assert "found no supported files" in bench(tmp_path, status=2)


def test_the_whole_command(images):
    """Nothing faked, as a user calls it."""
    done = subprocess.run(
        [Path(sys.executable).with_name("millrace"), "bench", images, "--seconds", "0.2"],
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "memory copy, 1 core" in done.stdout
