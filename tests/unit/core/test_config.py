"""config: every pair, its wording, and its signature."""

import inspect
import json
import random
from pathlib import Path

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.config as config
from millrace._src.core import settings
from millrace._src.core.hooks import DebugHook, PrintDataHook, PrintMetaDataHook
from millrace._src.core.machine.cores import available_cores

I32 = 2**31 - 1
LISTED = json.loads(
    (Path(__file__).parents[2] / "contracts" / "public_api" / "api_mindspore_2.7.0.json").read_text()
)["dataset.config"]


@pytest.mark.parametrize("name", [name for name, entry in LISTED.items() if isinstance(entry, list)])
def test_signatures(name):
    function = getattr(config, name)
    assert list(inspect.signature(function).parameters) == LISTED[name]
    assert function.__doc__
    assert function.__name__ == name


def test_every_setter_has_its_getter():
    pairs = [name[4:] for name in config.__all__ if name.startswith("set_")]
    assert [name for name in pairs if f"get_{name}" not in config.__all__] == ["sending_batches"]


DEFAULTS = {
    "seed": 5489,
    "prefetch_size": 16,
    "numa_enable": False,
    "monitor_sampling_interval": 1000,
    "callback_timeout": 60,
    "auto_num_workers": False,
    "enable_shared_mem": True,
    "enable_autotune": False,
    "autotune_interval": 0,
    "auto_offload": False,
    "enable_watchdog": True,
    "fast_recovery": True,
    "dynamic_shape": False,
    "multiprocessing_timeout_interval": 300,
    "error_samples_mode": config.ErrorSamplesMode.RETURN,
    "iterator_mode": {"do_copy": False, "parallel_convert": False},
    "multiprocessing_start_method": "forkserver",
    "video_backend": "CPU",
    "debug_mode": False,
    "memory_budget": None,
    "chunk_rows": None,
    "executor": None,
    "error_samples_limit": 1.0,
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(name):
    assert getattr(config, f"get_{name}")() == DEFAULTS[name]


def test_workers_default_to_eight_or_the_cores():
    assert config.get_num_parallel_workers() == min(8, available_cores())
    config.set_num_parallel_workers(1000)
    assert config.get_num_parallel_workers() == 1000


INTEGERS = [
    ("seed", "seed isn't of type int.",
     "seed given is not within the required range [0, UINT32_MAX(4294967295)].", 0, 2**32 - 1),
    ("prefetch_size", "size isn't of type int.",
     "size is not within the required range (0, INT32_MAX(2147483647)].", 1, I32),
    ("num_parallel_workers", "num isn't of type int.",
     "Number of parallel workers given is not within the required range (0, INT32_MAX(2147483647)].", 1, I32),
    ("monitor_sampling_interval", "interval isn't of type int.",
     "Interval given is not within the required range (0, INT32_MAX(2147483647)].", 1, I32),
    ("callback_timeout", "timeout isn't of type int.",
     "Timeout given is not within the required range.", 1, I32),
    ("autotune_interval", "interval must be of type int.",
     "Interval given is not within the required range [0, INT32_MAX(2147483647)].", 0, I32),
    ("multiprocessing_timeout_interval", "interval isn't of type int.",
     "Interval given is not within the required range (0, INT32_MAX(2147483647)).", 1, I32),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:num_parallel_workers=")
@pytest.mark.parametrize(("name", "wrong_type", "wrong_range", "low", "high"), INTEGERS)
def test_integers(name, wrong_type, wrong_range, low, high):
    setter, getter = getattr(config, f"set_{name}"), getattr(config, f"get_{name}")
    for bad in ("1", 1.5, None, [1], True):
        with pytest.raises(TypeError) as caught:
            setter(bad)
        assert str(caught.value) == wrong_type
    for bad in (low - 1, high + 1):
        with pytest.raises(ValueError, match="within the required range") as caught:
            setter(bad)
        assert str(caught.value) == wrong_range
    for good in (low, high):
        setter(good)
        assert getter() == good
    parameter = next(iter(inspect.signature(setter).parameters))
    setter(**{parameter: low + 1})
    assert getter() == low + 1


FLAGS = [
    ("numa_enable", "numa_enable must be a boolean dtype."),
    ("auto_num_workers", "enable must be of type bool."),
    ("enable_shared_mem", "enable must be of type bool."),
    ("auto_offload", "offload must be a bool dtype"),
    ("enable_watchdog", "enable must be a boolean dtype."),
    ("fast_recovery", "fast_recovery must be a boolean dtype."),
    ("dynamic_shape", "is_dynamic must be a boolean dtype."),
]


@pytest.mark.parametrize(("name", "text"), FLAGS)
def test_flags(name, text):
    setter, getter = getattr(config, f"set_{name}"), getattr(config, f"get_{name}")
    for bad in ("1", 1, 0, None):
        with pytest.raises(TypeError) as caught:
            setter(bad)
        assert str(caught.value) == text
    for good in (True, False):
        setter(good)
        assert getter() is good


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: config.set_error_samples_mode(1),
            TypeError,
            ("Argument error_samples_mode with value 1 is not of type [<enum 'ErrorSamplesMode'>], "
            "but got <class 'int'>."),
        ),
        (
            lambda: config.set_iterator_mode(1),
            TypeError,
            "Argument do_copy with value 1 is not of type [<class 'bool'>], but got <class 'int'>.",
        ),
        (
            lambda: config.set_iterator_mode(parallel_convert=None),
            TypeError,
            ("Argument parallel_convert with value None is not of type [<class 'bool'>], "
            "but got <class 'NoneType'>."),
        ),
        (
            lambda: config.set_multiprocessing_start_method("x"),
            ValueError,
            "Input start_method is not within the valid set of ['fork', 'spawn', 'forkserver'].",
        ),
        (
            lambda: config.set_multiprocessing_start_method(1),
            TypeError,
            "Argument start_method with value 1 is not of type [<class 'str'>], but got <class 'int'>.",
        ),
        (
            lambda: config.set_video_backend("x"),
            ValueError,
            "Input backend is not within the valid set of ['CPU', 'Ascend'].",
        ),
        (lambda: config.set_enable_autotune(1), TypeError, "enable must be of type bool."),
        (
            lambda: config.set_enable_autotune(False, 3),
            TypeError,
            "json_filepath must be a str value but was: 3.",
        ),
        (
            lambda: config.set_enable_autotune(True, ""),
            RuntimeError,
            "The value of json_filepath cannot be the empty string.",
        ),
        (lambda: config.set_sending_batches(True), TypeError, "batch_num must be an int dtype."),
        (lambda: config.set_debug_mode(1), TypeError, "debug_mode_flag isn't of type boolean."),
        (lambda: config.set_debug_mode(True, 3), TypeError, "debug_hook_list is not a list."),
        (
            lambda: config.set_debug_mode(True, [3]),
            TypeError,
            "All items in debug_hook_list must be of type DebugHook.",
        ),
        (
            lambda: config.load("/no/such/file"),
            RuntimeError,
            "Invalid file: settings file:/no/such/file is not exist, check input path of config 'load' API.",
        ),
        (lambda: config.set_seed(), TypeError, "set_seed(): missing a required argument: 'seed'"),
        (lambda: config.set_seed(1, 2), TypeError, "set_seed(): too many positional arguments"),
    ],
)  # fmt: skip
def test_wording(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


def test_error_samples_mode():
    assert [int(mode) for mode in config.ErrorSamplesMode] == [0, 1, 2]
    config.set_error_samples_mode(config.ErrorSamplesMode.REPLACE)
    assert config.get_error_samples_mode() is config.ErrorSamplesMode.REPLACE
    assert settings.current().error_samples_mode == "replace"


def test_start_method():
    for method in ("fork", "spawn", "forkserver"):
        config.set_multiprocessing_start_method(method)
        assert config.get_multiprocessing_start_method() == method


def test_seed_seeds_the_users_generators_too():
    config.set_seed(7)
    drawn = np.random.rand(), random.random()
    assert drawn == (0.07630828937395717, 0.32383276483316237)  # MindSpore 2.7.0 gives these
    config.set_seed(7)
    assert (np.random.rand(), random.random()) == drawn


def test_the_default_seed_means_no_seed():
    config.set_seed(7)
    config.set_seed(5489)
    assert config.get_seed() == 5489
    assert settings.current().seed is None


IDLE = {
    "numa_enable": (True, False), "auto_num_workers": (False, True), "enable_shared_mem": (False, True),
    "dynamic_shape": (False, True),
    "video_backend": ("Ascend", "CPU"),
}  # fmt: skip


@pytest.mark.parametrize("name", IDLE)
def test_a_setting_without_effect_says_so_once(name, caplog, monkeypatch):
    monkeypatch.setattr("millrace._src.core.config._warned_calls", set())
    setter, (changed, as_it_is) = getattr(config, f"set_{name}"), IDLE[name]
    setter(as_it_is)
    assert caplog.messages == []
    setter(changed)
    setter(changed)
    assert [message.split("(logged once)")[0] for message in caplog.messages] == [
        caplog.messages[0].split("(logged")[0]
    ]
    assert f"config.set_{name}({changed!r}) has no effect" in caplog.messages[0]
    assert "has no effect" in setter.__doc__
    assert "has no effect" in getattr(config, f"get_{name}").__doc__


def test_calls_without_effect_say_so(caplog, monkeypatch):
    monkeypatch.setattr("millrace._src.core.config._warned_calls", set())
    config.set_iterator_mode(parallel_convert=True)
    config.set_sending_batches(4)
    assert [m.split(" has no effect")[0] for m in caplog.messages] == [
        "config.set_iterator_mode(parallel_convert=True)",
        "config.set_sending_batches(4)",
    ]


def test_autotune_refuses_a_place_that_cannot_be_written_to(tmp_path, caplog):
    for bad, said in (
        (tmp_path, f"Invalid json_filepath parameter. <{tmp_path}> is a directory, not filename."),
        (
            tmp_path / "no" / "x",
            f"Invalid json_filepath parameter.  Directory <{tmp_path / 'no'}> does not exist.",
        ),
    ):
        with pytest.raises(RuntimeError) as caught:
            config.set_enable_autotune(True, str(bad))
        assert str(caught.value) == said
        assert config.get_enable_autotune() is False
    config.set_enable_autotune(True, str(tmp_path / "x"))
    config.set_enable_autotune(False, "")
    assert config.get_enable_autotune() is False
    assert caplog.messages == ["The value of json_filepath is ignored when enable is False."]


def test_the_monitor_looks_as_often_as_was_set():
    assert ds.monitor().interval == 0.25
    config.set_monitor_sampling_interval(500)
    assert ds.monitor().interval == 0.5
    assert ds.monitor(interval=2).interval == 2


@pytest.mark.parametrize(("given", "want"), [("2GB", 2 * 10**9), ("1.5MiB", 3 << 19), (17, 17), (None, None)])
def test_memory_budget(given, want):
    config.set_memory_budget(given)
    assert config.get_memory_budget() == want


@pytest.mark.parametrize("bad", ["x", "", "-2GB", 0, -1, 1.5, True, [1]])
def test_bad_memory_budget(bad):
    with pytest.raises((TypeError, ValueError)):
        config.set_memory_budget(bad)


def test_our_own_knobs():
    config.set_chunk_rows(7)
    config.set_executor("inline")
    config.set_error_samples_limit(0.25)
    assert (config.get_chunk_rows(), config.get_executor(), config.get_error_samples_limit()) == (
        7,
        "inline",
        0.25,
    )
    config.set_chunk_rows(None)
    config.set_executor(None)
    assert (config.get_chunk_rows(), config.get_executor()) == (None, None)
    for setter, bad in (
        (config.set_chunk_rows, 0),
        (config.set_executor, "gpu"),
        (config.set_error_samples_limit, 1.5),
        (config.set_error_samples_limit, True),
    ):
        with pytest.raises((TypeError, ValueError)):
            setter(bad)


def test_debug_hooks():
    config.set_debug_mode(True)
    assert [type(hook) for hook in settings.current().debug_hooks] == [PrintMetaDataHook]
    hook = PrintDataHook()
    config.set_debug_mode(True, [hook])
    config.set_debug_mode(False, [])
    assert settings.current().debug_hooks == (hook,)
    assert config.get_debug_mode() is False


def test_load(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {"seed": 7, "numParallelWorkers": 99, "opConnectorSize": 4, "monitorSamplingInterval": 9, "x": 1}
        )
    )
    config.load(str(path))
    assert (config.get_seed(), config.get_num_parallel_workers()) == (7, 99)
    assert (config.get_prefetch_size(), config.get_monitor_sampling_interval()) == (4, 9)


