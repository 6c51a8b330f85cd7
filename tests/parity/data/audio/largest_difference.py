"""Print the largest difference from MindSpore of each operation.

`python -m tests.parity.data.audio.largest_difference [family ...]`
"""

from __future__ import annotations

import sys
from collections import defaultdict

from tests.parity.data.audio.cases import load, rules
from tests.parity.data.audio.compare import Better, Drawn, how_far, rule_for
from tests.parity.data.audio.test_audio import golden, operation, ours


def main(wanted: list[str]) -> int:
    farthest: dict[tuple[str, str], tuple[float, str]] = defaultdict(lambda: (0.0, "-"))
    for family, cases in load().items():
        if wanted and family not in wanted:
            continue
        for case in cases:
            was = golden(family)[case.name]
            if isinstance(rule_for(rules(family), case.name), (Better, Drawn)) or not was.keys() & {
                "dtype",
                "tuple",
            }:
                continue
            _, value = ours(case)
            far = how_far(value, was)
            kind = was.get("dtype") or was["tuple"][0]["dtype"]
            key = (operation(case.call), kind)
            if isinstance(far, float) and far >= farthest[key][0]:
                farthest[key] = (far, case.name)
    for (op, kind), (far, name) in sorted(farthest.items()):
        print(f"{op:24} {kind:8} {far:9.2e}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
