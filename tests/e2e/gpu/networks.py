"""The zoo on a GPU: three steps of every net in both modes, beside what MindSpore gave on a CPU.

PYTHONPATH=src python -m tests.e2e.gpu.networks            # where a GPU is; from the root of the repository

Both modes must give the same bits (deterministic kernels are asked for, TF32 is off) and the losses MindSpore's
to a thousandth. Ends with 1 where one does not.
"""

from __future__ import annotations

import json
import sys
import warnings

import torch

import millrace
from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context
from millrace._src.runtime.graph.replay import capture_cache_of
from tests.e2e.networks.families import nets
from tests.e2e.networks.record_networks import GOLDENS
from tests.e2e.networks.run_network import learn

APART = 1e-3
# so small a ResNet-50 is chaotic: a difference of 1e-7 in the first loss is 1e-3 and more in the third
CHAOTIC = {"ResNet-50": 2e-2}


def main() -> int:
    """One line for each net."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    set_context(device_target="GPU", deterministic="ON")
    recorded, bad = json.loads(GOLDENS.read_text()), 0
    for name, net in sorted(nets().items()):
        try:
            made, notes = {}, []
            for mode in (PYNATIVE_MODE, GRAPH_MODE):
                set_context(mode=mode)
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    made[mode], step = learn(millrace, net)
                notes += [
                    str(each.message)[:110] for each in said if "operation by operation" in str(each.message)
                ]
            theirs = recorded[name]["losses"]
            apart = max(
                abs(a - b) / max(abs(b), 1e-9)
                for a, b in zip(made[PYNATIVE_MODE]["losses"], theirs, strict=True)
            )
            same, counts = made[PYNATIVE_MODE] == made[GRAPH_MODE], capture_cache_of(step)
            fine = same and apart < CHAOTIC.get(name, APART)
            print(
                f"{name:16} {'ok ' if fine else 'BAD'} same bits: {same!s:5} losses apart: {apart:.1e} "
                f"replayed {counts.replayed} {' '.join(notes[:1])}"
            )
        except Exception as error:
            fine = False
            print(f"{name:16} BAD {type(error).__name__}: {str(error)[:300]}")
        bad += not fine
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
