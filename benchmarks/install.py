"""What an installation takes: Millrace and each of its extras in an environment of its own.

python benchmarks/install.py                       # every extra but those with PyTorch; writes benchmarks/install.json
python benchmarks/install.py --extras core,train   # some of them

A wheel is built once; then, for each extra, a fresh environment is made, the wheel installed with it, and what came is
counted: packages, bytes on disk beyond the empty environment, seconds. Downloads count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

from benchmarks import machine  # noqa: E402
from tests.smoke import bare, built, run  # noqa: E402

EXTRAS = ("core", "parquet", "crypto", "audio", "text", "video", "s3", "serve", "ray", "rayserve")
IMPORT = "import time; t = time.perf_counter(); import millrace.dataset; print(time.perf_counter() - t)"


def size_of(folder: Path) -> int:
    """Bytes that a folder takes on the disk."""
    shown = subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True).stdout
    return int(shown.split()[0]) << 10


def packages(python: Path) -> int:
    return len(json.loads(run(python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check")))


def one(folder: Path, wheel: Path, extra: str, cold: bool) -> dict[str, Any]:
    """The cost of one extra."""
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
    }


def table(results: dict[str, Any]) -> str:
    """The rows of the page."""
    return "\n".join(
        f"| `{extra}` | {found['packages']} | {found['mb']} MB | {found['seconds']:.0f} s | "
        f"{found['import_s'] * 1e3:.0f} ms |"
        for extra, found in results["extras"].items()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--extras", default=",".join(EXTRAS))
    parser.add_argument("--cold", action="store_true", help="without pip's cache")
    parser.add_argument("--out", type=Path, default=HERE / "install.json")
    args = parser.parse_args()
    results: dict[str, Any] = {"machine": machine.describe(), "extras": {}}
    if args.out.exists():  # what is not measured again stays
        results["extras"] = json.loads(args.out.read_text())["extras"]
    with tempfile.TemporaryDirectory(prefix="millrace-install-") as folder:
        wheel, _ = built(Path(folder))
        for extra in args.extras.split(","):
            results["extras"][extra] = one(Path(folder), wheel, extra, args.cold)
            subprocess.run(["rm", "-rf", Path(folder, extra)], check=True)
            print(extra, results["extras"][extra], flush=True)
            args.out.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
