"""One measurement in one peer's interpreter: prints one line of JSON, the last of its output.

python benchmarks/worker.py arrays torch "2 workers" [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("workload")
    parser.add_argument("peer")
    parser.add_argument("variant")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all")
    parser.add_argument(
        "--prepare", action="store_true", help="make the files that it reads; measure nothing"
    )
    args = parser.parse_args()
    # in place of this folder: its csv.py and the like must not hide modules of the same name
    sys.path[0] = str(HERE.parent)
    # what libraries note about the machine is no part of the measurement, and nothing is fetched
    for name, value in {"GLOG_v": "3", "TF_CPP_MIN_LOG_LEVEL": "3", "HF_HUB_OFFLINE": "1"}.items():
        os.environ.setdefault(name, value)
    from benchmarks import measure, peers, workloads

    module = workloads.load(args.workload)
    measure.only_prepare = args.prepare
    try:
        measured = module.VARIANTS[args.peer][args.variant](args.quick)
    except measure.Prepared:
        measured = {}
    measured["versions"] = measure.versions(*peers.PEERS[args.peer].packages)
    print("\n" + json.dumps(measured), flush=True)
    # nothing that a library does at its exit may spoil or delay the result
    os._exit(0)


if __name__ == "__main__":
    main()
