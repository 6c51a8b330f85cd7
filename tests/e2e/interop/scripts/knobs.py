"""The settings that scripts turn before they build a pipeline, and what they read back."""

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from report import attempt, report, rows


def main(folder):
    config = ds.config
    ms.set_seed(7)
    found = {"seed by framework": config.get_seed()}
    config.set_seed(11)
    config.set_prefetch_size(4)
    config.set_num_parallel_workers(2)
    config.set_monitor_sampling_interval(500)
    config.set_callback_timeout(30)
    config.set_auto_num_workers(False)
    config.set_enable_shared_mem(False)
    config.set_enable_autotune(False)
    config.set_numa_enable(False)
    config.set_multiprocessing_timeout_interval(60)
    config.set_dynamic_shape(True)
    config.set_fast_recovery(True)
    for name in (
        "seed", "prefetch_size", "num_parallel_workers", "monitor_sampling_interval", "callback_timeout",
        "auto_num_workers", "enable_shared_mem", "enable_autotune", "numa_enable",
        "multiprocessing_timeout_interval", "dynamic_shape", "fast_recovery", "debug_mode", "error_samples_mode",
        "auto_offload", "enable_watchdog", "autotune_interval",
    ):  # fmt: skip
        found[name] = attempt(getattr(config, f"get_{name}"))
    found["bad"] = [
        attempt(lambda: config.set_seed(-1)),
        attempt(lambda: config.set_prefetch_size(0)),
        attempt(lambda: config.set_num_parallel_workers(0)),
        attempt(lambda: config.set_num_parallel_workers("two")),
        attempt(lambda: config.set_callback_timeout(0)),
    ]
    data = ds.NumpySlicesDataset({"a": np.arange(10)}, shuffle=True)
    found["same rows"] = sorted(int(row["a"]) for row in rows(data))
    first, second = rows(data), rows(data)
    found["the same twice"] = [int(r["a"]) for r in first] == [int(r["a"]) for r in second]
    config.set_debug_mode(True)
    found["debug"] = rows(ds.NumpySlicesDataset([1, 2, 3], ["a"], shuffle=False).map(lambda x: x + 1, "a"))
    config.set_debug_mode(False)
    return found


if __name__ == "__main__":
    report(main)
