"""Ask real MindSpore's cache, its command and its server, and write goldens/. From the root of the repository:

    /path/to/python-with-mindspore -m tests.parity.data.cache.record_cache

Each scenario has a port of its own; servers are stopped when it ends, and nothing is left in MindSpore's folders.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parity.case import Case
from tests.parity.data.cache.cases import SCENARIOS, WITH_SERVER, WITH_SPILLING, WITHOUT_SERVER
from tests.parity.data.cache.names import names
from tests.parity.data.cache.run_case import SESSION, Play, lines_of
from tests.parity.encode import encode, encode_error

GOLDENS = Path(__file__).parent / "goldens"
PORT = 50970


def command() -> tuple[list[str], dict[str, str]]:
    """The program that `dataset-cache` starts, and the environment it gives it."""
    import mindspore

    package = Path(mindspore.__file__).parent
    env = {name: value for name, value in os.environ.items() if name not in ("GLOG_v", "MS_CACHE_PORT")}
    env |= {"LD_LIBRARY_PATH": f"{package}/../../..:", "LD_PRELOAD": f"{package}/lib/libnnacl.so"}
    programs = package / "utils" / "bin"
    for program in programs.iterdir():
        program.chmod(0o700)
    return [str(programs / "dataset-cache")], env


def run(words: list[str], env: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def in_child(case: Case, namespace: dict[str, Any], place: Path) -> dict[str, Any]:
    """What a case gives in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            exec(case.source, namespace)  # our own cases
            outcome = {"result": encode(namespace["result"])}
        except Exception as error:
            outcome = encode_error(error) | {"message": heart(str(error))}
            outcome.pop("flowing")
        place.write_text(json.dumps(outcome))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return {"crashes": status} if status else json.loads(place.read_text())


def heart(text: str) -> str:
    """The sentence of an error, without the frames and numbers around it."""
    found = re.search(r"\[ERROR\] (.*)", text)
    text = found[1] if found else text
    text = text.removeprefix(
        "Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error Message'. "
    )
    return re.sub(r"with port \d+", "with port PORT", text)


@contextmanager
def server(base: list[str], env: dict[str, str], port: int, *words: str) -> Iterator[None]:
    """A server as long as the block runs."""
    subprocess.run([*base, "--start", "-p", str(port), *words], env=env, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run([*base, "--stop", "-p", str(port)], env=env, check=True, capture_output=True)


def main() -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore.dataset as ds

    base, env = command()
    GOLDENS.mkdir(exist_ok=True)

    def generated(port: int) -> int:
        out = subprocess.run(
            [*base, "-g", "-p", str(port)], env=env, check=True, capture_output=True, text=True
        )
        return int(SESSION.findall(out.stdout)[0])

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "data").mkdir()

        def rows(session: int, port: int) -> None:
            known = names(ds, folder / "data", port, session)
            in_child(Case("rows", "count(photos(cache=cache()), 2)"), known, folder / "rows")

        said = {}
        for name, text in SCENARIOS.items():
            play = Play(lambda words, more: run([*base, *words], env | more), PORT, folder / "spill")
            said[name] = [done for line in lines_of(text) if (done := play.line(line, rows))]
        write(
            "commands",
            {name: "[\n" + ",\n".join(map(json.dumps, done)) + "\n]" for name, done in said.items()},
        )

        calls: dict[str, Any] = {}

        def ask(cases: list[Case], kind: str, port: int, session: int | None = None) -> None:
            for case in cases:
                known = names(ds, folder / "data", port, session or generated(port))
                outcome = in_child(case, known, folder / "outcome")
                calls[f"{kind}: {case.name}"] = json.dumps({"code": case.source} | outcome)

        ask(WITHOUT_SERVER, "without server", PORT, 5)
        with server(base, env, PORT):
            ask(WITH_SERVER, "with server", PORT)
        with server(base, env, PORT, "-s", str(folder / "spill")):
            ask(WITH_SPILLING, "with spilling", PORT)
        write("calls", calls)
    return 0


def write(name: str, entries: dict[str, str]) -> None:
    lines = ",\n".join(f"{json.dumps(key)}: {value}" for key, value in entries.items())
    (GOLDENS / f"{name}.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    sys.exit(main())
