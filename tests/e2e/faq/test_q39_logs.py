"""Q39: how do I get more detailed logs? Levels for everything, for one module, and for single events."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch")

from millrace import log
from millrace._src.core.log import configure

KEPT = "set_context(enable_graph_kernel=...) is stored and has no effect here"
LAUNCH = "set_kernel_launch_group is stored and has no effect here"
CAREFUL = "be careful"


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("GLOG", "MS_", "MILLRACE"))
    }
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env=plain | environment,
        check=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, (False, False, True)),  # as ever in Python: warnings only
        ({"GLOG_v": "1"}, (True, True, True)),
        ({"GLOG_v": "3"}, (False, False, False)),
        ({"MILLRACE_LOG": "{tensor.context:1}"}, (True, False, True)),
        ({"GLOG_v": "3", "MILLRACE_LOG": "{tensor.threads:1}"}, (False, True, False)),
        ({"GLOG_v": "3", "MS_SUBMODULE_LOG_v": "{ME:1}"}, (True, True, True)),
        ({"GLOG_v": "4", "MILLRACE_LOG": "{@set_kernel_launch_group:0}"}, (False, True, False)),
        ({"GLOG_v": "0", "MILLRACE_LOG": "{@set_kernel_launch_group:4}"}, (True, False, True)),
    ],
    ids=str,
)
def test_levels_from_the_environment(environment, wanted, capsys, monkeypatch) -> None:
    from millrace import runtime

    monkeypatch.setattr(sys, "stderr", sys.stdout)  # what Python prints by itself where nothing is set up
    configure(environment)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's
    logging.getLogger("millrace.runtime.tensor.backend.context").info(KEPT)  # it is said once a process
    runtime.set_kernel_launch_group(2, 8)
    log.warning(CAREFUL)
    text = capsys.readouterr().out
    assert tuple(words in text for words in (KEPT, LAUNCH, CAREFUL)) == wanted


def test_levels_and_events_from_python(caplog) -> None:
    """Loggers are Python's: one per module, and a filter chooses events."""
    from millrace import runtime

    logger = logging.getLogger("millrace.runtime.tensor.backend.cpu_threads")
    with caplog.at_level(logging.INFO, logger="millrace.runtime.tensor.backend.cpu_threads"):
        runtime.set_kernel_launch_group(2, 8)
        runtime.set_kernel_launch_capture(True)
        logger.addFilter(only := lambda record: "capture" in record.getMessage())
        try:
            runtime.set_kernel_launch_group(2, 8)
            runtime.set_kernel_launch_capture(True)
        finally:
            logger.removeFilter(only)
    assert [("capture" in record.getMessage()) for record in caplog.records] == [False, True, True]


def test_levels_from_the_api(capsys) -> None:
    from millrace import runtime

    def heard() -> bool:
        runtime.set_kernel_launch_group(2, 8)
        return LAUNCH in capsys.readouterr().err

    assert not heard()
    log.set_level("info")
    assert heard()
    assert log.get_level() == "1"
    log.set_level(3, module="tensor")
    assert not heard()
    log.set_level(1, event="set_kernel_launch_group")
    assert heard()
    log.set_level(None, event="set_kernel_launch_group")
    assert not heard()
    log.set_level(None, module="tensor")
    assert heard()
    log.set_level(None)
    assert logging.getLogger("millrace").propagate
    assert not logging.getLogger("millrace").handlers


def test_a_line_of_json_for_each_event(capsys) -> None:
    log.set_format("json")
    log.set_level(0)
    log.info("two\nlines, %d%%", 5, extra={"event": "epoch", "loss": 0.5})
    try:
        raise ValueError("why")
    except ValueError:
        log.error("failed", exc_info=True)
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert first["message"] == "two\nlines, 5%"
    assert (first["level"], first["module"], first["event"]) == ("INFO", "script", "epoch")
    assert (first["loss"], first["process"], first["rank"]) == (0.5, os.getpid(), 0)
    assert second["event"] == "test_a_line_of_json_for_each_event"
    assert "ValueError: why" in second["exception"]
    assert second["file"].endswith("test_q39_logs.py")


