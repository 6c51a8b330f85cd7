"""The sink on a GPU: the process matrix, memory caps, pinned batches, and what is told of each. Run where a GPU is.

PYTHONPATH=src python -m tests.e2e.gpu.transfer_matrix [results.json]

Prints a table, writes it as JSON, and ends with 1 where a cell is not as the table of rules says. Every cell runs in a
process of its own with a limit, so that a hang is a result, too. The last results are in matrix_on_gpu.json beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

from millrace._src.core.machine.worker_devices import RULES

LIMIT = 120
WAYS = ("threads", "forkserver", "spawn", "fork")

BEGIN = """
    import sys, warnings
    warnings.simplefilter("ignore")
    import numpy as np, torch
    import millrace as ms, millrace.dataset as ds
    from millrace import nn, ops
    way, device = sys.argv[1:3]
    processes = way != "threads"
    if processes:
        ds.config.set_multiprocessing_start_method(way)
    net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
    def rows(function, count=8, **more):
        data = ds.NumpySlicesDataset({"x": np.ones((count, 3), np.float32)}, shuffle=False)
        return data.map(function, "x", num_parallel_workers=2, python_multiprocessing=processes, **more)
    def run(data):
        return [row[0].asnumpy().tolist() for row in data.create_tuple_iterator(num_epochs=1)]
