"""Record what real MindSpore makes of the nets.

python -m tests.e2e.networks.record_networks [--python .peers/mindspore/bin/python] [--only ResNet-50 ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

GOLDENS = Path(__file__).with_name("goldens.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    parser.add_argument("--only", nargs="+", default=[], help="record these nets again; the others stay")
    options = parser.parse_args()
    command = [options.python, "-m", "tests.e2e.networks.run_network", str(GOLDENS), *options.only]
    subprocess.run(command, check=True, env={**os.environ, "GLOG_v": "4"})


if __name__ == "__main__":
    main()