@pytest.mark.parametrize(
    "text",
    [
        "{bad",
        "[]",
        "3",
        '{"seed": "x"}',
        '{"seed": 1, "opConnectorSize": 0}',
        "[" * 100_000,
        "\x00",
        '{"seed": true}',
    ],
)
def test_a_bad_file_changes_nothing(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(RuntimeError, match="Client file failed to load"):
        config.load(path)
    assert config.get_seed() == 5489


def test_load_refuses_what_is_no_file(tmp_path):
    with pytest.raises(RuntimeError, match="failed to load"):
        config.load(tmp_path)
    with pytest.raises(TypeError, match="1"):
        config.load(1)
    huge = tmp_path / "huge.json"
    huge.write_text(" " * (2 << 20))
    with pytest.raises(RuntimeError, match="larger"):
        config.load(str(huge))


def test_hooks_print_as_mindspore_does(capsys):
    hook = PrintMetaDataHook()
    hook.set_previous_op_name("double")
    hook.set_is_first(True)
    values = (np.arange(3), np.array("x"))
    assert hook(*values) == values
    hook.set_is_first(False)
    hook({"a": 1})
    data = PrintDataHook()
    data(np.arange(3), np.array("x"))
    assert capsys.readouterr().out.splitlines() == [
        "[Dataset debugger] Print the [INPUT] of the operation [double].",
        "Column 0. The dtype is [int64]. The shape is [(3,)].",
        "Column 1. The dtype is [<U1]. The shape is [()].",
        "[Dataset debugger] Print the [OUTPUT] of the operation [double].",
        "Column 0. The type is [<class 'dict'>]. The size is [1].",
        "Column 0. The data is [[0 1 2]].",
        "Column 1. The data is [x].",
    ]
    with pytest.raises(TypeError, match="abstract"):
        DebugHook()
