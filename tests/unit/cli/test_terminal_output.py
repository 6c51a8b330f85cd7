"""Nothing that commands print from a file or a name is a command of the terminal."""

import ast
import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest

import millrace._src.cli.main
from millrace._src.cli.main import main
from millrace._src.cli.terminal_output import console, say, say_json
from millrace._src.core.io.terminal_escape import escape_controls, escape_json
from millrace._src.core.log_formatters import JsonFormatter, TextFormatter
from millrace.mindrecord import FileWriter
from tests.unit.observe.live.long_run import write_run

# a title, a clipboard, a cleared screen, the 8-bit forms of CSI and OSC, a reversed direction, a backspace, a new line
HOSTILE = "a\x1b]0;title\x07b\x1b]52;c;ZXZpbA==\x1b\\c\x1b[2Jd\x9b31me\x9d0;x\x9cf\u202eg\u2066h\bi\rj\x7fk"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile_record(tmp_path):
    path = tmp_path / "hostile.mindrecord"
    writer = FileWriter(str(path), 1, overwrite=True)
    writer.add_schema({"text": {"type": "string"}, "n": {"type": "int32"}}, f"about {HOSTILE}")
    writer.write_raw_data([{"text": HOSTILE[:38], "n": 1}, {"text": HOSTILE[-30:], "n": 2}])
    writer.commit()
    return path


@pytest.fixture
def hostile_checkpoint(tmp_path):
    pytest.importorskip("torch")
    from safetensors.numpy import save_file

    path = tmp_path / "hostile.safetensors"
    save_file({f"{HOSTILE}.weight": np.zeros((2, 2), np.float32), "b": np.zeros(1, np.float32)}, str(path))
    return path


def check_plain(captured):
    for text in captured:
        assert CONTROLS.findall(text) == []


@pytest.mark.parametrize("options", [["head"], ["inspect"], ["verify"]], ids=lambda options: options[0])
def test_records(options, hostile_record, capsys):
    assert main(["record", *options, str(hostile_record)]) == 0
    captured = capsys.readouterr()
    check_plain(captured)
    if options != ["verify"]:
        assert "\\x1b" in captured.out


@pytest.mark.parametrize("action", ["head", "inspect"])
def test_records_for_machines(action, hostile_record, capsys):
    assert main(["record", action, "--json", str(hostile_record)]) == 0
    captured = capsys.readouterr()
    check_plain(captured)
    lines = captured.out.splitlines()
    rows = [json.loads(line) for line in lines] if action == "head" else json.loads(lines[0])["first_rows"]
    assert [row["text"] for row in rows] == [HOSTILE[:38], HOSTILE[-30:]]


@pytest.mark.parametrize("options", [[], ["--all"], ["--json"], ["--json", "--all"]], ids=" ".join)
def test_checkpoints(options, hostile_checkpoint, capsys):
    assert main(["inspect", *options, str(hostile_checkpoint)]) == 0
    captured = capsys.readouterr()
    check_plain(captured)
    assert ("\\u009b" if "--json" in options else "\\x9b") in captured.out


def test_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    runs = tmp_path / "millrace" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    runs.parent.chmod(0o700)
    path = runs / "x.history"
    write_run(path, seconds=3)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [
        {name: HOSTILE if value == "train.py" else value for name, value in line.items()} for line in lines
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for options in ([str(path), "--text"], [str(path), "--json"], ["--list"]):
        assert main(["watch", *options]) == 0
        captured = capsys.readouterr()
        check_plain(captured)
        assert "title" in captured.out


@pytest.mark.parametrize(
    "command",
    [["inspect"], ["record", "head"], ["watch"], ["run"], ["convert", "--json"]],
    ids=lambda command: command[0],
)
def test_names_of_files(command, tmp_path, capsys):
    """A file of this name does not exist, and one of nearly the same name does."""
    (tmp_path / f"x{HOSTILE.replace('/', '')}1").write_text("")
    wanted = str(tmp_path / f"x{HOSTILE.replace('/', '')}2")
    assert main([*command, wanted, *(["y"] if command[0] == "convert" else [])]) == 2
    captured = capsys.readouterr()
    check_plain(captured)
    assert "title" in captured.out + captured.err


def test_an_option_that_is_none(capsys):
    with pytest.raises(SystemExit):
        main(["inspect", f"--{HOSTILE}"])
    check_plain(capsys.readouterr())


def test_an_error_that_quotes_a_file(tmp_path, capsys):
    path = tmp_path / "x.history"
    path.write_text(json.dumps({"kind": "millrace history", "version": HOSTILE}) + "\n")
    assert main(["watch", str(path), "--text"]) == 2
    check_plain(capsys.readouterr())


def test_text_keeps_lines_and_letters():
    assert escape_controls("é日本\u200d👩‍🚀") == "é日本\u200d👩‍🚀"
    assert escape_controls("a\n\tb\r", keep="\n\t") == "a\n\tb\\r"
    assert escape_controls("\udc80\U000e0041") == "\\udc80\\U000e0041"
    assert json.loads(escape_json(json.dumps("\x7f\x9b\udc80\U000e0041\n", ensure_ascii=False))) == (
        "\x7f\x9b\udc80\U000e0041\n"
    )


def test_a_terminal_gets_styles_and_no_other_controls(capsys):
    console(force_terminal=True, color_system="standard", width=200, highlight=False).print(
        f"[red]{HOSTILE}[/red]"
    )
    say(HOSTILE)
    say_json({HOSTILE: HOSTILE})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("\x1b[31m")
    assert lines[0].endswith("\x1b[0m")
    check_plain([lines[0][5:-4], *lines[1:]])


def test_log_lines():
    record = logging.LogRecord("millrace.x", logging.INFO, "x.py", 1, "read %s", (HOSTILE,), None)
    check_plain([TextFormatter().format(record), JsonFormatter().format(record)])
    assert json.loads(JsonFormatter().format(record))["message"] == f"read {HOSTILE}"


# serve.py prints the names of models that its user typed, and no content of a file
PRINTS_ITSELF = {"terminal_output.py", "serve.py", "exit_status.py"}


def test_commands_print_nowhere_else():
    folder = Path(millrace._src.cli.main.__file__).parent
    wrong = []
    for path in sorted(folder.rglob("*.py")):
        if path.name in PRINTS_ITSELF:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if name in ("print", "Console"):
                wrong.append(f"{path.relative_to(folder)}:{node.lineno}")
    assert wrong == []