"""

CELLS = {
    "map, an operation": """
        def work(x):
            ms.set_device(device)
            return (ms.Tensor(x) * 2.0).asnumpy()
        assert run(rows(work)) == [[2.0] * 3] * 8
    """,
    "map, a net of the parent's": """
        ms.set_device(device)
        net(ms.Tensor(np.ones((1, 3), np.float32)))  # its parameters are on the device
        def work(x):
            ms.set_device(device)
            return net(ms.Tensor(x[None]))[0].asnumpy()
        assert run(rows(work)) == [[3.0, 3.0]] * 8
    """,
    "map, a tensor is returned": """
        def work(x):
            ms.set_device(device)
            return ms.Tensor(x) + 1.0
        assert run(rows(work)) == [[2.0] * 3] * 8
    """,
    "GeneratorDataset": """
        class Source:
            def __getitem__(self, i):
                ms.set_device(device)
                return (ops.ones((3,)) * float(i)).asnumpy()
            def __len__(self):
                return 8
        data = ds.GeneratorDataset(Source(), ["x"], shuffle=False, num_parallel_workers=2,
                                   python_multiprocessing=processes)
        assert run(data) == [[float(i)] * 3 for i in range(8)]
    """,
    "after the parent used it": """
        ms.set_device(device)
        assert ops.ones((3,)).sum().item() == 3.0
        kept = ops.ones((3,))
        def work(x):
            return (kept * 2.0).asnumpy()
        assert run(rows(work)) == [[2.0] * 3] * 8
    """,
}

PINNED = "batches are pinned from the start"
ALONE = {
    "a cap in a worker holds, and its error names the holders": """
        def work(x):
            ms.set_device("GPU")
            ms.runtime.set_memory(max_size="1GB")
            ops.ones((1024, 1024, 512)) * 2.0
        try:
            run(rows(work))
        except RuntimeError as error:
            text = str(error)
            assert "cap: 1.0 GiB by set_memory" in text, text
            print(text[text.index("  wanted"):text.index("what helps")])
            sys.exit(0)
        raise AssertionError("nothing was refused")
    """,
    PINNED: """
        from millrace._src.transfer import DevicePrefetcher
        from millrace._src.transfer.prefetcher import create_device_source
        from millrace._src.transfer.transfer import CudaTransfer
        seen = []
        moved = CudaTransfer._moved
        def noted(self, tensor):
            seen.append((tensor.is_pinned(), tensor.numel() * tensor.element_size()))
            return moved(self, tensor)
        CudaTransfer._moved = noted
        ms.set_device("GPU")
        data = ds.NumpySlicesDataset({"x": np.ones((64, 128, 128, 3), np.uint8), "y": np.arange(64.0)}, shuffle=False)
        data = data.map(lambda x: x + 1, "x", num_parallel_workers=2, python_multiprocessing=processes).batch(8)
        feed = DevicePrefetcher(create_device_source(data, 3, "cuda:0"), epochs=3, device="cuda:0")
        kept = []
        for _ in range(3):
            kept += [batch for batch in feed]
        assert all((batch[0] == 2).all().item() for batch in kept)
        labels = [batch[1].asnumpy().tolist() for batch in kept]
        assert labels == [[8.0 * k + i for i in range(8)] for k in range(8)] * 3
        large = [pinned for pinned, size in seen if size > 100_000]
        feed.close()
        assert len(large) >= 24 and all(large), seen
    """,
    "jax arrays on the card": """
        import jax
        ms.set_device("GPU")
        data = ds.NumpySlicesDataset({"x": np.arange(8, dtype=np.float32)}, shuffle=False).batch(4)
        with data.create_device_iterator("GPU", num_epochs=1, as_dict=False, output="jax") as batches:
            got = [batch[0] for batch in batches]
        assert all(each.devices().pop().platform == "gpu" for each in got), got
        assert [each.tolist() for each in got] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    """,
    "torch tensors on the card": """
        ms.set_device("GPU")
        data = ds.NumpySlicesDataset({"x": np.arange(8, dtype=np.float32)}, shuffle=False).batch(4)
        with data.create_device_iterator("GPU", num_epochs=1, as_dict=False, output="torch") as batches:
            got = [batch[0] for batch in batches]
        assert all(each.is_cuda for each in got) and torch.cat(got).tolist() == list(range(8))
    """,
    "sink mode trains to the same bits": """
        torch.use_deterministic_algorithms(True)
        x = np.random.default_rng(1).standard_normal((64, 3)).astype(np.float32)
        def learned(sinks):
            ms.set_device("GPU")
            ms.set_seed(1)
            data = ds.NumpySlicesDataset({"x": x, "y": x[:, :2] * 2}, shuffle=False).batch(8)
            model_net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
            model = ms.train.Model(model_net, nn.MSELoss(), nn.Momentum(model_net.trainable_params(), 0.01, 0.9))
            model.train(3, data, dataset_sink_mode=sinks)
            if sinks:
                print(model.report().time_breakdown())
                print(model.report().sink)
            return model_net.weight.asnumpy()
        assert np.array_equal(learned(True), learned(False))
    """,
}


def run(code: str, way: str, device: str) -> dict[str, object]:
    """One cell in a process of its own."""
    began = time.perf_counter()
    whole = textwrap.dedent(BEGIN) + textwrap.dedent(code)
    try:
        done = subprocess.run(
            [sys.executable, "-c", whole, way, device], capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return {"outcome": "hangs", "seconds": LIMIT, "said": ""}
    said = (done.stdout + done.stderr).strip()
    if done.returncode < 0:
        outcome = f"crashes with signal {-done.returncode}"
    elif done.returncode == 0:
        outcome = "works"
    else:
        outcome = "refused" if "cannot be used in a worker process that was started by" in said else "fails"
    return {"outcome": outcome, "seconds": round(time.perf_counter() - began, 1), "said": said[-1500:]}


def main(path: str | None, short: bool = False) -> int:
    from concurrent.futures import ThreadPoolExecutor

    jobs = [(name, way, on, code) for name, code in CELLS.items() for way in WAYS for on in ("CPU", "GPU")]
    jobs = [] if short else jobs
    jobs += [(name, "forkserver", "GPU", code) for name, code in ALONE.items()]
    jobs.append((PINNED, "threads", "GPU", ALONE[PINNED]))
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda job: run(job[3], job[1], job[2]), jobs))
    table, bad = [], 0
    for (name, way, device, _), result in zip(jobs, results, strict=True):
        wanted = "works" if name in ALONE or RULES[way, device].works else "refused"
        fine = result["outcome"] == wanted
        bad += not fine
        kept = {key: result[key] for key in ("outcome", "seconds")}
        table.append({"what": name, "way": way, "device": device, "wanted": wanted, "fine": fine, **kept})
        head = f"{'ok ' if fine else 'BAD'} {name:<58} {way:<11} {device}"
        print(f"{head}  {result['outcome']:<10} {result['seconds']:>6} s")
        if not fine or name in ALONE:
            print(textwrap.indent(str(result["said"]), "      "))
    import torch

    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    document: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "card": card,
        "torch": torch.__version__,
        "cells": table,
    }
    if path is not None:
        cells = ",\n".join(f"  {json.dumps(cell)}" for cell in document.pop("cells"))
        head = json.dumps(document, indent=1)[:-2]
        Path(path).write_text(f'{head},\n "cells": [\n{cells}\n ]\n}}\n', encoding="utf-8")
    print(f"{len(table) - bad} of {len(table)} cells are as the table says; card: {card}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(next(iter(sys.argv[1:]), None), short="short" in sys.argv[2:]))
