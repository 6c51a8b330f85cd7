"""ModelCheckpoint and its kin while a Model trains."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.dataset as ds
from millrace import nn
from millrace._src.core.errors import CheckpointError
from millrace.train import (
    BackupAndRestore,
    BestCheckpoint,
    Callback,
    CheckpointConfig,
    EarlyStopping,
    Model,
    ModelCheckpoint,
    OnRequestExit,
    ReduceLROnPlateau,
    load_checkpoint,
)

from .recorded_files import FOLDER

RATE = 0.1


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ms.set_seed(3)


def data(shuffle=True):
    x = np.arange(18, dtype=np.float32).reshape(6, 3) / 10
    return ds.NumpySlicesDataset({"x": x, "y": x[:, :2]}, shuffle=shuffle).batch(2)


def model(**options):
    net = nn.Dense(3, 2)
    return Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), RATE, 0.9), **options)


def train(callbacks, epochs=2, **options):
    made = model()
    made.train(epochs, data(), callbacks=callbacks, **options)
    return made


def files(folder="d"):
    return sorted(os.listdir(folder))


class At(Callback):
    """Does something after a step."""

    def __init__(self, step, what):
        self.step, self.what = step, what

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.step:
            self.what(run_context)


def fail(_):
    raise ValueError("boom")


# --- names and numbers: those of MindSpore 2.7.0 for the same calls ------------------------------------------------


def test_the_newest_five_stay_and_the_next_run_has_a_prefix_of_its_own():
    train(ModelCheckpoint(directory="d"))
    first = [f"CKP-{n}.ckpt" for n in ("1_2", "1_3", "2_1", "2_2", "2_3")]
    assert files() == first
    train(ModelCheckpoint(directory="d"))
    assert files() == first + [name.replace("CKP", "CKP_1") for name in first]
    train(ModelCheckpoint(directory="d"), 1)
    assert files()[10:] == ["CKP_2-1_1.ckpt", "CKP_2-1_2.ckpt", "CKP_2-1_3.ckpt"]


def test_the_last_step_is_saved_too():
    train(ModelCheckpoint("p", "d", CheckpointConfig(4)))
    assert files() == ["p-2_1.ckpt", "p-2_3.ckpt"]
    train(ModelCheckpoint("p_x", "d", CheckpointConfig(4)))
    assert files() == ["p-2_1.ckpt", "p-2_3.ckpt", "p_x-2_1.ckpt", "p_x-2_3.ckpt"]


@pytest.mark.parametrize("beside", [False, True])
def test_how_many_stay(beside):
    train(ModelCheckpoint("q", "d", CheckpointConfig(1, keep_checkpoint_max=1, async_save=beside)))
    assert files() == ["q-2_3.ckpt"]
    minutes = CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1, async_save=beside)
    train(ModelCheckpoint("r", "d", minutes))
    assert files()[1:] == ["r-1_1.ckpt", "r-2_3.ckpt"]


def test_functions_name_the_files():
    by_step = ModelCheckpoint(
        lambda p: f"e{p.cur_step_num}", lambda p: f"d/{p.cur_epoch_num}", CheckpointConfig(2)
    )
    train(by_step)
    assert (files("d/1"), files("d/2")) == (["e2.ckpt"], ["e4.ckpt", "e6.ckpt"])
    assert by_step.latest_ckpt_file_name.endswith("d/2/e6.ckpt")
    with pytest.raises(ValueError, match="must return a string"):
        train(ModelCheckpoint(lambda p: "a/b"))


def test_formats_and_what_is_saved():
    train(ModelCheckpoint("s", "d", CheckpointConfig(3, format="safetensors")))
    train(ModelCheckpoint("n", "d", CheckpointConfig(3, saved_network=nn.Dense(2, 2))))
    assert files() == ["n-1_3.ckpt", "n-2_3.ckpt", "s-1_3.safetensors", "s-2_3.safetensors"]
    assert list(load_checkpoint("d/n-1_3.ckpt")) == ["weight", "bias"]
    names = list(load_checkpoint("d/s-1_3.safetensors", format="safetensors"))
    assert {"weight", "bias", "moments.weight", "global_step", "millrace.training"} <= set(names)


def test_without_what_resumes_it_is_what_mindspore_writes():
    x = np.ones((4, 3), np.float32)
    rows = ds.NumpySlicesDataset({"x": x, "y": np.zeros((4, 2), np.float32)}, shuffle=False).batch(2)
    info = ["epoch_num", "step_num", {"tag": "hello"}]
    config = CheckpointConfig(2, append_info=info, resumable=False)
    model().train(1, rows, callbacks=ModelCheckpoint("cb", "d", config))
    ours, theirs = load_checkpoint("d/cb-1_2.ckpt"), load_checkpoint(str(FOLDER / "cb-1_2.ckpt"))
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        if isinstance(value, str):
            assert ours[name] == value
        else:
            assert (ours[name].shape, ours[name].dtype) == (value.shape, value.dtype)
            if name in ("epoch_num", "step_num", "global_step", "learning_rate", "momentum"):
                assert ours[name].asnumpy().tolist() == value.asnumpy().tolist()


def test_one_more_when_the_training_fails():
    config = CheckpointConfig(3, exception_save=True)
    with pytest.raises(ValueError, match="boom"):
        train([ModelCheckpoint("x", "d", config), At(4, fail)])
    assert files() == ["x-1_3.ckpt", "x-2_1_breakpoint.ckpt"]
    assert "weight" in load_checkpoint("d/x-2_1_breakpoint.ckpt")


def test_no_file_while_evaluating():
    made = model(metrics={"mse"})
    made.fit(2, data(), data(False), callbacks=ModelCheckpoint("f", "d", CheckpointConfig(3)))
    made.eval(data(False), callbacks=ModelCheckpoint("e", "d"))
    assert files() == ["f-1_3.ckpt", "f-2_3.ckpt"]


def test_seconds(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("millrace._src.train.callbacks.model_checkpoint.time.time", lambda: now[0])
    config = CheckpointConfig(None, save_checkpoint_seconds=10)

    def later(_):
        now[0] += 11

    train([At(2, later), ModelCheckpoint("t", "d", config)])
    assert files() == ["t-1_2.ckpt", "t-2_3.ckpt"]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"save_checkpoint_steps": -1}, ValueError, "must >= 0"),
        ({"save_checkpoint_steps": "x"}, TypeError, "must be int"),
        (
            dict.fromkeys(("save_checkpoint_steps", "keep_checkpoint_max"), 0),
            ValueError,
            "can't be all None or 0",
        ),
        ({"integrated_save": 3}, TypeError, "must be a bool"),
        ({"async_save": "q"}, ValueError, "'process' or 'thread'"),
        ({"saved_network": 3}, TypeError, "None or Cell"),
        ({"append_info": "x"}, TypeError, "must be list"),
        ({"append_info": ["x"]}, ValueError, "must be in"),
        ({"append_info": [3]}, TypeError, "str or dict"),
        ({"append_info": [{}, {}]}, TypeError, "only one dict, but got 2"),
        ({"append_info": [{"a": None}]}, TypeError, "value type must be"),
        ({"enc_key": "x"}, ValueError, "enc_key"),
        ({"exception_save": 3}, TypeError, "must be a bool"),
        ({"crc_check": 3}, ValueError, "crc_check"),
        ({"format": "x"}, ValueError, "must be 'safetensors' or 'ckpt'"),
        ({"format": "safetensors", "crc_check": True}, ValueError, "other param must be default"),
        ({"remove_redundancy": 3}, ValueError, "remove_redundancy"),
        ({"resumable": 3}, TypeError, "must be a bool"),
    ],
)
def test_configurations_that_cannot_be(options, error, text):
    with pytest.raises(error, match=text):
        CheckpointConfig(**options)


def test_arguments_that_cannot_be():
    for prefix in ("a/b", 3):
        with pytest.raises(ValueError, match="does not contain '/'"):
            ModelCheckpoint(prefix)
    with pytest.raises(TypeError, match="type should be string"):
        ModelCheckpoint(directory=3)
    with pytest.raises(TypeError, match="CheckpointConfig"):
        ModelCheckpoint(config=3)
    for call, error in [
        (lambda: BackupAndRestore(3), TypeError),
        (lambda: BackupAndRestore("b", save_freq=0), ValueError),
        (lambda: BackupAndRestore("b", delete_checkpoint=3), TypeError),
        (lambda: OnRequestExit(save_ckpt=3), ValueError),
        (lambda: OnRequestExit(sig=signal.SIGKILL), ValueError),
        (lambda: BestCheckpoint(mode="best"), ValueError),
    ]:
        with pytest.raises(error):
            call()


# --- going on -----------------------------------------------------------------------------------------------------


def weights(made):
    return {p.name: p.asnumpy().tobytes() for _, p in made.train_network.parameters_and_names()}


@pytest.mark.parametrize("step", [1, 3, 4, 6])
@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_run_that_failed_goes_on_to_the_same_bits(step, format):
    whole = weights(train(None, 3))
    config = CheckpointConfig(1, format=format)
    ms.set_seed(3)
    with pytest.raises(ValueError, match="boom"):
        train([ModelCheckpoint("r", "d", config), At(step, fail)], 3)
    ms.set_seed(77)
    seen = []
    after = [ModelCheckpoint("r", "d", config), At(9, lambda context: seen.append(context.original_args()))]
    assert weights(train(after, 3, resume="d")) == whole
    assert seen[0].resumed_from.endswith(f"r-{(step - 1) // 3 + 1}_{(step - 1) % 3 + 1}.{format}")
    assert f"r-3_3.{format}" in files()  # under the names of the run that it goes on with


def test_a_finished_run_has_nothing_left_and_may_be_made_longer():
    whole = weights(train(None, 4))
    ms.set_seed(3)
    train(
        ModelCheckpoint("r", "d", CheckpointConfig(4)), 2
    )  # its last file is written after the end of the data
    again = train(None, 2, resume="d/r-2_3.ckpt")
    assert again.train_network.optimizer.global_step.asnumpy().tolist() == [6]
    assert weights(train(None, 4, resume="d")) == whole


def test_a_torn_file_of_a_folder_is_passed_over(caplog):
    whole = weights(train(None, 3))
    ms.set_seed(3)
    with pytest.raises(ValueError, match="boom"):
        train([ModelCheckpoint("r", "d", CheckpointConfig(1)), At(5, fail)], 3)
    os.chmod("d/r-2_2.ckpt", 0o600)
    os.truncate("d/r-2_2.ckpt", 700)
    assert weights(train(None, 3, resume="d")) == whole
    assert "r-2_2.ckpt" in caplog.text
    with pytest.raises(CheckpointError, match=r"r-2_2\.ckpt.*newest good checkpoint.*r-2_1\.ckpt"):
        train(None, 3, resume="d/r-2_2.ckpt")


def test_what_cannot_be_resumed_says_so():
    train(ModelCheckpoint("r", "d", CheckpointConfig(3, resumable=False)), 1)
    with pytest.raises(CheckpointError, match="no state of a training"):
        train(None, 3, resume="d/r-1_3.ckpt")
    with pytest.raises(TypeError, match="resume"):
        train(None, 3, resume=3)
    train(None, 1, resume="nothing/there")  # begins
    batches = [[ms.Tensor(np.ones((2, 3), np.float32)), ms.Tensor(np.ones((2, 2), np.float32))]] * 3
    model().train(1, batches, callbacks=ModelCheckpoint("l", "l", CheckpointConfig(2)))
    with pytest.raises(CheckpointError, match="whose data has no position"):
        model().train(2, batches, resume="l/l-1_2.ckpt")
    model().train(2, batches, resume="l/l-1_3.ckpt")


def test_what_callbacks_have_seen_is_kept():
    def run(stop_at=None, **options):
        ms.set_seed(3)
        made = model(metrics={"mse"})
        watch, best = EarlyStopping("mse", patience=50), BestCheckpoint("best", monitor="loss")
        slower = ReduceLROnPlateau("mse", patience=1, factor=0.5)
        callbacks = [watch, slower, best, ModelCheckpoint("k", "k", CheckpointConfig(1))]
        callbacks += [At(stop_at, fail)] if stop_at else []
        try:
            made.fit(5, data(), data(False), callbacks=callbacks, **options)
        except ValueError:
            assert stop_at
        return watch.wait, watch.best, slower.wait, slower.best, best.value, best.epoch, weights(made)

    whole = run()
    run(stop_at=11)
    assert run(resume="k") == whole


def test_redundancy_is_for_several():
    with pytest.raises(TypeError, match="only be used in parallel scenarios"):
        train(ModelCheckpoint("r", "d", CheckpointConfig(1, remove_redundancy=True)))
    with pytest.raises(TypeError, match="only be used in parallel scenarios"):
        ms.load_param_into_net(nn.Dense(1, 1), {}, remove_redundancy=True)


# --- the others ---------------------------------------------------------------------------------------------------


def test_the_best_is_kept_and_put_back(monkeypatch):
    monkeypatch.setitem(globals(), "RATE", 0.01)

    class Rates(Callback):
        """Lets the loss grow after the second epoch."""

        def on_train_epoch_end(self, run_context):
            params = run_context.original_args()
            if params.cur_epoch_num == 2:
                self.best = params.network.weight.asnumpy().copy()
                params.network.weight.set_data(params.network.weight + 100)

    rates, best = Rates(), BestCheckpoint("best.ckpt", restore=True)
    made = train([best, rates], 4)
    assert best.epoch == 2
    saved = load_checkpoint("best.ckpt")
    assert (saved["weight"].asnumpy() == rates.best).all()
    assert (made._network.weight.asnumpy() == rates.best).all()
    assert saved["best_epoch"].item() == 2


def test_the_best_of_a_metric():
    made = model(metrics={"mse"})
    best = BestCheckpoint("best", monitor="mse")
    made.fit(3, data(), data(False), valid_frequency=2, callbacks=best)
    assert best.epoch == 2
    assert best.value is not None
    with pytest.raises(ValueError, match="no result 'acc'; there are"):
        made.fit(1, data(), data(False), callbacks=BestCheckpoint("best", monitor="acc"))


def test_a_backup_is_there_until_the_run_has_ended():
    with pytest.raises(ValueError, match="boom"):
        train([BackupAndRestore("b"), At(5, fail)])
    assert files("b") == ["backup.ckpt"]
    seen = []
    look = At(
        1, lambda context: seen.append(context.original_args().train_network.optimizer.global_step.item())
    )
    train([BackupAndRestore("b"), look], 1)
    assert seen == [4]  # three steps of the run before, and one
    assert files("b") == []
    with pytest.raises(ValueError, match="boom"):
        train([BackupAndRestore("b"), At(5, fail)])
    assert weights(train(None, 2, resume="b")) is not None


@pytest.mark.parametrize("how", ["signal", "file"])
def test_a_run_ends_when_it_is_asked_to(how, monkeypatch):
    whole = weights(train(None, 3))
    ms.set_seed(3)
    before = signal.getsignal(signal.SIGUSR1)

    def ask(_):
        if how == "signal":
            os.kill(os.getpid(), signal.SIGUSR1)
        else:
            with open("exit.json", "w") as file:
                json.dump({"GracefulExit": 1}, file)

    leave = OnRequestExit(save_mindir=False, directory="d", config_file="exit.json", sig=signal.SIGUSR1)
    stopped = train([At(4, ask), leave], 3)
    assert stopped.train_network.optimizer.global_step.item() == 4
    assert files("d/rank_0") == ["Net_train.ckpt"]
    assert signal.getsignal(signal.SIGUSR1) == before
    assert weights(train(None, 3, resume="d/rank_0/Net_train.ckpt")) == whole


def test_a_large_old_file_goes_at_once_and_its_blocks_beside_the_training(monkeypatch, no_leaks):
    monkeypatch.setattr("millrace._src.train.callbacks.checkpoint_directory.LARGE", 1)
    config = CheckpointConfig(save_checkpoint_steps=1, keep_checkpoint_max=1, async_save=True)
    train(ModelCheckpoint("net", "d", config))
    assert [name for name in files() if name.endswith(".ckpt")] == ["net-2_3.ckpt"]
