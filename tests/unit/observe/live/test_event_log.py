"""The history of a run as a file: whole or torn, long or huge, ours or anybody's."""

from __future__ import annotations

import itertools
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from millrace._src.core.errors import FormatError
from millrace._src.observe.live import event_log as history_file
from millrace._src.observe.live.event_log import EventLogReader, EventLogWriter, is_written
from millrace._src.observe.live.run_state import RunState
from tests.unit.observe.live.long_run import write_run

HEAD = {"started": 1.0, "program": "train.py", "rank": None, "pid": 1, "host": "here"}


def point(t: float) -> dict[str, Any]:
    return {"is": "point", "t": t, "pipeline": 1, "rows": int(t * 10)}


def state_of(path: Path) -> dict[str, Any]:
    state, tail = RunState(), EventLogReader(path)
    ended = tail.ended
    for line in tail.all():
        state.apply(line)
    return state.snapshot(ended) | {"unread": tail.damaged}


def test_a_history_is_its_owners_alone_and_tells_whether_somebody_writes(tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    book = EventLogWriter(path, HEAD)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert is_written(path) is True
    book.add(point(1.0))
    book.flush()
    with EventLogReader(path) as tail:
        assert [line.get("t") for line in tail.read_new()[1]] == [None, 1.0]
        assert tail.read_new() == (False, [])
        book.add(point(2.0))
        book.flush()
        assert [line["t"] for line in tail.read_new()[1]] == [2.0]
        assert not tail.ended
        book.close()
        assert tail.ended
    assert is_written(path) is False


@pytest.mark.parametrize("cut", [1, 20, 150])
def test_a_torn_tail_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "run.history"
    write_run(path, seconds=5)
    whole = state_of(path)
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    torn = state_of(path)
    assert torn["status"] == "gone"  # the word that it was over is what was torn
    assert [one["rows"] for one in torn["pipelines"]] == [one["rows"] for one in whole["pipelines"]]


def test_damage_in_the_middle_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    write_run(path, seconds=5)
    lines = path.read_bytes().split(b"\n")
    lines[10] = lines[10][:30] + b"\x00\xff" + lines[10][32:]
    lines[20] = b'{"is": "point", "t": NaN}'
    path.write_bytes(b"\n".join(lines))
    found = state_of(path)
    assert found["unread"] == 2
    assert found["status"] == "finished"


BAD = [
    {"is": "point", "t": 1.0},
    {"is": "point", "t": "now", "pipeline": 1},
    {"is": "point", "t": 1.0, "pipeline": 10**9, "rows": 1},
    {"is": "point", "t": 1.0, "pipeline": 1, "rows": 10**400},
    {"is": "point", "t": 1.0, "training": 1, "loss": "<script>"},
    {"is": "pipeline", "t": 1.0, "pipeline": 1, "limit": 1, "stages": [{"name": 3}]},
    {"is": "verdict", "t": 1.0, "pipeline": 1, "evidence": "x"},
    {"is": "what", "t": 1.0},
    {"is": "end", "t": 1.0},
    {},
]


@pytest.mark.parametrize("line", BAD, ids=lambda line: str(line)[:50])
def test_lines_that_say_nothing_of_a_run_are_counted(line: dict[str, Any]) -> None:
    state = RunState()
    assert not state.apply(line)
    assert state.damaged == 1
    state.snapshot(True)


def test_stages_that_feed_each_other_in_a_circle_are_no_pipeline(tmp_path: Path) -> None:
    write_run(tmp_path / "run.history", seconds=1)
    said = next(
        line for line in EventLogReader(tmp_path / "run.history").all() if line.get("is") == "pipeline"
    )
    state = RunState()
    assert state.apply(said)
    said["stages"][1]["feeds"] = 0
    assert not state.apply(said)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not the history of a run"),
        (b"\x89PNG\r\n\x1a\n" * 100, "is not the history of a run"),
        (b"[" * 5000, "is not the history of a run"),
        (b'{"kind": "something else"}\n', "is not the history of a run"),
        (b'{"kind": "millrace history", "version": 99}\n', "has version 99"),
    ],
)
def test_what_is_no_history_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "x.history"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=said):
        EventLogReader(path)
    with pytest.raises(FormatError, match="It is not written over; name another file"):
        EventLogWriter(path, HEAD)
    assert path.read_bytes() == data


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    EventLogWriter(path, HEAD).close()
    os.truncate(path, history_file.MOST_BYTES + 1)  # a hole: no disk is filled
    with pytest.raises(FormatError, match="never has more than 67,108,864"):
        EventLogReader(path)


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    EventLogWriter(path, HEAD).close()
    with path.open("ab") as file:
        file.write(b"x" * (history_file.MOST_LINE + 2))
    with pytest.raises(FormatError, match="a line of more than"):
        EventLogReader(path).all()


