"""How far the verdict can be trusted: plant a bottleneck, make the change that the report names, compare the gains.

python benchmarks/verdict.py                    # every bottleneck, three pairs of runs each
python benchmarks/verdict.py --only "slow map"  # these only
python benchmarks/verdict.py --quick            # tiny sizes, one pair: does it run?
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path[:1] = [str(Path(__file__).resolve().parent.parent)]

import millrace.dataset as ds  # noqa: E402
from benchmarks.planted import PLANTED, Planted  # noqa: E402
from millrace._src.core import settings  # noqa: E402
from millrace._src.core.machine.cores import available_cores  # noqa: E402
from millrace._src.observe.diagnosis import Diagnosis  # noqa: E402
from millrace._src.observe.performance_model import PerformanceModel  # noqa: E402

# The bar: the predicted gain is within a quarter of the real one.
WITHIN = 0.25


def run(data: ds.Dataset) -> tuple[Diagnosis, PerformanceModel]:
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    for _ in iterator:
        pass
    model = PerformanceModel.of(iterator._run.stats, available_cores())
    assert model is not None
    return iterator.report().verdict, model


def pair(planted: Planted, rows: int) -> str:
    """One line: what was predicted, and what came of it."""
    verdict, before = run(planted.build(rows))
    told = f"{planted.name:26} others {before.external_cores:.1f}  "
    if verdict.change is None:
        return f"{told}silent ({verdict.bottleneck})"
    arguments = dict(verdict.change.arguments)
    if verdict.change.knob == "random_access":
        arguments["random_access"] = True
    if verdict.change.knob != planted.knob:
        return f"{told}named {verdict.change.call}, wanted {planted.knob}"
    # long enough for the start of workers not to count
    _, after = run(planted.build(int(rows * 2 * min(8.0, verdict.gain)) // 64 * 64 or 64, **arguments))
    real = after.measured / before.measured
    error = verdict.gain / real - 1
    mark = "" if abs(error) <= WITHIN else "  outside the bar"
    return f"{told}predicted {verdict.gain:5.2f}x  real {real:5.2f}x  error {error:+4.0%}{mark}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args(argv)
    chosen = [planted for planted in PLANTED if not args.only or planted.name in args.only]
    if not chosen:
        parser.error(f"--only: there is no such bottleneck; choose from {[p.name for p in PLANTED]}")
    for planted in chosen:
        for _ in range(1 if args.quick else args.pairs):
            before = settings.snapshot()
            try:
                print(pair(planted, 64 if args.quick else planted.rows), flush=True)
            finally:
                settings.restore(before)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
