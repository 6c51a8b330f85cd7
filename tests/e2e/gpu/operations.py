"""Operations and layers on a GPU, compared with the values that MindSpore gave on a CPU.

PYTHONPATH=src python -m tests.e2e.gpu.operations [--json results.json]        # on a machine with a CUDA device

Arguments are moved to the GPU first, so that the operation is computed there. Types and shapes must be equal;
values agree within TOLERANCE, since GPU kernels add in another order. Calls that must fail are not made here: an
index that is out of range ends a CUDA context, and the CPU suite makes them. Every family has its own process, so
that one failure does not hide the next.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TOLERANCE = {"Float32": 2e-4, "Complex64": 2e-4, "Float16": 4e-3}
GAPS = Path(__file__).with_name("gaps.json")
LIMIT = 300


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--family", help="run this family in this process, and print JSON")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    args = parser.parse_args()
    if args.family:
        print(json.dumps(compare_family(args.family)))
        return 0
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        results = dict(zip(names := list(families()), pool.map(run_family, names), strict=True))
    gaps = json.loads(GAPS.read_text())
    wrong = {case: text for result in results.values() for case, text in result["wrong"].items()}
    count = sum(result["right"] for result in results.values())
    unexplained = {case: text for case, text in wrong.items() if case not in gaps}
    for case, text in sorted(unexplained.items()):
        print(f"WRONG {case}: {text}")
    for case in sorted(set(gaps) - set(wrong)):
        print(f"RIGHT NOW, remove it from tests/e2e/gpu/gaps.json: {case}")
    failed = len(unexplained) + len(set(gaps) - set(wrong))
    print(f"{count} right, {len(unexplained)} wrong, {len(wrong) - len(unexplained)} known differences")
    if args.json:
        args.json.write_text(json.dumps({"right": count, "wrong": wrong}, indent=1, sort_keys=True) + "\n")
    return 1 if failed or not count else 0


def families() -> Iterator[str]:
    """Names of the families: those of operations, then those of layers."""
    from tests.contracts.ops.sample_cases import operations
    from tests.parity.runtime.nn.layers import families as layers

    yield from sorted({spec.module.rpartition(".")[2] for spec in operations()})
    yield from (f"nn.{name}" for name in layers())


def run_family(name: str) -> dict[str, Any]:
    """The results of a family, computed in a separate process."""
    command = [sys.executable, "-m", "tests.e2e.gpu.operations", "--family", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        return json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, ValueError) as error:
        detail = (
            done.stderr[-300:] if not isinstance(error, subprocess.TimeoutExpired) else f"{LIMIT} s passed"
        )
        return {"right": 0, "wrong": {f"{name}/*": f"the process failed: {detail}"}}


def compare_family(name: str) -> dict[str, Any]:
    """Compare each case of a family: how many are right, and what is wrong with the others."""
    import torch

    from millrace._src.runtime.tensor.backend.context import set_context

    warnings.simplefilter("ignore")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    set_context(device_target="GPU")
    layer = name.partition("nn.")[2] if name.startswith("nn.") else ""
    right, wrong = 0, {}
    for case, text in layer_cases(layer) if layer else operation_cases(name):
        if text:
            wrong[case] = text[:300]
        else:
            right += 1
    return {"right": right, "wrong": wrong}


def operation_cases(family: str) -> Iterator[tuple[str, str]]:
    """Each sample with a recorded value, and what differs on the GPU."""
    from tests.contracts.ops import sample_cases as cases

    cases.TOLERANCE.update(TOLERANCE)
    for spec in cases.operations():
        if spec.module.rpartition(".")[2] != family:
            continue
        recorded, known = cases.VALUES.read(spec), cases.gaps()
        for case in cases.cases(spec):
            expected = recorded.get(case.name, {"lacking": True})
            on_cpu = {case.name, f"{case.path}/*", f"{cases.key(spec)}/*", f"{cases.key(spec)}/{case.number}"}
            if "e" not in expected and "lacking" not in expected and not on_cpu & set(known):
                yield case.name, operation_difference(case, expected)


def operation_difference(case: Any, expected: Any) -> str:
    from tests.contracts.ops import sample_cases as cases

    try:
        args = to_gpu(cases.tensor(case.args))
        kwargs = {name: to_gpu(cases.tensor(value)) for name, value in case.kwargs.items()}
        return cases.difference(cases.encode(cases.applied(case, args, kwargs)), expected)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def to_gpu(value: Any) -> Any:
    """An argument with its tensors on the GPU."""
    import millrace
    from millrace._src.runtime.tensor.device_placement import ensure_on_device

    if isinstance(value, millrace.Tensor):
        ensure_on_device(value)
    elif isinstance(value, (list, tuple)):
        return type(value)(to_gpu(part) for part in value)
    return value


def layer_cases(family: str) -> Iterator[tuple[str, str]]:
    """Each layer with recorded results and gradients, and what differs on the GPU."""
    import millrace
    from tests.parity.runtime.nn.layers import cases
    from tests.parity.runtime.nn.record_nn import GOLDENS
    from tests.parity.runtime.nn.run_case import play
    from tests.parity.runtime.nn.test_layers import compare

    recorded = json.loads((GOLDENS / f"{family}.json").read_text())
    for name, case in cases(family).items():
        expected = recorded[name]
        if "e" in expected or "lacking" in expected or case.options.keys() & {"better", "random"}:
            continue
        try:
            results = play(millrace, case)
            allowed = max(case.options.get("tolerance", 0), TOLERANCE["Float32"])
            for part in ("results", "gradients", "after"):
                compare(part, results.get(part, []), expected.get(part, []), allowed)
            yield f"nn.{family}.{name}", ""
        except Exception as error:
            yield f"nn.{family}.{name}", f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
