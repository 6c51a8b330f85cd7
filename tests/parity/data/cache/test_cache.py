"""The cache's command and calls against what real MindSpore 2.7.0 said when goldens/ was recorded."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import millrace.dataset as ds
from millrace._src.cli.cache_admin import main
from millrace._src.data.cache import server_admin as admin
from tests.parity.data.cache.cases import SCENARIOS, WITH_SERVER, WITH_SPILLING, WITHOUT_SERVER
from tests.parity.data.cache.names import names
from tests.parity.data.cache.run_case import Play, lines_of
from tests.parity.data.pipelines.test_pipelines import compare
from tests.parity.encode import encode, encode_error
from tests.support.cache_server import CacheHome

pytestmark = pytest.mark.filterwarnings("ignore")

GOLDENS = Path(__file__).parent / "goldens"
COMMANDS = json.loads((GOLDENS / "commands.json").read_text())
CHANGED = "the cases have changed since they were recorded: run record_cache.py"
PORT = 50970

HELP = "the help is our own, and where it was asked for it goes to standard output"
# (scenario, line): why Millrace differs, its exit status, and how what it says begins
DIFFERENT: dict[tuple[str, str], tuple[str, int, str]] = {
    ("no server", "--help"): (HELP, 0, "usage: dataset-cache COMMAND"),
    ("no server", ""): (HELP, 1, "usage: dataset-cache COMMAND"),
    ("wrong words", "--start --help"): (HELP, 0, "usage: dataset-cache COMMAND"),
    ("no server", "MS_CACHE_PORT=abc -g"): (
        "one line, without a log's head",
        1,
        "Cache port from env variable MS_CACHE_PORT is invalid: abc",
    ),
    ("wrong values", "--start -p {port} -w 0x5"): ("that is no number", 1, "Invalid numeric value: 0x5"),
    ("wrong values", "--start -p {port} -h localhost"): (
        "it is this machine",
        0,
        "Cache server startup completed successfully!",
    ),
    ("wrong values", "--start -p {port} -s relative/folder"): (
        "a relative folder is taken, where it exists",
        1,
        "Spilling directory is not writable",
    ),
    ("a life", "-d -3 -p {port}"): (
        "the number is said as it was given",
        1,
        "Unexpected error. Session id -3 not found in server on port PORT.",
    ),
}


def test_what_is_asked_is_what_was_recorded() -> None:
    asked = {
        name: [line for line in lines_of(text) if not line.startswith("(")]
        for name, text in SCENARIOS.items()
    }
    assert {name: [said["line"] for said in done] for name, done in COMMANDS.items()} == asked, CHANGED
    codes = {f"{kind}: {case.name}": case.source for kind, cases in KINDS.items() for case in cases}
    assert {name: outcome["code"] for name, outcome in CALLS.items()} == codes, CHANGED


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_command_says_what_mindspores_says(
    name: str, home: CacheHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(words: list[str], more: dict[str, str]) -> tuple[int, str, str]:
        with monkeypatch.context() as context:
            for variable, value in more.items():
                context.setenv(variable, value)
            status = main(words)
        out, err = capsys.readouterr()
        return status, out, err

    def rows(session: int, port: int) -> None:
        known = names(ds, home.folder / "data", port, session)
        known["count"](known["photos"](cache=known["cache"]()), 2)

    play = Play(command, PORT, home.folder / "spill")
    goldens = iter(COMMANDS[name])
    for line in lines_of(SCENARIOS[name]):
        if (got := play.line(line, rows)) is None:
            continue
        golden = next(goldens)
        if (name, line) in DIFFERENT:
            why, status, said = DIFFERENT[name, line]
            assert got["rc"] == status, why
            assert [*got["out"], *got["err"]][0].startswith(said), why
            if status == 0 and "--start" in line and "--help" not in line:
                assert main(["--stop", "-p", str(PORT)]) == 0
                capsys.readouterr()
        else:
            assert got["rc"] == golden["rc"], (line, got)
            assert [_comparable(text) for text in got["out"]] == [_comparable(t) for t in golden["out"]], line
            assert got["err"][:1] == [_sentence(text) for text in golden["err"][:1]], line


def _comparable(line: str) -> str:
    """A line without what differs by nature: where logs and rows go, how many bytes a row takes, and how many rows were
    fetched and stored (one that is still being stored when the next epoch requests it is made and stored again)."""
    line = re.sub(r"\(under \S+\)", "(under LOGS)", line)
    if line.startswith("spill dir ") and "FOLDER" not in line:
        return f"{'spill dir':<20}{'DEFAULT':<50}"  # here there always is one
    if " CACHE " not in line:
        return line
    assert 0 < int(line[64:]) <= 6, line
    assert 6 <= int(line[24:36]) <= 12, line
    return line[:24] + "ROWS".rjust(12) + line[36:48] + "BYTES".rjust(16) + "HITS".rjust(10)


def _sentence(text: str) -> str:
    """MindSpore's sentence, without the words of its engine around it."""
    return text.removeprefix(
        "Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error Message'. "
    ).removesuffix(" GRPC Code 14")


# --- calls ------------------------------------------------------------------------------------------------

CALLS = json.loads((GOLDENS / "calls.json").read_text())
KINDS = {"without server": WITHOUT_SERVER, "with server": WITH_SERVER, "with spilling": WITH_SPILLING}


def _at_most(stat: Any, cache: Any) -> list[int]:
    """No more than the 6 pictures: one that is asked for again while it is being stored may be stored twice."""
    size, *stored = stat(cache)
    return [size, *(min(6, number) for number in stored)]


@pytest.mark.parametrize("kind", KINDS)
def test_calls_do_what_mindspores_do(kind: str, home: CacheHome) -> None:
    (home.folder / "data").mkdir()
    if kind != "without server":
        home.start("-p", str(PORT))
    for case in KINDS[kind]:
        session = 5 if kind == "without server" else admin.generate(port=PORT)
        known = names(ds, home.folder / "data", PORT, session)
        if "photos(" in case.source:
            known["stat"] = functools.partial(_at_most, known["stat"])
        try:
            exec(case.source, known)  # our own cases
            got: dict[str, Any] = {"result": encode(known["result"])}
        except Exception as error:
            got = encode_error(error) | {"raised": error}
        golden = CALLS[f"{kind}: {case.name}"]
        try:
            compare(case, got, golden | {"flowing": True})  # errors: by class, and by the words of the case
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {error}") from None
