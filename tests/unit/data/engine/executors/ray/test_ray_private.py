"""A Ray instance of our own: ports on loopback, sockets and files in a private folder."""

import json
import os
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

pytest.importorskip("ray")

ROOT = Path(__file__).parents[6]
MARK = "MILLRACE_TEST_RAY"

SCRIPT = textwrap.dedent(
    """
    import json, os, re
    from pathlib import Path

    import numpy as np

    import millrace.dataset as ds
    from tests.support.listening_sockets import beyond_loopback, listening, processes_with

    def folders(pids):
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace") for pid in pids]
        return sorted({name for line in lines for name in re.findall(r"/tmp/mray-[a-z0-9_]+", line)})

    def entered(folder):
        # what others reach: everything below folders that they may enter
        if not folder.stat().st_mode & 0o077:
            return []
        return [str(folder), *(str(path) for path in folder.rglob("*"))]

    if __name__ == "__main__":
        data = ds.NumpySlicesDataset(np.zeros((8, 10), np.float32), "x", shuffle=False)
        data = data.map(lambda x: x + 1, "x").batch(4).run_on("ray", object_store_memory="200MB")
        iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        next(iterator)
        pids = processes_with("MILLRACE_TEST_RAY", os.environ["MILLRACE_TEST_RAY"])
        found = folders(pids)
        print(json.dumps({
            "outside": beyond_loopback(pids),
            "listeners": sum(map(len, listening(pids).values())),
            "folders": found,
            "entered": [path for folder in found for path in entered(Path(folder))],
            "sockets": len([path for folder in found for path in Path(folder).rglob("*") if path.is_socket()]),
        }))
        for batch in iterator:
            pass
    """
)


def test_our_own_instance_is_private(tmp_path, no_leaks):
    (tmp_path / "alone.py").write_text(SCRIPT)
    home = tmp_path / "home"
    home.mkdir()
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "alone.py"],
        cwd=tmp_path,
        env=env | {MARK: uuid.uuid4().hex, "PYTHONPATH": str(ROOT), "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.returncode, done.stderr) == (0, "")
    seen = json.loads(done.stdout)
    assert seen["outside"] == {}
    assert list(home.iterdir()) == [], "a token in the home folder outlives the cluster"
    assert seen["entered"] == []
    assert seen["listeners"] >= 4  # GCS, raylet, worker, driver at least
    assert seen["sockets"] >= 2
    assert len(seen["folders"]) == 1
    assert not os.path.exists(seen["folders"][0])
