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
    args = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))
    # MindSpore's notes on what the machine lacks are no part of the measurement
    os.environ.setdefault("GLOG_v", "3")
    from benchmarks import measure, workloads

    module = workloads.load(args.workload)
    measured = module.VARIANTS[args.peer][args.variant](args.quick)
    measured["versions"] = measure.versions(args.peer)
    print("\n" + json.dumps(measured), flush=True)
    # nothing that a library does at its exit may spoil or delay the result
    os._exit(0)


if __name__ == "__main__":
    main()
