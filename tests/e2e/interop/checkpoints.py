"""Millrace beside MindSpore, through checkpoints: each loads what the other wrote, of every net of the zoo.

    python tests/e2e/interop/checkpoints.py /path/to/python-with-mindspore

Not a test of its own: `make interop` runs it where MindSpore is to be had. The peer runs this same file. Nets are
filled with the same numbers on both sides, with an optimizer each, so that the files must also be the same bytes.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[3]
TIMEOUT = 280
KEY = b"0123456789abcdef"
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "Momentum": {"learning_rate": 0.1, "momentum": 0.9},
    "Adam": {"learning_rate": [0.1, 0.2, 0.3]},
    "SGD": {"learning_rate": 0.1, "momentum": 0.5},
    "AdamWeightDecay": {"learning_rate": 0.1},
    "RMSProp": {"learning_rate": 0.1, "centered": True},
    "Adagrad": {"learning_rate": 0.1},
    "AdaMax": {"learning_rate": 0.1},
    "Adadelta": {"learning_rate": 0.1},
    "FTRL": {"learning_rate": 0.1},
}
# Written in each way there is, of the first net.
WAYS: dict[str, dict[str, Any]] = {
    "plain.ckpt": {},
    "beside.ckpt": {"async_save": True},
    "summed.ckpt": {"crc_check": True},
    "more.ckpt": {
        "append_dict": {"epoch_num": 3, "lr": 0.1, "flag": True, "note": "hé \U0001f600", "empty": ""}
    },
    "gcm.ckpt": {"enc_key": KEY},
    "cbc.ckpt": {"enc_key": KEY, "enc_mode": "AES-CBC"},
    "sm4.ckpt": {"enc_key": KEY, "enc_mode": "SM4-CBC"},
    "plain.safetensors": {"format": "safetensors"},
    "summed.safetensors": {"format": "safetensors", "crc_check": True},
}


def steps(ms: Any) -> dict[str, Any]:
    """A training step of every net, each with another optimizer."""
    from tests.e2e.networks.families import nets
    from tests.parity.runtime.nn.run_case import fill

    made = {}
    kinds = list(OPTIMIZERS)
    for number, (name, case) in enumerate(nets().items()):
        kind = kinds[number % len(kinds)]
        cell = case.build(ms)
        fill(cell, ms.Tensor)
        optimizer = getattr(ms.nn, kind)(cell.trainable_params(), **OPTIMIZERS[kind])
        made[f"{name} {kind}".replace(" ", "_")] = ms.nn.TrainOneStepCell(cell, optimizer)
    return made


def digest(value: Any) -> Any:
    if isinstance(value, str):
        return value
    array = value.asnumpy()
    return [list(array.shape), str(array.dtype), hashlib.sha256(array.tobytes()).hexdigest()]


def write(ms: Any, folder: Path) -> None:
    """Write every file, and what is in it."""
    found = {}
    every = steps(ms)
    for name, cell in every.items():
        ms.save_checkpoint(cell, str(folder / f"{name}.ckpt"))
        found[f"{name}.ckpt"] = {param.name: digest(param) for _, param in cell.parameters_and_names()}
    first = next(iter(every.values()))
    for file, options in WAYS.items():
        ms.save_checkpoint(first, str(folder / file), **options)
        if "async_save" in options:
            while ms.async_ckpt_thread_status():
                pass
        found[file] = {param.name: digest(param) for _, param in first.parameters_and_names()}
        found[file] |= dict.fromkeys(options.get("append_dict", {}))
    (folder / "contents.json").write_text(json.dumps(found))


def read(ms: Any, folder: Path) -> list[str]:
    """Load every file of the other side; what is wrong."""
    wrong = []
    wanted = json.loads((folder / "contents.json").read_text())
    every = steps(ms)
    for file, contents in wanted.items():
        options = dict(WAYS.get(file, {}))
        key, mode = options.get("enc_key"), options.get("enc_mode", "AES-GCM")
        format = options.get("format", "ckpt")
        found = ms.load_checkpoint(
            str(folder / file), dec_key=key, dec_mode=mode, crc_check="crc_check" in options, format=format
        )
        order = sorted(contents) if format == "safetensors" else list(contents)
        if list(found) != order:
            wrong.append(f"{file}: names {list(found)[:4]} ..., not {order[:4]} ...")
            continue
        for name, value in contents.items():
            if value is not None and digest(found[name]) != value:
                wrong.append(f"{file}: {name} is {digest(found[name])}, not {value}")
        for name, value in options.get("append_dict", {}).items():
            got = found[name] if isinstance(value, str) else found[name].asnumpy().item()
            if got != (np.float32(value) if isinstance(value, float) else value):
                wrong.append(f"{file}: {name} is {got!r}, not {value!r}")
        cell = every.get(file.removesuffix(".ckpt"))
        if cell is not None and ms.load_param_into_net(cell, found, strict_load=True) != ([], []):
            wrong.append(f"{file}: does not fit the net")
    return wrong


def resumable(folder: Path) -> None:
    """A file that a run goes on from, with more in it than parameters."""
    import millrace as ms

    cell = next(iter(steps(ms).values()))
    ms.train.save_training(str(folder / "training.ckpt"), cell, step=5, extra={"note": 1})


def read_resumable(ms: Any, folder: Path) -> list[str]:
    cell = next(iter(steps(ms).values()))
    found = ms.load_checkpoint(str(folder / "training.ckpt"), crc_check=True)
    missing, left = ms.load_param_into_net(cell, found)
    own = [
        name for name in left if name not in ("epoch_num", "step_num") and not name.startswith("millrace.")
    ]
    return [f"training.ckpt: {missing} missing, {own} left"] if missing or own else []


def peer(action: str, folder: str) -> None:
    """MindSpore's side."""
    import mindspore as ms

    wrong = []
    if action == "write":
        write(ms, Path(folder))
    else:
        wrong = read(ms, Path(folder)) + read_resumable(ms, Path(folder))
    print("\n".join(wrong), flush=True)
    os._exit(bool(wrong))  # MindSpore's own end may hang


