"""Random pipelines on Millrace and on MindSpore: rows, order, dtypes, sizes and errors must be the same.

    python tests/e2e/interop/random_pipelines.py /path/to/python-with-mindspore [--count 100] [--first 0] [--all]

Not a test of its own: `make interop` runs a hundred where MindSpore is to be had, `make nightly` thousands. The
pipeline of a number is always the same one. A difference is printed with the smallest pipeline that shows it, and is
an error unless `pipelines/known.json` has it, with its reason.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.e2e.interop.pipelines import files
from tests.e2e.interop.pipelines.child import Child
from tests.e2e.interop.pipelines.compare import difference, known
from tests.e2e.interop.pipelines.ops import draw_case
from tests.e2e.interop.pipelines.shrink import shrink
from tests.e2e.interop.pipelines.tree import Case


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", help="a Python that has MindSpore")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="print known differences too")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files.write(folder)
        pair = Child(sys.executable, "millrace", folder), Child(options.peer, "mindspore", folder)
        try:
            return compare_all(range(options.first, options.first + options.count), *pair, options.all)
        finally:
            for child in pair:
                child.close()


def compare_all(seeds: range, ours: Child, theirs: Child, print_known: bool) -> int:
    """Run them all, print what differs, and return the exit status."""
    tally: Counter[str] = Counter()
    found: Counter[str] = Counter()
    listed = known()
    start = time.monotonic()

    def differs(case: Case) -> str | None:
        right = theirs.run(case.job())
        lost = "hangs" in right or "crashes" in right
        if lost:
            tally["MindSpore crashed or hung"] += 1
            return None
        return difference(ours.run(case.job()), right, case.ordered)

    for seed in seeds:
        case = draw_case(seed)
        what = differs(case)
        if what is None:
            tally["alike"] += 1
            continue
        case, what = shrink(case, what, differs)
        reason = next((entry.reason for entry in listed if entry.covers(what, case.text())), None)
        tally["differ, as known" if reason else "differ"] += 1
        found[reason or ""] += 1
        if reason is None or print_known:
            print(
                f"--- {seed}: {what}\n{case.text()}" + (f"\n(known: {reason})" if reason else ""), flush=True
            )
    counts = ", ".join(f"{word} {count}" for word, count in sorted(tally.items()))
    print(f"{len(seeds)} random pipelines in {time.monotonic() - start:.0f} s: {counts}")
    for entry in listed:
        if not found[entry.reason] and print_known:
            print(f"not met this time: {entry.reason}")
    return 1 if tally["differ"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
