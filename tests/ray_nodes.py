"""Ray for tests: one instance for a test process, or several nodes on this machine. All of it is gone at the end."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile

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
