"""Three nodes on this machine: a training script on all of them, and one that is lost in the middle of an epoch."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.ray_nodes import QUIET, Nodes
from tests.unit.data.engine.executors.segment_functions import wait_until

EXAMPLE = Path(__file__).parents[6] / "examples" / "run_anywhere.py"
ENV = os.environ | QUIET | {"RAY_AUTH_MODE": "disabled", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def nodes():
    made = Nodes(3)
    yield made
    made.close()


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, EXAMPLE, *arguments],
        capture_output=True,
        text=True,
        timeout=110,
        cwd=folder,
        env=ENV,
    )
    # Ray warns where no other machine can be reached
    errors = [line for line in done.stderr.splitlines() if "network_util.cc" not in line]
    assert (done.returncode, errors) == (0, [])
    # Ray prints there, too, when it has found a node missing, which another test may have taken away
    return [line for line in done.stdout.splitlines() if line.startswith(("epoch ", "all batches: "))]


def test_a_training_script_has_the_same_batches_on_threads_processes_and_three_nodes(nodes, tmp_path):
    threads = run(tmp_path, "threads")
    assert len(threads) == 4
    assert threads[-1].startswith("all batches: ")
    assert run(tmp_path, "processes") == threads
    assert run(tmp_path, "ray", nodes.address) == threads


LOST = textwrap.dedent(
    """
    import os, sys, time
    from pathlib import Path
    import numpy as np
    import millrace.dataset as ds

    folder, address = Path(sys.argv[1]), sys.argv[2]

    def held(x):
        # every node has rows in hand when one of them is lost
        import ray
        node = ray.get_runtime_context().get_node_id()
        (folder / f"began-{node}").touch()
        while not (folder / "go").exists():
            time.sleep(0.005)
        return x * np.arange(20_000)

    if __name__ == "__main__":
        data = ds.NumpySlicesDataset(np.arange(60), "x", shuffle=False, num_parallel_workers=3)
        data = data.map(held, "x", num_parallel_workers=3).batch(2)
        ds.config.set_chunk_rows(2)
        rows = []
        for row in data.run_on("ray", address=address).create_dict_iterator(num_epochs=1, output_numpy=True):
            assert (row["x"] == row["x"][:, 1:2] * np.arange(20_000)).all()
            rows += row["x"][:, 1].tolist()
        print("each row once and in order:", rows == list(range(60)))
    """
)


def test_a_node_that_is_lost_in_the_middle_of_an_epoch_changes_no_row(nodes, tmp_path):
    (tmp_path / "lost.py").write_text(LOST)
    command = [sys.executable, tmp_path / "lost.py", tmp_path, nodes.address]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
    ) as driver:
        try:
            wait_until(lambda: driver.poll() is not None or len(list(tmp_path.glob("began-*"))) == 3, 100)
            assert {path.name[6:] for path in tmp_path.glob("began-*")} == set(nodes.nodes)
            nodes.lose(nodes.nodes[-1])  # not the first one, to which the program is connected
            (tmp_path / "go").touch()
            out, err = driver.communicate(timeout=100)
        finally:
            driver.kill()
            nodes.mend()
    assert driver.returncode == 0, err
    assert out.splitlines()[-1] == "each row once and in order: True"  # Ray tells of the lost node before it