def test_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="is not a file"):
        EventLogReader(tmp_path / "pipe")
    with pytest.raises(FormatError, match="is not a file"):
        EventLogReader(tmp_path)


def test_a_history_that_is_being_written_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    book = EventLogWriter(path, HEAD)
    with pytest.raises(FormatError, match="another run writes"):
        EventLogWriter(path, HEAD)
    book.close()
    EventLogWriter(path, {**HEAD, "program": "again.py"}).close()
    assert EventLogReader(path).all()[0]["program"] == "again.py"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run.history"]


def test_a_long_run_stays_small_and_whole_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    room = (60_000, 200_000)
    book = EventLogWriter(path, HEAD, room)
    seen: list[float] = []
    with EventLogReader(path) as tail:
        for number in range(20_000):
            book.add(point(number / 4))
            if number % 100 == 0:
                book.flush()
                anew, lines = tail.read_new()
                seen = [] if anew else seen
                seen += [line["t"] for line in lines if "t" in line]
                assert path.stat().st_size <= room[1] + 20_000
        book.close()
    times = [line["t"] for line in EventLogReader(path).all() if "t" in line]
    assert times == sorted(set(times))
    assert (times[0], times[-1]) == (0.0, 19_999 / 4)
    # what a reader saw as it went is what is there, but for what came after its last look
    assert seen == sorted(set(seen))
    # the last minutes are all there, and nothing before is further apart than a chart can show
    assert sum(t > times[-1] - 100 for t in times) == 400
    assert max(b - a for a, b in itertools.pairwise(times)) <= times[-1] / 100


def test_a_program_of_endless_epochs_fills_no_disk(tmp_path: Path) -> None:
    room = (20_000, 60_000)
    book = EventLogWriter(tmp_path / "run.history", HEAD, room)
    said = {"is": "pipeline", "pipeline": 1, "limit": 1, "stages": []}
    for number in range(5_000):
        book.add({**said, "t": number / 100})
        book.add({"is": "verdict", "t": number / 100, "pipeline": 1, "kind": f"verdict {number}"})
        book.add({"is": "end", "t": number / 100, "pipeline": 1})
        if number % 50 == 0:
            book.flush()
            assert (tmp_path / "run.history").stat().st_size < room[1]
    book.close()
    lines = EventLogReader(tmp_path / "run.history").all()
    assert lines[-2]["kind"] == "verdict 4999"
    assert lines[0]["program"] == "train.py"


def test_names_that_are_no_text_are_written_as_far_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    EventLogWriter(path, {**HEAD, "program": "tr\udce4in 🚂\n.py"}).close()
    assert EventLogReader(path).all()[0]["program"] == "tr?in 🚂\n.py"
    with path.open("ab") as file:
        file.write(b'{"is": "over", "t": 1, "why": "\\ud800"}\n{"is": "over", "t": 1, "why": "\\u00e4"}\n')
    tail = EventLogReader(path)
    assert [line.get("why") for line in tail.all()] == [None, "ä"]
    assert tail.damaged == 1


def test_numbers_that_json_has_no_word_for_are_never_written(tmp_path: Path) -> None:
    book = EventLogWriter(tmp_path / "run.history", HEAD)
    book.add({"is": "point", "t": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        book.flush()
    book.close()
    for text in (tmp_path / "run.history").read_text().splitlines():
        json.loads(text)
