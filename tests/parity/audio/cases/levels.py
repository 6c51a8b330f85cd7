from __future__ import annotations

from tests.parity.audio.compare import Better, Rule
from tests.parity.calls import each

WAVES = "mono mono64 mono16 stereo stereo64 batch loud silence one empty scalar nan inf bool uint8 int16 int64 text"

CASES = [
    *each("A.Gain()\nA.Gain(3.0)\nA.Gain(-7)\nA.Gain(0)\nA.Gain(200.0)", WAVES),
    *each("A.Gain('a')\nA.Gain(None)\nA.Gain(True)\nA.Gain(1e9)\nA.Gain(float('nan'))", "-"),
]

RULES: list[Rule] = [
    Better(
        r"float\('nan'\)\)\(-\)$",
        "NaN lies in no interval; MindSpore takes it",
        raises="is not within the required interval",
    )
]