WORKERS = """
import os
import millrace.dataset as ds
from millrace import log

log.set_level({level!r})
log.set_level(0, event="seen")
ds.config.set_multiprocessing_start_method({method!r})

def work(x):
    log.debug("row %d", x, extra={{"event": "seen"}})
    log.debug("not asked for")
    return x, os.getpid()

data = ds.NumpySlicesDataset({{"x": list(range(8))}}, shuffle=False)
data = data.map(work, ["x"], ["x", "pid"], python_multiprocessing=True, num_parallel_workers=2)
rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
print(os.getpid(), *sorted({{int(pid) for _, pid in rows}}))
"""


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_settings_reach_worker_processes(method) -> None:
    done = run(WORKERS.format(level=3, method=method), MILLRACE_LOG_FORMAT="json")
    parent, *workers = map(int, done.stdout.split())
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert sorted(line["message"] for line in lines) == sorted(f"row {n}" for n in range(8))
    assert {line["process"] for line in lines} == set(workers)
    assert parent not in workers


def test_files_of_each_process(tmp_path: Path) -> None:
    script = """
    import json, os
    import millrace as ms
    from millrace import log
    log.info("to the file")
    log.error("to both")
    if not os.fork():
        log.info("of the child")
        os._exit(0)
    os.wait()
    print(json.dumps(ms.get_log_config()), os.getpid(), sep="\\n")
    """
    done = run(
        script,
        GLOG_v="1",
        GLOG_logtostderr="0",
        GLOG_log_dir=str(tmp_path),
        logger_maxBytes="1000",
        RANK_ID="3",
    )
    config, pid = done.stdout.splitlines()
    folder = tmp_path / "rank_3" / "logs"
    assert json.loads(config) == {
        "GLOG_v": "1",
        "GLOG_logtostderr": "0",
        "GLOG_log_dir": str(folder),
        "logger_maxBytes": 1000,
        "logger_backupCount": 30,
        "GLOG_stderrthreshold": "2",
    }
    own = (folder / f"millrace.log.{pid}").read_text()
    assert "to the file" in own
    assert "to both" in own
    assert "of the child" not in own
    (child,) = (path for path in folder.iterdir() if path.name != f"millrace.log.{pid}")
    assert "of the child" in child.read_text()
    assert child.stat().st_mode & 0o777 == 0o600
    assert "to both" in done.stderr
    assert "to the file" not in done.stderr


def test_what_cannot_be_understood_is_named() -> None:
    done = run(
        "import millrace", GLOG_v="7", MILLRACE_LOG="{graph:loud}", GLOG_logtostderr="0", logger_maxBytes="x"
    )
    for words in ("GLOG_v=7", "'graph:loud' is not NAME:LEVEL", "needs GLOG_log_dir", "logger_maxBytes=x"):
        assert words in done.stderr
    with pytest.raises(ValueError, match="Incorrect log level 'loud'"):
        log.set_level("loud")
    with pytest.raises(ValueError, match="known are text and json"):
        log.set_format("xml")


def test_numbered_events(monkeypatch, capsys) -> None:
    """VLOG_v, with MindSpore's ways of writing a range."""
    cases = {"7": (7, 7), "(3,)": (3, float("inf")), "(,5)": (1, 5), " ( 2 , 4 ) ": (2, 4)}
    assert {text: log.parse_vlog_level(text) for text in cases} == {
        text: (True, levels) for text, levels in cases.items()
    }
    for text in (None, "", "x", "(1", "1)", "(1,2,3)", "(a,b)", "()"):
        assert log.parse_vlog_level(text) == (False, ())
    monkeypatch.setenv("VLOG_v", "(3,5)")
    for level in (2, 3, 5, 6):
        log.vlog_print(level, "ME", "file.py", 9, f"at {level}")
    assert [line.rpartition(" ")[2] for line in capsys.readouterr().out.splitlines()] == ["3", "5"]
