"""The contracts and the parity suites under every instruction set that can be chosen here: `make isa`.

    python -m tests.e2e.isa.run [--only TEXT] [--results] [--jobs N] [-- arguments of pytest]

For each setting of environments.py: run the tests, compute the results of every transform, and compare them with those
of the first setting. Prints a table, then every transform whose bits differ between settings. Exit status 1 if a test
fails or a result differs by more than results.py allows.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.e2e.isa.environments import environments
from tests.e2e.isa.results import beyond, compare, difference_of

ROOT = Path(__file__).parents[3]
TESTS = (
    "tests/contracts/transforms/test_same_bits.py",
    "tests/parity/data/vision",
    "tests/parity/data/audio",
    "tests/parity/data/text",
    "tests/unit/data/transforms",
    "tests/unit/data/kernels/vision/test_fixed_order_linalg.py",
)


def variables(env: dict[str, str]) -> dict[str, str]:
    """The environment of a child: ours, without settings of the kind that it is about."""
    ours = ("OPENBLAS_", "NPY_DISABLE_CPU", "ONEDNN_MAX", "DNNL_MAX", "ATEN_CPU", "OPENCV_CPU", "OPENCV_IPP")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)} | env


def run_tests(env: dict[str, str], arguments: list[str], jobs: int, log: Path) -> tuple[int, int, bool]:
    """(passed, failed, whether pytest succeeded)."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    if jobs > 1:
        command += ["-n", str(jobs), "--dist", "worksteal"]
    with log.open("wb") as out:
        status = subprocess.run(command, cwd=ROOT, env=variables(env), stdout=out, stderr=out).returncode
    text = log.read_text(errors="replace")
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", text[-500:])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    return counts.get("passed", 0), failed, status == 0


def compute_results(env: dict[str, str], path: Path, short: bool = False) -> Any:
    """The results under this setting, computed by a new process."""
    command = [sys.executable, "-m", "tests.e2e.isa.results", str(path), *(["--short"] if short else [])]
    subprocess.run(command, cwd=ROOT, env=variables(env), check=True)
    return pickle.loads(path.read_bytes())


def shown(env: dict[str, str]) -> str:
    return " ".join(f"{key}={value!r}" if " " in value else f"{key}={value}" for key, value in env.items())


def show_differences(apart: dict[str, dict[str, float]]) -> None:
    """Each transform whose bits differ, by how much at most, and why it may."""
    largest: dict[str, tuple[float, str]] = {}
    for setting, found in apart.items():
        for name, far in found.items():
            largest[name] = max(largest.get(name, (0.0, "")), (far, setting))
    print(f"\n{len(largest)} examples of transforms have other bits under some setting:")
    for name, (far, setting) in sorted(largest.items()):
        rule = difference_of(name)
        limit = f"at most {rule.within:g} ({rule.reason})" if rule else "NOT ALLOWED"
        print(f"  {name:26}{far:9.2g}  {setting:28}{limit}")


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="settings whose name contains this, and the first")
    parser.add_argument("--results", action="store_true", help="compare results, and run no tests")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run tests")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest; without any, all of the suites")
    options = parser.parse_args(given)
    every = environments()
    first = next(iter(every))
    chosen = {name: env for name, env in every.items() if name == first or options.only in name}
    apart: dict[str, dict[str, float]] = {}
    red: list[str] = []
    reference: Any = None
    print(f"{'setting':30}{'passed':>8}{'failed':>8}{'differ':>8}{'seconds':>9}  variables", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, env) in enumerate(chosen.items()):
            start, passed, failed, succeeded = time.monotonic(), 0, 0, True
            log = Path(folder) / f"{number}.log"
            if not options.results:
                passed, failed, succeeded = run_tests(env, options.pytest or list(TESTS), options.jobs, log)
            results = compute_results(env, Path(folder) / f"{number}.pickle")
            reference = results if reference is None else reference
            apart[name] = compare(reference, results)
            wrong = beyond(apart[name])
            seconds = time.monotonic() - start
            line = f"{name:30}{passed:8}{failed:8}{len(apart[name]):8}{seconds:9.0f}  {shown(env)}"
            print(line, flush=True)
            if not succeeded:
                red.append(name)
                print("\n".join(re.findall(r"^(?:FAILED|ERROR).*", log.read_text(errors="replace"), re.M)))
            if wrong:
                red.append(name)
                print(f"  differ by more than they may: {wrong}")
    show_differences(apart)
    print(f"\nred: {', '.join(dict.fromkeys(red))}" if red else "\nall green")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
