"""The ``millrace`` command as people call it."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import millrace
from millrace._src.cli.main import COMMANDS, main

MILLRACE = [str(Path(sys.executable).with_name("millrace"))]


def run(*arguments, **options):
    return subprocess.run([*MILLRACE, *arguments], capture_output=True, text=True, timeout=90, **options)


def test_help_is_short_and_aligned(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 28
    assert max(map(len, lines)) < 80
    starts = {
        line.index(text) for line in lines for name, text in COMMANDS.items() if line.startswith(f"  {name} ")
    }
    assert len(starts) == 1
    assert "examples:" in lines


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: millrace {name}" in capsys.readouterr().out


def test_without_command_shows_help(capsys):
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "quikstart",
            "millrace: there is no command 'quikstart'; did you mean 'quickstart'? (see millrace --help)",
        ),
        ("zzz", "millrace: there is no command 'zzz'. Choose one of quickstart, "),
        ("--versio", "millrace: unknown option --versio; did you mean '--version'? (see millrace --help)"),
        (
            "bench --secnds 3 x",
            "millrace bench: unknown option --secnds; did you mean '--seconds'? (see millrace bench",
        ),
        ("bench", "millrace bench: the following arguments are required: PATH (see millrace bench --help)"),
        (
            "bench x --seconds never",
            "millrace bench: argument --seconds: never is not a number of seconds (see",
        ),
        ("bench x --batch 0", "millrace bench: argument --batch: 0 is not a positive number (see"),
        (
            "record inspct x",
            "millrace record: there is no action 'inspct'; did you mean 'inspect'? (see millrace record",
        ),
        ("record convert zip a b", "millrace record convert: there is no kind 'zip'. Choose one of folder, "),
        ("version 3", "millrace version: unexpected argument '3' (see millrace version --help)"),
    ],
)
def test_a_wrong_word_is_one_line_with_a_suggestion(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(said)
    assert error.count("\n") == 1


def test_a_path_that_is_not_there_is_one_line_with_a_suggestion(tmp_path, capsys):
    (tmp_path / "photos").mkdir()
    assert main(["bench", str(tmp_path / "photo")]) == 2
    assert main(["record", "inspect", str(tmp_path / "photo")]) == 2
    bench, record = capsys.readouterr().err.splitlines()
    assert bench == f"millrace bench: {tmp_path}/photo does not exist; did you mean '{tmp_path}/photos'?"
    assert record.endswith(f"did you mean '{tmp_path}/photos'?")


def test_as_a_module(capsys):
    for words in (["--version"], ["version"], ["nothing"]):
        module = subprocess.run(
            [sys.executable, "-m", "millrace", *words], capture_output=True, text=True, timeout=60
        )
        script = run(*words)
        assert (module.returncode, module.stdout, module.stderr) == (
            script.returncode,
            script.stdout,
            script.stderr,
        )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_and_ends_with_examples(name):
    text = run(name, "--help", env=os.environ | {"COLUMNS": "80"}).stdout
    assert max(map(len, text.splitlines())) < 80
    assert f"\n  millrace {name}" in text[text.index("example") :]


@pytest.mark.parametrize("words", [["--help"], ["bench", "--help"], ["doctor", "--json"], ["version"]])
def test_a_reader_that_leaves_is_not_an_error(words):
    """As in: millrace doctor | true"""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [*MILLRACE, *words], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.stderr == ""
    # argparse takes no notice where nothing is buffered
    assert done.returncode in ((0, 141) if "--help" in words else (141,))


def test_a_reader_that_leaves_in_the_middle(tmp_path):
    """As in: millrace record head x -n 100000 | head -1"""
    from millrace.mindrecord import FileWriter

    writer = FileWriter(str(tmp_path / "x"))
    writer.add_schema({"text": {"type": "string"}})
    writer.write_raw_data([{"text": "x" * 100} for _ in range(5000)])
    writer.commit()
    with subprocess.Popen(
        [*MILLRACE, "record", "head", tmp_path / "x", "-n", "5000", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


ENDLESS = """
import os, time
import millrace.dataset as ds

def wait(x):
    os.write(1, b"at work\\n")
    time.sleep(0.02)
    return x

data = ds.GeneratorDataset(list(range(100)), "x", shuffle=False)
pipeline = data.map(wait, input_columns="x", python_multiprocessing={processes}).batch(10)
"""


@pytest.mark.parametrize("processes", [False, True])
def test_interrupted(tmp_path, processes, no_leaks):
    """Ctrl-C reaches the whole group; one word is said, and nothing stays."""
    (tmp_path / "p.py").write_text(ENDLESS.format(processes=processes))
    with subprocess.Popen(
        [*MILLRACE, "bench", tmp_path / "p.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout.readline() == "at work\n"
            os.killpg(process.pid, signal.SIGINT)
            _, error = process.communicate(timeout=60)
        finally:
            if process.poll() is None:  # nothing that a test starts outlives it, red or green
                os.killpg(process.pid, signal.SIGKILL)
    assert error == "\nstopped\n"
    assert process.returncode == 130


def test_version(capsys):
    assert main(["version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["millrace", millrace.__version__]
    assert {line.split()[0] for line in lines} >= {"python", "system", "cores", "numpy", "torch"}


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("2.13.0+cpu", "2.13.0+cpu (in the tested range 2.11 to 2.15)"),
        ("2.15.1", "2.15.1 (in the tested range 2.11 to 2.15)"),
        ("2.10.0", "2.10.0 (older than the tested range 2.11 to 2.15)"),
        ("2.16.0", "2.16.0 (newer than the tested range 2.11 to 2.15)"),
        (None, "not installed (tested: 2.11 to 2.15)"),
    ],
)
def test_version_shows_whether_pytorch_is_tested(monkeypatch, capsys, version, shown):
    real = importlib.metadata.version

    def fake(name):
        if name != "torch":
            return real(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr("importlib.metadata.version", fake)
    assert main(["version"]) == 0
    (line,) = (each for each in capsys.readouterr().out.splitlines() if each.startswith("torch "))
    assert line.removeprefix("torch").strip() == shown


def test_help_imports_no_heavy_library():
    code = (
        "import sys; from millrace._src.cli.main import _build_parser; _build_parser(['-h']).format_help(); "
    )
    code += "print('cv2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr
