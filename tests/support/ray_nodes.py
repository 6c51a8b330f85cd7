"""Ray for tests: one instance for a test process, or several nodes on this machine. All of it is gone at the end."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Nothing is reported to anybody.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
STORE = 200_000_000


@contextlib.contextmanager
def local_ray(cpus=2):
    """An instance of this process, as a user's program may have one: executors use it and leave it alone."""
    os.environ.update(QUIET)
    import ray

    folder = tempfile.mkdtemp(prefix="mr-", dir="/tmp")  # sockets lie in it: a short name
    try:
        ray.init(
            address="local",
            num_cpus=cpus,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=STORE,
            logging_level=logging.ERROR,
            log_to_driver=False,
            _temp_dir=folder,
        )
        yield ray
    finally:
        ray.shutdown(wait_for_processes=True)
        shutil.rmtree(folder, ignore_errors=True)


# several nodes, in a process of their own ---------------------------------------------------------------


def serve_nodes(count):
    """Hold a cluster until the input ends: says its address and its nodes; a line names the one to be lost, without
    warning, and another takes its place when the next line comes.
    """
    os.environ.update(QUIET, RAY_AUTH_MODE="disabled")
    import ray._private.utils
    from ray.cluster_utils import Cluster

    ray._private.utils.write_ray_address = lambda *given, **more: (
        None
    )  # other programs shall not find it by chance
    folder = tempfile.mkdtemp(prefix="mr-", dir="/tmp")
    cluster = Cluster()
    try:
        nodes = {}

        def add(**more):
            node = cluster.add_node(num_cpus=1, object_store_memory=STORE // 2, temp_dir=folder, **more)
            nodes[node.node_id] = node

        add(include_dashboard=False)
        while len(nodes) < count:
            add()
        print(json.dumps({"address": cluster.address, "nodes": list(nodes)}), flush=True)
        for line in sys.stdin:
            name = line.strip()
            if name:
                cluster.remove_node(nodes.pop(name), allow_graceful=False)
            else:
                add()
            print(json.dumps(list(nodes)), flush=True)
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


class Nodes:
    """A cluster of several nodes on this machine; the first is that of the programs that connect."""

    def __init__(self, count):
        command = [sys.executable, "-m", "tests.support.ray_nodes", str(count)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        said = self.process.stdout.readline()
        assert said, f"no cluster: status {self.process.wait()}"
        self.address, self.nodes = json.loads(said).values()

    def lose(self, node):
        """End a node without warning."""
        self._say(node)

    def mend(self):
        """One more node."""
        self._say("")

    def _say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        self.nodes = json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


if __name__ == "__main__":
    serve_nodes(int(sys.argv[1]))
