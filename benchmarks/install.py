"""What an installation takes: Millrace and each of its extras in an environment of its own.

python benchmarks/install.py                       # every extra; writes benchmarks/install.json and the page
python benchmarks/install.py --extras core,train   # some of them; the others keep what was measured before
python benchmarks/install.py --missing             # those that were never measured
python benchmarks/install.py --page                # only the page, docs/how-to/install.md, from what is there

A wheel is built once; then, for each extra, a fresh environment is made, the wheel installed with it, and what came is
counted: packages, bytes on disk beyond the empty environment, seconds. The environment is removed before the next one
is made. Downloads count; what pip has in its cache is not downloaded again, unless --cold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

from benchmarks import machine  # noqa: E402
from benchmarks.marks import filled  # noqa: E402
from tests.e2e.packaging.smoke import bare, built, run  # noqa: E402

PAGE = HERE.parent / "docs" / "how-to" / "install.md"
BEGIN, END = "<!-- installed: made by benchmarks/install.py -->", "<!-- end of installed -->"
# What only those need who work on Millrace itself.
OURS = ("dev", "docs")
IMPORT = "import time; t = time.perf_counter(); import millrace.dataset; print(time.perf_counter() - t)"


def extras() -> list[str]:
    """The core, and every extra that pyproject.toml names."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    return ["core", *[name for name in project["optional-dependencies"] if name not in OURS]]


def size_of(folder: Path) -> int:
    """Bytes that a folder takes on the disk."""
    shown = subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True).stdout
    return int(shown.split()[0]) << 10


def packages(python: Path) -> int:
    return len(json.loads(run(python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check")))


def one(folder: Path, wheel: Path, extra: str, cold: bool) -> dict[str, Any]:
    """The cost of one extra."""
    load = machine.describe()["load_before"]
    python = bare(folder / extra)
    empty, before = size_of(folder / extra), packages(python)
    wanted = f"{wheel}[{extra}]" if extra != "core" else str(wheel)
    began = time.monotonic()
    options = ["--no-cache-dir"] if cold else []
    run(python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *options, wanted)
    seconds = time.monotonic() - began
    run(python, "-c", IMPORT)  # writes the bytecode
    return {
        "seconds": round(seconds, 1),
        "mb": round((size_of(folder / extra) - empty) / 1e6),
        "packages": packages(python) - before,
        "import_s": round(min(float(run(python, "-c", IMPORT)) for _ in range(3)), 3),
        "when": time.strftime("%Y-%m-%d"),
        "load_before": load,
        "cold": cold,
    }


def table(results: dict[str, Any]) -> list[str]:
    """What the page shows, in the order of pyproject.toml."""
    found = results["extras"]
    lines = [
        "| Installed | Packages | Size | pip took | Import | Measured, load before |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for extra in extras():
        if extra in found:
            one = found[extra]
            size = f"{one['mb']} MB" if one["mb"] < 1000 else f"{one['mb'] / 1000:.1f} GB"
            lines.append(
                f"| `{extra}` | {one['packages']} | {size} | {one['seconds']:.0f} s | {one['import_s'] * 1e3:.0f} ms | "
                f"{one['when']}, {one['load_before']:g} |"
            )
    # not by name: a new extra must not make the page an old one
    whole = all(extra in found for extra in extras())
    return lines if whole else [*lines, "", "An extra without a line was not measured yet."]


def fill(text: str, results: dict[str, Any]) -> str:
    """The page with its table made anew."""
    return filled(text, BEGIN, END, table(results))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--extras", help=f"these of {','.join(extras())}, with commas")
    parser.add_argument("--missing", action="store_true", help="those that were never measured")
    parser.add_argument("--cold", action="store_true", help="without pip's cache")
    parser.add_argument("--out", type=Path, default=HERE / "install.json")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    args = parser.parse_args(argv)
    results: dict[str, Any] = {"extras": {}}
    if args.out.exists():  # what is not measured again stays
        results = json.loads(args.out.read_text())
    wanted = args.extras.split(",") if args.extras else extras()
    if unknown := [name for name in wanted if name not in extras()]:
        parser.error(f"there is no extra {', '.join(unknown)}; there are {', '.join(extras())}")
    wanted = [name for name in wanted if not args.missing or name not in results["extras"]]
    failed = False if args.page else _measure(wanted, results, args)
    if args.out == HERE / "install.json":
        PAGE.write_text(fill(PAGE.read_text(), results))
    print("\n".join(table(results)))
    return int(failed)


def _measure(wanted: list[str], results: dict[str, Any], args: argparse.Namespace) -> bool:
    """Measure these, one after the other; whether one could not be installed. What is done is written at once."""
    failed = False
    results["machine"] = machine.describe()
    with tempfile.TemporaryDirectory(prefix="millrace-install-") as folder:
        wheel, _ = built(Path(folder))
        for extra in wanted:
            try:
                results["extras"][extra] = one(Path(folder), wheel, extra, args.cold)
            except SystemExit as error:  # pip's complaint; the next extra may do better
                print(f"{extra}: {error}", flush=True)
                failed = True
            finally:
                subprocess.run(["rm", "-rf", Path(folder, extra)], check=True)
            print(extra, results["extras"].get(extra), flush=True)
            args.out.write_text(json.dumps(results, indent=1) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
