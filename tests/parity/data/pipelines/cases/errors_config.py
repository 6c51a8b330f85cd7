"""What ds.config says about wrong values, and what it holds by default."""

from typing import Any

from tests.parity.case import Case, each, table

INTEGERS = [
    "seed",
    "prefetch_size",
    "monitor_sampling_interval",
    "callback_timeout",
    "autotune_interval",
    "multiprocessing_timeout_interval",
]
FLAGS = [
    "numa_enable",
    "auto_num_workers",
    "enable_shared_mem",
    "auto_offload",
    "enable_watchdog",
    "dynamic_shape",
    "fast_recovery",
]
OTHERS = ["debug_mode", "enable_autotune", "error_samples_mode", "iterator_mode", "video_backend"]
WRONG = "'1'; 1.5; None; [1]"
MODE = "ds.config.ErrorSamplesMode"


def settable(name: str, values: str, **rest: Any) -> list[Case]:
    """Set, then get: an accepted value comes back."""
    code = f"ds.config.set_{name}({{}}); result = ds.config.get_{name}()"
    return each(f"set_{name}", code, values, **rest)


CASES = [
    *each("default", "ds.config.get_{}()", [*INTEGERS, *FLAGS, *OTHERS]),
    *[case for name in INTEGERS for case in settable(name, WRONG + "; True; -1; 0; 2**31; 2**32; 1")],
    *[case for name in FLAGS for case in settable(name, WRONG + "; 0; 1; True; False")],
    *settable("num_parallel_workers", WRONG + "; True; -1; 0; 2**31; 1; 2"),
    Case(
        "more workers than cores",
        "ds.config.set_num_parallel_workers(1000); result = ds.config.get_num_parallel_workers()",
        better="Q27: allowed",
        want=1000,
    ),
    *settable("multiprocessing_start_method", "'fork'; 'spawn'; 1; None; True"),
    Case(
        "default=multiprocessing_start_method",
        "ds.config.get_multiprocessing_start_method()",
        better="fork copies a process full of threads and locks, and can hang; a fork server cannot",
        want="forkserver",
    ),
    *settable(
        "multiprocessing_start_method",
        "'x'; ''",
        words=("['fork', 'spawn', 'forkserver']",),
        better="there is one method more",
        raises=(ValueError,),
    ),
    *settable("video_backend", "'CPU'; 'x'; 1; None"),
    *settable("error_samples_mode", f"1; 'x'; None; True; {MODE}.SKIP; {MODE}.REPLACE"),
    *settable("iterator_mode", "1; True; False, 1; False, True; do_copy='x'; parallel_convert=None"),
    *settable("enable_autotune", "1; 'x'; None; True; False; True, 3; True, ''; False, 'x'"),
    *settable("debug_mode", "1; 'x'; None; True; False; True, 3; True, [3]; True, (); True, []"),
    *each("set_sending_batches", "ds.config.set_sending_batches({})", WRONG + "; True; 0; -1; 3"),
    *each("error samples modes", f"[{MODE}.{{0}}, int({MODE}.{{0}})]", "RETURN; REPLACE; SKIP"),
    *table(
        "load",
        """
        missing | ds.config.load('/no/such/file') => /no/such/file
        type | ds.config.load(1) => 1
        """,
    ),
    Case(
        "load",
        """
path = folder / "config.json"
settings = {"seed": 7, "numParallelWorkers": 2, "opConnectorSize": 4, "monitorSamplingInterval": 9}
path.write_text(json.dumps(settings))
ds.config.load(str(path))
names = ('seed', 'num_parallel_workers', 'prefetch_size', 'monitor_sampling_interval')
result = [getattr(ds.config, f'get_{name}')() for name in names]
""",
    ),
    Case(
        "seed seeds numpy and random",
        """
import random
def draw(seed=None):
    random.seed(1), np.random.seed(1)
    if seed is not None:
        ds.config.set_seed(seed)
    return random.random(), np.random.rand()
result = draw() == draw(7)
""",
    ),
]
