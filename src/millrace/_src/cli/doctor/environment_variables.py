"""Check library thread counts and the environment variables of libraries and Millrace."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from .cpu import allowed_cores
from .finding import Finding, Machine

__all__ = ["VARIABLES", "libraries", "variables"]

NUMBERS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)
OURS = "MILLRACE_"
# All MILLRACE_* variables; tests/unit/cli/doctor compares them with the source.
VARIABLES = (
    "MILLRACE_CACHE_KEY",
    "MILLRACE_CHECKPOINT_KEY",
    "MILLRACE_COMM_TIMEOUT",
    "MILLRACE_LOG",
    "MILLRACE_LOG_FORMAT",
    "MILLRACE_MONITOR",
    "MILLRACE_RECORD_KEY",
    "MILLRACE_REMOTE_CACHE_BYTES",
    "MILLRACE_SERVE_TOKEN",
    "MILLRACE_TENSOR_ORIGINS",
    "MILLRACE_TRACEBACK",
)


def libraries(machine: Machine) -> Iterator[Finding]:
    import cv2
    import threadpoolctl

    cores = allowed_cores(machine)
    pools = {f"{pool['internal_api']}": pool["num_threads"] for pool in threadpoolctl.threadpool_info()}
    pools["OpenCV"] = cv2.getNumThreads()
    shown = ", ".join(f"{name} {count}" for name, count in pools.items())
    most = max(pools.values())
    if most <= cores:
        yield Finding("ok", f"{shown}; one thread each inside Millrace's workers")
    else:
        yield Finding(
            "note",
            f"{shown}, on {cores} cores",
            "Millrace limits them to one inside its workers; in the rest of your program they compete for the cores",
            f"export OMP_NUM_THREADS={cores} OPENBLAS_NUM_THREADS={cores}, and cv2.setNumThreads({cores})",
        )
    if not cv2.useOptimized():
        yield Finding(
            "warning", "OpenCV's fast code paths are off", "image transforms are slower",
            "cv2.setUseOptimized(True)",
        )  # fmt: skip


def variables(machine: Machine) -> Iterator[Finding]:
    cores = allowed_cores(machine)
    env = machine.environ
    bad = False
    for name in NUMBERS:
        text = env.get(name, "")
        # OpenMP allows a list with one number per nesting level
        items = [item.strip() for item in text.split(",")] if text else []
        if any(not item.isdigit() or int(item) < 1 for item in items):
            bad = True
            yield Finding(
                "warning", f"{name}={text} is not a number of threads", "libraries ignore it or fail to load",
                f"export {name}={cores}",
            )  # fmt: skip
        elif items and int(items[0]) > cores:
            bad = True
            yield Finding(
                "note", f"{name}={text} on {cores} cores", "more threads than cores slow each other down",
                f"export {name}={cores}",
            )  # fmt: skip
    if env.get("OMP_WAIT_POLICY", "").lower() == "active" or env.get("KMP_BLOCKTIME", "") == "infinite":
        bad = True
        yield Finding(
            "warning",
            "idle OpenMP threads spin",
            "they use cores that the pipeline needs",
            "unset OMP_WAIT_POLICY KMP_BLOCKTIME",
        )
    for name in sorted(name for name in env if name.startswith(OURS) and name not in VARIABLES):
        if name.startswith("MILLRACE_TEST"):
            continue
        bad = True
        near = [known for known in VARIABLES if _is_similar(name, known)]
        yield Finding(
            "warning",
            f"{name} is set, but it is no variable of Millrace",
            f"did you mean {near[0]}?" if near else f"known variables: {', '.join(VARIABLES)}",
            f'export {near[0]}="${name}"; unset {name}' if near else f"unset {name}",
        )
    if not bad:
        settings = [
            f"{name}={env[name]}"
            for name in (*NUMBERS, "GLOG_v", "MS_SUBMODULE_LOG_v", *VARIABLES)
            if name in env
        ]
        hidden = [item if "KEY" not in item else f"{item.partition('=')[0]}=(hidden)" for item in settings]
        yield Finding("ok", ", ".join(hidden) if hidden else "none is set")


def _is_similar(name: str, known: str) -> bool:
    return bool(difflib.get_close_matches(name[len(OURS) :], [known[len(OURS) :]]))