def main(python: str) -> int:
    import millrace as ms

    with tempfile.TemporaryDirectory() as top:
        ours, theirs = Path(top, "ours"), Path(top, "theirs")
        for folder in (ours, theirs):
            folder.mkdir()

        def ask(action: str, folder: Path) -> subprocess.CompletedProcess[str]:
            command = [os.path.abspath(python), str(Path(__file__).resolve()), "--peer", action, str(folder)]
            env = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "4"}
            return subprocess.run(command, cwd=top, env=env, capture_output=True, text=True, timeout=TIMEOUT)

        write(ms, ours)
        resumable(ours)
        done = ask("write", theirs)
        if done.returncode:
            print(done.stdout, done.stderr)
            return 1
        wrong = [f"MindSpore's {text}" for text in read(ms, theirs)]
        answer = ask("read", ours)
        if answer.returncode:
            wrong += [f"our {line}" for line in (answer.stdout or answer.stderr).splitlines()]
        files = sorted(path.name for path in ours.iterdir() if path.suffix in (".ckpt", ".safetensors"))
        # ciphers draw at random, the library of safetensors orders what it says of a file as it likes
        same = [name for name in files if name.split(".")[0] not in ("gcm", "cbc", "sm4", "training")]
        same = [name for name in same if name != "summed.safetensors"]
        wrong += [
            f"{name}: other bytes"
            for name in same
            if not filecmp.cmp(ours / name, theirs / name, shallow=False)
        ]
        print(
            "\n".join(wrong)
            or f"checkpoints: {len(files)} files both ways, {len(same)} of them the same bytes"
        )
        return bool(wrong)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    if sys.argv[1] == "--peer":
        peer(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1]))
